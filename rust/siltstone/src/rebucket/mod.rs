//! Rows that go to other buckets: those that wait for buckets, and those of partitions that get another number of them.
//!
//! ```text
//! waiting   task ─ files in their order ─ TableWrite (bucket = n) ─ messages: level 0 + its compactions, - the waiting files ─ COMPACT
//! rescale   partitions ─ merged rows ─ TableWrite (bucket = n, begins anew) ─ messages ─ OVERWRITE, if nobody has written there
//! ```
//!
//! Source: `SparkPostponeCompactProcedure`, `BucketFiles`, `RescaleProcedure`.

mod rescale;
mod waiting;

use std::{collections::BTreeMap, sync::Arc};

pub use rescale::{PartitionBuckets, RescalePlan, plan_rescale, rescale, rescaled_table};
pub use waiting::move_waiting;

use crate::{
    error::Result,
    io::TableContext,
    options::{CoreOptions, overlay},
};

/// The table as one with so many fixed buckets, whose writers compact as they are told to.
fn with_buckets(ctx: &TableContext, buckets: i32) -> Result<TableContext> {
    let over =
        BTreeMap::from([("bucket".to_owned(), buckets.to_string()), ("write-only".to_owned(), "false".to_owned())]);
    let options = Arc::new(CoreOptions::parse(&overlay(&ctx.options.raw, &over))?);
    Ok(TableContext { options, ..ctx.clone() })
}
