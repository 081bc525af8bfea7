//! Which rule a table's compactions follow, and when they tell what changed (semantics c.3, c.4;
//! `LookupMergeTreeCompactRewriter`, `FullChangelogMergeTreeCompactRewriter`).

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;

use crate::{
    Result,
    io::{FileWriteSpec, KvLayout, RollingWriter, TableContext},
    manifest::DataFileMeta,
    merge_tree::{LevelSortedRun, Levels, SortedRun, merge::wrapper::ChangelogSink},
    options::{ChangelogProducer, CoreOptions},
};

/// How the compactions of a table merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeTreeCompactRewriter {
    /// The reducer rule.
    Plain,
    /// What reaches the highest level is compared with what was there.
    FullChangelog,
    /// Older values are looked up.
    Lookup,
    /// Whether a key exists is looked up.
    FirstRow,
}

/// What moving a file to a higher level asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upgrade {
    /// Metadata only.
    Plain,
    /// Its rows go through the rule, the file stays.
    Changelog,
    /// Its rows go through the rule into a new file.
    Rewrite,
}

impl MergeTreeCompactRewriter {
    pub(super) fn of(options: &CoreOptions) -> Self {
        if options.changelog_producer == ChangelogProducer::FullCompaction {
            Self::FullChangelog
        } else if options.merge_engine.oldest_wins() {
            Self::FirstRow
        } else if options.needs_lookup() {
            Self::Lookup
        } else {
            Self::Plain
        }
    }

    /// Whether a rewrite goes through the rule; otherwise it only merges.
    pub(super) fn applies(self, output_level: i32, max_level: i32, sections: &[Vec<SortedRun>]) -> bool {
        match self {
            Self::Plain => false,
            Self::FullChangelog => output_level == max_level,
            Self::Lookup | Self::FirstRow => {
                output_level > 0 && sections.iter().flatten().flat_map(|run| &run.files).any(|file| file.level == 0)
            }
        }
    }

    /// The upgrade rules: first match wins. `late`: there may be newer rows of the file's keys in the levels above the output,
    /// which it would hide ([`ties`](crate::merge_tree::ties)); Java does not ask.
    pub(super) fn upgrade(
        self,
        options: &CoreOptions,
        file: &DataFileMeta,
        late: bool,
        output_level: i32,
        max_level: i32,
    ) -> Upgrade {
        match self {
            Self::FullChangelog if output_level == max_level => Upgrade::Changelog,
            Self::Plain | Self::FullChangelog => Upgrade::Plain,
            Self::Lookup | Self::FirstRow => {
                let keeps_value = !late && options.merge_engine.newest_wins() && options.sequence_fields.is_empty();
                if file.level != 0 {
                    Upgrade::Plain
                } else if options.format_of_level(Some(0)) != options.format_of_level(Some(output_level))
                    || (options.deletion_vectors_enabled && file.delete_row_count != Some(0))
                {
                    Upgrade::Rewrite
                } else if output_level == max_level || keeps_value {
                    Upgrade::Changelog
                } else {
                    Upgrade::Rewrite
                }
            }
        }
    }

    /// Whether the rule gives changelog rows.
    pub(super) fn produces_changelog(self, options: &CoreOptions) -> bool {
        matches!(options.changelog_producer, ChangelogProducer::FullCompaction | ChangelogProducer::Lookup)
            && self != Self::Plain
    }

    /// Whether the values of other records are looked up; else at most where they are. `produces_changelog`: a changelog wants them; `late`:
    /// the others may be the newer ones.
    pub(super) fn looks_values_up(self, options: &CoreOptions, produces_changelog: bool, late: bool) -> bool {
        // a newer record replaces the older one whatever it holds
        let place_is_enough = !late
            && options.deletion_vectors_enabled
            && options.merge_engine.newest_wins()
            && options.sequence_fields.is_empty()
            && !produces_changelog;
        self == Self::Lookup && !place_is_enough
    }
}

/// Whether compactions of a primary-key table may put values of other records, which they look up, into the rows that they make:
/// of which files come late ([`ties`](crate::merge_tree::ties)) the options say nothing.
pub fn looks_values_up(options: &CoreOptions) -> bool {
    let rewriter = MergeTreeCompactRewriter::of(options);
    rewriter.looks_values_up(options, rewriter.produces_changelog(options), true)
}

/// Columns that make an update worth telling; `None` tells every update (option `changelog-producer.row-deduplicate`).
pub(super) fn compared_columns(options: &CoreOptions, layout: &KvLayout) -> Option<Vec<usize>> {
    let ignored = &options.changelog_row_deduplicate_ignore_fields;
    let columns = layout.fields.iter().enumerate().filter(|(_, field)| !ignored.contains(&field.name));
    options.changelog_row_deduplicate.then(|| columns.map(|(at, _)| at).collect())
}

/// The runs that keys are looked up in: those above a level.
pub(super) fn runs_above(tree: &Levels, level: i32) -> Vec<LevelSortedRun> {
    tree.runs().into_iter().filter(|run| run.level > level).collect()
}

/// Changelog files of one step, written by whoever merges.
#[derive(Clone)]
pub(in crate::merge_tree) struct ChangelogFiles(Arc<Mutex<Option<RollingWriter>>>);

impl ChangelogFiles {
    pub(in crate::merge_tree) fn new(ctx: &TableContext, partition: &[u8], bucket: i32, level: i32) -> Result<Self> {
        let writer = RollingWriter::new(ctx, partition, bucket, FileWriteSpec::changelog(level))?;
        Ok(Self(Arc::new(Mutex::new(Some(writer)))))
    }

    /// Takes changelog rows, on any thread.
    pub(in crate::merge_tree) fn sink(&self) -> ChangelogSink {
        let files = self.clone();
        Box::new(move |rows: &RecordBatch| match &mut *files.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => writer.write(rows),
            None => Ok(()),
        })
    }

    pub(in crate::merge_tree) fn finish(&self) -> Result<Vec<DataFileMeta>> {
        self.take().map_or_else(|| Ok(Vec::new()), RollingWriter::finish)
    }

    pub(in crate::merge_tree) fn abort(&self) {
        if let Some(writer) = self.take() {
            writer.abort();
        }
    }

    fn take(&self) -> Option<RollingWriter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> CoreOptions {
        CoreOptions::parse(&given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
            .unwrap()
    }

    /// The commit that sees to columns of newer rows overlooked `force-lookup`.
    #[test]
    fn one_rule_says_which_tables_look_values_up() {
        for (given, expected) in [
            (&[][..], false),
            (&[("force-lookup", "true")], true),
            (&[("changelog-producer", "lookup")], true),
            (&[("changelog-producer", "input"), ("force-lookup", "true")], true),
            (&[("merge-engine", "partial-update"), ("deletion-vectors.enabled", "true")], true),
            (&[("deletion-vectors.enabled", "true"), ("sequence.field", "s")], true),
            (&[("deletion-vectors.enabled", "true"), ("changelog-producer", "lookup")], true),
            (&[("deletion-vectors.enabled", "true")], true),
            (&[("merge-engine", "first-row"), ("force-lookup", "true")], false),
            (&[("changelog-producer", "full-compaction"), ("force-lookup", "true")], false),
        ] {
            assert_eq!(looks_values_up(&options(given)), expected, "{given:?}");
        }
    }
}
