//! Rows of a batch, where they go: some are not written, some twice, some with the partition of their key.

use std::collections::HashMap;

use arrow_array::{Int8Array, RecordBatch, UInt32Array};

use crate::{
    error::{Error, ErrorKind, Result},
    io::{TableContext, taken_rows},
    manifest::BucketId,
    row::{BinaryRow, constant_array},
    write::route::Portion,
};

/// Rows by place, in their order.
#[derive(Default)]
pub(super) struct Moved {
    groups: Vec<Group>,
    numbers: HashMap<u64, usize>,
}

struct Group {
    place: u64,
    rows: Vec<u32>,
    kinds: Vec<i8>,
    /// Some of them have the columns of another partition.
    foreign: bool,
}

impl Moved {
    /// A row goes to a place.
    pub(super) fn add(&mut self, place: u64, row: usize, kind: i8, foreign: bool) -> Result<()> {
        let groups = &mut self.groups;
        let number = *self.numbers.entry(place).or_insert_with(|| {
            groups.push(Group { place, rows: Vec::new(), kinds: Vec::new(), foreign: false });
            groups.len() - 1
        });
        let row = u32::try_from(row);
        let row = row.map_err(|e| Error::new(ErrorKind::InvalidArgument, "a batch has too many rows").caused_by(e))?;
        if let Some(group) = groups.get_mut(number) {
            group.rows.push(row);
            group.kinds.push(kind);
            group.foreign |= foreign;
        }
        Ok(())
    }

    /// The rows of each bucket.
    pub(super) fn portions(
        self,
        ctx: &TableContext,
        rows: &RecordBatch,
        bucket_of: impl Fn(u64) -> Result<BucketId>,
    ) -> Result<Vec<Portion>> {
        let portion = |group: Group| {
            let bucket = bucket_of(group.place)?;
            let mut taken = taken_rows(rows, &UInt32Array::from(group.rows))?;
            if group.foreign {
                taken = in_partition(ctx, &taken, &bucket.partition)?;
            }
            Ok(Portion { bucket, rows: taken, kinds: Int8Array::from(group.kinds) })
        };
        self.groups.into_iter().map(portion).collect()
    }
}

/// The rows with the columns of a partition.
fn in_partition(ctx: &TableContext, rows: &RecordBatch, partition: &[u8]) -> Result<RecordBatch> {
    let values = BinaryRow::from_serialized(partition)?.datums(ctx.paths.partition_types())?;
    let mut columns = rows.columns().to_vec();
    for (name, value) in ctx.schema.partition_keys.iter().zip(&values) {
        let at = ctx.schema.fields.iter().position(|field| field.name == *name);
        if let Some((column, field)) = at.and_then(|at| Some((columns.get_mut(at)?, ctx.schema.fields.get(at)?))) {
            *column = constant_array(value, &field.data_type, rows.num_rows())?;
        }
    }
    Ok(RecordBatch::try_new(rows.schema(), columns)?)
}
