//! What a file says of its own values and pages, for who checks it: readers skip row groups and pages by it.

use std::sync::Arc;

use parquet::{
    column::page::PageReader as _,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        page_index::offset_index::PageLocation,
        serialized_reader::SerializedPageReader,
    },
};

use super::{
    super::prune::{Claim, Prune, PruneColumn},
    chunks::Chunks,
    column_chunk::chunk_range,
    prune::{Pruner, ask_at, page_rows, page_statistics},
};
use crate::{cancel, error::Result, predicate::Predicate, types::DataField};

/// For each column the statistics of its row groups, and of its pages where the file has an index of them.
pub(super) fn claims(metadata: &ParquetMetaData, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
    let stored = columns.iter().map(|column| (column.name.clone(), PruneColumn::Stored(column.clone())));
    let prune = Prune { predicate: Predicate::Constant(true), columns: stored.collect() };
    let pruner = Pruner::new(&prune, metadata);
    columns.iter().map(|column| claims_of(&pruner, metadata, &column.name)).collect()
}

fn claims_of(pruner: &Pruner<'_>, metadata: &ParquetMetaData, column: &str) -> Result<Vec<Claim>> {
    cancel::check()?;
    let Some((leaf, data_type)) = pruner.leaf(column) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut start = 0_i64;
    for (group, head) in metadata.row_groups().iter().enumerate() {
        let rows = head.num_rows();
        if let Some(statistics) = head.columns().get(leaf).and_then(ColumnChunkMetaData::statistics) {
            let place = format!("row group {group}");
            let bounds = pruner.bounds(statistics, data_type);
            found.push(Claim { place, rows: start..start.saturating_add(rows), bounds });
        }
        let index = metadata.column_index().and_then(|groups| groups.get(group)?.get(leaf));
        let locations = metadata.offset_index().and_then(|groups| groups.get(group)?.get(leaf));
        if let (Some(index), Some(locations)) = (index, locations) {
            let locations = locations.page_locations();
            for page in 0..locations.len() {
                ask_at(page)?;
                let rows = page_rows(locations, page, usize::try_from(rows).unwrap_or(0));
                let (Some(rows), Some(statistics)) = (rows, page_statistics(index, page, locations.len())) else {
                    continue;
                };
                let at = |row: usize| start.saturating_add(i64::try_from(row).unwrap_or(i64::MAX));
                let place = format!("page {page} of row group {group}");
                found.push(Claim {
                    place,
                    rows: at(rows.start)..at(rows.end),
                    bounds: pruner.bounds(&statistics, data_type),
                });
            }
        }
        start = start.saturating_add(rows);
    }
    Ok(found)
}

/// Where the index of a file's pages is wrong: the column and what was found; `None`: nowhere.
pub(super) fn misplaced_page(chunks: &Chunks, metadata: &ParquetMetaData) -> parquet::errors::Result<Option<String>> {
    for (group, head) in metadata.row_groups().iter().enumerate() {
        let Some(indexes) = metadata.offset_index().and_then(|groups| groups.get(group)) else { continue };
        let rows = usize::try_from(head.num_rows()).unwrap_or(0);
        for (column, index) in head.columns().iter().zip(indexes) {
            let locations = index.page_locations();
            if !locations.is_empty()
                && let Some(what) = misplaced(chunks, column, locations, rows)?
            {
                let column = column.column_path().string();
                return Ok(Some(format!("{what} in the page index of column {column}, row group {group}")));
            }
        }
    }
    Ok(None)
}

/// Pages follow one another until the chunk's end, and each begins with the row that the index says.
fn misplaced(
    chunks: &Chunks,
    column: &ColumnChunkMetaData,
    locations: &[PageLocation],
    rows: usize,
) -> parquet::errors::Result<Option<String>> {
    let Some(chunk) = chunk_range(column) else { return Ok(None) };
    let ends = locations.iter().map(|page| page.offset.saturating_add(page.compressed_page_size.into()));
    let end = i64::try_from(chunk.end).unwrap_or(i64::MAX);
    let next = locations.iter().skip(1).map(|page| page.offset).chain([end]);
    if let Some(page) = ends.zip(next).position(|(end, next)| end != next) {
        return Ok(Some(format!("a wrong place of page {page}")));
    }
    let mut pages = SerializedPageReader::new(Arc::new(chunks.clone()), column, rows, None)?;
    let (mut first, mut number) = (Some(0), 0);
    while let Some(page) = pages.peek_next_page()? {
        pages.skip_next_page()?;
        if page.is_dict {
            continue;
        }
        let Some(location) = locations.get(number) else {
            return Ok(Some(format!("{} pages instead of more", locations.len())));
        };
        let says = usize::try_from(location.first_row_index).ok();
        if first.is_some() && first != says {
            return Ok(Some(format!("a wrong first row of page {number}")));
        }
        // in a page of the first version with values in lists nobody knows the rows without decoding it
        let flat = (column.column_descr().max_rep_level() == 0).then_some(page.num_levels).flatten();
        first = page.num_rows.or(flat).and_then(|count| Some(says? + count));
        number += 1;
    }
    Ok((number != locations.len()).then(|| format!("{} pages instead of {number}", locations.len())))
}
