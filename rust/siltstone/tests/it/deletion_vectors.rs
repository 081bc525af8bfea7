//! Deletion vectors that Java wrote: the rows that Java says, and the same bytes when they are written again.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    deletion_vectors::{DELETION_VECTORS, DeletionVectorsIndexFile},
    fs::FileIoRef,
    manifest::{DeletionVectorRange, decode_index_manifest},
};

use crate::fixtures::{self, ROOT};

#[test]
fn vectors_of_java_are_read_and_written_byte_for_byte() {
    let mut vectors = 0;
    for fixture in fixtures::all() {
        let fs: FileIoRef = Arc::new(fixture.io());
        for line in fixture.meta().iter().filter(|line| line["type"] == "index_manifest") {
            let Some(bytes) = fixture.files.get(&format!("manifest/{}", line["name"].as_str().unwrap())) else {
                continue;
            };
            let said: BTreeMap<&str, &serde_json::Value> =
                line["entries"].as_array().unwrap().iter().map(|e| (e["file_name"].as_str().unwrap(), e)).collect();
            let Ok(entries) = decode_index_manifest("index-manifest", bytes) else { continue };
            for entry in entries.iter().filter(|entry| entry.index_type == DELETION_VECTORS) {
                let path = format!("{ROOT}/index/{}", entry.file_name);
                let Some(file) = fixture.files.get(&format!("index/{}", entry.file_name)) else { continue };
                let positions = &said[entry.file_name.as_str()]["deleted_positions"];
                for range in entry.deletion_vectors.iter().flatten() {
                    let rows = DeletionVectorsIndexFile::read(&fs, &path, range).unwrap();
                    let mut vector = rows.to_vector().unwrap();
                    let expected = positions[&range.data_file_name].as_array().unwrap();
                    let expected: Vec<u64> = expected.iter().map(|p| p.as_u64().unwrap()).collect();
                    assert_eq!(vector.positions().collect::<Vec<_>>(), expected, "{path}");
                    assert_eq!(vector.serialize().unwrap(), stored(file, range, rows.bytes().len()), "{path}");
                    vectors += 1;
                }
            }
        }
    }
    assert!(vectors > 50, "{vectors}");
}

fn stored(file: &[u8], range: &DeletionVectorRange, length: usize) -> Vec<u8> {
    let start = usize::try_from(range.offset).unwrap();
    file[start..start + length].to_vec()
}
