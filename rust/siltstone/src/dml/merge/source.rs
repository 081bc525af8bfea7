//! The rows of a source: in memory while they fit there, else by classes of their keys on disk.

use std::{
    cmp::Ordering,
    hash::{BuildHasher, Hasher},
    sync::LazyLock,
};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{Field, Schema, SchemaRef};
use foldhash::fast::RandomState;

use crate::{
    error::{Error, ErrorKind, Result},
    io::{BatchStream, TableContext, batch_bytes, joined_rows, taken_rows},
    merge_tree::merge::{SpillOptions, spill::SpilledRun},
    predicate::{CompareOp, Predicate, compare_values},
    row::{Datum, datum_from_array, datums_from_array},
    types::{DataField, TypeKind, arrow_type},
    write::convert_column,
};

/// Bytes of rows that are held at once where nobody says how many.
const MEMORY: u64 = 256 << 20;
/// Most bytes of one array's texts.
const MOST: u64 = 1 << 30;
/// Classes of keys; each pass takes as many as fit in memory.
const CLASSES: usize = 64;
/// Values of one key column that are worth listing in a condition.
const LISTED: usize = 1000;

/// The rows, with the columns `s.a` in types of tables.
pub struct Source {
    schema: SchemaRef,
    keys: Keys,
    memory: u64,
    spill: SpillOptions,
    held: Vec<RecordBatch>,
    bytes: u64,
    /// Where the rows did not fit: runs of each class, and their bytes in memory.
    classes: Option<Vec<(Vec<SpilledRun>, u64)>>,
    bounds: Vec<Bounds>,
    rows: u64,
}

/// The columns by which rows are matched.
pub(super) struct Keys {
    names: Vec<String>,
    converter: RowConverter,
}

impl Keys {
    fn new(fields: &[&DataField]) -> Result<Self> {
        let types: Result<Vec<SortField>> =
            fields.iter().map(|f| Ok(SortField::new(arrow_type(&f.data_type)?))).collect();
        Ok(Self { names: fields.iter().map(|f| f.name.clone()).collect(), converter: RowConverter::new(types?)? })
    }

    pub(super) fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let column = |name: &String| {
            let column = batch.column_by_name(name).cloned();
            column.ok_or_else(|| Error::new(ErrorKind::Internal, "a key was not read").with("column", name))
        };
        self.names.iter().map(column).collect()
    }

    /// Comparable keys of rows, and which of them have a null and equal nothing.
    pub(super) fn encode(&self, columns: &[ArrayRef]) -> Result<(Rows, Vec<bool>)> {
        let plain: Vec<ArrayRef> = columns.iter().map(crate::predicate::plain_floats).collect();
        let rows = self.converter.convert_columns(&plain)?;
        let nulls: Vec<_> = plain.iter().filter_map(Array::logical_nulls).collect();
        let is_null = |row: usize| nulls.iter().any(|nulls| nulls.is_null(row));
        let unknown = (0..rows.num_rows()).map(is_null).collect();
        Ok((rows, unknown))
    }
}

/// A number that is equal for equal keys, in this process.
pub(super) fn hash(key: &[u8]) -> u64 {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    let mut hasher = SEED.build_hasher();
    hasher.write(key);
    hasher.finish()
}

/// The class of a key; a key with a null belongs to the first one.
pub(super) fn class_of(key: &[u8], unknown: bool) -> usize {
    if unknown { 0 } else { usize::try_from(hash(key) >> 32).unwrap_or(0) % CLASSES }
}

