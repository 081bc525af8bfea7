//! Java's bytes of each kind of index, both ways (format chapter 9).

mod forged;

use roaring::RoaringBitmap;

use super::{
    bitmap::{Bitmaps, BitmapsToWrite},
    bloom::BloomFilter,
    bsi::BitSliced,
    key::{Form, Key},
    question::{Index, Question},
    range_bitmap::{self, RangeBitmap},
    *,
};
use crate::{
    codec::{from_hex, to_hex},
    error::ErrorKind,
    predicate::CompareOp,
};

fn hex(text: &str) -> Vec<u8> {
    from_hex(&text.split_whitespace().collect::<String>()).unwrap()
}

fn rows(rows: &[u32]) -> Candidates {
    Candidates::Rows(rows.iter().copied().collect())
}

fn to_write(values: &[Option<Key>]) -> BitmapsToWrite {
    let mut out = BitmapsToWrite { rows: u32::try_from(values.len()).unwrap(), ..BitmapsToWrite::default() };
    for (row, value) in (0..).zip(values) {
        let Some(key) = value else {
            out.nulls.insert(row);
            continue;
        };
        match out.values.iter_mut().find(|(known, _)| known == key) {
            Some((_, rows)) => _ = rows.insert(row),
            None => out.values.push((key.clone(), RoaringBitmap::from_iter([row]))),
        }
    }
    out.values.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

fn ints(values: &[Option<i64>]) -> Vec<Option<Key>> {
    values.iter().map(|value| value.map(Key::Integer)).collect()
}

fn texts(values: &[Option<&str>]) -> Vec<Option<Key>> {
    values.iter().map(|value| value.map(|text| Key::Text(text.as_bytes().to_vec()))).collect()
}

#[test]
fn bloom_filters_have_javas_bytes() {
    let mut of_ints = BloomFilter::new(10, 0.1);
    of_ints.add(&Key::Integer(1));
    of_ints.add(&Key::Integer(2));
    assert_eq!(to_hex(&of_ints.bytes()), "00000003882001404000");
    let mut of_texts = BloomFilter::new(10, 0.1);
    of_texts.add(&Key::Text(b"abc".to_vec()));
    assert_eq!(to_hex(&of_texts.bytes()), "00000003000008010200");
}

const TENS: [Option<i64>; 4] = [Some(10), Some(20), None, Some(10)];

#[test]
fn bitmaps_have_javas_bytes() {
    let v1 = "01 00000004 00000002 01 fffffffd 00000014 fffffffe 0000000a 00000000 3a300000 01000000 0000 0100 10000000 0000 0300";
    let v2 = "02 00000004 00000002 01 fffffffd 00000012 00000001 0000000a 00000000 0000001c
        00000002 0000000a 00000000 00000014 00000014 fffffffe ffffffff
        3a300000 01000000 0000 0100 10000000 0000 0300";
    let of_texts = "02 00000005 00000002 01 00000000 00000014 00000001 00000001 61 00000000 0000001e
        00000002 00000001 61 00000014 00000014 00000001 62 fffffffe ffffffff
        3a300000 01000000 0000 0100 10000000 0300 0400 3a300000 01000000 0000 0100 10000000 0000 0200";
    assert_eq!(to_write(&ints(&TENS)).bytes(Form::I32, 2, 16 << 10).unwrap(), hex(v2));
    let letters = texts(&[Some("a"), Some("b"), Some("a"), None, None]);
    assert_eq!(to_write(&letters).bytes(Form::Text, 2, 16 << 10).unwrap(), hex(of_texts));
    for bytes in [hex(v1), hex(v2), to_write(&ints(&TENS)).bytes(Form::I32, 1, 0).unwrap()] {
        let read = Bitmaps::read("x", &bytes, Form::I32, 4).unwrap();
        answers_of_tens(&read);
        assert!(Bitmaps::read("x", &bytes, Form::I32, 5).is_err());
    }
    let bytes = hex(of_texts);
    let read = Bitmaps::read("x", &bytes, Form::Text, 5).unwrap();
    assert_eq!(read.answer(&Question::IsNull).unwrap(), rows(&[3, 4]));
}

/// Rows 10, 20, null, 10.
fn answers_of_tens(index: &dyn Index) {
    let [ten, eleven, twenty] = [10, 11, 20].map(Key::Integer);
    let answer = |question: Question<'_>| index.answer(&question).unwrap();
    assert_eq!(answer(Question::IsNull), rows(&[2]));
    assert_eq!(answer(Question::IsNotNull), rows(&[0, 1, 3]));
    assert_eq!(answer(Question::In(&[ten.clone(), eleven.clone()])), rows(&[0, 3]));
    assert_eq!(answer(Question::NotIn(&[ten.clone(), eleven.clone()])), rows(&[1]));
    for (op, key, expected) in [
        (CompareOp::Lt, &ten, &[][..]),
        (CompareOp::LtEq, &ten, &[0, 3]),
        (CompareOp::Lt, &eleven, &[0, 3]),
        (CompareOp::LtEq, &eleven, &[0, 3]),
        (CompareOp::Gt, &eleven, &[1]),
        (CompareOp::GtEq, &eleven, &[1]),
        (CompareOp::Gt, &ten, &[1]),
        (CompareOp::GtEq, &twenty, &[1]),
        (CompareOp::Gt, &twenty, &[]),
        (CompareOp::LtEq, &twenty, &[0, 1, 3]),
    ] {
        assert_eq!(answer(Question::Compare(op, key)), rows(expected), "{op:?} {key:?}");
    }
}

#[test]
fn blocks_of_bitmaps_have_a_size() {
    let values: Vec<Option<i64>> = (0..100).map(|n| Some(n % 50)).collect();
    let bytes = to_write(&ints(&values)).bytes(Form::I32, 2, 100).unwrap();
    let read = Bitmaps::read("x", &bytes, Form::I32, 100).unwrap();
    for n in 0..50 {
        let row = u32::try_from(n).unwrap();
        assert_eq!(read.answer(&Question::In(&[Key::Integer(n)])).unwrap(), rows(&[row, row + 50]));
    }
}

#[test]
fn bit_sliced_indexes_have_javas_bytes() {
    let java = "01 00000004
        01 01 0000000000000000 0000000000000002 3a300000 01000000 0000 0100 10000000 0000 0100 00000002
        3a300000 01000000 0000 0000 10000000 0000 3a300000 01000000 0000 0000 10000000 0100
        01 01 0000000000000000 0000000000000003 3a300000 01000000 0000 0000 10000000 0300 00000002
        3a300000 01000000 0000 0000 10000000 0300 3a300000 01000000 0000 0000 10000000 0300";
    let built = BitSliced::build(&[Some(1), Some(2), None, Some(-3)]).unwrap();
    assert_eq!(to_hex(&built.bytes().unwrap()), to_hex(&hex(java)));
    answers_of_tens(&BitSliced::build(&TENS).unwrap());
    let read = BitSliced::read("x", &hex(java), 4).unwrap();
    let answer = |op, number| read.answer(&Question::Compare(op, &Key::Integer(number))).unwrap();
    assert_eq!(answer(CompareOp::Lt, 2), rows(&[0, 3]));
    assert_eq!(answer(CompareOp::LtEq, -3), rows(&[3]));
    assert_eq!(answer(CompareOp::Gt, -4), rows(&[0, 1, 3]));
    assert_eq!(answer(CompareOp::GtEq, i64::MIN), rows(&[0, 1, 3]));
    assert!(BitSliced::build(&[Some(i64::MIN)]).is_none());
}

#[test]
fn range_bitmaps_have_javas_bytes() {
    let java = "00000015 01 00000004 00000002 0000000a 00000014 00000032
        0000000d 01 00000001 00000004 00000019 00000000
        01 0000000a 00000000 00000000 00000001 00000004 00000004 00000014
        00000012 01 01 00000016 00000008 00000000 00000012
        3a300000 01000000 0000 0200 10000000 0000 0100 0300 3a300000 01000000 0000 0000 10000000 0100";
    let bytes = range_bitmap::bytes(&to_write(&ints(&TENS)), Form::I32, 16 << 10).unwrap();
    assert_eq!(to_hex(&bytes), to_hex(&hex(java)));
    answers_of_tens(&RangeBitmap::read("x", &bytes, Form::I32, 4).unwrap());
    assert!(RangeBitmap::read("x", &bytes, Form::I32, 3).is_err());
}

#[test]
fn range_bitmaps_find_texts_in_chunks() {
    let names: Vec<String> = (0..300).map(|n| format!("{:03}{}", n, "x".repeat(n % 7))).collect();
    let values: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).chain([None]).collect();
    for chunk in [0, 40, 16 << 10] {
        let bytes = range_bitmap::bytes(&to_write(&texts(&values)), Form::Text, chunk).unwrap();
        let read = RangeBitmap::read("x", &bytes, Form::Text, 301).unwrap();
        let text = |text: &str| Key::Text(text.as_bytes().to_vec());
        for (n, name) in (0..).zip(&names) {
            assert_eq!(read.answer(&Question::In(&[text(name)])).unwrap(), rows(&[n]));
        }
        let tens: Vec<u32> = (120..130).collect();
        assert_eq!(read.answer(&Question::Prefix(&text("12"))).unwrap(), rows(&tens));
        assert_eq!(read.answer(&Question::IsNull).unwrap(), rows(&[300]));
        assert!(read.answer(&Question::Compare(CompareOp::Lt, &text("000"))).unwrap().is_none());
    }
}

