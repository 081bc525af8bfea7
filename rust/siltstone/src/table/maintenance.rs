//! Tags, branches, rollback, expiry and cleaning, for people: arguments as they are given, reports as they are shown.

use std::time::Duration;

use super::{CommitReport, Table};
use crate::{
    Error, ErrorKind, Result,
    cleanup::Report,
    commit::is_of_another,
    env::now_millis,
    io::TableContext,
    maintenance::{
        analyze::analyze,
        branch::{self, BranchSource},
        expire::{self, PartitionExpiry, Retention},
        fsck::{Verdict, fsck},
        orphan_files::remove_orphan_files_by_age,
        rollback::rollback,
        tag::{self, CreateTag},
    },
    options::{PartitionExpireStrategy, argument::duration_argument},
    scan::VersionSelector,
    snapshot::{Tag, TagManager},
};

/// Which version a tag or rollback is about: at most one of these.
#[derive(Clone, Debug, Default)]
pub struct VersionArgs {
    /// A snapshot id, or a text that is a tag's name before anything else.
    pub version: Option<VersionSelector>,
    /// A tag.
    pub tag: Option<String>,
    /// Epoch milliseconds: the newest version at or before.
    pub as_of: Option<i64>,
}

impl VersionArgs {
    /// `None`: nothing was given.
    fn selector(&self) -> Result<Option<VersionSelector>> {
        let all = [
            self.version.clone(),
            self.tag.clone().map(VersionSelector::Tag),
            self.as_of.map(VersionSelector::Timestamp),
        ];
        let mut given: Vec<VersionSelector> = all.into_iter().flatten().collect();
        if given.len() > 1 {
            return Err(Error::new(ErrorKind::InvalidArgument, "give only one of version, tag and as_of"));
        }
        Ok(given.pop())
    }
}

/// How a tag is made.
#[derive(Clone, Debug, Default)]
pub struct TagArgs {
    /// What to tag; nothing = the latest snapshot.
    pub source: VersionArgs,
    /// A duration such as `30 d`.
    pub retain: Option<String>,
    /// An existing tag is fine.
    pub if_not_exists: bool,
    /// A name of digits is fine.
    pub allow_numeric: bool,
}

impl TagArgs {
    fn request(&self) -> Result<CreateTag> {
        let retain = self.retain.as_deref().map(retention).transpose()?;
        Ok(CreateTag {
            version: self.source.selector()?.unwrap_or(VersionSelector::Latest),
            retain,
            if_not_exists: self.if_not_exists,
            allow_numeric: self.allow_numeric,
        })
    }
}

/// Files are left alone by the removal of orphan files for so long, unless its caller says otherwise.
const ORPHAN_AGE_MILLIS: i64 = 86_400_000;

/// The longest retention of a tag.
const LONGEST: Duration = Duration::from_secs(1000 * 366 * 86_400);

fn retention(text: &str) -> Result<Duration> {
    let duration = duration_argument("retain", text)?;
    if duration.is_zero() {
        return Err(Error::new(ErrorKind::InvalidArgument, "a tag cannot be retained for no time"));
    }
    if duration > LONGEST {
        let message = format!("a tag cannot be retained for '{text}', more than a thousand years");
        return Err(Error::new(ErrorKind::InvalidArgument, message).hint("leave the retention out to keep it for ever"));
    }
    Ok(duration)
}

/// How much an expiry of snapshots keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpireArgs {
    /// At most this many snapshots stay.
    pub retain_max: Option<i64>,
    /// At least this many stay.
    pub retain_min: Option<i64>,
    /// Only snapshots older than this (epoch milliseconds).
    pub older_than: Option<i64>,
    /// At most this many go.
    pub max_deletes: Option<i64>,
}

/// Which partitions an expiry drops; what is not given comes from the table's options.
#[derive(Clone, Debug, Default)]
pub struct PartitionExpireArgs {
    /// `7 d`
    pub expiration_time: Option<String>,
    /// `yyyyMMdd`
    pub timestamp_formatter: Option<String>,
    /// `$year-$month-$day`
    pub timestamp_pattern: Option<String>,
    /// `values-time` or `update-time`
    pub strategy: Option<String>,
    /// At most this many.
    pub max_expires: Option<usize>,
}

