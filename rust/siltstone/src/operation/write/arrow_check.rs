//! Whether arrays that came from another library hold what their types say. The C data interface passes pointers and
//! trusts both sides; what is wrong here would be stored, or read beyond a buffer.
//!
//! Lengths of buffers are not in the interface, so nobody can check them on this side.

use std::ops::Range;

use arrow_array::{
    Array, ArrayRef, OffsetSizeTrait, RecordBatch,
    cast::AsArray,
    types::{ArrowDictionaryKeyType, GenericBinaryType, GenericStringType},
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType as Arrow};

use crate::error::{Error, ErrorKind, Result};

type Checked<T> = std::result::Result<T, String>;

/// An error that names the first column whose offsets, texts, null counts, lengths or dictionary indices are wrong.
pub fn check_arrays(batch: &RecordBatch) -> Result<()> {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        check(column).map_err(|problem| {
            let text = format!("column '{}' of the input is not valid Arrow data: {problem}", field.name());
            Error::new(ErrorKind::InvalidArgument, text)
                .with("column", field.name())
                .hint("the library that made the data has broken it; pyarrow's validate(full=True) checks it, too")
        })?;
    }
    Ok(())
}

fn check(array: &ArrayRef) -> Checked<()> {
    nulls(array)?;
    match array.data_type() {
        Arrow::Utf8 => texts::<i32>(array),
        Arrow::LargeUtf8 => texts::<i64>(array),
        Arrow::Binary => binary::<i32>(array),
        Arrow::LargeBinary => binary::<i64>(array),
        Arrow::List(_) => lists::<i32>(array),
        Arrow::LargeList(_) => lists::<i64>(array),
        Arrow::Map(..) => {
            let map = array.as_map();
            let used = used_range(map.value_offsets(), map.entries().len())?;
            map.entries().columns().iter().try_for_each(|child| part(child, used.clone()))
        }
        Arrow::Struct(_) => array.as_struct().columns().iter().try_for_each(|child| {
            (child.len() >= array.len()).then_some(()).ok_or("a field has fewer values than its parent")?;
            check(child)
        }),
        Arrow::FixedSizeList(..) => check(array.as_fixed_size_list().values()),
        Arrow::Dictionary(key, _) => dictionary(array, key),
        t if t.is_primitive() || matches!(t, Arrow::Boolean | Arrow::Null | Arrow::FixedSizeBinary(_)) => Ok(()),
        _ => array.to_data().validate_full().map_err(|e| text_of(&e)),
    }
}

fn text_of(error: &ArrowError) -> String {
    error.to_string()
}

fn nulls(array: &ArrayRef) -> Checked<()> {
    let Some(nulls) = array.nulls() else { return Ok(()) };
    let counted = nulls.len() - nulls.inner().count_set_bits();
    if nulls.len() == array.len() && nulls.null_count() == counted {
        return Ok(());
    }
    Err(format!("{} nulls are said to be there, and {counted} are", nulls.null_count()))
}

fn texts<O: OffsetSizeTrait>(array: &ArrayRef) -> Checked<()> {
    let array = array.as_bytes::<GenericStringType<O>>();
    let (used, bytes) = used_bytes(array.value_offsets(), array.value_data())?;
    if bytes.is_ascii() {
        return Ok(());
    }
    let text = std::str::from_utf8(bytes).ok();
    let start = used.start;
    let whole = |offset: &O| text.is_some_and(|text| text.is_char_boundary(offset.as_usize() - start));
    if array.value_offsets().iter().all(whole) {
        return Ok(());
    }
    // bytes of null values do not count
    let bad = array.value_offsets().windows(2).enumerate().find(|(row, ends)| {
        let range = |ends: &[O]| Some(ends.first()?.as_usize() - start..ends.last()?.as_usize() - start);
        array.is_valid(*row) && range(ends).and_then(|r| bytes.get(r)).is_none_or(|b| std::str::from_utf8(b).is_err())
    });
    bad.map_or(Ok(()), |(row, _)| Err(format!("the text of row {row} is not UTF-8")))
}

fn binary<O: OffsetSizeTrait>(array: &ArrayRef) -> Checked<()> {
    let array = array.as_bytes::<GenericBinaryType<O>>();
    used_bytes(array.value_offsets(), array.value_data()).map(drop)
}

