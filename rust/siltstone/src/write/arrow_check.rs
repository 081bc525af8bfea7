//! Whether arrays that came from another library hold what their types say. The C data interface passes pointers and
//! trusts both sides; what is wrong here would be stored, or read beyond a buffer.
//!
//! Lengths of buffers are not in the interface, so nobody can check them on this side.
//!
//! Every batch passes here, so the texts of a column are looked at all at once, many bytes at a time
//! (`benches/arrow_check.rs` measures it).

use std::ops::Range;

use arrow_array::{
    Array, ArrayRef, GenericByteViewArray, OffsetSizeTrait, RecordBatch,
    cast::AsArray,
    types::{ArrowDictionaryKeyType, ByteViewType, GenericBinaryType, GenericStringType},
};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType as Arrow};
use simdutf8::basic::from_utf8;

use crate::{
    error::{Error, ErrorKind, Result},
    types::holds_variant,
};

/// Texts that are looked at together: few enough to stay in the cache from one look to the next.
const BLOCK: usize = 1024;

type Checked<T> = std::result::Result<T, Problem>;

/// What is wrong with an array.
#[derive(Debug, PartialEq)]
enum Problem {
    /// The text of this row.
    NotUtf8(usize),
    Other(String),
}

impl Problem {
    /// The problem of a child as one of its parent, given the row of the parent that a value of the child belongs to.
    fn of_parent(self, row: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::NotUtf8(at) => Self::NotUtf8(row(at)),
            other @ Self::Other(_) => other,
        }
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

/// An error that names the first column whose offsets, texts, null counts, lengths or dictionary indices are wrong. In
/// errors rows are counted from `before` on.
pub fn check_arrays(batch: &RecordBatch, before: usize) -> Result<()> {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let name = field.name();
        if holds_variant(column.data_type()) {
            // rows of ours have it when their binaries were looked at
            let text = format!(
                "column '{name}' of the input has fields with the metadata of a VARIANT in memory, 'siltstone.variant'"
            );
            let error = Error::new(ErrorKind::InvalidArgument, text).with("column", name);
            return Err(error
                .hint("leave that metadata out: a column of JSON texts, or of the two binaries, becomes a VARIANT"));
        }
        check(column).map_err(|problem| {
            let problem = match problem {
                Problem::NotUtf8(row) => format!("the text of row {} is not UTF-8", before.saturating_add(row)),
                Problem::Other(text) => text,
            };
            let text = format!("column '{name}' of the input is not valid Arrow data: {problem}");
            Error::new(ErrorKind::InvalidArgument, text)
                .with("column", name)
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
        Arrow::Utf8View => views(array.as_string_view(), |bytes| from_utf8(bytes).is_ok()),
        Arrow::Binary => binary::<i32>(array),
        Arrow::LargeBinary => binary::<i64>(array),
        Arrow::BinaryView => views(array.as_binary_view(), |_| true),
        Arrow::List(_) => lists::<i32>(array),
        Arrow::LargeList(_) => lists::<i64>(array),
        Arrow::Map(..) => {
            let map = array.as_map();
            map.entries().columns().iter().try_for_each(|child| elements(child, map.value_offsets()))
        }
        Arrow::Struct(_) => array.as_struct().columns().iter().try_for_each(|child| {
            (child.len() >= array.len()).then_some(()).ok_or("a field has fewer values than its parent")?;
            check(child)
        }),
        Arrow::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let size = list.value_length().to_usize().unwrap_or(0).max(1);
            check(list.values()).map_err(|problem| problem.of_parent(|at| at / size))
        }
        Arrow::Dictionary(key, _) => dictionary(array, key),
        t if t.is_primitive() || matches!(t, Arrow::Boolean | Arrow::Null | Arrow::FixedSizeBinary(_)) => Ok(()),
        _ => array.to_data().validate_full().map_err(|e: ArrowError| Problem::Other(e.to_string())),
    }
}

fn nulls(array: &ArrayRef) -> Checked<()> {
    let Some(nulls) = array.nulls() else { return Ok(()) };
    let counted = nulls.len() - nulls.inner().count_set_bits();
    if nulls.len() == array.len() && nulls.null_count() == counted {
        return Ok(());
    }
    Err(Problem::Other(format!("{} nulls are said to be there, and {counted} are", nulls.null_count())))
}

fn texts<O: OffsetSizeTrait>(array: &ArrayRef) -> Checked<()> {
    let array = array.as_bytes::<GenericStringType<O>>();
    texts_in(array.value_offsets(), array.value_data(), |row| array.is_valid(row))
}

/// Blocks of texts; bytes of rows that are not `valid` do not count.
fn texts_in<O: OffsetSizeTrait>(offsets: &[O], data: &[u8], valid: impl Fn(usize) -> bool) -> Checked<()> {
    used_bytes(offsets, data)?;
    let rows = offsets.len().saturating_sub(1);
    for start in (0..rows).step_by(BLOCK) {
        let end = rows.min(start + BLOCK);
        let Some(block) = offsets.get(start..=end).filter(|block| !are_texts(block, data)) else { continue };
        let bad = block.windows(2).zip(start..).find(|(ends, row)| valid(*row) && !are_texts(ends, data));
        if let Some((_, row)) = bad {
            return Err(Problem::NotUtf8(row));
        }
    }
    Ok(())
}

/// Whether the values between some offsets are texts: all of them together, and no character lies in two of them.
fn are_texts<O: OffsetSizeTrait>(offsets: &[O], data: &[u8]) -> bool {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return true };
    let first = first.as_usize();
    let Some(bytes) = data.get(first..last.as_usize()) else { return false };
    if bytes.is_ascii() {
        return true;
    }
    let begins = |offset: &O| bytes.get(offset.as_usize() - first).is_none_or(|byte| byte & 0xC0 != 0x80);
    // without a branch for each
    from_utf8(bytes).is_ok() && offsets.iter().fold(true, |all, offset| all & begins(offset))
}