impl Table {
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|e| if e.context_value("table").is_some() { e } else { e.with("table", &self.context().name) })
    }

    /// What deletes is refused where the data may be another table's.
    fn cleaned<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.named(self.context().paths.check_data_root().and_then(|()| work()))
    }

    /// What deletes, or lets something be deleted later, goes by the options of now: this handle may be older than an alter.
    fn current(&self) -> Result<TableContext> {
        self.named(self.context().with_newest_options())
    }

    fn tag_manager(&self) -> TagManager {
        self.context().tags()
    }

    /// Makes a tag.
    pub fn create_tag(&self, name: &str, args: &TagArgs) -> Result<Tag> {
        self.named(args.request().and_then(|request| tag::create_tag(&self.current()?, name, &request)))
    }

    /// Lets a tag name another snapshot.
    pub fn replace_tag(&self, name: &str, args: &TagArgs) -> Result<Tag> {
        self.named(args.request().and_then(|request| tag::replace_tag(&self.current()?, name, &request)))
    }

    /// Gives a tag another name.
    pub fn rename_tag(&self, from: &str, to: &str, allow_numeric: bool) -> Result<()> {
        self.named(tag::rename_tag(self.context(), from, to, allow_numeric))
    }

    /// Deletes a tag and what only it kept.
    pub fn delete_tag(&self, name: &str, dry_run: bool) -> Result<Report> {
        self.cleaned(|| tag::delete_tag(self.context(), name, dry_run))
    }

    /// One tag: its snapshot, when it was made, how long it is kept.
    pub fn tag(&self, name: &str) -> Result<Tag> {
        self.named(self.tag_manager().tag(name))
    }

    /// All tags with their names, by snapshot id. Of one whose file is damaged there is a warning.
    pub fn tags(&self) -> Result<Vec<(String, Tag)>> {
        let read = self.named(self.tag_manager().readable()).map(|(tags, damaged)| {
            for (name, error) in damaged {
                tracing::warn!(%error, table = self.context().name, "tag '{name}' is left out of the list, its file is damaged");
            }
            tags
        });
        self.found(read, Vec::is_empty)
    }

    /// Whether there is a tag of this name.
    pub fn tag_exists(&self, name: &str) -> Result<bool> {
        self.tag_manager().exists(name)
    }

    /// The tag before or after this one, by commit time.
    pub fn tag_neighbour(&self, name: &str, next: bool) -> Result<Option<String>> {
        self.named(tag::neighbour(self.context(), name, next))
    }

    /// Deletes tags whose time is over, and with `older_than` those made before.
    pub fn expire_tags(&self, older_than: Option<i64>, dry_run: bool) -> Result<Report> {
        self.cleaned(|| tag::expire_tags(self.context(), older_than, now_millis(), dry_run))
    }

    /// Makes the automatic tags that are due.
    pub fn create_automatic_tags(&self) -> Result<Report> {
        self.named(tag::create_automatic(&self.current()?))
    }

    /// Makes a version the latest one.
    pub fn rollback(&self, target: &VersionArgs, dry_run: bool) -> Result<Report> {
        let selector = target.selector()?.ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "nothing to roll back to: give a version, a tag or a time")
        })?;
        self.cleaned(|| match self.served(dry_run)? {
            Some(served) => self.rollback_served(&served, &selector),
            None => rollback(self.context(), &selector, dry_run),
        })
    }

    /// Names of all branches beside main, with the time their directory was changed.
    pub fn branches(&self) -> Result<Vec<(String, i64)>> {
        let branches = self.context().branches();
        self.found(branches.list(), Vec::is_empty)
    }

    /// Makes a branch from a tag, from a snapshot (`latest` for the latest), or empty.
    pub fn create_branch(&self, name: &str, tag: Option<String>, version: Option<&str>) -> Result<()> {
        let source = match (tag, version) {
            (Some(_), Some(_)) => {
                return Err(Error::new(ErrorKind::InvalidArgument, "give only one of tag and version"));
            }
            (Some(tag), None) => BranchSource::Tag(tag),
            (None, Some("latest")) => BranchSource::Snapshot(None),
            (None, Some(text)) => BranchSource::Snapshot(Some(text.parse().map_err(|_| {
                Error::new(ErrorKind::InvalidArgument, format!("'{text}' is not a snapshot id"))
                    .hint("give a snapshot id, 'latest', or a tag")
            })?)),
            (None, None) => BranchSource::Empty,
        };
        self.named(match self.served(false)? {
            Some(served) => self.create_served_branch(&served, name, &source),
            None => branch::create_branch(self.context(), name, &source),
        })
    }

    /// Deletes a branch.
    pub fn delete_branch(&self, name: &str, dry_run: bool) -> Result<Report> {
        self.named(match self.served(dry_run)? {
            Some(served) => self.delete_served_branch(&served, name),
            None => branch::delete_branch(self.context(), name, dry_run),
        })
    }

    /// Gives a branch another name.
    pub fn rename_branch(&self, from: &str, to: &str) -> Result<()> {
        self.named(match self.served(false)? {
            Some(served) => self.rename_served_branch(&served, from, to),
            None => branch::rename_branch(self.context(), from, to),
        })
    }

    /// Makes main what a branch is.
    pub fn fast_forward(&self, name: &str, dry_run: bool) -> Result<Report> {
        self.cleaned(|| match self.served(dry_run)? {
            Some(served) => self.forward_served(&served, name),
            None => branch::fast_forward(self.context(), name, dry_run),
        })
    }

    /// Expires snapshots. Without arguments by the table's options; numbers alone ignore the age.
    pub fn expire_snapshots(&self, args: &ExpireArgs, dry_run: bool) -> Result<Report> {
        let ctx = &self.current()?;
        let by_options = Retention::of_options(&ctx.options, now_millis());
        let numbers = args.retain_max.is_some() || args.retain_min.is_some();
        let older_than = match args.older_than {
            Some(time) => Some(time),
            None if numbers => None,
            None => by_options.older_than,
        };
        // without an age everything above the minimum goes: "at most 5" alone means that 5 stay
        let min = args.retain_min.or(args.retain_max).unwrap_or(by_options.min);
        let keep = Retention {
            max: args.retain_max.unwrap_or(by_options.max.max(min)),
            min,
            older_than,
            limit: args.max_deletes.unwrap_or(i64::MAX),
        };
        self.expire_beyond(ctx, &keep, dry_run)
    }

    /// Expires snapshots as the table's options say, the number that goes at once too, as Java's procedure does.
    pub fn expire_snapshots_by_options(&self, older_than: Option<i64>, dry_run: bool) -> Result<Report> {
        let ctx = &self.current()?;
        let by_options = Retention::of_options(&ctx.options, now_millis());
        let keep = Retention { older_than: older_than.or(by_options.older_than), ..by_options };
        self.named(keep.check()).map_err(|e| {
            e.hint("what is not given comes from the options snapshot.num-retained.max and snapshot.num-retained.min")
        })?;
        self.expire_beyond(ctx, &keep, dry_run)
    }

    fn expire_beyond(&self, ctx: &TableContext, keep: &Retention, dry_run: bool) -> Result<Report> {
        let mut report = self.cleaned(|| expire::expire_snapshots(ctx, keep, dry_run))?;
        if Retention::changelogs_outlive(&ctx.options) {
            let keep = Retention::of_changelogs(&ctx.options, now_millis());
            report.extend(self.named(expire::expire_changelogs(ctx, &keep, dry_run))?);
        }
        Ok(report)
    }

    /// Drops old partitions.
    pub fn expire_partitions(&self, args: &PartitionExpireArgs, dry_run: bool) -> Result<Report> {
        self.check_writable()?;
        let ctx = &self.current()?;
        if ctx.schema.partition_keys.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "the table is not partitioned").with("table", &ctx.name));
        }
        let options = &ctx.options;
        let kept = match &args.expiration_time {
            Some(text) => duration_argument("expiration_time", text)?,
            None => options.partition_expiration_time.ok_or_else(|| {
                Error::new(ErrorKind::InvalidArgument, "expire_partitions needs expiration_time")
                    .with("table", &ctx.name)
                    .hint("give expiration_time='90 d', or set the table option partition.expiration-time")
            })?,
        };
        let strategy = args.strategy.as_deref().map(PartitionExpireStrategy::parse).transpose()?;
        let expiry = PartitionExpiry {
            kept,
            strategy: strategy.unwrap_or(options.partition_expiration_strategy),
            pattern: args.timestamp_pattern.clone().or_else(|| options.partition_timestamp_pattern.clone()),
            formatter: args.timestamp_formatter.clone().or_else(|| options.partition_timestamp_formatter.clone()),
            limit: args.max_expires.unwrap_or(options.partition_expiration_max_num),
            batch: options.partition_expiration_batch_size,
        };
        self.named(expire::expire_partitions(ctx, &expiry, now_millis(), dry_run))
    }

    /// Deletes files older than this time (epoch milliseconds; `None`: a day ago) that nothing refers to.
    pub fn remove_orphan_files(&self, older_than: Option<i64>, dry_run: bool) -> Result<Report> {
        let now = now_millis();
        let before = older_than.unwrap_or(now - ORPHAN_AGE_MILLIS);
        let cleaned = self.cleaned(|| remove_orphan_files_by_age(self.context(), before, now, dry_run));
        self.found(cleaned, |_| false)
    }

    /// Checks the table; with `deep` every row of every live file is read, too.
    pub fn fsck(&self, deep: bool) -> Result<Verdict> {
        let verdict = self.named(fsck(self.context(), deep, now_millis()));
        if verdict.as_ref().is_ok_and(|verdict| verdict.findings.is_empty()) {
            return verdict;
        }
        // a table without schemas is damaged, as long as it has a directory, and one whose schemas cannot be read
        let is_there = self.context().fs.exists(&self.branch_root())?;
        if is_there && !is_of_another(self.context()).unwrap_or(false) {
            return verdict;
        }
        self.found(verdict, |_| true)
    }

    /// Writes statistics of all columns.
    pub fn analyze(&self) -> Result<CommitReport> {
        self.check_writable()?;
        self.check_latest("analyzed")?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let snapshot = self.found(self.named(analyze(self.context(), threads)), Option::is_none)?;
        Ok(CommitReport { snapshots: snapshot.into_iter().collect(), ..CommitReport::default() })
    }

    /// Deletes consumers that have not read since this time.
    pub fn expire_consumers(&self, older_than: i64, dry_run: bool) -> Result<Report> {
        self.named(expire::expire_consumers(self.context(), older_than, now_millis(), dry_run))
    }
}
