//! Work on objects of a table, under the locks of it that this process holds.

use std::{future::Future, time::Duration};

use super::{client::Store, runtime, sends};
use crate::error::Result;

/// Runs requests that remove or replace what a key names.
///
/// # Errors
/// `Storage`: the lock of its table was lost before, or meanwhile.
pub(super) fn answered<T: Send + 'static>(
    store: &Store,
    key: &str,
    within: Duration,
    work: impl Future<Output = opendal::Result<T>> + Send + 'static,
) -> Result<opendal::Result<T>> {
    let holds = store.leases.of(key)?;
    let answer = runtime::answered(within, sends::during(holds, work))?;
    if answer.is_err() {
        store.leases.check(key)?;
    }
    Ok(answer)
}
