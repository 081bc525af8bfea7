//! Values that a file keeps in columns of their own.
//!
//! ```text
//! metadata, value, typed_value     one of them is null: what has another type than the column is in `value`
//! typed_value of an object         a group (value, typed_value) a field; fields without a column are an object in `value`
//! typed_value of an array          a group (value, typed_value) an element
//! ```
//!
//! Source: the shredding of the Variant encoding of the Parquet format; `ShreddingUtils.rebuild`.

use arrow_array::{
    Array, ArrayRef, BinaryArray, StructArray,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::{
    DEEPEST,
    binaries::{BINARIES, made},
    builder::{Builder, too_deep},
    collected::Collected,
    decode::{Names, corrupt},
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
};

/// The values of such columns as their two binaries.
pub(super) fn unshredded(row: &StructArray) -> Result<ArrayRef> {
    let metadata = row.column_by_name("metadata").and_then(|c| c.as_binary_opt::<i32>());
    let metadata = metadata.ok_or_else(|| corrupt("a shredded VARIANT has no column 'metadata'"))?;
    let collected = || Collected::new(BINARIES, row.len());
    let (mut values, mut dictionaries) = (collected()?, collected()?);
    let mut builder = Builder::default();
    for at in 0..row.len() {
        cancel::check()?;
        if row.is_null(at) {
            values.add(&[])?;
            dictionaries.add(&[])?;
            continue;
        }
        if metadata.is_null(at) {
            return Err(corrupt("a VARIANT lacks its metadata"));
        }
        let names = Names::of(metadata.value(at))?;
        if !rebuild(row, at, &names, &mut builder, 0)? {
            builder.bare(0)?;
        }
        let (value, dictionary) = builder.finish()?;
        values.add(&value)?;
        dictionaries.add(&dictionary)?;
    }
    made(values, dictionaries, row.nulls())
}

/// Adds the value of a group; `false`: it has none.
fn rebuild(group: &StructArray, at: usize, names: &Names<'_>, builder: &mut Builder, depth: usize) -> Result<bool> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    let value = rest(group, at)?;
    let typed = group.column_by_name("typed_value").filter(|typed| typed.is_valid(at));
    match (typed, value) {
        (Some(typed), value) => match typed.data_type() {
            Arrow::Struct(_) => object(typed.as_struct(), at, value, names, builder, depth)?,
            _ if value.is_some() => return Err(corrupt("a shredded VARIANT has two values")),
            Arrow::List(_) => array(&typed.as_list::<i32>().value(at), names, builder, depth)?,
            _ => scalar(typed, at, builder)?,
        },
        (None, Some(value)) => builder.copy(value, names, depth, &mut value.len())?,
        (None, None) => return Ok(false),
    }
    Ok(true)
}

/// What has no column.
fn rest(group: &StructArray, at: usize) -> Result<Option<&[u8]>> {
    let Some(column) = group.column_by_name("value") else { return Ok(None) };
    let values: &BinaryArray =
        column.as_binary_opt().ok_or_else(|| corrupt("the 'value' of a shredded VARIANT is no binary"))?;
    Ok(values.is_valid(at).then(|| values.value(at)))
}

fn object(
    columns: &StructArray,
    at: usize,
    rest: Option<&[u8]>,
    names: &Names<'_>,
    builder: &mut Builder,
    depth: usize,
) -> Result<()> {
    let (start, mut fields) = (builder.position(), Vec::new());
    for (name, column) in columns.column_names().into_iter().zip(columns.columns()) {
        let column = column.as_struct_opt().ok_or_else(|| corrupt("a field of a shredded VARIANT is no group"))?;
        let is_there =
            ["value", "typed_value"].iter().any(|n| column.column_by_name(n).is_some_and(|c| c.is_valid(at)));
        if column.is_valid(at) && is_there {
            builder.field(name, start, &mut fields)?;
            rebuild(column, at, names, builder, depth + 1)?;
        }
    }
    if let Some(rest) = rest {
        builder.copy_fields(rest, names, depth, &mut rest.len(), (start, &mut fields))?;
    }
    // in a file a field that is there twice is damage
    builder.finish_object(start, &mut fields).map_err(|e| match e.kind() {
        ErrorKind::InvalidArgument => corrupt(e.message()),
        _ => e,
    })
}

fn array(elements: &ArrayRef, names: &Names<'_>, builder: &mut Builder, depth: usize) -> Result<()> {
    let groups = elements.as_struct_opt().ok_or_else(|| corrupt("an element of a shredded VARIANT is no group"))?;
    let (start, mut members) = (builder.position(), Vec::new());
    for at in 0..groups.len() {
        if at % 1024 == 1023 {
            cancel::check()?;
        }
        builder.element(start, &mut members)?;
        if !rebuild(groups, at, names, builder, depth + 1)? {
            builder.bare(0)?;
        }
    }
    builder.finish_array(start, &members)
}

fn scalar(column: &ArrayRef, at: usize, builder: &mut Builder) -> Result<()> {
    match column.data_type() {
        Arrow::Boolean => builder.bare(if column.as_boolean().value(at) { 1 } else { 2 }),
        Arrow::Int8 => builder.integer(column.as_primitive::<Int8Type>().value(at).into()),
        Arrow::Int16 => builder.integer(column.as_primitive::<Int16Type>().value(at).into()),
        Arrow::Int32 => builder.integer(column.as_primitive::<Int32Type>().value(at).into()),
        Arrow::Int64 => builder.integer(column.as_primitive::<Int64Type>().value(at)),
        Arrow::Float32 => builder.primitive(14, &column.as_primitive::<Float32Type>().value(at).to_le_bytes()),
        Arrow::Float64 => builder.primitive(7, &column.as_primitive::<Float64Type>().value(at).to_le_bytes()),
        Arrow::Decimal128(_, scale) => {
            let scale = u8::try_from(*scale).map_err(|e| corrupt("a decimal of a VARIANT").caused_by(e))?;
            builder.decimal(column.as_primitive::<Decimal128Type>().value(at), scale)
        }
        Arrow::Date32 => builder.primitive(11, &column.as_primitive::<Date32Type>().value(at).to_le_bytes()),
        Arrow::Time64(TimeUnit::Microsecond) => {
            builder.primitive(17, &column.as_primitive::<Time64MicrosecondType>().value(at).to_le_bytes())
        }
        Arrow::Timestamp(TimeUnit::Microsecond, zone) => {
            let moment = column.as_primitive::<TimestampMicrosecondType>().value(at);
            builder.primitive(if zone.is_some() { 12 } else { 13 }, &moment.to_le_bytes())
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, zone) => {
            let moment = column.as_primitive::<TimestampNanosecondType>().value(at);
            builder.primitive(if zone.is_some() { 18 } else { 19 }, &moment.to_le_bytes())
        }
        Arrow::Utf8 => builder.text(column.as_string::<i32>().value(at)),
        Arrow::Binary => builder.long(15, column.as_binary::<i32>().value(at)),
        Arrow::FixedSizeBinary(16) => builder.primitive(20, column.as_fixed_size_binary().value(at)),
        other => Err(Error::unsupported(format!("a VARIANT that is shredded into {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{Field, Fields};

    use super::super::text::json_texts;
    use super::*;

    fn group(members: Vec<(&str, ArrayRef)>) -> StructArray {
        let fields = members.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
        let fields: Fields = fields.collect();
        StructArray::new(fields, members.into_iter().map(|(_, column)| column).collect(), None)
    }

    fn binaries(values: Vec<Option<&[u8]>>) -> ArrayRef {
        Arc::new(BinaryArray::from(values))
    }

    /// `{"a": 7, "b": true}` with a column for `a`, a text in its place, no field at all, and a value that is no object.
    #[test]
    fn what_columns_have_and_what_they_have_not_is_one_value() {
        let names: &[u8] = &[0x01, 1, 0, 1, b'b'];
        let a = group(vec![
            ("value", binaries(vec![None, Some(&[2 << 2 | 1, b'h', b'i']), None, None])),
            ("typed_value", Arc::new(Int32Array::from(vec![Some(7), None, None, None]))),
        ]);
        let object = StructArray::new(
            vec![Field::new("a", a.data_type().clone(), false)].into(),
            vec![Arc::new(a)],
            Some(vec![true, true, true, false].into()),
        );
        let rest: &[u8] = &[0x02, 1, 0, 0, 1, 1 << 2];
        let row = group(vec![
            ("metadata", binaries(vec![Some(names); 4])),
            ("value", binaries(vec![Some(rest), None, None, Some(&[2 << 2])])),
            ("typed_value", Arc::new(object)),
        ]);
        let texts = json_texts(unshredded(&row).unwrap().as_struct()).unwrap();
        let texts: &StringArray = texts.as_string();
        assert_eq!(texts.iter().flatten().collect::<Vec<_>>(), [r#"{"a":7,"b":true}"#, r#"{"a":"hi"}"#, "{}", "false"]);
    }
}