fn binary<O: OffsetSizeTrait>(array: &ArrayRef) -> Checked<()> {
    let array = array.as_bytes::<GenericBinaryType<O>>();
    used_bytes(array.value_offsets(), array.value_data()).map(drop)
}

/// Values that lie in their view, or where it leads.
fn views<T: ByteViewType>(array: &GenericByteViewArray<T>, is_value: fn(&[u8]) -> bool) -> Checked<()> {
    /// The first bit of each byte of a value that lies in its view.
    const NOT_ASCII: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;
    let inline = u128::from(MAX_INLINE_VIEW_LEN);
    for (row, view) in array.views().iter().enumerate() {
        let raw = view.to_le_bytes();
        let value = viewed(*view, &raw, array.data_buffers());
        let value = value.ok_or("a view leads out of its buffers, or does not begin as what it leads to")?;
        let short_ascii = view & u128::from(u32::MAX) <= inline && view & NOT_ASCII == 0;
        // bytes of null values do not count
        if !short_ascii && !is_value(value) && array.is_valid(row) {
            return Err(Problem::NotUtf8(row));
        }
    }
    Ok(())
}

/// The bytes of a view; `raw` is itself.
fn viewed<'a>(view: u128, raw: &'a [u8; 16], buffers: &'a [Buffer]) -> Option<&'a [u8]> {
    let parts = ByteView::from(view);
    let length = parts.length.as_usize();
    if parts.length <= MAX_INLINE_VIEW_LEN {
        let (value, padding) = raw.get(4..)?.split_at_checked(length)?;
        return padding.iter().all(|byte| *byte == 0).then_some(value);
    }
    let start = parts.offset.as_usize();
    let value = buffers.get(parts.buffer_index.as_usize())?.get(start..start.checked_add(length)?)?;
    value.starts_with(&parts.prefix.to_le_bytes()).then_some(value)
}

