//! What actors do.

use std::{fmt, str::FromStr, sync::Arc};

use arrow_array::{RecordBatch, cast::AsArray, types};
use siltstone::{
    Result,
    cleanup::Report,
    commit::{CommitOutcome, Committable, OverwriteTarget},
    fs::FileIoRef,
    maintenance::orphan_files::remove_orphan_files,
    predicate::Condition,
    scan::{PartitionSpec, ROW_KIND_COLUMN, ReadOptions, ScanRequest, VersionSelector},
    snapshot::{Snapshot, SnapshotManager},
    table::{
        ChangeStream, ChangesArgs, CommitReport, ExpireArgs, ModifyArgs, Progress, RescaleArgs, Table, TagArgs,
        VersionArgs,
    },
};

use super::{
    model::{Effect, Rows},
    world::{
        ABORTED, BASE, KEPT, Kind, LATE, MESSAGES, Merges, OLD, World, batch, message_row, open, partition, tag_of,
        write,
    },
};
use crate::steps::{self, rows};

macro_rules! verbs {
    ($($verb:ident)*) => {
        /// An operation on the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Verb { $($verb),* }

        pub(super) const VERBS: &[Verb] = &[$(Verb::$verb),*];
    };
}

verbs! {
    Write WriteCompacting WriteExpiring Compact CompactSome Overwrite OverwritePartition DropPartition Truncate Delete Update CommitMessages
    OverwriteWithMessages CompactManifests Analyze Rescale WriteBranch ExpireToOne Expire Rollback RollbackToTag RollbackToExpired TagLatest TagOldest TagReplace
    TagDelete TagRename BranchLatest BranchFromTag BranchForward BranchDelete BranchRename RemoveOrphans AddColumn
    Changes ResetConsumer DeleteConsumer ExpireConsumers Scan ExpireTags Abort SwitchVectors ChangeProducer
}

/// One operation of a case; its number tells its rows and names from those of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) verb: Verb,
    pub(super) number: i32,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.verb, self.number)
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let at = text.find(|c: char| c.is_ascii_digit()).ok_or_else(|| format!("'{text}' has no number"))?;
        let (name, number) = text.split_at(at);
        let verb = VERBS.iter().find(|verb| format!("{verb:?}") == name);
        let verb = *verb.ok_or_else(|| format!("'{name}' is no operation"))?;
        Ok(Self { verb, number: number.parse().map_err(|_| format!("'{number}' is no number"))? })
    }
}

/// What an operation that was acknowledged has made.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) notes: Vec<String>,
    /// A consumer that goes on with this snapshot.
    pub(super) consumer: Option<(String, i64)>,
}

impl From<CommitReport> for Done {
    fn from(report: CommitReport) -> Self {
        Self { snapshots: report.snapshots, notes: report.notes, ..Self::default() }
    }
}

impl From<Report> for Done {
    fn from(report: Report) -> Self {
        Self { notes: report.plan.notes, ..Self::default() }
    }
}

/// So many snapshots stay.
pub(super) fn retain(snapshots: i64) -> ExpireArgs {
    ExpireArgs { retain_max: Some(snapshots), retain_min: Some(snapshots), ..ExpireArgs::default() }
}

impl Verb {
    pub(super) fn suits(self, kind: Kind) -> bool {
        match self {
            Self::Delete | Self::Update => kind.modifies,
            Self::OverwritePartition | Self::DropPartition => kind.partitioned,
            Self::Rescale => kind.has_fixed_buckets() || kind.is_postponed(),
            Self::SwitchVectors | Self::ChangeProducer => kind.switches(),
            _ => true,
        }
    }

    /// Whether it makes a snapshot of its own.
    pub(super) fn commits(self) -> bool {
        self <= Self::WriteBranch
    }

    pub(super) fn sets_option(self) -> bool {
        matches!(self, Self::SwitchVectors | Self::ChangeProducer)
    }

    /// Whether it may take versions back.
    pub(super) fn takes_back(self) -> bool {
        matches!(self, Self::Rollback | Self::RollbackToTag | Self::RollbackToExpired | Self::BranchForward)
    }
}

impl Kind {
    /// Whether streams tell what an operation does to the rows, and the consumer `reader` has not been told yet.
    pub(super) fn tells(self, operation: Operation) -> bool {
        if self.merges != Merges::Newest {
            return false;
        }
        match operation.verb {
            Verb::Delete | Verb::Update => self.has_changelogs(),
            Verb::Changes => operation.consumer() != "reader",
            Verb::Overwrite
            | Verb::OverwritePartition
            | Verb::OverwriteWithMessages
            | Verb::DropPartition
            | Verb::Truncate
            | Verb::Rescale
            | Verb::ExpireConsumers
            | Verb::DeleteConsumer => false,
            verb => !verb.takes_back() && !verb.sets_option(),
        }
    }
}

