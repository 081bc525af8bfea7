//! What a commit costs: its storage calls one by one, on a table that nobody has ever removed a version of, after an expiry,
//! and after a rollback. The data file and its directory are there already; the upkeep that follows a commit counts.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    commit::Committable,
    fs::{FaultFileIo, FileIoRef},
    io::TableContext,
    maintenance::{
        automatic::Committer,
        expire::{Retention, expire_snapshots},
        rollback::rollback,
    },
    scan::VersionSelector,
    schema::{NewTable, SchemaManager},
    table::Table,
    types::{DataField, DataType, TypeKind},
    wire::CommitMessage,
    write::{TableWrite, WriteOptions},
};

use crate::crash::batch;

const ROOT: &str = "/lake/db.db/t";

struct Bed {
    io: FaultFileIo,
    ctx: TableContext,
    committer: Committer,
}

impl Bed {
    /// Four commits of one committer to a table with its default options.
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(options: &[(&str, &str)]) -> Self {
        let io = FaultFileIo::new();
        let fs: FileIoRef = Arc::new(io.clone());
        let schema = NewTable {
            fields: vec![
                DataField::new(0, "k", DataType::new(TypeKind::Int)),
                DataField::new(1, "v", DataType::new(TypeKind::BigInt)),
            ],
            primary_key: Vec::new(),
            partition_by: Vec::new(),
            options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            comment: None,
        };
        SchemaManager::new(Arc::clone(&fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
        let table = Table::open_with(fs, ROOT, "main", None, BTreeMap::new()).unwrap();
        let ctx = table.context().clone();
        let committer = Committer::with_new_user(&ctx);
        let bed = Self { io, ctx, committer };
        for _ in 0..4 {
            bed.commit();
        }
        bed
    }

    fn written(&self) -> Vec<CommitMessage> {
        let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
        let mut writer = TableWrite::new(&self.ctx, options).unwrap();
        writer.write(&batch(&[(1, 1)]), None).unwrap();
        writer.prepare_commit().unwrap()
    }

    /// The calls of one commit: what was called, and on which file or directory.
    fn commit(&self) -> Vec<String> {
        let messages = self.written();
        let before = usize::try_from(self.io.calls()).unwrap();
        self.committer.commit(Committable { messages, ..Committable::default() }).unwrap();
        let trace = self.io.trace().split_off(before);
        trace.iter().map(|line| line.split_once(' ').unwrap().1.replace(ROOT, "")).collect()
    }
}

/// How often each method of the storage is called, in this order: read, exists, list, write_new, publish, overwrite, sync_dir, sync_files.
fn by_method(calls: &[String]) -> [usize; 8] {
    let methods = ["read", "exists", "list", "write_new", "publish", "overwrite", "sync_dir", "sync_files"];
    let counts = methods.map(|method| {
        let of_method = |call: &&String| call.split([' ', ':']).next() == Some(method);
        calls.iter().filter(of_method).count()
    });
    assert_eq!(counts.iter().sum::<usize>(), calls.len(), "{calls:#?}");
    counts
}

/// Of 33 calls 20 make and publish the snapshot: one manifest and two lists written, the newest schema
/// looked for (a listing), data files made durable together (1; their writer leaves it to the commit) and directories (4), publishing (3), reading back, and what is asked of the line before
/// (hint, next, newest snapshot, and the committer's last one) and to write the hint `LATEST` (3). Manifest lists are those that the
/// committer wrote last.
///
/// The records of removals are asked for twice, three calls each (hint or listing, next, newest): before the commit, and for
/// the committer's own commits. After publishing four calls (next record, hint,
/// the snapshot that the commit was built on, the one that would follow it) tell whether it came too late. The schema that the writer was opened with is read
/// twice: before the snapshot gets its name, and after; so the table is still the same one. The rest is the upkeep that follows a commit: tags
/// that are over (a listing). When the oldest version can go, the committer knows from its commit before.
///
/// Where there are no records, their directory is listed instead of the newest one being read. Neither makes a commit list the
/// snapshots, changelogs or consumers.
#[test]
fn a_commit_makes_as_many_storage_calls_after_expiries_and_rollbacks_as_on_a_fresh_table() {
    let fresh = Bed::new();
    let expired = Bed::new();
    let keep = Retention { max: 2, min: 2, older_than: None, limit: i64::MAX };
    expire_snapshots(&expired.ctx, &keep, false).unwrap();
    let rolled_back = Bed::new();
    rollback(&rolled_back.ctx, &VersionSelector::Snapshot(3), false).unwrap();
    let counted = [fresh, expired, rolled_back].map(|bed| {
        // the committer learns of what happened
        bed.commit();
        by_method(&bed.commit())
    });
    assert_eq!(counted, [[11, 6, 4, 3, 3, 1, 4, 1], [13, 6, 2, 3, 3, 1, 4, 1], [13, 6, 2, 3, 3, 1, 4, 1]]);
    assert!(counted.iter().all(|counts| counts.iter().sum::<usize>() == 33), "{counted:?}");
}

/// Where buckets are fixed, their number is compared with the newest files of the partitions: one manifest is read for that, its
/// lists are known.
#[test]
fn a_commit_to_fixed_buckets_reads_one_manifest_more() {
    let bed = Bed::with(&[("bucket", "1"), ("bucket-key", "k"), ("write-only", "true")]);
    bed.commit();
    let calls = bed.commit();
    let manifests: Vec<&String> = calls.iter().filter(|call| call.starts_with("read /manifest/manifest-")).collect();
    let one = manifests.iter().filter(|call| !call.contains("/manifest-list-")).count();
    assert_eq!((one, manifests.len()), (1, 1), "{calls:#?}");
}
