//! The rows of a system table while they are made: of the columns that somebody asks for, no more than are wanted, and their
//! memory is asked for. Some rows at a time become a batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use super::InspectArgs;
use crate::{
    Result, cancel,
    limits::{self, Taken},
    predicate::{Predicate, evaluate},
    row::{Datum, array_from_datums},
    types::{DataField, arrow_schema},
};

/// What memory is asked for.
const WHAT: &str = "the rows of a system table";
/// Rows become a batch when there are so many...
const BATCH_ROWS: usize = 4096;
/// ...or when their values take so many bytes.
const BATCH_BYTES: usize = 8 << 20;
/// Arrays grow to twice what they need, and are copied where a condition leaves rows out.
const OF_ARRAYS: usize = 3;

/// Makes a row: a value for each column of the table, in their order. Those of columns that nobody asks for are not looked at.
macro_rules! put {
    ($rows:expr; $($value:expr),+ $(,)?) => {{
        let rows: &mut $crate::table::system::rows::Rows = $rows;
        $(
            if rows.wants_next() {
                let value = $value;
                rows.take(value)?;
            }
        )+
        rows.end()?;
    }};
}
pub(super) use put;

/// Rows whose batch is not full.
#[derive(Debug)]
struct Waiting {
    /// By column.
    values: Vec<Vec<Datum>>,
    count: usize,
    bytes: usize,
}

/// Rows that are being made.
#[derive(Debug)]
pub(super) struct Rows {
    /// All columns of the table by name, and whether they are made.
    columns: Vec<(String, bool)>,
    /// Those that are made.
    fields: Vec<DataField>,
    schema: SchemaRef,
    /// Places of the columns of the result among them.
    chosen: Vec<usize>,
    filter: Option<Predicate>,
    limit: usize,
    /// The column whose value is the next.
    at: usize,
    /// Those that are in no batch yet.
    waiting: Waiting,
    batches: Vec<RecordBatch>,
    /// Rows of the batches.
    found: usize,
    is_empty: bool,
    taken: Taken,
}

impl Rows {
    /// None yet, of a table with these columns.
    pub(super) fn new(columns: &[DataField], args: &InspectArgs) -> Result<Self> {
        let filter = args.filter(columns)?;
        let all = arrow_schema(columns)?;
        let chosen = args.chosen(&all)?;
        let tested = filter.as_ref().map(Predicate::columns).unwrap_or_default();
        let is_made = |(at, field): (usize, &DataField)| chosen.contains(&at) || tested.contains(&&*field.name);
        let made: Vec<bool> = columns.iter().enumerate().map(is_made).collect();
        let fields: Vec<DataField> =
            columns.iter().zip(&made).filter(|(_, made)| **made).map(|(f, _)| f.clone()).collect();
        let place = |at: &usize| made.iter().take(*at).filter(|made| **made).count();
        Ok(Self {
            chosen: chosen.iter().map(place).collect(),
            columns: columns.iter().map(|field| field.name.clone()).zip(made).collect(),
            schema: arrow_schema(&fields)?,
            waiting: Waiting { values: vec![Vec::new(); fields.len()], count: 0, bytes: 0 },
            fields,
            filter,
            limit: args.limit.unwrap_or(usize::MAX),
            at: 0,
            batches: Vec::new(),
            found: 0,
            is_empty: true,
            taken: Taken::default(),
        })
    }

    /// Whether somebody asks for one of these columns.
    pub(super) fn wants(&self, names: &[&str]) -> bool {
        self.columns.iter().any(|(name, made)| *made && names.contains(&name.as_str()))
    }

    /// Whether no more rows are wanted.
    pub(super) fn is_full(&self) -> bool {
        let waiting = if self.filter.is_none() { self.waiting.count } else { 0 };
        self.found.saturating_add(waiting) >= self.limit
    }

    /// Whether no row was made.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// At the next column of a row: whether its value is wanted.
    pub(super) fn wants_next(&mut self) -> bool {
        let made = self.columns.get(self.at).is_some_and(|(_, made)| *made);
        self.at += 1;
        made
    }

    /// The value of the column that was asked about last.
    pub(super) fn take(&mut self, value: Datum) -> Result<()> {
        let place = self.columns.iter().take(self.at.saturating_sub(1)).filter(|(_, made)| *made).count();
        let bytes = size_of::<Datum>().saturating_add(value.owned_bytes());
        self.taken.more(bytes, WHAT)?;
        self.waiting.bytes = self.waiting.bytes.saturating_add(bytes);
        if let Some(values) = self.waiting.values.get_mut(place) {
            values.push(value);
        }
        Ok(())
    }

    /// At the end of a row.
    pub(super) fn end(&mut self) -> Result<()> {
        cancel::check()?;
        self.at = 0;
        self.is_empty = false;
        self.waiting.count += 1;
        if self.waiting.count < BATCH_ROWS && self.waiting.bytes < BATCH_BYTES {
            return Ok(());
        }
        self.close()
    }

