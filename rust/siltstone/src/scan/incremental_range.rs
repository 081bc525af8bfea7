//! What lies between two versions: which snapshots, and which of their files.
//!
//! Source: semantics f.6; `AbstractDataTableScan`, `IncrementalDeltaStartingScanner`, `IncrementalDiffStartingScanner`.

use chrono::NaiveDateTime;

use super::time_travel::{Versions, utc};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{ChangelogProducer, CoreOptions, IncrementalMode, NamedChanges},
    snapshot::{CommitKind, NamedList, Period, Snapshot},
};

/// Two versions; the start is left out of what is read, the end is part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Between {
    /// Snapshot ids.
    Snapshots(i64, i64),
    /// Two tags; when they are not, two snapshot ids as text.
    Names(String, String),
    /// Epoch milliseconds: the newest snapshots at or before them.
    Times(i64, i64),
    /// From the automatic tag before this one to this one.
    ToAutoTag(String),
    /// What the latest snapshot added (`scan.mode=latest-delta`).
    Latest,
}

/// Versions, and how what lies between them is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incremental {
    /// The versions.
    pub between: Between,
    /// The mode.
    pub mode: IncrementalMode,
    /// Two tags stand for their snapshots' ids; otherwise tags are always compared.
    pub tags_as_snapshots: bool,
}

impl Incremental {
    /// What a caller asks for; a mode that is named compares no tags.
    pub(super) fn given(between: Between, mode: Option<&str>) -> Result<Self> {
        let mode = mode.map(|text| {
            IncrementalMode::parse(text).map_err(|e| {
                let message = format!("mode='{text}' is not a way to read changes");
                Error::new(ErrorKind::InvalidArgument, message).hint(e.hint_text().unwrap_or_default().to_owned())
            })
        });
        let mode = mode.transpose()?.unwrap_or(IncrementalMode::Auto);
        let tags_as_snapshots = matches!(mode, IncrementalMode::Delta | IncrementalMode::Changelog);
        Ok(Self { between, mode, tags_as_snapshots })
    }

    /// What the table's options ask for; `None` when they ask for a state.
    pub(super) fn of_options(options: &CoreOptions) -> Result<Option<Self>> {
        let between = match options.named_changes()? {
            None => return Ok(None),
            Some(NamedChanges::Names(start, end)) => Between::Names(start, end),
            Some(NamedChanges::Times(start, end)) => Between::Times(start, end),
            Some(NamedChanges::ToAutoTag(name)) => Between::ToAutoTag(name),
            Some(NamedChanges::Latest) => Between::Latest,
        };
        Ok(Some(Self {
            between,
            mode: options.incremental_mode,
            tags_as_snapshots: options.incremental_tag_to_snapshot,
        }))
    }

    /// The snapshots and the way to read them.
    pub(super) fn resolve(&self, ctx: &TableContext) -> Result<IncrementalChanges> {
        let versions = Versions::new(ctx);
        let Some(latest) = versions.snapshots.latest()? else {
            return Ok(IncrementalChanges::Nothing);
        };
        let search = Search { ctx, versions, latest, mode: self.mode };
        let found = match &self.between {
            Between::Snapshots(start, end) => search.ids(*start, *end),
            Between::Names(start, end) => search.names(start, end, self.tags_as_snapshots),
            Between::Times(start, end) => search.times(*start, *end),
            Between::ToAutoTag(name) => search.to_auto_tag(name),
            Between::Latest => Ok(IncrementalChanges::Files {
                after: search.latest.id - 1,
                until: search.latest.id,
                source: Source::Delta,
            }),
        };
        found.map_err(|e| e.with("table", &ctx.name))
    }
}

/// Where changes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Delta manifests.
    Delta,
    /// Changelog manifests.
    Changelog,
}

impl Source {
    /// The manifest list of the snapshot's changes; `None` when it has none that count.
    pub(super) fn list_of(self, snapshot: &Snapshot) -> Option<NamedList<'_>> {
        match self {
            Self::Delta => (snapshot.commit_kind == CommitKind::Append).then(|| snapshot.delta_list()),
            Self::Changelog => snapshot.changelog_list().filter(|_| snapshot.commit_kind != CommitKind::Overwrite),
        }
    }
}