fn used_bytes<'a, O: OffsetSizeTrait>(offsets: &[O], data: &'a [u8]) -> Checked<(Range<usize>, &'a [u8])> {
    let used = used_range(offsets, data.len())?;
    let bytes = data.get(used.clone()).ok_or("offsets lead out of the values")?;
    Ok((used, bytes))
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> Checked<()> {
    let list = array.as_list::<O>();
    part(list.values(), used_range(list.value_offsets(), list.values().len())?)
}

/// The part of the values that a slice uses: its neighbours are checked with their own slices.
fn part(values: &ArrayRef, used: Range<usize>) -> Checked<()> {
    if used.len() == values.len() { check(values) } else { check(&values.slice(used.start, used.len())) }
}

/// From the first offset to the last, when they never go back and stay within `length`.
fn used_range<O: ArrowNativeType + PartialOrd>(offsets: &[O], length: usize) -> Checked<Range<usize>> {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Ok(0..0) };
    let rising = offsets.is_sorted();
    match (first.to_usize(), last.to_usize()) {
        (Some(first), Some(last)) if rising && last <= length => Ok(first..last),
        _ => Err("its offsets go back or lead out of the values".to_owned()),
    }
}

fn dictionary(array: &ArrayRef, key: &Arrow) -> Checked<()> {
    use arrow_array::types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    match key {
        Arrow::Int8 => indices::<Int8Type>(array),
        Arrow::Int16 => indices::<Int16Type>(array),
        Arrow::Int32 => indices::<Int32Type>(array),
        Arrow::Int64 => indices::<Int64Type>(array),
        Arrow::UInt8 => indices::<UInt8Type>(array),
        Arrow::UInt16 => indices::<UInt16Type>(array),
        Arrow::UInt32 => indices::<UInt32Type>(array),
        Arrow::UInt64 => indices::<UInt64Type>(array),
        other => Err(format!("{other} is no type of dictionary indices")),
    }
}

fn indices<K: ArrowDictionaryKeyType>(array: &ArrayRef) -> Checked<()> {
    let dictionary = array.as_dictionary::<K>();
    let size = dictionary.values().len();
    let outside = |key: K::Native| key.to_usize().is_none_or(|key| key >= size);
    if dictionary.keys().iter().flatten().any(outside) {
        return Err(format!("an index is outside of its dictionary of {size} values"));
    }
    check(dictionary.values())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray, make_array};
    use arrow_buffer::Buffer;
    use arrow_data::ArrayData;

    use super::*;

    fn problem(array: ArrayRef) -> Option<String> {
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        check_arrays(&batch).err().map(|e| e.to_string())
    }

    #[test]
    fn sound_arrays_and_slices_of_them_pass() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("żółw"), None, Some(""), Some("a")]));
        assert_eq!(problem(texts.slice(1, 2)), None);
        let values = Buffer::from_vec(vec![1_i32, 2, 3]);
        let child = ArrayData::builder(Arrow::Int32).len(3).add_buffer(values).build().unwrap();
        let field = Arc::new(arrow_schema::Field::new("element", Arrow::Int32, true));
        let lists = ArrayData::builder(Arrow::List(field)).len(2).add_buffer(Buffer::from_vec(vec![0_i32, 1, 3]));
        let lists = make_array(lists.add_child_data(child).build().unwrap());
        assert_eq!((problem(lists.slice(1, 1)), problem(lists)), (None, None));
        let dictionary: arrow_array::DictionaryArray<arrow_array::types::Int8Type> =
            vec!["a", "b", "a"].into_iter().collect();
        assert_eq!(problem(Arc::new(dictionary)), None);
        assert_eq!(problem(Arc::new(Int32Array::from(vec![None, Some(1)]))), None);
    }

    #[test]
    fn offsets_must_rise_and_stay_inside() {
        assert_eq!(used_range(&[2_i32, 2, 5], 5), Ok(2..5));
        for (offsets, length) in [(vec![0_i32, 5, 3], 6), (vec![0, 3, 2_000_000_000], 6), (vec![-1, 0, 1], 6)] {
            assert!(used_range(&offsets, length).is_err(), "{offsets:?}");
        }
    }
}
