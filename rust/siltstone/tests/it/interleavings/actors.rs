//! What runs beside what.

use siltstone::{
    Result,
    commit::OverwriteTarget,
    fs::FileIoRef,
    maintenance::orphan_files::remove_orphan_files,
    predicate::Condition,
    scan::{PartitionSpec, VersionSelector},
    snapshot::Snapshot,
    table::{CommitReport, ExpireArgs, ModifyArgs, RescaleArgs, TagArgs, VersionArgs},
};

use super::world::{KEPT, OLD, batch, open, write};
use crate::steps;

/// An operation on the table; its number tells its rows and names from those of another actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Actor {
    Write,
    WriteCompacting,
    WriteExpiring,
    Compact,
    Overwrite,
    Delete,
    Update,
    Expire,
    RollbackToVersion,
    RollbackToTag,
    RollbackToExpiredTag,
    TagCreate,
    TagOldest,
    TagReplace,
    TagDelete,
    BranchCreate,
    BranchFromTag,
    BranchForward,
    BranchDelete,
    RemoveOrphans,
    CompactManifests,
    Alter,
    Rescale,
}

pub(super) const ALL: [Actor; 23] = [
    Actor::Write,
    Actor::WriteCompacting,
    Actor::WriteExpiring,
    Actor::Compact,
    Actor::Overwrite,
    Actor::Delete,
    Actor::Update,
    Actor::Expire,
    Actor::RollbackToVersion,
    Actor::RollbackToTag,
    Actor::RollbackToExpiredTag,
    Actor::TagCreate,
    Actor::TagOldest,
    Actor::TagReplace,
    Actor::TagDelete,
    Actor::BranchCreate,
    Actor::BranchFromTag,
    Actor::BranchForward,
    Actor::BranchDelete,
    Actor::RemoveOrphans,
    Actor::CompactManifests,
    Actor::Alter,
    Actor::Rescale,
];

/// The version that `RollbackToVersion` goes back to.
pub(super) const TARGET: i64 = 6;
/// The version that `TagOldest` tags.
pub(super) const OLDEST: i64 = 5;

/// What an operation that was acknowledged has made.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) notes: Vec<String>,
}

impl From<CommitReport> for Done {
    fn from(report: CommitReport) -> Self {
        Self { snapshots: report.snapshots, notes: report.notes }
    }
}

impl Actor {
    /// Rows that a write of this actor adds.
    pub(super) fn row(number: i32) -> (i32, i64) {
        (200 + number, i64::from(number))
    }

    /// The name of a tag or branch that this actor makes.
    pub(super) fn name(number: i32) -> String {
        format!("new{number}")
    }

    /// Whether it makes a snapshot of its own.
    pub(super) fn commits(self) -> bool {
        self <= Self::Update || matches!(self, Self::CompactManifests | Self::Rescale)
    }

    /// Whether it is of versions or tags that a table without a version has not.
    pub(super) fn needs_versions(self) -> bool {
        use Actor::{
            BranchFromTag, Rescale, RollbackToExpiredTag, RollbackToTag, RollbackToVersion, TagDelete, TagOldest,
            TagReplace,
        };
        let of_tags = matches!(self, RollbackToTag | RollbackToExpiredTag | TagReplace | TagDelete | BranchFromTag);
        of_tags || matches!(self, RollbackToVersion | TagOldest | Rescale)
    }

    /// Does it. Files older than `start` may be orphans.
    pub(super) fn run(self, number: i32, fs: &FileIoRef, start: i64) -> Result<Done> {
        match self {
            Self::Write => write(&open(fs, "main", &[("write-only", "true")])?, &[Self::row(number)]).map(Done::from),
            Self::WriteCompacting => write(&open(fs, "main", &[])?, &[Self::row(number)]).map(Done::from),
            Self::WriteExpiring => {
                let options = [("snapshot.num-retained.min", "1"), ("snapshot.num-retained.max", "1")];
                write(&open(fs, "main", &options)?, &[Self::row(number)]).map(Done::from)
            }
            Self::Compact => compact(fs),
            Self::Overwrite => {
                let table = open(fs, "main", &[])?;
                let rows = [Ok(batch(&[Self::row(number)]))].into_iter();
                table.overwrite(rows, &OverwriteTarget::Static(PartitionSpec::new())).map(Done::from)
            }
            Self::Delete => modify(fs, "k = 1", &[]),
            Self::Update => modify(fs, "k = 2", &[("v", number.to_string())]),
            Self::CompactManifests => open(fs, "main", &[])?.compact_manifests().map(Done::from),
            Self::Rescale => {
                let args = RescaleArgs { buckets: Some(1 + number), ..RescaleArgs::default() };
                open(fs, "main", &[])?.rescale(&args).map(Done::from)
            }
            _ => self.care(number, fs, start).map(|()| Done::default()),
        }
    }

    fn care(self, number: i32, fs: &FileIoRef, start: i64) -> Result<()> {
        let mut table = open(fs, "main", &[])?;
        let version = |id: i64| VersionArgs { version: Some(VersionSelector::Snapshot(id)), ..VersionArgs::default() };
        let tag = |name: &str| VersionArgs { tag: Some(name.to_owned()), ..VersionArgs::default() };
        let name = Self::name(number);
        match self {
            Self::Expire => table.expire_snapshots(&retain(2), false).map(drop),
            Self::RollbackToVersion => table.rollback(&version(TARGET), false).map(drop),
            Self::RollbackToTag => table.rollback(&tag(KEPT), false).map(drop),
            Self::RollbackToExpiredTag => table.rollback(&tag(OLD), false).map(drop),
            Self::TagCreate => table.create_tag(&name, &TagArgs::default()).map(drop),
            Self::TagOldest => {
                let oldest = TagArgs { source: version(OLDEST), ..TagArgs::default() };
                table.create_tag(&name, &oldest).map(drop)
            }
            Self::TagReplace => table.replace_tag(KEPT, &TagArgs::default()).map(drop),
            Self::TagDelete => table.delete_tag(OLD, false).map(drop),
            Self::BranchCreate => table.create_branch(&name, None, Some("latest")),
            Self::BranchFromTag => table.create_branch(&format!("old-{name}"), Some(OLD.to_owned()), None),
            Self::BranchForward => table.fast_forward("fix", false).map(drop),
            Self::BranchDelete => table.delete_branch("fix", false).map(drop),
            Self::RemoveOrphans => remove_orphan_files(table.context(), start, i64::MAX, false).map(drop),
            Self::Alter => {
                let change = format!(r#"[{{"kind": "add_column", "column": "{name}", "type": "INT"}}]"#);
                table.alter(&change)
            }
            _ => unreachable!("{self:?} commits"),
        }
    }
}

/// So many snapshots stay.
pub(super) fn retain(snapshots: i64) -> ExpireArgs {
    ExpireArgs { retain_max: Some(snapshots), ..ExpireArgs::default() }
}

fn compact(fs: &FileIoRef) -> Result<Done> {
    let outcome = steps::compact(&open(fs, "main", &[])?)?;
    Ok(Done { snapshots: outcome.snapshots, notes: outcome.notes })
}

fn modify(fs: &FileIoRef, condition: &str, set: &[(&str, String)]) -> Result<Done> {
    let table = open(fs, "main", &[])?;
    let set = set.iter().map(|(column, value)| ((*column).to_owned(), value.clone())).collect();
    let change = ModifyArgs { filter: Some(Condition::Sql(condition.to_owned())), set, threads: Some(1) };
    table.modify(&change).map(Done::from)
}
