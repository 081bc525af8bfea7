//! Files get indexes while others commit rows that are equal to theirs.

use super::*;

fn add(fs: &FileIoRef, messages: &[CommitMessage]) {
    let committable = Committable { messages: messages.to_vec(), ..Committable::default() };
    table(fs).commit_messages(None, committable, None).unwrap();
}

/// Of rows with equal numbers in level 0 the one that was committed first stays. A file that is replaced by itself comes behind
/// those that were committed meanwhile: where readers leave level 0 out nobody looked for such, and the second row became the first.
#[test]
fn the_row_that_was_committed_first_stays() {
    let modes: [&[(&str, &str)]; 3] = [&[], &[("merge-engine", "first-row")], &[VECTORS]];
    for options in modes {
        let (io, fs) = new_table(&["k"], &[&[BUCKET, ("write-only", "true")], options].concat());
        let (first, second) = (prepared(&fs, &[(1, 10)]), prepared(&fs, &[(1, 20)]));
        add(&fs, &first);
        table(&fs).alter(r#"[{"kind": "set_option", "key": "file-index.bitmap.columns", "value": "v"}]"#).unwrap();
        let calls = before_each_call(
            &io,
            |fs| table(fs).rewrite_file_index(None).unwrap(),
            move |fs| add(fs, &second),
            |call, fs, _| {
                crate::crash::compact(&open(fs, ROOT), 99).unwrap();
                assert_eq!(rows(fs), [(1, 10)], "{options:?}, before call {call}");
            },
        );
        assert!(calls > 20, "{calls}");
    }
}
