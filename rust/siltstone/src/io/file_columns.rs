//! The columns of the data files that a table writes (format chapter 7.1) and how their statistics are kept (5.6).

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use super::{FileWriteSpec, TableContext};
use crate::{
    error::{Error, ErrorKind, Result},
    predicate::ColumnBounds,
    stats::{ColumnStats, SimpleStats, StatsMode, StatsModeRules, dense, encode_stats, stats_modes},
    types::{DataField, DataType, TypeKind, arrow_schema, special},
};

/// Characters of a text that a page index tells in any case, which cuts texts to 64 bytes.
const SHORT: usize = 16;

/// Columns of a file and where a written batch has them.
#[derive(Debug)]
pub(crate) struct FileColumns {
    /// In the order of the file.
    pub(crate) fields: Vec<DataField>,
    schema: SchemaRef,
    /// Position in the batch of each column of the file.
    sources: Vec<usize>,
    /// Columns that a batch has.
    batch_width: usize,
    /// Positions in the file of the key columns that `_KEY_STATS` describes.
    keys: Vec<usize>,
    /// Positions in the batch of the key's values.
    pub(crate) key_sources: Vec<usize>,
    pub(crate) key_types: Vec<DataType>,
    /// Position in the file of the first table column.
    first_value: usize,
    modes: Vec<StatsMode>,
    dense: bool,
}

impl FileColumns {
    pub(crate) fn new(ctx: &TableContext, spec: &FileWriteSpec, describe_system_columns: bool) -> Result<Self> {
        let table = &ctx.schema.fields;
        let thin = ctx.options.thin_mode;
        let key_names = if spec.key_value { ctx.schema.trimmed_primary_keys() } else { Vec::new() };
        let key_sources: Vec<usize> =
            key_names.iter().filter_map(|k| table.iter().position(|f| f.name == *k)).collect();
        let key_fields: Vec<&DataField> = key_sources.iter().filter_map(|i| table.get(*i)).collect();
        let (mut fields, mut sources) = (Vec::new(), Vec::new());
        if spec.key_value {
            if !thin {
                fields.extend(key_fields.iter().map(|f| special::key_field(f)));
                sources.extend(&key_sources);
            }
            fields.extend([special::sequence_number(), special::value_kind()]);
            sources.extend([table.len(), table.len() + 1]);
        }
        let first_value = fields.len();
        // values of BLOB columns come into files of their own
        let stored = table.iter().enumerate().filter(|(_, field)| field.data_type.kind != TypeKind::Blob);
        for (source, field) in stored {
            fields.push(field.clone());
            sources.push(source);
        }
        let keys =
            if thin { key_sources.iter().map(|i| first_value + i).collect() } else { (0..key_sources.len()).collect() };
        let thin_keys: &[&str] = if thin { &key_names } else { &[] };
        let rules = StatsModeRules { system_columns: describe_system_columns, ..rules(ctx, spec)? };
        let modes = modes(&rules, &fields, first_value, thin_keys);
        Ok(Self {
            schema: arrow_schema(&fields)?,
            sources,
            batch_width: table.len() + if spec.key_value { 2 } else { 0 },
            keys,
            key_types: key_fields.iter().map(|f| f.data_type.clone()).collect(),
            key_sources,
            first_value,
            modes,
            dense: ctx.options.stats_dense_store,
            fields,
        })
    }

    /// `_WRITE_COLS`: what the file has besides the table's columns, or instead of all of them; `None`: just them.
    pub(crate) fn written(&self, spec: &FileWriteSpec) -> Option<Vec<String>> {
        let values = self.fields.get(self.first_value..).unwrap_or_default();
        let is_tracked = self.first_value == 0 && values.iter().any(special::is_tracking);
        let is_part = self.first_value == 0 && values.len() < self.batch_width;
        (is_tracked || is_part || spec.some_columns).then(|| values.iter().map(|field| field.name.clone()).collect())
    }

    /// Whether statistics of any column are kept.
    pub(crate) fn describes_any(&self) -> bool {
        self.modes.iter().any(|mode| *mode != StatsMode::None)
    }

    /// Whether the bounds of a column (by its place in the file) are kept further than readers of page indexes are told them.
    pub(crate) fn keeps_long_bounds(&self, column: usize) -> bool {
        match self.modes.get(column) {
            Some(StatsMode::Truncate(characters)) => *characters > SHORT,
            Some(StatsMode::Full) => true,
            Some(StatsMode::None | StatsMode::Counts) | None => false,
        }
    }

    /// A written batch as the file's columns.
    pub(crate) fn arrange(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if batch.num_columns() != self.batch_width {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("a batch of {} columns where {} are written", batch.num_columns(), self.batch_width),
            ));
        }
        let columns: Vec<ArrayRef> =
            self.sources.iter().filter_map(|i| batch.columns().get(*i)).map(Arc::clone).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|e| Error::new(ErrorKind::SchemaMismatch, "rows do not fit the table's columns").caused_by(e))
    }

    /// `_KEY_STATS`, `_VALUE_STATS` and `_VALUE_STATS_COLS` from the bounds of the file's columns.
    pub(crate) fn stats(
        &self,
        bounds: Vec<Option<ColumnBounds>>,
    ) -> Result<(SimpleStats, SimpleStats, Option<Vec<String>>)> {
        let all: Vec<ColumnStats> = bounds
            .into_iter()
            .zip(&self.modes)
            .zip(&self.fields)
            .map(|((bounds, mode), field)| match bounds {
                // Java has no bounds of bytes
                Some(ColumnBounds { null_count, .. }) if is_bytes(field) => {
                    mode.apply_mode(ColumnStats { null_count, ..ColumnStats::unknown() })
                }
                Some(ColumnBounds { min, max, null_count }) => mode.apply_mode(ColumnStats { min, max, null_count }),
                None => ColumnStats::unknown(),
            })
            .collect();
        let key_stats: Vec<ColumnStats> = self.keys.iter().filter_map(|i| all.get(*i)).cloned().collect();
        let key_stats =
            if self.keys.is_empty() { SimpleStats::empty() } else { encode_stats(&self.key_types, &key_stats)? };
        let values = self.fields.get(self.first_value..).unwrap_or_default();
        let value_stats = all.get(self.first_value..).unwrap_or_default();
        let types: Vec<DataType> = values.iter().map(|f| f.data_type.clone()).collect();
        if self.dense {
            let names: Vec<&str> = values.iter().map(|f| f.name.as_str()).collect();
            let (stats, kept) = dense(&names, &types, value_stats)?;
            return Ok((key_stats, stats, kept));
        }
        Ok((key_stats, encode_stats(&types, value_stats)?, None))
    }
}

fn is_bytes(field: &DataField) -> bool {
    matches!(field.data_type.kind, TypeKind::Binary(_) | TypeKind::VarBinary(_))
}

/// How much is told of the columns of such files.
fn rules(ctx: &TableContext, spec: &FileWriteSpec) -> Result<StatsModeRules> {
    StatsModeRules::from_options(&ctx.options, spec.options_level(), spec.changelog)
}

fn modes(rules: &StatsModeRules, fields: &[DataField], first_value: usize, thin_keys: &[&str]) -> Vec<StatsMode> {
    let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    let tracking = fields.iter().filter(|f| special::is_tracking(f)).map(|f| f.name.as_str());
    let system: Vec<&str> = names.iter().take(first_value).chain(thin_keys).copied().chain(tracking).collect();
    stats_modes(rules, &names, &|name| system.contains(&name))
}
