//! Comparable forms of key columns.
//!
//! Every key has a *prefix*, a number that orders like the key as far as it goes. For one fixed-width integer
//! column the prefix is the whole key ([`IntKeys`]); for anything else it is the first eight bytes of the
//! arrow-row form ([`RowKeys`]), and equal prefixes are compared in full.
//!
//! Key order is Paimon's: column by column, null first, strings and binaries as unsigned bytes, floats as
//! Java compares them (-0.0 < 0.0 < every NaN).
#![allow(clippy::indexing_slicing, reason = "row numbers come from the merge loop and are below the batch's length")]

use std::{cmp::Ordering, marker::PhantomData};

use arrow_array::{Array, ArrowPrimitiveType, RecordBatch, cast::AsArray};
use arrow_buffer::ScalarBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType as Arrow, SortOptions};

use crate::{
    Error, ErrorKind, Result,
    io::KvLayout,
    merge_tree::{
        nested_order::{comparable, comparable_type},
        records::column,
    },
    types::{DataField, TypeKind, arrow_type},
};

/// Encodes the keys of batches so that they can be compared.
pub(crate) trait KeyCodec: Send + 'static {
    /// The keys of one batch.
    type Keys: Send;
    /// Equal prefixes mean equal keys.
    const EXACT: bool;

    /// The keys of a batch.
    fn encode(&self, batch: &RecordBatch) -> Result<Self::Keys>;
    /// A number that orders like the key as far as it goes.
    fn prefix(keys: &Self::Keys, row: usize) -> u64;
    /// The order of two keys.
    fn compare(a: &Self::Keys, i: usize, b: &Self::Keys, j: usize) -> Ordering;
}

/// A native integer whose order an unsigned number can keep.
pub(crate) trait OrderedInt: Copy + Send + Sync + 'static {
    /// The number.
    fn ordered(self) -> u64;
}

macro_rules! ordered_int {
    ($($native:ty),*) => {
        $(impl OrderedInt for $native {
            #[inline]
            fn ordered(self) -> u64 {
                i64::from(self).cast_unsigned() ^ (1 << 63)
            }
        })*
    };
}
ordered_int!(i8, i16, i32, i64);

/// Keys of one integer column without nulls.
pub(crate) struct IntKeys<T> {
    column: usize,
    native: PhantomData<fn() -> T>,
}

impl<T> IntKeys<T> {
    pub(crate) fn new(column: usize) -> Self {
        Self { column, native: PhantomData }
    }
}

impl<T> KeyCodec for IntKeys<T>
where
    T: ArrowPrimitiveType,
    T::Native: OrderedInt,
{
    type Keys = ScalarBuffer<T::Native>;
    const EXACT: bool = true;

    fn encode(&self, batch: &RecordBatch) -> Result<Self::Keys> {
        let column = column(batch, self.column)?;
        if column.null_count() > 0 {
            return Err(Error::new(ErrorKind::NullInKey, "a key column holds null"));
        }
        let array = column.as_primitive_opt::<T>().ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                format!("a key column has the type {} instead of {}", column.data_type(), T::DATA_TYPE),
            )
        })?;
        Ok(array.values().clone())
    }

    #[inline]
    fn prefix(keys: &Self::Keys, row: usize) -> u64 {
        keys[row].ordered()
    }

    #[inline]
    fn compare(a: &Self::Keys, i: usize, b: &Self::Keys, j: usize) -> Ordering {
        a[i].ordered().cmp(&b[j].ordered())
    }
}

/// Keys in arrow-row form.
pub(crate) struct RowKeys {
    columns: RowColumns,
}

impl RowKeys {
    pub(crate) fn new(layout: &KvLayout) -> Result<Self> {
        Ok(Self { columns: RowColumns::new(layout, &layout.key, false)? })
    }
}

impl KeyCodec for RowKeys {
    type Keys = Rows;
    const EXACT: bool = false;

    fn encode(&self, batch: &RecordBatch) -> Result<Rows> {
        self.columns.encode(batch)
    }

    #[inline]
    fn prefix(keys: &Rows, row: usize) -> u64 {
        let row = keys.row(row);
        let data: &[u8] = row.as_ref();
        if let Some(head) = data.first_chunk::<8>() {
            return u64::from_be_bytes(*head);
        }
        let mut head = [0; 8];
        head[..data.len()].copy_from_slice(data);
        u64::from_be_bytes(head)
    }

    #[inline]
    fn compare(a: &Rows, i: usize, b: &Rows, j: usize) -> Ordering {
        a.row(i).cmp(&b.row(j))
    }
}

/// Some columns of key-value batches in arrow-row form; also used for user sequence fields.
pub(crate) struct RowColumns {
    converter: RowConverter,
    columns: Vec<usize>,
}

impl RowColumns {
    /// Columns of the layout, in order; null comes first in both directions.
    pub(crate) fn new(layout: &KvLayout, columns: &[usize], descending: bool) -> Result<Self> {
        let fields = columns.iter().map(|&at| field(layout, at)).collect::<Result<Vec<_>>>()?;
        Ok(Self { columns: columns.to_vec(), ..Self::of_fields(&fields, descending)? })
    }

