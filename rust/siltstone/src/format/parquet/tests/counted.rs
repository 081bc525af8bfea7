//! Files whose pages hold other rows than their footer says.

use parquet::file::{
    metadata::{
        ColumnChunkMetaData, OffsetIndexBuilder, PageIndexPolicy, ParquetMetaDataReader, ParquetMetaDataWriter,
        RowGroupMetaData,
    },
    page_index::offset_index::OffsetIndexMetaData,
    writer::TrackedWrite,
};

use super::*;
use crate::cancel::Cancellation;

/// The file with other row groups in its footer, and `more` bytes before it.
pub(super) fn claiming(bytes: &Bytes, more: &[u8], change: impl Fn(RowGroupMetaData) -> RowGroupMetaData) -> Bytes {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
    let groups = metadata.row_groups().iter().cloned().map(change).collect();
    let metadata = metadata.into_builder().set_row_groups(groups).build();
    let end = bytes.len() - 8;
    let footer = u32::from_le_bytes(*bytes[end..].first_chunk().unwrap());
    let mut out = Vec::new();
    let mut file = TrackedWrite::new(&mut out);
    file.write_all(&bytes[..end - usize::try_from(footer).unwrap()]).unwrap();
    file.write_all(more).unwrap();
    ParquetMetaDataWriter::new_with_tracked(file, &metadata).finish().unwrap();
    out.into()
}

pub(super) fn with_columns(group: RowGroupMetaData, columns: Vec<ColumnChunkMetaData>) -> RowGroupMetaData {
    group.into_builder().set_column_metadata(columns).build().unwrap()
}

/// The row group with this number of rows, as each of its columns says, too.
fn with_rows(group: RowGroupMetaData, rows: i64) -> RowGroupMetaData {
    let columns = group.columns().iter().cloned();
    let columns = columns.map(|column| column.into_builder().set_num_values(rows).build().unwrap()).collect();
    with_columns(group, columns).into_builder().set_num_rows(rows).build().unwrap()
}

/// 20000 rows in about 20 pages a column.
fn paged() -> (Vec<DataField>, Bytes) {
    let (fields, batches) = numbers(20_000);
    let options = options(&[
        ("page.row.count.limit", "1000"),
        ("parquet.enable.dictionary", "false"),
        ("parquet.compression", "none"),
    ]);
    let (bytes, _) = write(&fields, &batches, &options);
    (fields, bytes)
}

/// The file with the chunks of these columns ending after their first page.
fn cut(bytes: &Bytes, cut: &[usize]) -> Bytes {
    let file = open(bytes).indexed().unwrap();
    let first: Vec<i64> = (0..3)
        .map(|leaf| {
            let pages = file.metadata_for_tests().offset_index().unwrap()[0][leaf].page_locations();
            assert!(pages.len() > 10, "{}", pages.len());
            pages[0].compressed_page_size.into()
        })
        .collect();
    claiming(bytes, &[], |group| {
        let columns = group.columns().iter().cloned().enumerate();
        let columns = columns.map(|(leaf, column)| {
            let size = if cut.contains(&leaf) { first[leaf] } else { column.compressed_size() };
            column.into_builder().set_total_compressed_size(size).build().unwrap()
        });
        let columns = columns.collect();
        with_columns(group, columns)
    })
}

fn late_ids(fields: &[DataField]) -> RowTest {
    let test = |rows: &Rows| {
        let ids = rows.columns[0].as_any().downcast_ref::<Int64Array>().unwrap();
        Ok(BooleanArray::from_unary(ids, |id| id % 7 == 0))
    };
    RowTest { columns: vec![fields[0].clone()], test: Arc::new(test) }
}

/// Ways to read a file: all rows, with their places, by pages, chosen ones, and those that pass a condition.
fn requests(fields: &[DataField]) -> Vec<FileRead> {
    let all = || request(fields);
    vec![
        all(),
        request(&fields[..1]),
        FileRead { position: true, batch_rows: 999, ..all() },
        FileRead { rows: Some(vec![10..20, 15_000..19_000]), ..all() },
        FileRead { row_test: Some(late_ids(fields)), ..all() },
        FileRead { row_test: Some(late_ids(fields)), position: true, ..request(&fields[..1]) },
        FileRead { row_test: Some(late_ids(fields)), prune: Some(at_least(500)), ..request(&fields[1..]) },
    ]
}

fn read_all(bytes: &Bytes, request: FileRead) -> Result<usize> {
    open(bytes).read(request)?.map(|rows| rows.map(|rows| rows.count)).sum()
}

