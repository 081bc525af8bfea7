//! Index files of a job that has its own assigners: nobody else has looked whether a key is in one bucket of the partition.
//!
//! A writer's own assigner knows all keys of a partition; the writers of a job believe what bucket each row comes with.

use crate::{
    error::{Error, ErrorKind, Result},
    index::{HASH, HashIndexFiles, KeyHashes},
    io::TableContext,
    manifest::{EntryKind, IndexManifestEntry},
};

/// Hashes of a job that are compared at once: 192 MiB.
const HELD: u64 = 16 << 20;

/// An error when the index files that a job brings for a partition have a hash in two buckets, or one that is in another bucket of
/// the index files that stay. `live`: those that are there.
///
/// # Errors
/// `InvalidArgument`.
pub(super) fn check_given(
    ctx: &TableContext,
    live: &[&IndexManifestEntry],
    changes: &[IndexManifestEntry],
    partition: &[u8],
) -> Result<()> {
    let brought =
        changes.iter().filter(|e| e.kind == EntryKind::Add && e.index_type == HASH && e.partition == partition);
    let brought: Vec<&IndexManifestEntry> = brought.collect();
    let is_new = |bucket: i32| brought.iter().any(|entry| entry.bucket == bucket);
    let stays: Vec<&&IndexManifestEntry> = live.iter().filter(|entry| !is_new(entry.bucket)).collect();
    let files = HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options);
    let mut hashes = 0_u64;
    for entry in &brought {
        hashes = hashes.saturating_add(u64::try_from(files.described(entry)?.1).unwrap_or(u64::MAX));
    }
    // of very many a part at a time
    let parts = u32::try_from(hashes.div_ceil(HELD).max(1)).unwrap_or(u32::MAX);
    for part in 0..parts {
        let of_part = |hash: i32| hash.cast_unsigned().checked_rem(parts) == Some(part);
        let mut known = KeyHashes::default();
        for entry in &brought {
            let (bucket, _) = files.described(entry)?;
            files.read(entry, |hash| match if of_part(hash) { known.insert(hash, bucket)? } else { None } {
                Some(other) if other != bucket => Err(given_two(ctx, entry, other)),
                _ => Ok(()),
            })?;
        }
        for entry in &stays {
            files.read(entry, |hash| match known.get(hash).filter(|_| of_part(hash)) {
                Some(other) => Err(given_two(ctx, entry, other)),
                None => Ok(()),
            })?;
        }
    }
    Ok(())
}

fn given_two(ctx: &TableContext, entry: &IndexManifestEntry, other: u16) -> Error {
    let text = "a job has given rows of one key to two buckets";
    Error::new(ErrorKind::InvalidArgument, text)
        .with("table", &ctx.name)
        .with("partition", ctx.paths.partition_shown(&entry.partition).unwrap_or_default())
        .with("bucket", entry.bucket)
        .with("other", other)
        .hint("give rows the buckets that shared_writes.assigner(plan) gives them; nothing was committed")
}
