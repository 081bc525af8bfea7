//! Which small files of a partition of a bucket-unaware table are worth rewriting together.

use super::bucketed::small_size;
use crate::{manifest::DataFileMeta, options::CoreOptions};

/// Sizes and counts that decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackRules {
    target_size: i64,
    small_size: i64,
    open_cost: i64,
    min_files: usize,
}

impl PackRules {
    /// The rules of a table. When `full`, a group of two files is enough.
    pub fn new(options: &CoreOptions, full: bool) -> Self {
        let size = |s: u64| i64::try_from(s).unwrap_or(i64::MAX);
        let target_size = size(options.target_file_size(false));
        Self {
            target_size,
            small_size: small_size(options, target_size),
            open_cost: size(options.source_split_open_file_cost),
            min_files: if full { 2 } else { options.compaction_min_file_num.max(2) },
        }
    }

    /// Whether a file is small enough to be compacted at all.
    pub fn is_small(&self, file: &DataFileMeta) -> bool {
        file.file_size < self.small_size
    }
}

/// Groups of small files, smallest files first, each about twice the target size; a rest is a group
/// when it has enough files.
pub fn pack_small_files(rules: &PackRules, files: Vec<DataFileMeta>) -> Vec<Vec<DataFileMeta>> {
    let mut files: Vec<DataFileMeta> = files.into_iter().filter(|f| rules.is_small(f)).collect();
    files.sort_by_key(|f| f.file_size);
    let mut groups = Vec::new();
    let mut group: Vec<DataFileMeta> = Vec::new();
    let mut size = 0_i64;
    for file in files {
        size = size.saturating_add(file.file_size).saturating_add(rules.open_cost);
        group.push(file);
        if group.len() > 1 && size >= rules.target_size.saturating_mul(2) {
            groups.push(std::mem::take(&mut group));
            size = 0;
        }
    }
    if group.len() >= rules.min_files {
        groups.push(group);
    }
    groups
}

/// How a table keeps vectors, and for each data file the index file with its vector and how many rows that deletes.
pub type VectorPlaces<'a> = std::collections::HashMap<&'a str, (&'a str, i64)>;

/// As [`pack_small_files`], of a table with deletion vectors: a file of which more than `threshold` is deleted is a
/// candidate whatever its size, and the candidates whose vectors are in one index file are a group of their own, so that
/// the index file is rewritten once (`AppendCompactCoordinator`).
pub fn pack_with_vectors(
    rules: &PackRules,
    files: Vec<DataFileMeta>,
    vectors: &VectorPlaces<'_>,
    threshold: f64,
) -> Vec<Vec<DataFileMeta>> {
    #[allow(clippy::cast_precision_loss, reason = "a share; Java computes it in double as well")]
    let much_deleted = |file: &DataFileMeta| {
        let deleted = vectors.get(file.file_name.as_str()).map_or(0, |(_, deleted)| *deleted);
        deleted as f64 > file.row_count as f64 * threshold
    };
    let candidates = files.into_iter().filter(|f| rules.is_small(f) || much_deleted(f));
    let mut by_index: std::collections::BTreeMap<&str, Vec<DataFileMeta>> = std::collections::BTreeMap::new();
    let mut rest = Vec::new();
    for file in candidates {
        match vectors.get(file.file_name.as_str()) {
            Some((index, _)) => by_index.entry(index).or_default().push(file),
            None => rest.push(file),
        }
    }
    let mut groups: Vec<Vec<DataFileMeta>> = by_index.into_values().collect();
    groups.extend(pack_small_files(rules, rest));
    groups
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{manifest::DataFileFields, stats::SimpleStats};

    /// An append file whose rows start at `at * 1000`.
    pub(crate) fn file(at: i64, size: i64) -> DataFileMeta {
        DataFileFields {
            file_name: format!("data-{at}.parquet"),
            file_size: size,
            row_count: 1000,
            min_key: vec![0; 12],
            max_key: vec![0; 12],
            key_stats: SimpleStats::empty(),
            value_stats: SimpleStats::empty(),
            min_sequence_number: at * 1000,
            max_sequence_number: at * 1000 + 999,
            schema_id: 0,
            level: 0,
            extra_files: Vec::new(),
            creation_time: None,
            delete_row_count: Some(0),
            embedded_file_index: None,
            file_source: None,
            value_stats_cols: None,
            external_path: None,
            first_row_id: None,
            write_cols: None,
        }
        .into()
    }

    fn groups(full: bool, sizes: &[i64]) -> Vec<Vec<i64>> {
        let options =
            CoreOptions { target_file_size: Some(100), source_split_open_file_cost: 5, ..CoreOptions::default() };
        let files = sizes.iter().zip(0..).map(|(size, at)| file(at, *size)).collect();
        let groups = pack_small_files(&PackRules::new(&options, full), files);
        groups.iter().map(|g| g.iter().map(|f| f.file_size).collect()).collect()
    }

    #[test]
    fn small_files_are_packed_to_twice_the_target() {
        assert_eq!(groups(false, &[60, 50, 65, 55, 69]), vec![vec![50, 55, 60, 65]], "a single rest stays");
    }

    #[test]
    fn files_with_vectors_are_grouped_by_index_file_and_compacted_when_much_is_deleted() {
        let options = CoreOptions { target_file_size: Some(100), ..CoreOptions::default() };
        let files = vec![file(0, 90), file(1, 95), file(2, 5), file(3, 99), file(4, 6)];
        let names: Vec<String> = files.iter().map(|f| f.file_name.clone()).collect();
        let places: VectorPlaces<'_> =
            [(0, "a", 201), (1, "b", 200), (2, "b", 1)].map(|(i, index, n)| (names[i].as_str(), (index, n))).into();
        let groups = pack_with_vectors(&PackRules::new(&options, false), files, &places, 0.2);
        let sizes: Vec<Vec<i64>> = groups.iter().map(|g| g.iter().map(|f| f.file_size).collect()).collect();
        assert_eq!(sizes, [vec![90], vec![5]], "more than a fifth deleted, or small; a single small file stays");
    }

    #[test]
    fn large_files_are_left_alone() {
        assert_eq!(groups(true, &[70, 100, 3]), Vec::<Vec<i64>>::new());
    }

    #[test]
    fn a_rest_needs_the_minimal_number_of_files_unless_everything_is_asked_for() {
        assert_eq!(groups(false, &[1, 2, 3, 4]), Vec::<Vec<i64>>::new());
        assert_eq!(groups(false, &[1, 2, 3, 4, 5]), vec![vec![1, 2, 3, 4, 5]]);
        assert_eq!(groups(true, &[2, 1]), vec![vec![1, 2]]);
    }
}
