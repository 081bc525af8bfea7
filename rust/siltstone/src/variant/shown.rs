//! What users get of the values in memory: JSON texts, or the two binaries as plain columns.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, cast::AsArray};
use arrow_schema::{DataType as Arrow, Field, FieldRef, Fields, Schema, SchemaRef};

use super::text::json_texts;
use crate::{
    error::{Error, ErrorKind, Result},
    options::VariantForm,
    types::{holds_variant, is_variant},
};

/// The schema of rows whose VARIANT values have this form.
pub fn shown_schema(schema: &SchemaRef, form: VariantForm) -> SchemaRef {
    if !schema.fields().iter().any(|field| holds_variant(field.data_type())) {
        return Arc::clone(schema);
    }
    let fields: Fields = schema.fields().iter().map(|field| shown_field(field, form)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The rows with their VARIANT values in this form.
pub fn shown(batch: RecordBatch, form: VariantForm) -> Result<RecordBatch> {
    let schema = shown_schema(&batch.schema(), form);
    if Arc::ptr_eq(&schema, &batch.schema()) {
        return Ok(batch);
    }
    let columns = batch.columns().iter().map(|column| shown_array(column, form)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

fn shown_field(field: &FieldRef, form: VariantForm) -> FieldRef {
    if holds_variant(field.data_type()) {
        Arc::new(field.as_ref().clone().with_data_type(shown_type(field.data_type(), form)))
    } else {
        Arc::clone(field)
    }
}

fn shown_type(t: &Arrow, form: VariantForm) -> Arrow {
    match t {
        t if is_variant(t) => match form {
            VariantForm::Json => Arrow::Utf8,
            VariantForm::Binary => Arrow::Struct(plain()),
        },
        Arrow::List(element) => Arrow::List(shown_field(element, form)),
        Arrow::Map(entries, sorted) => Arrow::Map(shown_field(entries, form), *sorted),
        Arrow::Struct(fields) => Arrow::Struct(fields.iter().map(|field| shown_field(field, form)).collect()),
        other => other.clone(),
    }
}

/// The two binaries, without what tells them from a ROW.
fn plain() -> Fields {
    Fields::from_iter(["value", "metadata"].map(|name| Field::new(name, Arrow::Binary, false)))
}

fn shown_array(array: &ArrayRef, form: VariantForm) -> Result<ArrayRef> {
    let t = array.data_type();
    if !holds_variant(t) {
        return Ok(Arc::clone(array));
    }
    let misshapen = || Error::new(ErrorKind::Internal, "a VARIANT lies in an array of another type");
    match t {
        t if is_variant(t) => {
            let stored = array.as_struct();
            match form {
                VariantForm::Json => json_texts(stored),
                VariantForm::Binary => {
                    Ok(Arc::new(StructArray::try_new(plain(), stored.columns().to_vec(), stored.nulls().cloned())?))
                }
            }
        }
        Arrow::List(element) => {
            let list = array.as_list::<i32>();
            let values = shown_array(list.values(), form)?;
            let field = shown_field(element, form);
            Ok(Arc::new(ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned())?))
        }
        Arrow::Map(entries, sorted) => {
            let map = array.as_map();
            let shown = shown_struct(map.entries(), form)?;
            let field = shown_field(entries, form);
            Ok(Arc::new(MapArray::try_new(field, map.offsets().clone(), shown, map.nulls().cloned(), *sorted)?))
        }
        Arrow::Struct(_) => Ok(Arc::new(shown_struct(array.as_struct(), form)?)),
        _ => Err(misshapen()),
    }
}

fn shown_struct(row: &StructArray, form: VariantForm) -> Result<StructArray> {
    let columns = row.columns().iter().map(|column| shown_array(column, form)).collect::<Result<Vec<_>>>()?;
    let fields: Fields = row.fields().iter().map(|field| shown_field(field, form)).collect();
    Ok(StructArray::try_new_with_length(fields, columns, row.nulls().cloned(), row.len())?)
}