/// What is to be read.
#[derive(Clone, Debug)]
pub(super) enum IncrementalChanges {
    /// No row.
    Nothing,
    /// Files of the snapshots `after + 1 ..= until`.
    Files { after: i64, until: i64, source: Source },
    /// The difference of two states; before the first snapshot there is no row.
    Diff { before: Option<Box<Snapshot>>, after: Box<Snapshot> },
}

struct Search<'a> {
    ctx: &'a TableContext,
    versions: Versions,
    latest: Snapshot,
    mode: IncrementalMode,
}

impl Search<'_> {
    fn source(&self) -> Source {
        match self.mode {
            IncrementalMode::Changelog => Source::Changelog,
            IncrementalMode::Auto if self.ctx.options.changelog_producer != ChangelogProducer::None => {
                Source::Changelog
            }
            _ => Source::Delta,
        }
    }

    fn ids(&self, start: i64, end: i64) -> Result<IncrementalChanges> {
        if start > end {
            return Err(backwards(start, end));
        }
        if start == end {
            return Ok(IncrementalChanges::Nothing);
        }
        if self.mode == IncrementalMode::Diff {
            let before = if start == 0 { None } else { Some(Box::new(self.versions.by_id(start)?)) };
            return Ok(IncrementalChanges::Diff { before, after: Box::new(self.versions.by_id(end)?) });
        }
        self.check_range(start, end)?;
        Ok(IncrementalChanges::Files { after: start, until: end, source: self.source() })
    }

    /// All snapshots after `start` up to `end` must be there.
    fn check_range(&self, start: i64, end: i64) -> Result<()> {
        let earliest = self.versions.snapshots.earliest_id()?.unwrap_or(self.latest.id);
        let earliest = self.versions.changelogs.earliest_id()?.map_or(earliest, |id| id.min(earliest));
        let range = format!("changes after snapshots {} to {} are available", earliest - 1, self.latest.id);
        if end > self.latest.id {
            let message = format!("snapshot {end} does not exist, {range}");
            return Err(Error::new(ErrorKind::SnapshotNotFound, message)
                .with("snapshot", end)
                .hint(format!("the latest snapshot is {}", self.latest.id)));
        }
        if start < earliest - 1 {
            let (kind, what) = if start < 0 {
                (ErrorKind::SnapshotNotFound, "does not exist")
            } else {
                (ErrorKind::SnapshotExpired, "has expired")
            };
            let missing = (start + 1).max(0);
            return Err(Error::new(kind, format!("snapshot {missing} {what}, {range}"))
                .with("snapshot", missing)
                .hint(format!("start at {}, the start is not part of what is read", earliest - 1)));
        }
        Ok(())
    }

    fn names(&self, start: &str, end: &str, as_snapshots: bool) -> Result<IncrementalChanges> {
        let tags = &self.versions.tags;
        if tags.exists(start)? && tags.exists(end)? {
            let (before, after) = (tags.get(start)?, tags.get(end)?);
            if before.id > after.id {
                let message =
                    format!("tag '{start}' (snapshot {}) comes after tag '{end}' (snapshot {})", before.id, after.id);
                return Err(Error::new(ErrorKind::InvalidArgument, message).hint("swap start and end"));
            }
            if as_snapshots {
                return self.ids(before.id, after.id);
            }
            return Ok(diff(before, after));
        }
        if let (Ok(start), Ok(end)) = (start.trim().parse(), end.trim().parse()) {
            return self.ids(start, end);
        }
        // names the one that is not there, with the nearest that is
        for name in [start, end].into_iter().filter(|name| name.trim().parse::<i64>().is_err()) {
            tags.get(name)?;
        }
        let message = format!("'{start}' and '{end}' are a tag and a snapshot id");
        Err(Error::new(ErrorKind::InvalidArgument, message).hint("give two tags or two snapshot ids"))
    }

    fn times(&self, start: i64, end: i64) -> Result<IncrementalChanges> {
        if start > end {
            let message = format!("the end {} is before the start {}", utc(end), utc(start));
            return Err(Error::new(ErrorKind::InvalidArgument, message).hint("swap start and end"));
        }
        let snapshots = &self.versions.snapshots;
        let Some(earliest) = snapshots.earliest_id()? else {
            return Ok(IncrementalChanges::Nothing);
        };
        let earliest = snapshots.get(earliest)?;
        if start == end || start > self.latest.time_millis || end < earliest.time_millis {
            return Ok(IncrementalChanges::Nothing);
        }
        let before = snapshots.at_or_before(start)?.filter(|_| earliest.time_millis <= start);
        let after = snapshots.at_or_before(end)?.unwrap_or_else(|| self.latest.clone());
        if self.mode != IncrementalMode::Diff {
            let start = before.map_or(earliest.id - 1, |s| s.id);
            return Ok(IncrementalChanges::Files { after: start, until: after.id, source: self.source() });
        }
        Ok(match before {
            Some(before) => diff(before, after),
            None if earliest.id == 1 => IncrementalChanges::Diff { before: None, after: Box::new(after) },
            None => diff(earliest, after),
        })
    }

    fn to_auto_tag(&self, name: &str) -> Result<IncrementalChanges> {
        let format = Period::of_options(&self.ctx.options)?;
        let Some(end) = format.time(name) else {
            return Err(Error::new(ErrorKind::InvalidOption, format!("tag '{name}' is not an automatic tag"))
                .with("option", "incremental-to-auto-tag")
                .hint(format!("automatic tags of this table look like '{}'", format.name(NaiveDateTime::default()))));
        };
        let tags = self.versions.tags.list()?;
        let Some((_, after)) = tags.iter().find(|(tag, _)| tag == name) else {
            return Ok(IncrementalChanges::Nothing);
        };
        let earlier = tags.iter().filter_map(|(tag, snapshot)| Some((format.time(tag)?, snapshot)));
        let before = earlier.filter(|(time, _)| *time < end).max_by_key(|(time, _)| *time);
        Ok(before.map_or(IncrementalChanges::Nothing, |(_, before)| diff(before.clone(), after.clone())))
    }
}

