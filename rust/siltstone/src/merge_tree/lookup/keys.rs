//! Keys in a form that compares by bytes.

use arrow_array::RecordBatch;
use arrow_row::Rows;

use crate::{
    Result,
    io::{KvLayout, TableContext},
    merge_tree::merge::key::RowColumns,
    row::{BinaryRow, Datum, array_from_datums},
    types::{DataField, DataType, arrow_schema},
};

/// A least and a greatest value; `None` where it is not known.
pub(super) type ByteBounds = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Encodes keys of a table: whole ones, and each column by itself.
pub(super) struct KeyEncoder {
    pub(super) fields: Vec<DataField>,
    types: Vec<DataType>,
    whole: RowColumns,
    columns: Vec<RowColumns>,
}

impl KeyEncoder {
    pub(super) fn new(ctx: &TableContext) -> Result<Self> {
        let fields: Vec<DataField> = ctx.schema.key_fields().into_iter().cloned().collect();
        let all: Vec<usize> = (0..fields.len()).collect();
        let layout =
            KvLayout { fields: fields.clone(), key: all.clone(), sequence: Vec::new(), sequence_descending: false };
        let single = |field: &DataField| {
            let layout = KvLayout { fields: vec![field.clone()], key: vec![0], ..layout.clone() };
            RowColumns::new(&layout, &[0], false)
        };
        let columns = fields.iter().map(single).collect::<Result<_>>()?;
        Ok(Self {
            types: fields.iter().map(|f| f.data_type.clone()).collect(),
            whole: RowColumns::new(&layout, &all, false)?,
            columns,
            fields,
        })
    }

    /// Whole keys: batches have the key columns in key order.
    pub(super) fn whole(&self, keys: &RecordBatch) -> Result<Rows> {
        self.whole.encode(keys)
    }

    /// Each key column by itself; none when the key has only one.
    pub(super) fn columns(&self, keys: &RecordBatch) -> Result<Vec<Rows>> {
        if self.columns.len() < 2 {
            return Ok(Vec::new());
        }
        self.columns.iter().enumerate().map(|(at, column)| column.encode(&keys.project(&[at])?)).collect()
    }

    /// A key of a file's metadata.
    pub(super) fn serialized(&self, key: &[u8]) -> Result<Vec<u8>> {
        let values = BinaryRow::from_serialized(key)?.datums(&self.types)?;
        let columns = values.iter().zip(&self.types).map(|(v, t)| array_from_datums(std::slice::from_ref(v), t));
        let batch = RecordBatch::try_new(arrow_schema(&self.fields)?, columns.collect::<Result<_>>()?)?;
        Ok(self.whole.encode(&batch)?.row(0).as_ref().to_vec())
    }

    /// Bounds of each column, in the form of [`KeyEncoder::columns`] (of [`KeyEncoder::whole`] for a single column).
    pub(super) fn bounds(&self, bounds: &[Vec<(Datum, Datum)>]) -> Result<Vec<Vec<ByteBounds>>> {
        let of_columns = (0..self.columns.len()).map(|column| self.column_bounds(bounds, column));
        let of_columns = of_columns.collect::<Result<Vec<_>>>()?;
        let mut of_columns: Vec<_> = of_columns.into_iter().map(Vec::into_iter).collect();
        Ok(bounds.iter().map(|_| of_columns.iter_mut().filter_map(Iterator::next).collect()).collect())
    }

    fn column_bounds(&self, bounds: &[Vec<(Datum, Datum)>], column: usize) -> Result<Vec<ByteBounds>> {
        let (Some(encoder), Some(field)) = (self.columns.get(column), self.fields.get(column)) else {
            return Ok(Vec::new());
        };
        let nothing = (Datum::Null, Datum::Null);
        let values = bounds.iter().map(|b| b.get(column).unwrap_or(&nothing));
        let flat: Vec<Datum> = values.flat_map(|(min, max)| [min.clone(), max.clone()]).collect();
        let array = array_from_datums(&flat, &field.data_type.clone().with_nullable(true))?;
        let rows = encoder.encode(&RecordBatch::try_from_iter_with_nullable([(field.name.as_str(), array, true)])?)?;
        let bytes = |at: usize| {
            let known = !flat.get(at).is_none_or(Datum::is_null);
            known.then(|| rows.row(at).as_ref().to_vec())
        };
        Ok((0..bounds.len()).map(|at| (bytes(2 * at), bytes(2 * at + 1))).collect())
    }
}
