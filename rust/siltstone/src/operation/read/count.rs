//! Counting rows, from metadata where that is exact.

use crate::{error::Result, operation::scan::ScanPlan};

/// Number of rows of the plan's result.
pub fn count(_plan: &ScanPlan, _threads: usize) -> Result<u64> {
    Err(crate::Error::new(crate::ErrorKind::Internal, "not yet"))
}
