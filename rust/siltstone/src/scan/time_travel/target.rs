//! What a selector and the table's `scan.*` options ask for (semantics f.5, batch).

use crate::{
    error::Result,
    io::TableContext,
    options::{NamedVersion, ScanMode},
    scan::VersionSelector,
};

/// A selector with the table's options taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Latest,
    LastCompacted,
    Id(i64),
    Tag(String),
    Time(i64),
    Watermark(i64),
    Version(String),
    /// The latest, and of its files those made at this time or later.
    FilesSince(i64),
    /// The first snapshot at or after a time; where that is none or the earliest, the files made since then.
    CreatedSince(i64),
}

impl Target {
    /// The selector's, or the options' where it leaves the choice to them.
    pub(super) fn of(ctx: &TableContext, version: &VersionSelector) -> Result<Self> {
        Ok(match version {
            VersionSelector::Latest => Self::of_options(ctx)?,
            VersionSelector::Snapshot(id) => Self::Id(*id),
            VersionSelector::Tag(name) => Self::Tag(name.clone()),
            VersionSelector::Timestamp(millis) => Self::Time(*millis),
            VersionSelector::Version(text) => Self::Version(text.clone()),
        })
    }

    fn of_options(ctx: &TableContext) -> Result<Self> {
        Ok(match (ctx.options.named_version()?, ctx.options.scan_mode) {
            (Some(NamedVersion::Id(id)), _) => Self::Id(id),
            (Some(NamedVersion::Tag(name)), _) => Self::Tag(name),
            (Some(NamedVersion::Version(text)), _) => Self::Version(text),
            (Some(NamedVersion::Watermark(watermark)), _) => Self::Watermark(watermark),
            (Some(NamedVersion::Time(millis)), _) => Self::Time(millis),
            (Some(NamedVersion::FilesSince(millis)), _) => Self::FilesSince(millis),
            (Some(NamedVersion::CreatedSince(millis)), _) => Self::CreatedSince(millis),
            (None, ScanMode::CompactedFull) => Self::LastCompacted,
            // of an incremental mode what lies between is planned apart; the state that goes with it is the latest
            (None, _) => Self::Latest,
        })
    }
}
