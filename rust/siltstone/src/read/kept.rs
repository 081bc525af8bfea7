//! Rows of a caller who may keep all of them.

use crate::{io::BatchStream, limits};

/// Bytes of rows after which more is asked for.
const STEP: usize = 16 << 20;
/// Bytes of a batch beside its rows: of objects of Arrow and of Python.
const BATCH_BYTES: usize = 4 << 10;
/// Bytes that must be left then, for batches that threads decode ahead and for what other libraries make of them.
const LEFT: usize = 64 << 20;

/// The same rows; now and then it is asked whether there is memory left for the next ones, and for what keeps them. Each batch is too
/// small to ask for by itself, and a whole table of them is not.
///
/// # Errors
/// `MemoryLimitExceeded` in place of the batch that there is no memory behind.
pub fn kept(rows: BatchStream) -> BatchStream {
    let mut bytes = 0_usize;
    Box::new(rows.map(move |batch| {
        let batch = batch?;
        // slices count as what they are of: asking once more costs nothing
        bytes = bytes.saturating_add(batch.get_array_memory_size()).saturating_add(BATCH_BYTES);
        if bytes >= STEP {
            bytes = 0;
            limits::ask_system(LEFT, "what was read and what comes next")?;
        }
        Ok(batch)
    }))
}
