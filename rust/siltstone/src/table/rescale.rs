//! Another number of buckets, as one commit that is repeated when others write to the same partitions meanwhile.

use super::{CommitReport, Table, write::give_up_on_conflict};
use crate::{
    Error, ErrorKind, Result,
    commit::{Committable, OverwriteTarget, check_place},
    io::check_merges_alike,
    maintenance::automatic::Committer,
    options::{ChangelogProducer, CoreOptions, POSTPONE_BUCKET},
    predicate::{Condition, Predicate},
    rebucket::{RescalePlan, plan_rescale, rescale, rescaled_table},
    scan::{PartitionSpec, overtaken::again_when_overtaken, partition_spec},
    schema::SchemaChange,
};

/// How often it is done when others write to the same partitions meanwhile.
const TRIES: usize = 5;

/// What to rescale.
#[derive(Clone, Debug, Default)]
pub struct RescaleArgs {
    /// Buckets of each partition; `None`: as many as the option `bucket` says.
    pub buckets: Option<i32>,
    /// Condition over partition columns.
    pub filter: Option<Condition>,
    /// Partition specs, partial ones included.
    pub partitions: Option<Vec<PartitionSpec>>,
    /// Only say what would be done.
    pub dry_run: bool,
}

impl Table {
    /// Gives partitions another number of buckets. Of the whole table of fixed buckets, the option `bucket` gets it first, so that new
    /// rows go into as many; the table is opened again then.
    ///
    /// # Errors
    /// `CommitConflict` when others write to the partitions again and again; rows are as before.
    pub fn rescale(&mut self, args: &RescaleArgs) -> Result<CommitReport> {
        self.check_writable()?;
        self.check_latest("rescaled")?;
        let condition = self.partitions_to_rescale(args)?;
        // a handle may have a number of its own
        let own = self.context().options.bucket;
        let option = CoreOptions::parse(&self.context().schema.options)?.bucket;
        let buckets = match args.buckets {
            Some(buckets) => buckets,
            None if option == POSTPONE_BUCKET => {
                return Err(Error::new(ErrorKind::InvalidArgument, "a number of buckets is needed")
                    .with("table", &self.context().name)
                    .hint("tables with postponed buckets have a number for each partition, and none that is meant otherwise"));
            }
            None => own,
        };
        if own != option && own != buckets && condition.is_none() {
            let text = format!(
                "this handle has the option 'bucket' = {own} for itself, and could not write into {buckets} buckets"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, text)
                .with("table", &self.context().name)
                .with("option", "bucket")
                .hint(format!("open the table without that option, or with 'bucket' = '{buckets}'")));
        }
        let mut plan = self.plan_rescale(buckets, condition.as_ref())?;
        let new_option = option > 0 && option != buckets && condition.is_none();
        let mut notes = self.notes(&plan, option, new_option, args.dry_run)?;
        if plan.partitions.is_empty() && plan.as_wanted == 0 {
            notes.push(match condition {
                Some(_) => "no partition with files is among those that were named: nothing is rescaled".to_owned(),
                None => "no rows have buckets yet: nothing is rescaled".to_owned(),
            });
        }
        if plan.waiting > 0 {
            notes.push(format!("{} rows wait in bucket-postpone and stay there: run t.compact()", plan.waiting));
        }
        // before the option changes: afterwards nobody could write
        if !plan.partitions.is_empty() {
            check_merges_alike(self.context(), [self.context().schema.id])?;
        }
        self.check_all_told(&plan)?;
        if args.dry_run {
            return Ok(CommitReport { notes, ..counted(&plan) });
        }
        if new_option {
            self.change_option(buckets)?;
            plan = self.plan_rescale(buckets, condition.as_ref()).map_err(|e| explained(e, true, buckets))?;
        }
        let whole = option > 0 && condition.is_none();
        let mut tries = 1;
        let mut report = CommitReport::default();
        while tries == 1 || !plan.partitions.is_empty() {
            if plan.untold > 0 {
                notes.push(format!("{} records that were committed meanwhile are in no changelog", plan.untold));
            }
            let done = self.check_option(whole, buckets).and_then(|()| self.rescale_once(&plan));
            match done {
                Err(error) if error.kind() == ErrorKind::CommitConflict && tries < TRIES => {
                    tracing::info!(table = self.context().name, %error, "the partitions are rescaled again");
                }
                Ok(done) => {
                    report.follow(done);
                    // a writer that was opened before the option changed may have made a partition meanwhile
                    if !whole || tries >= TRIES {
                        break;
                    }
                }
                Err(error) => return Err(explained(error, new_option, buckets)),
            }
            tries += 1;
            plan = self.plan_rescale(buckets, condition.as_ref()).map_err(|e| explained(e, new_option, buckets))?;
        }
        self.check_option(whole, buckets).map_err(|e| match e.kind() {
            ErrorKind::CommitConflict => e,
            _ => explained(e, new_option, buckets),
        })?;
        notes.append(&mut report.notes);
        Ok(CommitReport { notes, ..report })
    }

    /// An overwrite tells no changelog of what it replaces: records of which a compaction was to tell would never be told of.
    fn check_all_told(&self, plan: &RescalePlan) -> Result<()> {
        if plan.untold == 0 {
            return Ok(());
        }
        let ctx = self.context();
        let text = format!("{} records wait for a compaction that tells the changelog of them", plan.untold);
        let full = if ctx.options.changelog_producer == ChangelogProducer::FullCompaction { "full=True" } else { "" };
        Err(Error::new(ErrorKind::InvalidArgument, text)
            .with("table", &ctx.name)
            .hint(format!("run t.compact({full}) first, with no writer at work")))
    }

    /// Another rescale of the whole table may have begun meanwhile: rows and option would not agree, and no row could be written.
    fn check_option(&self, whole: bool, buckets: i32) -> Result<()> {
        let newest = if whole { self.context().schemas.latest()? } else { None };
        let says = newest.and_then(|newest| newest.options.get("bucket").cloned());
        match says {
            Some(other) if other.trim() != buckets.to_string() => Err(Error::new(
                ErrorKind::CommitConflict,
                format!("another program has set the option 'bucket' to {other} while the table was rescaled to {buckets} buckets"),
            )
            .with("table", &self.context().name)
            .hint(format!("run t.rescale({other}), unless the other program does it"))),
            _ => Ok(()),
        }
    }

    fn plan_rescale(&self, buckets: i32, condition: Option<&Predicate>) -> Result<RescalePlan> {
        let ctx = self.context();
        let plan = again_when_overtaken(ctx, || plan_rescale(ctx, buckets, condition))?;
        check_place(ctx)?;
        Ok(plan)
    }

    fn rescale_once(&self, plan: &RescalePlan) -> Result<CommitReport> {
        let ctx = self.context();
        if plan.partitions.is_empty() {
            return Ok(CommitReport::default());
        }
        check_merges_alike(ctx, [ctx.schema.id])?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let messages = again_when_gone(ctx, rescale(ctx, plan, threads, None))?;
        let target = rescaled_table(ctx, plan)?;
        let commit = Committer::with_new_user(&target);
        let committable = Committable { messages: messages.clone(), read: Some(plan.read()), ..Committable::default() };
        let outcome = commit.overwrite(&OverwriteTarget::Partitions(plan.replaced()), committable);
        let outcome = give_up_on_conflict(&commit, &messages, outcome)?;
        Ok(CommitReport::new(&target, &messages, outcome))
    }

    /// `None`: the whole table.
    fn partitions_to_rescale(&self, args: &RescaleArgs) -> Result<Option<Predicate>> {
        let ctx = self.context();
        let mut parts = Vec::new();
        parts.extend(Condition::of(args.filter.as_ref(), &ctx.schema.fields)?);
        if let Some(specs) = &args.partitions {
            let specs: Result<Vec<Predicate>> = specs.iter().map(|spec| partition_spec::predicate(ctx, spec)).collect();
            parts.push(Predicate::Or(specs?));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let condition = Predicate::And(parts);
        let keys = &ctx.schema.partition_keys;
        match condition.columns().iter().find(|column| !keys.iter().any(|key| key == *column)) {
            None => Ok(Some(condition)),
            Some(other) => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("partitions are rescaled as a whole, and '{other}' is not a partition column"),
            )
            .with("table", &ctx.name)
            .with("column", other)
            .hint(if keys.is_empty() {
                "the table is not partitioned: rescale it as a whole".to_owned()
            } else {
                format!("use only {}", keys.join(", "))
            })),
        }
    }

    fn change_option(&mut self, buckets: i32) -> Result<()> {
        let change = SchemaChange::SetOption { key: "bucket".to_owned(), value: buckets.to_string() };
        let changed = self.context().schemas.commit_changes_if(&[change], &|_, _| Ok(()));
        changed.map_err(|e| e.with("table", &self.context().name))?;
        self.reload().map_err(|e| explained(e, true, buckets))
    }

    fn notes(&self, plan: &RescalePlan, option: i32, new_option: bool, dry_run: bool) -> Result<Vec<String>> {
        let would = if dry_run { "would get" } else { "got" };
        let mut notes = Vec::with_capacity(plan.partitions.len() + 1);
        if new_option {
            notes.push(format!("the option 'bucket' {would} the value {} instead of {option}", plan.buckets));
        }
        for found in &plan.partitions {
            let place = match self.context().paths.partition_shown(&found.partition)? {
                path if path.is_empty() => "the table".to_owned(),
                path => path.trim_end_matches('/').to_owned(),
            };
            notes.push(format!("{place} {would} {} buckets instead of {}", plan.buckets, found.buckets));
        }
        if plan.as_wanted > 0 {
            notes.push(format!("{} partitions have {} buckets already", plan.as_wanted, plan.buckets));
        }
        if option > 0 && option != plan.buckets && !new_option && !plan.partitions.is_empty() {
            notes.push(format!(
                "new rows of these partitions are refused as long as the option 'bucket' is {option}: rescale the whole table, or \
                 these partitions back"
            ));
        }
        Ok(notes)
    }
}

