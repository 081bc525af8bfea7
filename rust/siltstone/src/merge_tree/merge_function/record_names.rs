//! How messages name records: table, and the columns of the primary key.

use arrow_array::RecordBatch;

use crate::{
    Error, Result,
    io::{KvLayout, TableContext},
    row::{datum_from_array, datum_to_text},
};

/// Names the records of one bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordNames {
    table: String,
    key: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// a column of the partition, `dt=2024-05-01`: all records have it
    Partition(String),
    /// position in the layout
    Column(usize),
}

impl RecordNames {
    /// For the records of one partition; `None`: of any, whose columns stay unnamed.
    pub(super) fn of(ctx: &TableContext, layout: &KvLayout, partition: Option<&[u8]>) -> Result<Self> {
        let spec = partition.map(|bytes| ctx.paths.partition_spec(bytes)).transpose()?.unwrap_or_default();
        let part = |name: &String| match spec.iter().find(|(column, _)| column == name) {
            Some((column, value)) => Some(Part::Partition(format!("{column}={value}"))),
            None => layout
                .key
                .iter()
                .find(|at| layout.fields.get(**at).is_some_and(|f| f.name == *name))
                .map(|at| Part::Column(*at)),
        };
        Ok(Self { table: ctx.name.clone(), key: ctx.schema.primary_keys.iter().filter_map(part).collect() })
    }

    /// By the columns of the layout alone.
    #[cfg(test)]
    pub(super) fn of_layout(table: &str, layout: &KvLayout) -> Self {
        Self { table: table.to_owned(), key: layout.key.iter().map(|at| Part::Column(*at)).collect() }
    }

    /// The table's name.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    /// `dt=2024-05-01, k=1`
    pub(super) fn key(&self, layout: &KvLayout, batch: &RecordBatch, row: usize) -> String {
        let text = |part: &Part| match part {
            Part::Partition(text) => Some(text.clone()),
            Part::Column(at) => {
                let (field, column) = (layout.fields.get(*at)?, batch.columns().get(*at)?);
                let value = datum_from_array(column.as_ref(), row, &field.data_type).ok()?;
                Some(format!("{}={}", field.name, datum_to_text(&value, &field.data_type)))
            }
        };
        self.key.iter().filter_map(text).collect::<Vec<_>>().join(", ")
    }

    /// Adds table and key of a record to an error.
    pub(super) fn named(&self, error: Error, layout: &KvLayout, batch: Option<&RecordBatch>, row: usize) -> Error {
        let key = batch.map(|batch| self.key(layout, batch, row)).unwrap_or_default();
        error.with("table", &self.table).with("key", key)
    }
}