/// A few bytes named four billion rows, and no read of the table came to an end.
#[test]
fn bitmaps_of_rows_that_the_file_does_not_have_are_corrupt() {
    // a fourth row in the bitmaps, and a head that speaks of three
    let of_three = |mut bytes: Vec<u8>, at: usize| {
        bytes[at..at + 4].copy_from_slice(&3_u32.to_be_bytes());
        bytes
    };
    let bytes = of_three(to_write(&ints(&TENS)).bytes(Form::I32, 2, 16 << 10).unwrap(), 1);
    let read = Bitmaps::read("x", &bytes, Form::I32, 3).unwrap();
    let error = read.answer(&Question::In(&[Key::Integer(10)])).unwrap_err();
    assert_eq!(error.message(), "expected numbers of the 3 rows of the file, found row 3");
    // the row of a value that has one alone
    let one = of_three(to_write(&ints(&[None, None, None, Some(7)])).bytes(Form::I32, 2, 16 << 10).unwrap(), 1);
    let read = Bitmaps::read("x", &one, Form::I32, 3).unwrap();
    assert!(read.answer(&Question::In(&[Key::Integer(7)])).is_err());
    let bytes = of_three(BitSliced::build(&TENS).unwrap().bytes().unwrap(), 1);
    assert_eq!(BitSliced::read("x", &bytes, 3).unwrap_err().kind(), ErrorKind::CorruptFile);
    let bytes = of_three(range_bitmap::bytes(&to_write(&ints(&TENS)), Form::I32, 16 << 10).unwrap(), 5);
    assert_eq!(RangeBitmap::read("x", &bytes, Form::I32, 3).unwrap_err().kind(), ErrorKind::CorruptFile);
}

