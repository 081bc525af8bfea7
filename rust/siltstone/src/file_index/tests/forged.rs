//! Indexes that somebody has made so that they take more than they say.

use super::*;

fn message<T: std::fmt::Debug>(read: crate::Result<T>) -> String {
    let error = read.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
    error.message().to_owned()
}

/// With other numbers at these places.
fn with(mut bytes: Vec<u8>, numbers: &[(usize, u32)]) -> Vec<u8> {
    for (at, number) in numbers {
        bytes[*at..*at + 4].copy_from_slice(&number.to_be_bytes());
    }
    bytes
}

fn head(parts: &[u8], numbers: &[i32]) -> Vec<u8> {
    parts.iter().copied().chain(numbers.iter().flat_map(|number| number.to_be_bytes())).collect()
}

fn with_length(part: &[u8]) -> Vec<u8> {
    [&i32::try_from(part.len()).unwrap().to_be_bytes(), part].concat()
}

/// A range bitmap of single bytes: its chunks with the first value, its number, the offset of the keys, and how many there are.
fn range_bitmap(rows: i32, count: i32, chunks: &[(u8, i32, i32, i32)], keys: &[u8]) -> Vec<u8> {
    let number = i32::try_from(chunks.len()).unwrap();
    let chunks: Vec<u8> = chunks
        .iter()
        .flat_map(|(first, number, offset, further)| head(&[1, *first], &[*number, *offset, *further, *further, 1]))
        .collect();
    let dictionary = with_length(&head(&[1], &[number, 0, i32::try_from(chunks.len()).unwrap()]));
    let dictionary = [dictionary, chunks, keys.to_vec()].concat();
    let mut header = head(&[1], &[rows, count]);
    header.extend([0, 100]);
    header.extend(i32::try_from(dictionary.len()).unwrap().to_be_bytes());
    let numbers = [with_length(&head(&[1, 0], &[8, 0])), vec![0x3a, 0x30, 0, 0, 0, 0, 0, 0]].concat();
    [with_length(&header), dictionary, numbers].concat()
}

/// 2000 chunks of 100 KB that all named the same keys became two hundred million values.
#[test]
fn chunks_of_a_range_bitmap_have_keys_of_their_own() {
    let read = |bytes: &[u8], rows| RangeBitmap::read("x", bytes, Form::I8, rows);
    let good = range_bitmap(9, 4, &[(1, 0, 0, 1), (3, 2, 1, 1)], &[2, 4]);
    read(&good, 9).unwrap();
    let shared = range_bitmap(9, 4, &[(1, 0, 0, 1), (3, 2, 0, 1)], &[2, 4]);
    assert_eq!(message(read(&shared, 9)), "expected keys of a chunk between 1 and 2, found 0 and 0 bytes more");
    // in another order it ends with the first value, not after all of them
    let same = range_bitmap(1000, 1000, &[(1, 0, 0, 999)], &[1; 999]);
    let error = read(&same, 1000).unwrap_err();
    assert_eq!(error.message(), "expected values in ascending order, found another order");
    assert_eq!(error.context_value("offset"), Some("1"));
    // more keys than the index tells
    let more = range_bitmap(9, 2, &[(1, 0, 0, 3)], &[2, 3, 4]);
    assert_eq!(message(read(&more, 9)), "expected 2 values, found more");
    assert_eq!(message(read(&range_bitmap(9, 5, &[(1, 0, 0, 1)], &[2]), 9)), "expected 5 values, found 2");
}

/// Room was made for as many values as an index said.
#[test]
fn an_index_of_more_values_than_rows_is_corrupt() {
    let expected = "expected at most 1 values, of 1 rows, found 2";
    let tens = to_write(&ints(&TENS));
    for version in [1, 2] {
        let bytes = with(tens.bytes(Form::I32, version, 16 << 10).unwrap(), &[(1, 1)]);
        assert_eq!(message(Bitmaps::read("x", &bytes, Form::I32, 1)), expected);
    }
    let bytes = with(range_bitmap::bytes(&tens, Form::I32, 16 << 10).unwrap(), &[(5, 1)]);
    assert_eq!(message(RangeBitmap::read("x", &bytes, Form::I32, 1)), expected);
}

/// Blocks of version 2 had as many values as they liked.
#[test]
fn blocks_of_a_bitmap_index_have_the_values_that_it_tells() {
    let tens = to_write(&ints(&TENS)).bytes(Form::I32, 2, 16 << 10).unwrap();
    let fewer = with(tens.clone(), &[(5, 1)]);
    assert_eq!(message(Bitmaps::read("x", &fewer, Form::I32, 4)), "expected 1 values, found more");
    let more = with(tens, &[(5, 3)]);
    assert_eq!(message(Bitmaps::read("x", &more, Form::I32, 4)), "expected 3 values, found 2");
}

/// 64 slices of a range bitmap that name the same bytes become as many bitmaps.
#[test]
fn slices_of_a_range_bitmap_have_bytes_of_their_own() {
    let values: Vec<Option<i64>> = (0..9).map(Some).collect();
    let bytes = range_bitmap::bytes(&to_write(&ints(&values)), Form::I32, 16 << 10).unwrap();
    RangeBitmap::read("x", &bytes, Form::I32, 9).unwrap();
    // the places of the slices: behind the length of the header, a byte of version, one of count and two lengths
    let numbers = bytes.windows(6).rposition(|some| some == [0, 0, 0, 42, 1, 4]).unwrap();
    let second = numbers + 4 + 2 + 8 + 8;
    let shared = with(bytes, &[(second, 0)]);
    let text = message(RangeBitmap::read("x", &shared, Form::I32, 9));
    assert!(text.starts_with("expected a slice between "), "{text}");
}

/// Many values, or many names in a container, were read without a look at whether to stop.
#[test]
fn reading_an_index_can_be_stopped() {
    let values: Vec<Option<i64>> = (0..3000).map(Some).collect();
    let values = to_write(&ints(&values));
    let range = range_bitmap::bytes(&values, Form::I64, 16 << 10).unwrap();
    let versions = [1, 2].map(|version| values.bytes(Form::I64, version, 16 << 10).unwrap());
    let filter = BloomFilter::new(10, 0.1).bytes();
    let filter = BloomFilter::read("x", &filter).unwrap();
    let kinds: Vec<String> = (0..2000).map(|n| format!("k{n}")).collect();
    let kinds = kinds.iter().map(|kind| (kind.as_str(), None)).collect();
    let container = encode_container(&[("c".to_owned(), kinds)].into(), &[]).unwrap();
    let token = crate::cancel::Cancellation::default();
    token.cancel();
    token.run(|| {
        let stopped = [
            RangeBitmap::read("x", &range, Form::I64, 3000).unwrap_err(),
            Bitmaps::read("x", &versions[0], Form::I64, 3000).unwrap_err(),
            Bitmaps::read("x", &versions[1], Form::I64, 3000).unwrap_err(),
            FileIndex::embedded("x", container.clone().into()).unwrap_err(),
            filter.answer(&Question::In(&[Key::Integer(1)])).unwrap_err(),
        ];
        assert!(stopped.iter().all(|e| e.kind() == ErrorKind::Cancelled), "{stopped:?}");
    });
}