fn diff(before: Snapshot, after: Snapshot) -> IncrementalChanges {
    if before.id == after.id {
        return IncrementalChanges::Nothing;
    }
    IncrementalChanges::Diff { before: Some(Box::new(before)), after: Box::new(after) }
}

fn backwards(start: i64, end: i64) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the end, snapshot {end}, is before the start, snapshot {start}"))
        .hint("swap start and end")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn options(pairs: &[(&str, &str)]) -> CoreOptions {
        let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        CoreOptions::parse(&map).expect("options")
    }

    #[test]
    fn options_name_two_versions_in_one_of_three_ways() {
        let of = |pairs: &[(&str, &str)]| Incremental::of_options(&options(pairs)).expect("good").map(|i| i.between);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("incremental-between", "3, 7")]), Some(Between::Names("3".into(), "7".into())));
        assert_eq!(of(&[("incremental-between-timestamp", "5,9")]), Some(Between::Times(5, 9)));
        assert_eq!(of(&[("incremental-to-auto-tag", "x")]), Some(Between::ToAutoTag("x".into())));
        assert_eq!(of(&[("scan.mode", "latest-delta")]), Some(Between::Latest));
    }

    #[test]
    fn options_that_contradict_or_say_too_little_are_refused() {
        for pairs in [
            &[("incremental-between", "3")][..],
            &[("incremental-between", "3,4,5")],
            &[("incremental-between-timestamp", "yesterday,today")],
            &[("scan.mode", "incremental")],
            &[("incremental-between", "3,4"), ("scan.snapshot-id", "4")],
            &[("incremental-between", "3,4"), ("scan.timestamp-millis", "4")],
            &[("incremental-between", "3,4"), ("incremental-to-auto-tag", "x")],
            &[("incremental-between", "3,4"), ("scan.mode", "latest-full")],
        ] {
            let error = Incremental::of_options(&options(pairs)).expect_err("bad");
            assert_eq!(error.kind(), ErrorKind::InvalidOption, "{pairs:?}");
        }
    }
}