    /// What waits becomes a batch.
    fn close(&mut self) -> Result<()> {
        if self.waiting.count == 0 {
            return Ok(());
        }
        limits::ask_for_part(self.waiting.bytes.saturating_mul(OF_ARRAYS), WHAT)?;
        let rows = std::mem::take(&mut self.waiting.count);
        self.waiting.bytes = 0;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.fields.len());
        for (values, field) in self.waiting.values.iter_mut().zip(&self.fields) {
            arrays.push(array_from_datums(&std::mem::take(values), &field.data_type)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let mut batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?;
        if let Some(filter) = &self.filter {
            batch = filter_record_batch(&batch, &evaluate(filter, &batch)?)?;
        }
        let some = batch.slice(0, batch.num_rows().min(self.limit.saturating_sub(self.found)));
        self.found += some.num_rows();
        if some.num_rows() > 0 {
            self.batches.push(some.project(&self.chosen)?);
        }
        Ok(())
    }

    /// All of them; one batch at least.
    pub(super) fn finish(mut self) -> Result<Vec<RecordBatch>> {
        self.close()?;
        if self.batches.is_empty() {
            let empty = RecordBatch::new_empty(Arc::new(self.schema.project(&self.chosen)?));
            self.batches.push(empty);
        }
        Ok(self.batches)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::columns::{fields, int, string, text},
        *,
    };
    use crate::{Error, predicate::Condition};

    fn columns() -> Vec<DataField> {
        fields(&[("a", int()), ("b", text()), ("c", int())])
    }

    fn rows(names: Option<&[&str]>, limit: Option<usize>, filter: Option<&str>) -> Rows {
        let columns_of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let filter = filter.map(|text| Condition::Sql(text.to_owned()));
        Rows::new(&columns(), &InspectArgs { columns: names.map(columns_of), filter, limit }).unwrap()
    }

    fn numbers(batches: &[RecordBatch]) -> Vec<i32> {
        let column = |batch: &RecordBatch| {
            batch.column(0).as_any().downcast_ref::<arrow_array::Int32Array>().unwrap().values().to_vec()
        };
        batches.iter().flat_map(column).collect()
    }

    fn none() -> Result<Datum> {
        Err(Error::unsupported("a value that nobody asks for"))
    }

    /// All columns of all rows were made, and those that nobody asked for were dropped at the end.
    #[test]
    fn columns_that_nobody_asks_for_are_not_made() {
        let make = |rows: &mut Rows, n: i32| -> Result<()> {
            put!(rows; Datum::Int(n), none()?, Datum::Int(-n));
            Ok(())
        };
        let mut some = rows(Some(&["c", "c"]), None, Some("a > 1"));
        assert!(some.wants(&["a"]) && some.wants(&["b", "c"]) && !some.wants(&["b"]));
        for n in 0..4 {
            make(&mut some, n).unwrap();
        }
        let batches = some.finish().unwrap();
        assert_eq!((numbers(&batches), batches[0].num_columns()), (vec![-2, -3], 2));
        assert!(make(&mut rows(None, None, None), 1).is_err());
        // only counted
        let mut counted = rows(Some(&[]), None, None);
        for n in 0..3 {
            make(&mut counted, n).unwrap();
        }
        let batches = counted.finish().unwrap();
        assert_eq!((batches[0].num_rows(), batches[0].num_columns()), (3, 0));
    }

    #[test]
    fn no_more_rows_are_wanted_than_the_limit() {
        let make = |rows: &mut Rows| -> Result<usize> {
            let mut n = 0;
            while !rows.is_full() && n < 20_000 {
                put!(rows; Datum::Int(n), string("x"), Datum::Int(n % 5000));
                n += 1;
            }
            Ok(n.try_into().unwrap())
        };
        for (limit, filter, made, found) in [
            (0, None, 0, 0),
            (3, None, 3, 3),
            (3, Some("c >= 4999"), 4 * BATCH_ROWS, 3),
            (1, Some("c = 2"), BATCH_ROWS, 1),
        ] {
            let mut some = rows(Some(&["a"]), Some(limit), filter);
            assert_eq!(make(&mut some).unwrap(), made, "{limit} {filter:?}");
            assert_eq!(some.is_empty(), made == 0);
            assert_eq!(numbers(&some.finish().unwrap()).len(), found);
        }
    }

    /// Values, their copies and their arrays were made without asking.
    #[test]
    fn rows_count_what_they_take_and_become_batches() {
        let mut some = rows(None, None, None);
        let make = |rows: &mut Rows| -> Result<()> {
            put!(rows; Datum::Int(1), string("x".repeat(1 << 20)), Datum::Int(2));
            Ok(())
        };
        for _ in 0..20 {
            make(&mut some).unwrap();
        }
        assert!(some.taken.bytes() >= 20 << 20, "{}", some.taken.bytes());
        assert!(some.waiting.bytes < BATCH_BYTES);
        assert_eq!(some.finish().unwrap().iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [8, 8, 4]);
    }
}
