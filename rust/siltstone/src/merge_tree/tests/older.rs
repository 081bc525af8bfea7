//! A compaction never changes what a read shows, although it leaves older rows where they are.

use super::*;

/// A bucket whose rows multiply, 3,000 of them in the highest level: `seq` of each is 12.
fn bucket(settings: WriterSettings, options: &[(&str, &str)]) -> Bucket {
    let given = [
        ("merge-engine", "aggregation"),
        ("fields.seq.aggregate-function", "product"),
        ("num-sorted-run.compaction-trigger", "2"),
        ("num-levels", "6"),
    ];
    let owned = |(key, value): &(&'static str, &'static str)| (*key, (*value).to_owned());
    let all: Vec<(&str, String)> =
        given.iter().map(owned).chain(options.iter().map(|(key, value)| (*key, (*value).to_owned()))).collect();
    let mut bucket = Bucket::new(&all, settings);
    put(&mut bucket, &(0..3_000).map(|key| (key, 12, 0)).collect::<Vec<_>>());
    bucket.abort();
    let unit = pick(&bucket.ctx, &bucket.live, true).unwrap();
    if let Some(unit) = unit {
        let made = run_compaction(&bucket.ctx, &partition(), 0, &bucket.live, &unit, &CompactResources::default());
        bucket.apply(DataIncrement::default(), made.unwrap());
    }
    assert!(bucket.live.iter().all(|file| file.level == 5));
    bucket
}

/// Commits rows: key, `seq`, kind.
fn put(bucket: &mut Bucket, rows: &[(i32, i64, i8)]) {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(StringArray::from(vec!["text"; rows.len()])),
    ];
    let batch = RecordBatch::try_new(arrow_schema(&bucket.ctx.schema.fields).unwrap(), columns).unwrap();
    let kinds: Int8Array = rows.iter().map(|row| row.2).collect::<Vec<i8>>().into();
    bucket.writer().write(&batch, &kinds).unwrap();
    let (data, compact) = bucket.writer().prepare_commit(true).unwrap();
    bucket.apply(data, compact);
}

/// What readers see of a key.
fn shown(bucket: &Bucket, key: i32) -> Datum {
    let row = bucket.read(0).into_iter().find(|record| record.fields[0] == Datum::Int(key));
    row.map_or(Datum::Null, |record| record.fields[1].clone())
}

fn write_only() -> WriterSettings {
    WriterSettings { write_only: true, ..alone() }
}

/// An ordinary compaction that leaves the highest level where it is, as it is picked; what it comes to.
fn compacted(bucket: &mut Bucket) -> CompactIncrement {
    bucket.abort();
    let unit = pick(&bucket.ctx, &bucket.live, false).unwrap().unwrap();
    assert!(unit.output_level < 5 && unit.files.len() < bucket.live.len(), "{unit:?}");
    let resources = CompactResources::default();
    let made = run_compaction(&bucket.ctx, &partition(), 0, &bucket.live, &unit, &resources).unwrap();
    bucket.apply(DataIncrement::default(), made.clone());
    bucket.check_no_orphans();
    made
}

#[test]
fn a_compaction_takes_older_rows_in_where_it_would_forget_what_a_row_takes_back() {
    let mut bucket = bucket(write_only(), &[]);
    put(&mut bucket, &[(5, 3, 3)]);
    put(&mut bucket, &[(5, 4, 0), (6, 2, 0)]);
    assert_eq!((shown(&bucket, 5), shown(&bucket, 6)), (Datum::BigInt(16), Datum::BigInt(24)));
    let before = bucket.live.clone();
    let made = compacted(&mut bucket);
    assert_eq!(made.compact_before.len(), before.len(), "{made:?}");
    assert!(bucket.live.iter().all(|file| file.level == 5 && file.delete_row_count == Some(0)));
    assert_eq!((shown(&bucket, 5), shown(&bucket, 6)), (Datum::BigInt(16), Datum::BigInt(24)));
}

#[test]
fn a_compaction_leaves_older_rows_where_nothing_is_forgotten() {
    for rows in [
        // each is alone under its key
        [(5, 3, 3), (6, 4, 0)],
        // nothing is taken back
        [(5, 3, 0), (5, 4, 0)],
        // no file of a higher level has the key
        [(4_000, 3, 3), (4_000, 4, 0)],
    ] {
        let mut bucket = bucket(write_only(), &[]);
        for row in rows {
            put(&mut bucket, &[row]);
        }
        let before = bucket.read(0);
        let made = compacted(&mut bucket);
        assert_eq!(made.compact_before.len(), 2, "{rows:?} {made:?}");
        assert_eq!(bucket.read(0), before, "{rows:?}");
    }
}

#[test]
fn a_compaction_beside_the_writing_takes_older_rows_in_as_well() {
    for threads in [0, 2] {
        for producer in ["none", "full-compaction", "input"] {
            let settings = WriterSettings { threads, ..alone() };
            let mut bucket = bucket(settings, &[("changelog-producer", producer)]);
            for (rows, expected) in
                [([(5, 3, 3), (7, 1, 0)], 4), ([(5, 4, 0), (8, 1, 0)], 16), ([(5, 2, 1), (9, 1, 0)], 8)]
            {
                put(&mut bucket, &rows);
                assert_eq!(shown(&bucket, 5), Datum::BigInt(expected), "{threads} {producer}");
            }
            bucket.abort();
            bucket.check_no_orphans();
            assert!(bucket.live.iter().filter(|file| file.level == 0).count() < 3);
        }
    }
}

#[test]
fn a_compaction_that_fails_with_the_older_rows_leaves_none_of_its_files() {
    let mut bucket = bucket(write_only(), &[("target-file-row-num", "700")]);
    put(&mut bucket, &[(5, 3, 3)]);
    put(&mut bucket, &[(5, 4, 0)]);
    bucket.abort();
    let before = bucket.data_files();
    let last = bucket.live.iter().filter(|file| file.level == 5).max_by_key(|file| file.max_key.clone()).unwrap();
    let name = last.file_name.clone();
    bucket.fs.put(&format!("{ROOT}/bucket-0/{name}"), b"not a data file");
    let unit = pick(&bucket.ctx, &bucket.live, false).unwrap().unwrap();
    let resources = CompactResources::default();
    let error = run_compaction(&bucket.ctx, &partition(), 0, &bucket.live, &unit, &resources).unwrap_err();
    assert!(error.to_string().contains(&name), "{error}");
    assert_eq!(bucket.data_files(), before);
}