impl Operation {
    pub(super) fn consumer(self) -> &'static str {
        ["reader", "other"][usize::from(self.number % 2 == 0)]
    }

    fn row(self, kind: Kind) -> (i32, i64) {
        match kind.merges {
            Merges::Newest => (200 + self.number, i64::from(self.number)),
            // of a key that is there
            _ => (1 + self.number % 3, 7 * i64::from(self.number)),
        }
    }

    fn name(self) -> String {
        format!("new{}", self.number)
    }

    fn message(self) -> i32 {
        self.number % MESSAGES
    }

    fn odd(self) -> usize {
        usize::from(self.number % 2 != 0)
    }

    fn tag(self) -> &'static str {
        [OLD, KEPT, LATE][usize::try_from(self.number).unwrap_or(0) % 3]
    }

    pub(super) fn branch(self) -> &'static str {
        if self.verb == Verb::WriteBranch { "fix" } else { "main" }
    }

    /// Does it, and says what it does as soon as this is known. Files older than `start` may be orphans.
    pub(super) fn run(self, world: &World, fs: &FileIoRef, start: i64, effect: &mut Effect) -> Result<Done> {
        let row = self.row(world.kind);
        let put = world.kind.put(vec![row]);
        match self.verb {
            Verb::Write => {
                *effect = put;
                write(&open(fs, "main", &[("write-only", "true")])?, &[row]).map(Done::from)
            }
            Verb::WriteCompacting => {
                *effect = put;
                write(&open(fs, "main", &[])?, &[row]).map(Done::from)
            }
            Verb::WriteExpiring => {
                *effect = put;
                let options = [("snapshot.num-retained.min", "1"), ("snapshot.num-retained.max", "1")];
                write(&open(fs, "main", &options)?, &[row]).map(Done::from)
            }
            Verb::WriteBranch => {
                *effect = put;
                write(&open(fs, "fix", &[])?, &[row]).map(Done::from)
            }
            Verb::Compact => compact(fs, "main"),
            Verb::CompactSome => steps::compact_some(&open(fs, "main", &[])?).map(done),
            Verb::CompactManifests => open(fs, "main", &[])?.compact_manifests().map(Done::from),
            Verb::Overwrite => {
                *effect = Effect::Replace(vec![row]);
                let table = open(fs, "main", &[])?;
                let rows = [Ok(batch(&table, &[row]))].into_iter();
                table.overwrite(rows, &everything()).map(Done::from)
            }
            Verb::OverwritePartition => {
                *effect = Effect::ReplacePartition(vec![row], partition(self.number));
                let table = open(fs, "main", &[])?;
                let rows = [Ok(batch(&table, &[row]))].into_iter();
                table.overwrite(rows, &OverwriteTarget::Dynamic).map(Done::from)
            }
            Verb::DropPartition => {
                let number = partition(self.number);
                *effect = Effect::ReplacePartition(Vec::new(), number);
                let spec = PartitionSpec::from([("p".to_owned(), Some(number.to_string()))]);
                open(fs, "main", &[])?.truncate(Some(&[spec]), false).map(Done::from)
            }
            Verb::Analyze => open(fs, "main", &[])?.analyze().map(Done::from),
            Verb::Rescale => {
                let args = RescaleArgs { buckets: Some(1 + self.number % 3), ..RescaleArgs::default() };
                open(fs, "main", &[])?.rescale(&args).map(Done::from)
            }
            Verb::Truncate => {
                *effect = Effect::Replace(Vec::new());
                open(fs, "main", &[])?.truncate(None, false).map(Done::from)
            }
            Verb::Delete => {
                *effect = Effect::Delete(self.number);
                modify(fs, self.number, &[])
            }
            Verb::Update => {
                *effect = Effect::Update(self.number, 0);
                modify(fs, self.number, &[("v", "0")])
            }
            Verb::CommitMessages | Verb::OverwriteWithMessages => self.messages(world, fs, effect),
            _ => self.care(world, fs, start, effect),
        }
    }

    fn messages(self, world: &World, fs: &FileIoRef, effect: &mut Effect) -> Result<Done> {
        let table = open(fs, "main", &[("write-only", "true")])?;
        let number = self.message();
        let messages = table.messages(&world.messages[usize::try_from(number).unwrap_or(0)])?;
        let replaces = self.verb == Verb::OverwriteWithMessages;
        let row = vec![message_row(number)];
        *effect = if replaces { Effect::Replace(row) } else { world.kind.put(row) };
        let committable = Committable { messages, ..Committable::default() };
        table.commit_messages(None, committable, replaces.then(everything).as_ref()).map(Done::from)
    }

    fn care(self, world: &World, fs: &FileIoRef, start: i64, effect: &mut Effect) -> Result<Done> {
        let mut table = open(fs, "main", &[])?;
        let name = self.name();
        match self.verb {
            Verb::Expire => table.expire_snapshots(&retain(2), false).map(drop)?,
            Verb::ExpireToOne => table.expire_snapshots(&retain(1), false).map(drop)?,
            Verb::RemoveOrphans => remove_orphan_files(table.context(), start, i64::MAX, false).map(drop)?,
            Verb::Rollback => {
                let snapshots = SnapshotManager::new(Arc::clone(fs), &table.branch_root());
                let id = snapshots.latest_id()?.unwrap_or(0) - i64::from(self.number % 3);
                *effect = Effect::Rollback(id);
                return table.rollback(&version(id), false).map(Done::from);
            }
            Verb::RollbackToTag | Verb::RollbackToExpired => {
                let expired = [BASE, OLD][usize::from(self.number % 2 == 0)];
                let tag = if self.verb == Verb::RollbackToTag { KEPT } else { expired };
                *effect = Effect::RollbackToTag(tag.to_owned());
                let tag = VersionArgs { tag: Some(tag.to_owned()), ..VersionArgs::default() };
                return table.rollback(&tag, false).map(Done::from);
            }
            Verb::TagLatest | Verb::TagOldest | Verb::TagReplace | Verb::TagDelete | Verb::TagRename => {
                self.tags(&table, fs, effect)?;
            }
            Verb::BranchLatest => {
                *effect = Effect::Branch(name.clone());
                table.create_branch(&name, None, Some("latest"))?;
            }
            Verb::BranchFromTag => {
                let name = format!("from-{name}");
                *effect = Effect::BranchFromTag(name.clone(), self.tag().to_owned());
                table.create_branch(&name, Some(self.tag().to_owned()), None)?;
            }
            Verb::BranchForward => {
                *effect = Effect::Forward("fix".to_owned());
                return table.fast_forward("fix", false).map(Done::from);
            }
            Verb::BranchDelete => {
                *effect = Effect::Unbranch("fix".to_owned());
                table.delete_branch("fix", false).map(drop)?;
            }
            Verb::BranchRename => {
                *effect = Effect::RenameBranch("fix".to_owned(), name.clone());
                table.rename_branch("fix", &name)?;
            }
            Verb::AddColumn => {
                *effect = Effect::AddColumn;
                table.alter(&format!(r#"[{{"kind": "add_column", "column": "{name}", "type": "INT"}}]"#))?;
            }
            Verb::Scan => *effect = Effect::See(rows(table.context(), VersionSelector::Latest)?),
            Verb::Changes => return consume(table, self.consumer()),
            Verb::ResetConsumer => {
                let snapshots = SnapshotManager::new(Arc::clone(fs), &table.branch_root());
                let next = snapshots.earliest_id()?.unwrap_or(1) + i64::from(self.number % 3);
                table.reset_consumer(&name, Some(next))?;
                return Ok(Done { consumer: Some((name, next)), ..Done::default() });
            }
            Verb::ExpireTags => {
                let tags = &world.state.tags;
                *effect = Effect::UntagAll(tags.iter().map(|(name, (id, _))| (name.clone(), *id)).collect());
                table.expire_tags(Some(start), false).map(drop)?;
            }
            Verb::Abort => {
                let messages = table.messages(&world.messages[usize::try_from(ABORTED).unwrap_or(0)])?;
                table.committer(None).abort(&messages)?;
            }
            Verb::SwitchVectors => set(&mut table, "deletion-vectors.enabled", ["true", "false"][self.odd()])?,
            Verb::ChangeProducer => set(&mut table, "changelog-producer", ["none", "lookup"][self.odd()])?,
            Verb::DeleteConsumer => drop(table.delete_consumer("reader")?),
            Verb::ExpireConsumers => drop(table.expire_consumers(start + 1_000_000, false)?),
            verb => unreachable!("{verb:?} commits"),
        }
        Ok(Done::default())
    }

    fn tags(self, table: &Table, fs: &FileIoRef, effect: &mut Effect) -> Result<()> {
        let name = self.name();
        match self.verb {
            Verb::TagLatest => {
                *effect = Effect::Tag(name.clone(), None);
                let made = table.create_tag(&name, &TagArgs::default())?;
                *effect = Effect::Tag(name, Some(made.snapshot.id));
            }
            Verb::TagOldest => {
                let snapshots = SnapshotManager::new(Arc::clone(fs), &table.branch_root());
                let id = snapshots.earliest_id()?.unwrap_or(1);
                *effect = Effect::Tag(name.clone(), Some(id));
                table.create_tag(&name, &tag_of(id))?;
            }
            Verb::TagReplace => {
                *effect = Effect::Retag(KEPT.to_owned(), None);
                let made = table.replace_tag(KEPT, &TagArgs::default())?;
                *effect = Effect::Retag(KEPT.to_owned(), Some(made.snapshot.id));
            }
            Verb::TagDelete => {
                *effect = Effect::Untag(self.tag().to_owned());
                table.delete_tag(self.tag(), false)?;
            }
            _ => {
                *effect = Effect::RenameTag(self.tag().to_owned(), name.clone());
                table.rename_tag(self.tag(), &name, false)?;
            }
        }
        Ok(())
    }
}

fn set(table: &mut Table, option: &str, value: &str) -> Result<()> {
    table.alter(&format!(r#"[{{"kind": "set_option", "key": "{option}", "value": "{value}"}}]"#))
}

fn everything() -> OverwriteTarget {
    OverwriteTarget::Static(PartitionSpec::new())
}

fn version(id: i64) -> VersionArgs {
    VersionArgs { version: Some(VersionSelector::Snapshot(id)), ..VersionArgs::default() }
}

pub(super) fn compact(fs: &FileIoRef, branch: &str) -> Result<Done> {
    steps::compact(&open(fs, branch, &[])?).map(done)
}

fn done(outcome: CommitOutcome) -> Done {
    Done { snapshots: outcome.snapshots, notes: outcome.notes, ..Done::default() }
}

fn modify(fs: &FileIoRef, key: i32, set: &[(&str, &str)]) -> Result<Done> {
    let table = open(fs, "main", &[])?;
    let set = set.iter().map(|(column, value)| ((*column).to_owned(), (*value).to_owned())).collect();
    let filter = Some(Condition::Sql(format!("k = {key}")));
    table.modify(&ModifyArgs { filter, set, threads: Some(1) }).map(Done::from)
}

/// Reads all that is new to a consumer.
pub(super) fn consume(table: Table, consumer: &str) -> Result<Done> {
    changes(table, consumer, &mut Rows::new())
}

/// Reads all that is new to a consumer, and does the same to rows that are as they were before.
pub(super) fn changes(table: Table, consumer: &str, so_far: &mut Rows) -> Result<Done> {
    let columns = Some(vec!["k".to_owned(), "v".to_owned()]);
    let options = ReadOptions { row_kind: true, threads: Some(1), ..ReadOptions::default() };
    let scan = ScanRequest { columns, options, ..ScanRequest::default() };
    let args = ChangesArgs { scan, consumer: Some(consumer.to_owned()), ..ChangesArgs::default() };
    let table = Arc::new(table);
    let is_keyed = !table.context().schema.primary_keys.is_empty();
    let mut stream = ChangeStream::new(Arc::clone(&table), args)?;
    while let Progress::Rows(_, _, rows) = stream.progress()? {
        for batch in rows {
            apply(&batch?, is_keyed, so_far);
        }
        stream.done()?;
    }
    so_far.sort_unstable();
    let next = table.consumers().next_snapshot(consumer)?;
    Ok(Done { consumer: next.map(|next| (consumer.to_owned(), next)), ..Done::default() })
}

fn apply(batch: &RecordBatch, is_keyed: bool, so_far: &mut Rows) {
    let kinds = batch.column_by_name(ROW_KIND_COLUMN).unwrap().as_string::<i32>();
    let keys = batch.column_by_name("k").unwrap().as_primitive::<types::Int32Type>();
    let values = batch.column_by_name("v").unwrap().as_primitive::<types::Int64Type>();
    for i in 0..batch.num_rows() {
        let row = (keys.value(i), values.value(i));
        match kinds.value(i) {
            "+I" | "+U" => {
                if is_keyed {
                    so_far.retain(|other| other.0 != row.0);
                }
                so_far.push(row);
            }
            _ => {
                if let Some(at) =
                    so_far.iter().position(|other| if is_keyed { other.0 == row.0 } else { *other == row })
                {
                    so_far.remove(at);
                }
            }
        }
    }
}