#[test]
fn columns_of_nulls_have_no_values() {
    let nulls = to_write(&ints(&[None, None]));
    let bytes = range_bitmap::bytes(&nulls, Form::I32, 16 << 10).unwrap();
    let read = RangeBitmap::read("x", &bytes, Form::I32, 2).unwrap();
    assert_eq!(read.answer(&Question::IsNull).unwrap(), rows(&[0, 1]));
    assert!(read.answer(&Question::In(&[Key::Integer(1)])).unwrap().is_none());
    let bytes = nulls.bytes(Form::I32, 2, 16 << 10).unwrap();
    let read = Bitmaps::read("x", &bytes, Form::I32, 2).unwrap();
    assert_eq!(read.answer(&Question::IsNull).unwrap(), rows(&[0, 1]));
}

/// An index of many values was put together without a look at whether to stop.
#[test]
fn making_an_index_can_be_stopped() {
    let values: Vec<Option<i64>> = (0..3000).map(Some).collect();
    let values = to_write(&ints(&values));
    let token = crate::cancel::Cancellation::default();
    token.cancel();
    token.run(|| {
        let stopped = [
            range_bitmap::bytes(&values, Form::I64, 16 << 10).unwrap_err(),
            values.bytes(Form::I64, 2, 16 << 10).unwrap_err(),
        ];
        assert!(stopped.iter().all(|e| e.kind() == crate::ErrorKind::Cancelled), "{stopped:?}");
    });
}