    /// All columns of batches that have these fields.
    pub(crate) fn of_fields(fields: &[&DataField], descending: bool) -> Result<Self> {
        let options = SortOptions { descending, nulls_first: true };
        let sort = |field: &&DataField| {
            let column = comparable_type(arrow_type(&field.data_type)?);
            Ok(SortField::new_with_options(column, options))
        };
        let sorts = fields.iter().map(sort).collect::<Result<Vec<_>>>()?;
        Ok(Self { converter: RowConverter::new(sorts)?, columns: (0..fields.len()).collect() })
    }

    /// The rows of a batch.
    pub(crate) fn encode(&self, batch: &RecordBatch) -> Result<Rows> {
        let columns = self.columns.iter().map(|&at| comparable(column(batch, at)?)).collect::<Result<Vec<_>>>()?;
        Ok(self.converter.convert_columns(&columns)?)
    }
}

/// Which codec the key of a layout needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyShape {
    /// i8 at this column
    I8(usize),
    /// i16
    I16(usize),
    /// i32, DATE, TIME
    I32(KeyType32, usize),
    /// i64, TIMESTAMP
    I64(KeyType64, usize),
    /// anything else
    Rows,
}

/// Arrow types with i32 values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyType32 {
    /// INT
    Int,
    /// DATE
    Date,
    /// TIME
    Time,
}

/// Arrow types with i64 values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyType64 {
    /// BIGINT
    BigInt,
    /// TIMESTAMP in seconds
    Second,
    /// TIMESTAMP in milliseconds
    Milli,
    /// TIMESTAMP in microseconds
    Micro,
    /// TIMESTAMP in nanoseconds
    Nano,
}

impl KeyShape {
    /// The shape of a layout's key; nullable columns take the general form.
    pub(crate) fn of(layout: &KvLayout) -> Result<Self> {
        let &[column] = layout.key.as_slice() else {
            return Ok(Self::Rows);
        };
        let data_type = &field(layout, column)?.data_type;
        if data_type.nullable {
            return Ok(Self::Rows);
        }
        Ok(match &data_type.kind {
            TypeKind::TinyInt => Self::I8(column),
            TypeKind::SmallInt => Self::I16(column),
            TypeKind::Int => Self::I32(KeyType32::Int, column),
            TypeKind::Date => Self::I32(KeyType32::Date, column),
            TypeKind::Time(_) => Self::I32(KeyType32::Time, column),
            TypeKind::BigInt => Self::I64(KeyType64::BigInt, column),
            TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => match arrow_type(data_type)? {
                Arrow::Timestamp(unit, _) => Self::I64(KeyType64::of(unit), column),
                _ => Self::Rows,
            },
            _ => Self::Rows,
        })
    }
}

impl KeyType64 {
    fn of(unit: arrow_schema::TimeUnit) -> Self {
        match unit {
            arrow_schema::TimeUnit::Second => Self::Second,
            arrow_schema::TimeUnit::Millisecond => Self::Milli,
            arrow_schema::TimeUnit::Microsecond => Self::Micro,
            arrow_schema::TimeUnit::Nanosecond => Self::Nano,
        }
    }
}

/// Calls a generic function with the codec of a shape: `with_codec!(shape, layout, |codec| expression)`.
macro_rules! with_codec {
    ($shape:expr, $layout:expr, |$codec:ident| $body:expr) => {{
        use arrow_array::types as t;
        use $crate::merge_tree::merge::key::{IntKeys, KeyShape, KeyType32, KeyType64, RowKeys};
        macro_rules! int {
            ($native:ty, $column:expr) => {{
                let $codec = IntKeys::<$native>::new($column);
                $body
            }};
        }
        match $shape {
            KeyShape::I8(c) => int!(t::Int8Type, c),
            KeyShape::I16(c) => int!(t::Int16Type, c),
            KeyShape::I32(KeyType32::Int, c) => int!(t::Int32Type, c),
            KeyShape::I32(KeyType32::Date, c) => int!(t::Date32Type, c),
            KeyShape::I32(KeyType32::Time, c) => int!(t::Time32MillisecondType, c),
            KeyShape::I64(KeyType64::BigInt, c) => int!(t::Int64Type, c),
            KeyShape::I64(KeyType64::Second, c) => int!(t::TimestampSecondType, c),
            KeyShape::I64(KeyType64::Milli, c) => int!(t::TimestampMillisecondType, c),
            KeyShape::I64(KeyType64::Micro, c) => int!(t::TimestampMicrosecondType, c),
            KeyShape::I64(KeyType64::Nano, c) => int!(t::TimestampNanosecondType, c),
            KeyShape::Rows => {
                let $codec = RowKeys::new($layout)?;
                $body
            }
        }
    }};
}
pub(crate) use with_codec;

fn field(layout: &KvLayout, at: usize) -> Result<&DataField> {
    layout.fields.get(at).ok_or_else(|| {
        Error::new(ErrorKind::Internal, format!("a layout of {} fields has no field {at}", layout.fields.len()))
    })
}
