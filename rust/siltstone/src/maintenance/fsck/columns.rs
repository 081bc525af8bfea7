//! Rows, columns: null counts and bounds, compared with what the manifest says of a file, and with what the file says of its
//! row groups and pages. Readers skip whatever these rule out.

use std::{collections::HashMap, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_schema::{Field, Schema};

use super::fault::Found;
use crate::{
    error::Result,
    format::Claim,
    manifest::DataFileMeta,
    predicate::{ColumnBounds, CompareOp, Predicate, evaluate},
    row::{Datum, bounds_as_read},
    stats::{ColumnStats, StatsReader},
    types::{DataField, arrow_type},
};

/// The columns of a file that somebody says something of.
pub(super) struct Columns(Vec<Column>);

struct Column {
    at: usize,
    name: String,
    schema: Arc<Schema>,
    said: Vec<Said>,
}

/// What is said of a column's values in some rows, and what was found there.
struct Said {
    /// By whom, and of what.
    place: String,
    rows: Range<i64>,
    null_count: Option<i64>,
    /// Below the least value, above the greatest one.
    outside: [Option<Predicate>; 2],
    nulls: i64,
    beyond: [u64; 2],
}

impl Said {
    fn new(field: &DataField, claim: Claim) -> Self {
        let Claim { place, rows, bounds } = claim;
        let beyond = |op, bound: Datum| {
            let known = !bound.is_null() && !field.data_type.is_nested();
            known.then(|| Predicate::Compare { column: field.name.clone(), op, value: bound })
        };
        let outside = [beyond(CompareOp::Lt, bounds.min), beyond(CompareOp::Gt, bounds.max)];
        Self { place, rows, null_count: bounds.null_count, outside, nulls: 0, beyond: [0, 0] }
    }

    /// Looks at the rows of a batch, the first of which is this row of the file.
    fn add(&mut self, values: &ArrayRef, schema: &Arc<Schema>, first: i64) -> Result<()> {
        let offset = |row: i64| usize::try_from(row.saturating_sub(first)).unwrap_or(0).min(values.len());
        let (start, end) = (offset(self.rows.start), offset(self.rows.end));
        if start >= end {
            return Ok(());
        }
        let values = values.slice(start, end - start);
        self.nulls = self.nulls.saturating_add(i64::try_from(values.null_count()).unwrap_or(i64::MAX));
        for (outside, beyond) in self.outside.iter().zip(&mut self.beyond) {
            let Some(outside) = outside else { continue };
            let rows = if let Some(rows) = float_rows_outside(&values, outside) {
                rows
            } else {
                let batch = RecordBatch::try_new(Arc::clone(schema), vec![values.clone()])?;
                u64::try_from(evaluate(outside, &batch)?.true_count()).unwrap_or(u64::MAX)
            };
            *beyond = beyond.saturating_add(rows);
        }
        Ok(())
    }
}

impl Columns {
    /// `claims`: what the file itself says, for each field.
    pub(super) fn new(fields: &[DataField], file: &DataFileMeta, claims: Vec<Vec<Claim>>) -> Result<Self> {
        let stored: Vec<&DataField> = match file.value_stats_cols.as_ref().or(file.write_cols.as_ref()) {
            None => fields.iter().collect(),
            Some(names) => {
                let named: HashMap<&str, &DataField> = fields.iter().map(|f| (f.name.as_str(), f)).collect();
                names.iter().filter_map(|name| named.get(name.as_str()).copied()).collect()
            }
        };
        let mut reader = StatsReader::new(&file.value_stats)?.once();
        let fits = reader.columns() == stored.len();
        let places: HashMap<i32, usize> =
            if fits { stored.iter().map(|f| f.id).zip(0..).collect() } else { HashMap::new() };
        let mut columns = Vec::new();
        for (at, (field, claims)) in fields.iter().zip(claims).enumerate() {
            let mut said: Vec<Said> = claims.into_iter().map(|claim| Said::new(field, claim)).collect();
            if let Some(i) = places.get(&field.id) {
                let ColumnStats { min, max, null_count } = reader.column(*i, &field.data_type)?;
                let (min, max) = bounds_as_read(min, max, &field.data_type.kind);
                let bounds = ColumnBounds { min, max, null_count };
                let place = "the manifest".to_owned();
                said.push(Said::new(field, Claim { place, rows: 0..i64::MAX, bounds }));
            }
            if !said.is_empty() {
                let schema = Schema::new(vec![Field::new(&field.name, arrow_type(&field.data_type)?, true)]);
                columns.push(Column { at, name: field.name.clone(), schema: schema.into(), said });
            }
        }
        Ok(Self(columns))
    }

    /// Looks at a batch, the first row of which is this row of the file.
    pub(super) fn add(&mut self, batch: &RecordBatch, first: i64) -> Result<()> {
        for Column { at, schema, said, .. } in &mut self.0 {
            let Some(values) = batch.columns().get(*at) else { continue };
            said.iter_mut().try_for_each(|said| said.add(values, schema, first))?;
        }
        Ok(())
    }

    pub(super) fn check(&self, found: &mut Found<'_>) {
        for (name, said) in self.0.iter().flat_map(|column| column.said.iter().map(move |said| (&column.name, said))) {
            let place = &said.place;
            if let Some(says) = said.null_count.filter(|says| *says != said.nulls) {
                let message = format!("has {} nulls in column {name}, {place} says {says}", said.nulls);
                found.add("wrong-null-count", message);
            }
            for (rows, beyond) in said.beyond.iter().zip(["below its least", "above its largest"]) {
                if *rows > 0 {
                    found.add("wrong-bounds", format!("has {rows} values of column {name} {beyond} in {place}"));
                }
            }
        }
    }
}

/// Floats beyond a bound, as numbers: 0.0 is -0.0, and what is no number has no place in bounds. `None`: no floats.
fn float_rows_outside(values: &ArrayRef, outside: &Predicate) -> Option<u64> {
    let Predicate::Compare { op, value, .. } = outside else { return None };
    let bound = match value {
        Datum::Float(bound) => f64::from(*bound),
        Datum::Double(bound) => *bound,
        _ => return None,
    };
    let beyond = |value: f64| if *op == CompareOp::Lt { value < bound } else { value > bound };
    let rows = if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
        floats.iter().flatten().filter(|value| beyond(f64::from(*value))).count()
    } else {
        values.as_primitive_opt::<Float64Type>()?.iter().flatten().filter(|value| beyond(*value)).count()
    };
    u64::try_from(rows).ok()
}