fn assert_damaged(bytes: &Bytes, request: FileRead, what: &str) {
    let error = read_all(bytes, request).expect_err(what);
    assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("stored.parquet")), "{what}");
}

#[test]
fn the_footer_that_these_tests_write_is_a_good_one() {
    let (fields, bytes) = paged();
    let same = claiming(&bytes, &[], |group| group);
    for (at, request) in requests(&fields).into_iter().enumerate() {
        assert_eq!(read_all(&same, request.clone()).unwrap(), read_all(&bytes, request).unwrap(), "{at}");
    }
}

#[test]
fn a_file_with_fewer_rows_than_its_footer_says_is_damage() {
    let (fields, bytes) = paged();
    let twice = claiming(&bytes, &[], |group| with_rows(group, 40_000));
    for (at, request) in requests(&fields).into_iter().enumerate() {
        // rows that are there may be chosen without reading on
        if request.rows.is_none() {
            assert_damaged(&twice, request, &at.to_string());
        }
    }
    let late = FileRead { rows: Some(vec![15_000..16_000, 19_000..25_000]), ..request(&fields) };
    assert_damaged(&twice, late, "chosen rows");
}

#[test]
fn a_file_with_more_rows_than_its_footer_says_is_damage_where_they_come() {
    let (fields, bytes) = paged();
    let fewer = claiming(&bytes, &[], |group| with_rows(group, 19_500));
    assert_damaged(&fewer, request(&fields), "all rows");
    // a batch ends where the rows should
    for batch_rows in [500, 1500, 19_500, 30_000] {
        assert_damaged(&fewer, FileRead { batch_rows, ..request(&fields) }, "all rows");
    }
    assert_damaged(&fewer, FileRead { row_test: Some(late_ids(&fields)), ..request(&fields) }, "a condition");
}

#[test]
fn a_column_whose_pages_end_early_is_damage() {
    let (fields, bytes) = paged();
    // read from its beginning to its end: pages that are found by their index are there still
    let in_order = || requests(&fields).into_iter().filter(|request| request.rows.is_none() && request.prune.is_none());
    for columns in [&[0][..], &[0, 1, 2]] {
        let cut = cut(&bytes, columns);
        for (at, request) in in_order().enumerate() {
            assert_damaged(&cut, request, &format!("{columns:?} {at}"));
        }
    }
    // the column of the condition is whole, the one of the result is not
    let condition = FileRead { row_test: Some(late_ids(&fields)), ..request(&fields[1..2]) };
    assert_damaged(&cut(&bytes, &[1]), condition, "after a condition");
}

#[test]
fn an_index_without_pages_leaves_no_rows_out() {
    let (fields, bytes) = paged();
    let end = bytes.len() - 8;
    let footer = u32::from_le_bytes(*bytes[end..].first_chunk().unwrap());
    let at = i64::try_from(end).unwrap() - i64::from(footer);
    // field 1, a list of no structs
    let empty = claiming(&bytes, &[0x19, 0x0c, 0], |group| {
        let columns = group.columns().iter().cloned().map(|column| {
            column.into_builder().set_offset_index_offset(Some(at)).set_offset_index_length(Some(3)).build().unwrap()
        });
        let columns = columns.collect();
        with_columns(group, columns)
    });
    let pruned = FileRead { prune: Some(at_least(500)), ..request(&fields) };
    assert_damaged(&empty, pruned.clone(), "pages");
    assert_damaged(&empty, FileRead { row_test: Some(late_ids(&fields)), ..pruned }, "pages and a condition");
    match open(&empty).blocks(&[Some(fields[0].clone())]) {
        Ok(blocks) => assert_eq!((blocks.len(), blocks[0].rows.clone()), (1, 0..20_000)),
        Err(error) => assert_eq!(error.kind(), ErrorKind::CorruptFile),
    }
}

#[test]
fn rows_of_a_file_without_any_wanted_column_are_counted_by_its_pages() {
    let (_, bytes) = paged();
    let new = vec![field(7, "new", TypeKind::BigInt)];
    let all = |rows: &Rows| Ok(BooleanArray::from(vec![true; rows.count]));
    let test = RowTest { columns: new.clone(), test: Arc::new(all) };
    let tested = FileRead { row_test: Some(test), position: true, ..request(&[]) };
    let chosen = FileRead { rows: Some(vec![10..20, 15_000..15_010]), ..request(&new) };
    for (request, rows) in [(request(&new), 20_000), (request(&[]), 20_000), (tested.clone(), 20_000), (chosen, 20)] {
        assert_eq!(read_all(&bytes, request).unwrap(), rows);
    }
    let endless = claiming(&bytes, &[], |group| with_rows(group, 1 << 40));
    assert_damaged(&endless, request(&new), "nulls");
    assert_damaged(&endless, request(&[]), "no columns");
    let error = read_all(&endless, tested).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::CorruptFile | ErrorKind::MemoryLimitExceeded), "{error}");
}