impl CommitReport {
    /// One more commit of the same operation.
    fn follow(&mut self, next: Self) {
        self.snapshots.extend(next.snapshots);
        self.rows = self.rows.saturating_add(next.rows);
        self.files = self.files.saturating_add(next.files);
        self.bytes = self.bytes.saturating_add(next.bytes);
        self.invisible_rows = self.invisible_rows.saturating_add(next.invisible_rows);
        self.notes.extend(next.notes);
    }
}

/// Says how things stand where the option has been changed already.
fn explained(error: Error, new_option: bool, buckets: i32) -> Error {
    if !new_option {
        return error;
    }
    let hint =
        format!("run t.rescale({buckets}) again: where the rows are as they were, no others can be written until then");
    if error.kind() == ErrorKind::CommitConflict {
        return error.hint(format!("the option 'bucket' has its new value, the rows are where they were: {hint}"));
    }
    let then = if error.kind() == ErrorKind::Cancelled { "the rescale was stopped" } else { "a call failed" };
    let text = format!("the option 'bucket' has its new value {buckets}, the rows may be where they were; then {then}");
    Error::new(error.kind(), text).caused_by(error).hint(hint)
}

/// The version that is read has gone: others have committed, and it has expired.
fn again_when_gone<T>(ctx: &crate::io::TableContext, rescaled: Result<T>) -> Result<T> {
    rescaled.map_err(|error| match error.kind() {
        ErrorKind::SnapshotExpired => {
            Error::new(ErrorKind::CommitConflict, "the version that was read has expired, or was rolled back")
                .with("table", &ctx.name)
                .hint("run t.rescale() again: it reads the rows as they are now")
                .caused_by(error)
        }
        _ => error,
    })
}

/// What would be written anew.
fn counted(plan: &RescalePlan) -> CommitReport {
    let (mut rows, mut bytes) = (0_i64, 0_i64);
    for partition in &plan.partitions {
        rows = rows.saturating_add(partition.rows);
        bytes = bytes.saturating_add(partition.bytes);
    }
    let files = plan.partitions.iter().map(|partition| partition.files).sum();
    CommitReport { rows, files, bytes, ..CommitReport::default() }
}