fn used_bytes<'a, O: OffsetSizeTrait>(offsets: &[O], data: &'a [u8]) -> Checked<(Range<usize>, &'a [u8])> {
    let used = used_range(offsets, data.len())?;
    let bytes = data.get(used.clone()).ok_or("offsets lead out of the values")?;
    Ok((used, bytes))
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> Checked<()> {
    let list = array.as_list::<O>();
    elements(list.values(), list.value_offsets())
}

/// The part of the values that a slice uses: its neighbours are checked with their own slices.
fn elements<O: ArrowNativeType + PartialOrd>(values: &ArrayRef, offsets: &[O]) -> Checked<()> {
    let used = used_range(offsets, values.len())?;
    let start = used.start;
    let row = |at: usize| offsets.partition_point(|offset| offset.as_usize() <= start + at).saturating_sub(1);
    let whole = used.len() == values.len();
    let checked = if whole { check(values) } else { check(&values.slice(start, used.len())) };
    checked.map_err(|problem| problem.of_parent(row))
}

/// From the first offset to the last, when they never go back and stay within `length`.
fn used_range<O: ArrowNativeType + PartialOrd>(offsets: &[O], length: usize) -> Checked<Range<usize>> {
    // of an array without rows one offset comes over, and no values
    let (Some(first), Some(last)) = (offsets.first(), offsets.last().filter(|_| offsets.len() > 1)) else {
        return Ok(0..0);
    };
    let rising = offsets.is_sorted();
    match (first.to_usize(), last.to_usize()) {
        (Some(first), Some(last)) if rising && last <= length => Ok(first..last),
        _ => Err("its offsets go back or lead out of the values".into()),
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
        other => Err(Problem::Other(format!("{other} is no type of dictionary indices"))),
    }
}

fn indices<K: ArrowDictionaryKeyType>(array: &ArrayRef) -> Checked<()> {
    let dictionary = array.as_dictionary::<K>();
    let (keys, size) = (dictionary.keys(), dictionary.values().len());
    let inside = |key: &K::Native| key.to_usize().is_some_and(|key| key < size);
    // without a branch for each; indices of null values do not count
    let all = keys.values().iter().fold(true, |all, key| all & inside(key));
    if !all && !keys.iter().flatten().all(|key| inside(&key)) {
        return Err(Problem::Other(format!("an index is outside of its dictionary of {size} values")));
    }
    let row = |at: usize| keys.iter().position(|key| key.and_then(ArrowNativeType::to_usize) == Some(at));
    check(dictionary.values()).map_err(|problem| problem.of_parent(|at| row(at).unwrap_or_default()))
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
        check_arrays(&batch, 0).err().map(|e| e.to_string())
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

    /// It was stored as it came, whatever the binaries were, and could not be read.
    #[test]
    fn what_says_of_itself_that_it_is_a_variant_in_memory_is_refused() {
        let Arrow::Struct(fields) = crate::types::variant_type() else { unreachable!() };
        let row: ArrayRef = Arc::new(arrow_array::StructArray::new_null(fields, 1));
        let inner = Arc::new(arrow_schema::Field::new("element", row.data_type().clone(), true));
        let lists = arrow_array::FixedSizeListArray::new(inner, 1, Arc::clone(&row), None);
        for array in [row, Arc::new(lists) as ArrayRef] {
            assert!(problem(array).unwrap().contains("'siltstone.variant'"));
        }
    }

    /// The first row that is no text.
    fn first_bad(values: &[&[u8]]) -> Option<usize> {
        let ends = values.iter().scan(0, |end, value| {
            *end += i32::try_from(value.len()).unwrap();
            Some(*end)
        });
        let offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
        match texts_in(&offsets, &values.concat(), |_| true) {
            Err(Problem::NotUtf8(row)) => Some(row),
            _ => None,
        }
    }

    #[test]
    fn a_text_that_is_none_is_found_in_every_block_and_between_two_rows() {
        let mut values: Vec<&[u8]> = vec!["żółw".as_bytes(); 3 * BLOCK + 7];
        assert_eq!(first_bad(&values), None);
        for row in [0, BLOCK - 1, BLOCK, 2 * BLOCK + 5, 3 * BLOCK + 6] {
            for bad in [&b"\xff"[..], b"a\xc5", b"\xbc", b"\xed\xa0\x80"] {
                let good = std::mem::replace(&mut values[row], bad);
                assert_eq!(first_bad(&values), Some(row), "{bad:?}");
                values[row] = good;
            }
        }
        // one character in two rows, also where two blocks meet
        for row in [5, BLOCK - 1] {
            (values[row], values[row + 1]) = (b"\xc5", b"\xbc");
            assert_eq!(first_bad(&values), Some(row));
            (values[row], values[row + 1]) = (b"a", b"");
        }
    }

    #[test]
    fn views_lead_to_what_they_say() {
        let views: ArrayRef = Arc::new(arrow_array::StringViewArray::from(vec![
            Some("short"),
            None,
            Some("twelve bytes"),
            Some("żółw żółw żółw żółw"),
        ]));
        assert_eq!((problem(Arc::clone(&views)), problem(views.slice(2, 2))), (None, None));
        let text = |view: u128, raw: &[u8; 16], buffers: &[Buffer]| viewed(view, raw, buffers).map(<[u8]>::to_vec);
        let long = ByteView::new(20, b"abcd").with_buffer_index(0).with_offset(1).as_u128();
        let buffer = |first: &[u8]| vec![Buffer::from_vec([b"x", first, &[b'y'; 20]].concat())];
        assert_eq!(text(long, &long.to_le_bytes(), &buffer(b"abcd")).map(|text| text.len()), Some(20));
        assert_eq!(text(long, &long.to_le_bytes(), &buffer(b"abce")), None, "another beginning");
        assert_eq!(text(long, &long.to_le_bytes(), &[]), None, "no such buffer");
        let short = u128::from_le_bytes(*b"\x03\0\0\0abc\0\0\0\0\0\0\0\0\0");
        assert_eq!(text(short, &short.to_le_bytes(), &[]), Some(b"abc".to_vec()));
        let padded = short | 1 << 120;
        assert_eq!(text(padded, &padded.to_le_bytes(), &[]), None, "bytes behind a short text");
    }

    #[test]
    fn offsets_must_rise_and_stay_inside() {
        assert_eq!(used_range(&[2_i32, 2, 5], 5), Ok(2..5));
        for (offsets, length) in [(vec![0_i32, 5, 3], 6), (vec![0, 3, 2_000_000_000], 6), (vec![-1, 0, 1], 6)] {
            assert!(used_range(&offsets, length).is_err(), "{offsets:?}");
        }
    }
}