/// What one row group has too few, the next one has too many: rows would come as those of others.
#[test]
fn rows_of_a_row_group_are_not_those_of_another_one() {
    let (fields, batches) = numbers(50_000);
    let options =
        options(&[("block.size", "40000"), ("page.row.count.limit", "1000"), ("parquet.compression", "none")]);
    let (bytes, _) = write(&fields, &batches, &options);
    let rows: Vec<i64> =
        open(&bytes).metadata_for_tests().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    let ([first, second], true) = ([rows[0], rows[1]], rows.len() > 2) else { panic!("{rows:?}") };
    let moved = |by: i64| {
        let at = std::cell::Cell::new(0);
        claiming(&bytes, &[], |group| match at.replace(at.get() + 1) {
            0 => with_rows(group, first - by),
            1 => with_rows(group, second + by),
            _ => group,
        })
    };
    for (at, request) in requests(&fields).into_iter().enumerate() {
        if request.rows.is_none() && request.prune.is_none() {
            assert_damaged(&moved(100), request.clone(), &format!("{at} less"));
            assert_damaged(&moved(-100), request, &format!("{at} more"));
        }
    }
    let mut late = request(&fields);
    let both = 0..first + second;
    late.rows = Some(vec![both]);
    assert_damaged(&moved(100), late, "chosen");
}

#[test]
fn a_row_group_has_as_many_rows_as_its_columns_have_values() {
    let (fields, bytes) = paged();
    let other = claiming(&bytes, &[], |group| group.into_builder().set_num_rows(20_001).build().unwrap());
    for (at, request) in requests(&fields).into_iter().enumerate() {
        assert_damaged(&other, request, &at.to_string());
    }
}

/// The file with an index of its pages that gives rows of the second page to the first.
fn with_other_pages(bytes: &Bytes) -> Bytes {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = reader.parse_and_finish(bytes).unwrap();
    let of_column = |index: &OffsetIndexMetaData| {
        let mut other = OffsetIndexBuilder::new();
        for (at, page) in index.page_locations().iter().enumerate() {
            other.append_offset_and_size(page.offset, page.compressed_page_size);
            other.append_row_count([1500, 500].get(at).copied().unwrap_or(1000));
        }
        other.build()
    };
    let indexes = metadata.offset_index().unwrap().iter();
    let indexes = indexes.map(|group| group.iter().map(of_column).collect()).collect();
    let metadata = metadata.into_builder().set_offset_index(Some(indexes)).build();
    let mut out = Vec::new();
    let mut file = TrackedWrite::new(&mut out);
    file.write_all(&bytes[..bytes.len() - 8]).unwrap();
    ParquetMetaDataWriter::new_with_tracked(file, &metadata).finish().unwrap();
    out.into()
}

/// By an index that lies about rows, other rows would come, or none.
#[test]
fn pages_that_are_found_by_their_index_have_the_rows_that_it_says() {
    let (fields, bytes) = paged();
    let other = with_other_pages(&bytes);
    assert_eq!(read_all(&other, request(&fields)).unwrap(), 20_000);
    for rows in [10..20, 1600..1700] {
        assert_damaged(&other, FileRead { rows: Some(vec![rows]), ..request(&fields) }, "chosen rows");
    }
    let tested = FileRead { row_test: Some(late_ids(&fields)), ..request(&fields) };
    for pruned in [request(&fields), tested] {
        assert_damaged(&other, FileRead { prune: Some(at_least(1200)), ..pruned }, "a condition");
    }
}

#[test]
fn whoever_chooses_row_groups_and_pages_may_stop_it() {
    let (fields, bytes) = paged();
    let file = open(&bytes).indexed().unwrap();
    let token = Cancellation::default();
    token.cancel();
    let pruned = FileRead { prune: Some(at_least(500)), ..request(&fields) };
    let stopped = [
        token.run(|| file.read(pruned).map(drop)),
        token.run(|| file.blocks(&[Some(fields[0].clone())]).map(drop)),
        token.run(|| file.claims(&fields).map(drop)),
    ];
    for result in stopped {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
