//! Small files with values that many rows have, or begin with: what they need is known before it is decoded.

use arrow_array::cast::AsArray;
use parquet::{
    arrow::ArrowWriter,
    basic::Encoding,
    file::{metadata::RowGroupMetaData, properties::WriterProperties},
};

use super::{
    counted::{claiming, with_columns},
    *,
};

/// Bytes that a batch of these files has at most.
const MOST: usize = 200 << 20;

/// A file of a column `t` whose footer says that its texts are short.
fn lying(texts: ArrayRef, properties: WriterProperties) -> Bytes {
    let batch = RecordBatch::try_from_iter_with_nullable([("t", texts, true)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let lie = |group: RowGroupMetaData| {
        let columns = group.columns().iter().cloned();
        let columns =
            columns.map(|column| column.into_builder().set_unencoded_byte_array_data_bytes(Some(1)).build().unwrap());
        with_columns(group.clone(), columns.collect())
    };
    claiming(&Bytes::from(bytes), &[], lie)
}

fn encoded(encoding: Encoding) -> WriterProperties {
    WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding).build()
}

fn texts() -> Vec<DataField> {
    vec![field(0, "t", text())]
}

fn many(fields: &[DataField]) -> FileRead {
    FileRead { batch_rows: 1 << 20, ..request(fields) }
}

/// The rows of a file, of which no batch has too many bytes, one column.
fn bounded(bytes: &Bytes, request: FileRead) -> Vec<Rows> {
    let batches = open(bytes).read(request).unwrap();
    let checked = batches.map(|rows| {
        let rows = rows.unwrap();
        let bytes = rows.columns[0].get_array_memory_size();
        assert!(bytes < MOST, "{bytes} bytes");
        // what is looked at needs no memory any more
        Rows { columns: vec![rows.columns[0].slice(0, 1)], ..rows }
    });
    checked.collect()
}

fn count(rows: &[Rows]) -> usize {
    rows.iter().map(|rows| rows.count).sum()
}

/// A dictionary has a value once, and a batch as often as rows have it: 300 kB said 600 MB.
#[test]
fn rows_of_a_batch_are_few_where_a_dictionary_has_a_long_value() {
    let long = "x".repeat(300_000);
    let column: StringArray = (0..2000).map(|i| (i % 5 != 4).then_some(long.as_str())).collect();
    let column: ArrayRef = Arc::new(column);
    let bytes = lying(column, WriterProperties::builder().set_dictionary_page_size_limit(1 << 24).build());
    assert!(bytes.len() < 1_000_000);
    let rows = bounded(&bytes, many(&texts()));
    assert_eq!(count(&rows), 2000);
    assert!(rows.len() > 3);
    let chosen = FileRead { rows: Some(vec![3..1500, 1600..1601]), ..many(&texts()) };
    assert_eq!(count(&bounded(&bytes, chosen)), 1498);
    let no_null =
        |rows: &Rows| Ok((0..rows.count).map(|i| Some(rows.columns[0].is_valid(i))).collect::<BooleanArray>());
    let test = RowTest { columns: texts(), test: Arc::new(no_null) };
    assert_eq!(count(&bounded(&bytes, FileRead { row_test: Some(test), ..many(&texts()) })), 1600);
}

/// Each value is the one before and some bytes more.
#[test]
fn rows_of_a_batch_are_few_where_long_values_share_prefixes() {
    let long = "x".repeat(100_000);
    let of = |i: i32| format!("{long}{i}");
    let column: ArrayRef = Arc::new(StringArray::from_iter_values((0..3000).map(of)));
    let bytes = lying(Arc::clone(&column), encoded(Encoding::DELTA_BYTE_ARRAY));
    assert!(bytes.len() < 1_000_000);
    let rows = bounded(&bytes, many(&texts()));
    assert_eq!(count(&rows), 3000);
    assert!(rows.len() > 1);
    let second = rows[1].columns[0].as_string::<i32>().value(0);
    assert_eq!(second, of(i32::try_from(rows[0].count).unwrap()));
}

/// Room was made for as many lengths as they were said to be.
#[test]
fn a_page_with_lengths_of_more_values_than_it_has_is_damage() {
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|i| format!("{i}"))));
        let mut bytes = lying(column, encoded(encoding)).to_vec();
        assert_eq!(count(&read(&bytes.clone().into(), many(&texts()))), 100, "{encoding}");
        let head = |window: &[u8]| window == [0x80, 1, 4, 100];
        let at = bytes.windows(4).rposition(head).unwrap();
        bytes[at + 3] = 127;
        let error = open(&bytes.into()).read(many(&texts())).map(|_| ()).unwrap_err();
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("stored.parquet")));
    }
}

/// A page with an encoding that its footer does not have was not looked at.
#[test]
fn lengths_that_the_footer_does_not_have_are_damage() {
    let column: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|i| format!("{i}"))));
    let bytes = lying(column, encoded(Encoding::DELTA_BYTE_ARRAY));
    let plain = claiming(&bytes, &[], |group| {
        let columns = group.columns().iter().cloned();
        let columns = columns.map(|c| c.into_builder().set_encodings(vec![Encoding::PLAIN]).build().unwrap());
        with_columns(group.clone(), columns.collect())
    });
    let error = open(&plain).read(many(&texts())).and_then(Iterator::collect::<Result<Vec<_>>>).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile);
}

/// A list may have a long value of a dictionary any number of times.
#[test]
fn lists_with_a_long_value_come_in_few_rows() {
    let long = "x".repeat(1 << 20);
    let mut lists = arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
    for row in 0..40 {
        lists.append_value((0..row).map(|i| if i % 3 == 0 { None } else { Some(long.as_str()) }));
    }
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 24).build();
    let bytes = lying(Arc::new(lists.finish()), properties);
    let fields = vec![field(0, "t", TypeKind::Array(Box::new(DataType::new(text()))))];
    let rows = bounded(&bytes, many(&fields));
    assert_eq!(count(&rows), 40);
    assert!(rows.len() > 5);
    let odd = |rows: &Rows| {
        let lists = rows.columns[0].as_list::<i32>();
        Ok((0..rows.count).map(|row| Some(lists.value_length(row) % 2 == 1)).collect::<BooleanArray>())
    };
    let test = RowTest { columns: fields.clone(), test: Arc::new(odd) };
    let request = FileRead { row_test: Some(test), position: true, ..many(&fields) };
    let rows = bounded(&bytes, request);
    let positions: Vec<i64> = rows.iter().flat_map(|rows| rows.positions.as_ref().unwrap().values().to_vec()).collect();
    assert_eq!(positions, (0..40).filter(|row| row % 2 == 1).collect::<Vec<i64>>());
}

/// A value of two gigabytes is refused and not begun.
#[test]
fn fixed_values_are_as_long_as_their_column_says() {
    let binary = |length: i32| {
        let values = vec![0; usize::try_from(length).unwrap()];
        let array = arrow_array::FixedSizeBinaryArray::try_from_iter([values].into_iter()).unwrap();
        Arc::new(array) as ArrayRef
    };
    let rows = |length: i32, rows: usize| {
        let one = binary(length);
        arrow_select::concat::concat(&vec![one.as_ref(); rows]).unwrap()
    };
    let properties = WriterProperties::builder().set_dictionary_enabled(true).build();
    let bytes = lying(rows(1 << 20, 300), properties);
    let fields = vec![field(0, "t", TypeKind::VarBinary(MAX_LENGTH))];
    let rows = bounded(&bytes, many(&fields));
    assert_eq!(count(&rows), 300);
}
