//! Sections: groups of files whose key ranges chain-overlap, each packed into the fewest runs (semantics a.5).

use std::cmp::Ordering;

use super::SortedRun;
use crate::{
    Result,
    manifest::DataFileMeta,
    row::{BinaryRow, Datum, compare_datums},
    types::DataType,
};

/// A file with its key range decoded.
struct Keyed<'a> {
    file: &'a DataFileMeta,
    min: Vec<Datum>,
    max: Vec<Datum>,
}

/// A run under construction and the greatest key in it.
struct OpenRun {
    run: SortedRun,
    max: Vec<Datum>,
}

/// Splits files into sections in key order; each section is the fewest runs that hold its files. Key ranges of
/// different sections do not touch, so sections processed one after another give sorted output.
pub fn interval_partition(files: &[DataFileMeta], key_types: &[DataType]) -> Result<Vec<Vec<SortedRun>>> {
    let mut keyed = files.iter().map(|file| key_range(file, key_types)).collect::<Result<Vec<_>>>()?;
    keyed.sort_by(|a, b| compare_keys(&a.min, &b.min).then_with(|| compare_keys(&a.max, &b.max)));
    let mut sections = Vec::new();
    let mut section: Vec<Keyed<'_>> = Vec::new();
    let mut bound: Vec<Datum> = Vec::new();
    for file in keyed {
        if !section.is_empty() && compare_keys(&file.min, &bound).is_gt() {
            sections.push(pack(std::mem::take(&mut section)));
        }
        if section.is_empty() || compare_keys(&file.max, &bound).is_gt() {
            bound.clone_from(&file.max);
        }
        section.push(file);
    }
    if !section.is_empty() {
        sections.push(pack(section));
    }
    Ok(sections)
}

/// Packs files, sorted by their smallest key, into the fewest runs: each goes to the run that ends first, when it
/// ends before the file begins.
fn pack(files: Vec<Keyed<'_>>) -> Vec<SortedRun> {
    let mut runs: Vec<OpenRun> = Vec::new();
    for Keyed { file, min, max } in files {
        let earliest = runs.iter_mut().min_by(|a, b| compare_keys(&a.max, &b.max));
        match earliest {
            Some(open) if compare_keys(&min, &open.max).is_gt() => {
                open.run.files.push(file.clone());
                open.max = max;
            }
            _ => runs.push(OpenRun { run: SortedRun::single(file.clone()), max }),
        }
    }
    runs.into_iter().map(|open| open.run).collect()
}

fn key_range<'a>(file: &'a DataFileMeta, types: &[DataType]) -> Result<Keyed<'a>> {
    let key = |bytes: &[u8]| {
        BinaryRow::from_serialized(bytes).and_then(|row| row.datums(types)).map_err(|e| e.with("file", &file.file_name))
    };
    Ok(Keyed { file, min: key(&file.min_key)?, max: key(&file.max_key)? })
}

/// The order of two keys: column by column, null first.
pub(super) fn compare_keys(a: &[Datum], b: &[Datum]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| compare_datums(a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{merge_tree::testing::file, types::TypeKind};

    fn sections(ranges: &[(i32, i32)]) -> Vec<Vec<Vec<String>>> {
        let files: Vec<DataFileMeta> =
            ranges.iter().enumerate().map(|(n, (min, max))| file(&format!("{n}"), 0, 1, *min, *max)).collect();
        let parts = interval_partition(&files, &[DataType::not_null(TypeKind::Int)]).unwrap();
        let names = |run: SortedRun| run.files.into_iter().map(|f| f.file_name).collect();
        parts.into_iter().map(|section| section.into_iter().map(names).collect()).collect()
    }

    #[test]
    fn no_files_have_no_sections() {
        assert!(sections(&[]).is_empty());
    }

    #[test]
    fn files_that_only_touch_still_overlap() {
        assert_eq!(sections(&[(1, 3), (3, 5), (6, 7)]), [vec![vec!["0"], vec!["1"]], vec![vec!["2"]]]);
    }

    #[test]
    fn a_section_uses_the_fewest_runs() {
        // 0: 1..9, 1: 2..3, 2: 4..5, 3: 5..8
        assert_eq!(sections(&[(1, 9), (2, 3), (4, 5), (5, 8)]), [vec![vec!["0"], vec!["1", "2"], vec!["3"]]]);
        assert_eq!(sections(&[(1, 2), (2, 3), (3, 4)]), [vec![vec!["0", "2"], vec!["1"]]]);
    }
}
