//! Columns as the encoder takes them: INT96 as fixed bytes, whole seconds as milliseconds, the rest untouched.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray,
    cast::AsArray,
    types::{Decimal128Type, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType},
};
use arrow_schema::{DataType as Arrow, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use crate::{
    error::{Error, ErrorKind, Result},
    format::{digits::too_many_digits, int96},
    types::{DataField, DataType, TypeKind, arrow_type},
};

/// Decimals of so many digits or fewer are stored as numbers of 32 bits.
const INT_DIGITS: u8 = 9;

/// The Arrow schema of what the encoder takes.
pub(crate) fn encodable_schema(fields: &[DataField]) -> Result<SchemaRef> {
    let columns = fields.iter().map(encodable_field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(columns)))
}

fn encodable_field(f: &DataField) -> Result<Field> {
    let t = encodable_type(&f.data_type).map_err(|e| e.with("column", &f.name))?;
    Ok(Field::new(&f.name, t, f.data_type.nullable))
}

fn encodable_type(t: &DataType) -> Result<Arrow> {
    if !needs_change(t) {
        return arrow_type(t);
    }
    Ok(match &t.kind {
        TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p) if *p == 0 => {
            Arrow::Timestamp(TimeUnit::Millisecond, None)
        }
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => Arrow::FixedSizeBinary(int96::WIDTH),
        TypeKind::Array(e) => Arrow::List(Arc::new(Field::new("element", encodable_type(e)?, e.nullable))),
        TypeKind::Map(k, v) => encodable_map(k, v)?,
        TypeKind::Multiset(e) => encodable_map(e, &DataType::not_null(TypeKind::Int))?,
        TypeKind::Row(fields) => Arrow::Struct(fields.iter().map(encodable_field).collect::<Result<Fields>>()?),
        _ => arrow_type(t)?,
    })
}

fn encodable_map(key: &DataType, value: &DataType) -> Result<Arrow> {
    let entries = Fields::from(vec![
        Field::new("key", encodable_type(key)?, false),
        Field::new("value", encodable_type(value)?, value.nullable),
    ]);
    Ok(Arrow::Map(Arc::new(Field::new("entries", Arrow::Struct(entries), false)), false))
}

/// Whether values of this type, or of a type inside it, look different to the encoder.
fn needs_change(t: &DataType) -> bool {
    match &t.kind {
        TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p) => *p == 0 || *p > 6,
        TypeKind::Array(e) | TypeKind::Multiset(e) => needs_change(e),
        TypeKind::Map(k, v) => needs_change(k) || needs_change(v),
        TypeKind::Row(fields) => fields.iter().any(|f| needs_change(&f.data_type)),
        _ => false,
    }
}

/// Turns batches of the types of `types::arrow_schema` into what the encoder takes.
pub(crate) struct Encodable {
    fields: Vec<DataField>,
    change: Vec<bool>,
    schema: SchemaRef,
}

impl Encodable {
    pub(crate) fn new(fields: &[DataField]) -> Result<Self> {
        Ok(Self {
            fields: fields.to_vec(),
            change: fields.iter().map(|f| needs_change(&f.data_type)).collect(),
            schema: encodable_schema(fields)?,
        })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns of a batch, checked against the field list.
    pub(crate) fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        if batch.num_columns() != self.fields.len() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("a batch of {} columns for a file of {}", batch.num_columns(), self.fields.len()),
            ));
        }
        let columns = self.fields.iter().zip(&self.change).zip(self.schema.fields()).zip(batch.columns());
        columns
            .map(|(((field, change), target), column)| {
                self::column(field, *change, target, column).map_err(|e| e.with("column", &field.name))
            })
            .collect()
    }
}

fn column(field: &DataField, change: bool, target: &FieldRef, column: &ArrayRef) -> Result<ArrayRef> {
    if !field.data_type.nullable && column.null_count() > 0 {
        return Err(Error::new(ErrorKind::NullInKey, "a NOT NULL column has a null value"));
    }
    if let (TypeKind::Decimal { precision: ..=INT_DIGITS, .. }, Some(values)) =
        (&field.data_type.kind, column.as_primitive_opt::<Decimal128Type>())
        && let Some(value) = values.iter().flatten().find(|value| i32::try_from(*value).is_err())
    {
        return Err(too_many_digits(value, &field.data_type.kind, "Parquet"));
    }
    let column = if change { encodable(column, target.data_type())? } else { Arc::clone(column) };
    if column.data_type() != target.data_type() && !same_but_for_zone(column.data_type(), target.data_type()) {
        return Err(Error::new(
            ErrorKind::Internal,
            format!("values of {} for a column of {}", column.data_type(), target.data_type()),
        ));
    }
    Ok(column)
}

/// Timestamps reach the encoder with or without a zone: the schema says which it is.
fn same_but_for_zone(a: &Arrow, b: &Arrow) -> bool {
    match (a, b) {
        (Arrow::Timestamp(a, _), Arrow::Timestamp(b, _)) => a == b,
        _ => a.equals_datatype(b),
    }
}

fn encodable(array: &ArrayRef, target: &Arrow) -> Result<ArrayRef> {
    Ok(match (array.data_type(), target) {
        (Arrow::Timestamp(TimeUnit::Second, _), Arrow::Timestamp(TimeUnit::Millisecond, _)) => {
            let seconds = array.as_primitive::<TimestampSecondType>();
            let millis = seconds.try_unary::<_, TimestampMillisecondType, Error>(|s| {
                s.checked_mul(1000).ok_or_else(|| {
                    Error::new(ErrorKind::UnsupportedType, format!("timestamp of {s} seconds is out of range"))
                })
            })?;
            Arc::new(millis)
        }
        (Arrow::Timestamp(TimeUnit::Nanosecond, _), Arrow::FixedSizeBinary(_)) => {
            int96::encode(array.as_primitive::<TimestampNanosecondType>())?
        }
        (Arrow::List(_), Arrow::List(element)) => {
            let list = array.as_list::<i32>();
            let values = encodable(list.values(), element.data_type())?;
            Arc::new(ListArray::try_new(Arc::clone(element), list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (Arrow::Map(..), Arrow::Map(entries, sorted)) => {
            let map = array.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let pairs = encodable(&pairs, entries.data_type())?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *sorted)?)
        }
        (Arrow::Struct(_), Arrow::Struct(fields)) => {
            let row = array.as_struct();
            let children = row
                .columns()
                .iter()
                .zip(fields)
                .map(|(child, field)| encodable(child, field.data_type()))
                .collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), children, row.nulls().cloned(), row.len())?)
        }
        _ => Arc::clone(array),
    })
}
