//! Which writer a row belongs to, for engines that cluster rows before writing.

use arrow_array::{ArrayRef, RecordBatch};

use super::Table;
use crate::{
    Error, ErrorKind, Result,
    index::assign_buckets,
    io::TableContext,
    row::hash_rows,
    types::{DataField, DataType, arrow_type},
    write::{KeyColumns, SharedAssigner, SharedWrite},
};

pub(super) fn mode_of(ctx: &TableContext) -> &'static str {
    match ctx.options.bucket {
        -2 => "postponed",
        -1 if ctx.schema.key_holds_partition() => "dynamic",
        -1 if ctx.schema.has_primary_key() => "cross-partition",
        -1 => "unaware",
        _ => "fixed",
    }
}

/// The bucket mode, with what decides.
pub(super) fn explained_buckets(ctx: &TableContext) -> String {
    let (mode, o) = (mode_of(ctx), &ctx.options);
    match mode {
        "fixed" => format!("fixed: {} by {}", o.bucket, ctx.schema.bucket_keys().join(", ")),
        "dynamic" => {
            let most = o.dynamic_bucket_max_buckets.map_or_else(String::new, |most| format!(", at most {most}"));
            format!("dynamic: an index of keys, {} keys a bucket{most}", o.dynamic_bucket_target_row_num)
        }
        "cross-partition" => {
            format!(
                "cross-partition: all keys of the table are looked up, {} keys a bucket",
                o.dynamic_bucket_target_row_num
            )
        }
        "postponed" => "postponed: rows wait until a compaction gives them buckets".to_owned(),
        _ => "none: rows go to files in the order in which they come".to_owned(),
    }
}

/// One of several processes that give the rows of a table with dynamic buckets their buckets.
pub struct RowAssigner {
    table: Table,
    assigner: SharedAssigner,
}

impl RowAssigner {
    /// For each row its bucket, and a number that is equal for rows of one (partition, bucket).
    pub fn assign(&mut self, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<(Vec<i32>, Vec<i32>)> {
        let (mut buckets, mut routes) = (Vec::new(), Vec::new());
        for batch in batches {
            let (more, route) = self.assigner.assign(&self.table.key_columns(&batch?)?)?;
            buckets.extend(more);
            routes.extend(route);
        }
        Ok((buckets, routes))
    }
}

impl Table {
    /// How rows come into buckets: `fixed`, `dynamic`, `cross-partition`, `postponed`, or `unaware`.
    pub fn bucket_mode(&self) -> &'static str {
        mode_of(self.context())
    }

    /// The table in words: where it is, its newest version, its keys, and how rows come into buckets.
    pub fn explain(&self) -> Result<String> {
        let ctx = self.context();
        let version = self.snapshot(None)?.map_or_else(|| "no snapshot".to_owned(), |s| format!("snapshot {}", s.id));
        let none_or = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let lines = [
            format!("table       {}", ctx.name),
            format!("version     {version}, schema {}", ctx.schema.id),
            format!("primary key {}", none_or(&ctx.schema.primary_keys)),
            format!("partitions  {}", none_or(&ctx.schema.partition_keys)),
            format!("buckets     {}", explained_buckets(ctx)),
        ];
        Ok(lines.join("\n"))
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

    /// Partition columns and the primary key.
    pub fn key_column_names(&self) -> Vec<String> {
        let schema = &self.context().schema;
        let key = schema.trimmed_primary_keys().into_iter().map(str::to_owned);
        schema.partition_keys.iter().cloned().chain(key).collect()
    }

    /// How several processes write the same rows to a table with dynamic buckets.
    pub fn plan_shared_write(&self, channels: u32, replaces: bool) -> Result<SharedWrite> {
        self.check_writable()?;
        SharedWrite::plan(self.context(), channels, replaces)
    }

    /// For each row the number of its assigner.
    pub fn assigners(
        &self,
        shared: &SharedWrite,
        batches: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<Vec<i32>> {
        let mut all = Vec::new();
        for batch in batches {
            all.extend(self.key_columns(&batch?)?.channels(shared)?);
        }
        Ok(all)
    }

    /// An assigner of a job.
    pub fn row_assigner(&self, shared: SharedWrite) -> RowAssigner {
        RowAssigner { table: self.clone(), assigner: SharedAssigner::new(self.context(), shared) }
    }

    fn key_columns(&self, batch: &RecordBatch) -> Result<KeyColumns> {
        let schema = &self.context().schema;
        let key: Vec<String> = schema.trimmed_primary_keys().into_iter().map(str::to_owned).collect();
        Ok(KeyColumns {
            partition: self.typed_columns(batch, &schema.partition_keys)?,
            key: self.typed_columns(batch, &key)?,
        })
    }

    fn batch_routes(&self, batch: &RecordBatch) -> Result<Vec<i32>> {
        let ctx = self.context();
        if ctx.options.bucket < 1 {
            let mode = mode_of(ctx);
            let text = format!(
                "rows have no routes in a table whose buckets are {mode}: only a fixed number of buckets tells where a row goes"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, text).with("table", &ctx.name).hint(match mode {
                "dynamic" => "t.shared_writes gives keys their buckets in several processes",
                "cross-partition" => "let one writer take all rows: it looks where their keys are",
                _ => "any writer may take any row",
            }));
        }
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