impl Source {
    /// Takes all rows.
    pub(super) fn read(
        ctx: &TableContext,
        fields: &[DataField],
        keys: &[&str],
        memory_limit: Option<u64>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<Self> {
        let arrow = |f: &DataField| Ok(Field::new(&f.name, arrow_type(&f.data_type)?, true));
        let schema = Schema::new(fields.iter().map(arrow).collect::<Result<Vec<_>>>()?);
        let key_fields: Vec<&DataField> =
            keys.iter().filter_map(|key| fields.iter().find(|f| f.name == *key)).collect();
        let mut source = Self {
            schema: schema.into(),
            keys: Keys::new(&key_fields)?,
            memory: memory_limit.unwrap_or(MEMORY).min(MOST),
            spill: SpillOptions { dir: std::env::temp_dir(), compress: true, max_fan_in: 64 },
            held: Vec::new(),
            bytes: 0,
            classes: None,
            bounds: key_fields.iter().map(|f| Bounds::new(f)).collect::<Result<_>>()?,
            rows: 0,
        };
        for batch in batches {
            let batch = batch?;
            let before = usize::try_from(source.rows).unwrap_or(usize::MAX);
            let convert = |(field, column): (&DataField, &ArrayRef)| {
                convert_column(column, field, before).map_err(|e| e.with("table", &ctx.name))
            };
            let columns = fields.iter().zip(batch.columns()).map(convert).collect::<Result<Vec<_>>>()?;
            source.add(RecordBatch::try_new(source.schema.clone(), columns)?)?;
        }
        if source.classes.is_some() {
            source.flush()?;
        }
        Ok(source)
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        crate::cancel::check()?;
        for (bounds, column) in self.bounds.iter_mut().zip(self.keys.columns(&batch)?) {
            bounds.add(&column)?;
        }
        self.rows = self.rows.saturating_add(super::count(batch.num_rows()));
        self.bytes = self.bytes.saturating_add(super::count(batch_bytes(&batch)));
        self.held.push(batch);
        if self.bytes > self.memory { self.flush() } else { Ok(()) }
    }

    /// Puts the rows that are held on disk, by class.
    fn flush(&mut self) -> Result<()> {
        let mut parts: Vec<Vec<RecordBatch>> = vec![Vec::new(); CLASSES];
        for batch in std::mem::take(&mut self.held) {
            let (keys, unknown) = self.keys.encode(&self.keys.columns(&batch)?)?;
            let mut rows: Vec<Vec<u32>> = vec![Vec::new(); CLASSES];
            for (row, (key, unknown)) in (0..).zip(keys.iter().zip(unknown)) {
                if let Some(rows) = rows.get_mut(class_of(key.as_ref(), unknown)) {
                    rows.push(row);
                }
            }
            for (part, rows) in parts.iter_mut().zip(rows).filter(|(_, rows)| !rows.is_empty()) {
                part.push(taken_rows(&batch, &UInt32Array::from(rows))?);
            }
        }
        let classes = self.classes.get_or_insert_with(|| (0..CLASSES).map(|_| (Vec::new(), 0)).collect());
        for ((runs, bytes), part) in classes.iter_mut().zip(parts).filter(|(_, part)| !part.is_empty()) {
            let held: usize = part.iter().map(batch_bytes).sum();
            *bytes = bytes.saturating_add(super::count(held));
            let rows: BatchStream = Box::new(part.into_iter().map(Ok));
            runs.push(SpilledRun::write(rows, &self.schema, &self.spill)?);
        }
        self.bytes = 0;
        Ok(())
    }

    /// The classes that one pass takes after another; `None`: all rows at once.
    pub(super) fn passes(&self) -> Vec<Option<Vec<usize>>> {
        let Some(classes) = &self.classes else { return vec![None] };
        let mut passes: Vec<Option<Vec<usize>>> = Vec::new();
        let (mut pass, mut held) = (Vec::new(), 0_u64);
        for (class, (_, bytes)) in classes.iter().enumerate() {
            if !pass.is_empty() && held.saturating_add(*bytes) > self.memory {
                passes.push(Some(std::mem::take(&mut pass)));
                held = 0;
            }
            pass.push(class);
            held = held.saturating_add(*bytes);
        }
        passes.push(Some(pass));
        passes
    }

    /// The rows of a pass.
    pub(super) fn load(&self, classes: Option<&[usize]>) -> Result<RecordBatch> {
        let Some((wanted, all)) = classes.zip(self.classes.as_ref()) else {
            return joined_rows(&self.schema, &self.held);
        };
        let mut held = Vec::new();
        for run in wanted.iter().filter_map(|class| all.get(*class)).flat_map(|(runs, _)| runs) {
            for batch in run.read()? {
                crate::cancel::check()?;
                held.push(batch?);
            }
        }
        joined_rows(&self.schema, &held)
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// What rows of the table that have one of its keys satisfy, in these columns.
    pub(super) fn condition(&self, columns: &[&str]) -> Predicate {
        if self.rows == 0 {
            return Predicate::Constant(false);
        }
        Predicate::all(columns.iter().zip(&self.bounds).map(|(column, bounds)| bounds.condition(column)))
    }
}

/// The values of a key column.
struct Bounds {
    field: DataField,
    order: RowConverter,
    /// The values themselves while they are few.
    listed: Option<Vec<Datum>>,
    ends: Option<(Datum, Datum)>,
}

impl Bounds {
    fn new(field: &DataField) -> Result<Self> {
        let order = RowConverter::new(vec![SortField::new(arrow_type(&field.data_type)?)])?;
        Ok(Self { field: field.clone(), order, listed: Some(Vec::new()), ends: None })
    }

    fn add(&mut self, column: &ArrayRef) -> Result<()> {
        let t = &self.field.data_type;
        if let Some(listed) = &mut self.listed {
            if listed.len() + column.len() - column.null_count() > LISTED {
                self.listed = None;
            } else {
                listed.extend(datums_from_array(column.as_ref(), t)?.into_iter().filter(|value| !value.is_null()));
            }
        }
        let rows = self.order.convert_columns(&[ArrayRef::clone(column)])?;
        let valid = || (0..column.len()).filter(|row| column.is_valid(*row));
        let least = valid().min_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        let most = valid().max_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        if let Some((least, most)) = least.zip(most) {
            let low = datum_from_array(column.as_ref(), least, t)?;
            let high = datum_from_array(column.as_ref(), most, t)?;
            self.ends = Some(match self.ends.take() {
                None => (low, high),
                Some((from, to)) => (
                    if compare_values(&low, &from) == Some(Ordering::Less) { low } else { from },
                    if compare_values(&high, &to) == Some(Ordering::Greater) { high } else { to },
                ),
            });
        }
        Ok(())
    }

    fn condition(&self, column: &str) -> Predicate {
        // NaN and the two zeros have an order of their own
        if matches!(self.field.data_type.kind, TypeKind::Float | TypeKind::Double) {
            return Predicate::Constant(true);
        }
        let Some((low, high)) = &self.ends else { return Predicate::Constant(false) };
        let column = column.to_owned();
        if let Some(values) = &self.listed {
            return Predicate::In { column, values: values.clone().into(), negated: false };
        }
        let from = Predicate::Compare { column: column.clone(), op: CompareOp::GtEq, value: low.clone() };
        Predicate::all([from, Predicate::Compare { column, op: CompareOp::LtEq, value: high.clone() }])
    }
}
