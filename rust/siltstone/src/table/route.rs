//! Which writer a row belongs to, for engines that cluster rows before writing.

use arrow_array::{ArrayRef, RecordBatch};

use super::Table;
use crate::{
    Error, ErrorKind, Result,
    index::assign_buckets,
    row::hash_rows,
    types::{DataField, DataType, arrow_type},
};

impl Table {
    /// How rows come into buckets: `fixed`, `dynamic`, `cross-partition`, `postponed`, or `unaware`.
    pub fn bucket_mode(&self) -> &'static str {
        let schema = &self.context().schema;
        match self.context().options.bucket {
            -2 => "postponed",
            -1 if schema.key_holds_partition() => "dynamic",
            -1 if schema.has_primary_key() => "cross-partition",
            -1 => "unaware",
            _ => "fixed",
        }
    }

    /// Partition columns and bucket keys; none on tables whose rows may go to any writer.
    pub fn routing_columns(&self) -> Vec<String> {
        let schema = &self.context().schema;
        if self.context().options.bucket < 1 {
            return Vec::new();
        }
        let mut names = schema.partition_keys.clone();
        names.extend(schema.bucket_keys());
        names
    }

    /// For each row a number that is equal for rows of one (partition, bucket); the bucket itself when there are no
    /// partitions.
    pub fn routes(&self, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<Vec<i32>> {
        let mut all = Vec::new();
        for batch in batches {
            all.extend(self.batch_routes(&batch?)?);
        }
        Ok(all)
    }

    fn batch_routes(&self, batch: &RecordBatch) -> Result<Vec<i32>> {
        let ctx = self.context();
        let (types, columns) = self.typed_columns(batch, &ctx.schema.bucket_keys())?;
        let buckets = assign_buckets(ctx.options.bucket_function.into(), &types, &columns, ctx.options.bucket)?;
        if ctx.schema.partition_keys.is_empty() {
            return Ok(buckets);
        }
        let (types, columns) = self.typed_columns(batch, &ctx.schema.partition_keys)?;
        let partitions = hash_rows(&types, &columns)?;
        Ok(partitions.iter().zip(&buckets).map(|(p, b)| p.wrapping_add(*b) & i32::MAX).collect())
    }

    /// Columns of a batch in the table's types.
    fn typed_columns(&self, batch: &RecordBatch, names: &[String]) -> Result<(Vec<DataType>, Vec<ArrayRef>)> {
        let mut types = Vec::with_capacity(names.len());
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let field: &DataField = self
                .context()
                .schema
                .field(name)
                .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, format!("no column '{name}'")))?;
            let column = batch.column_by_name(name).ok_or_else(|| {
                Error::new(ErrorKind::SchemaMismatch, format!("the rows lack the column '{name}'"))
                    .with("table", &self.context().name)
            })?;
            columns.push(arrow_cast::cast(column, &arrow_type(&field.data_type)?)?);
            types.push(field.data_type.clone());
        }
        Ok((types, columns))
    }
}
