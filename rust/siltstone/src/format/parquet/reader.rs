//! One Parquet file being read.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use arrow_schema::{DataType as Arrow, Field};
use parquet::{
    arrow::{
        ProjectionMask, RowNumber,
        arrow_reader::{
            ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter,
            RowSelection,
        },
    },
    errors::ParquetError,
    file::metadata::{
        PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, RowGroupMetaData,
    },
};

use super::{
    batch_size::{batch_rows, elements},
    batches::{ParquetBatches, Positions, Shape},
    chunks::Chunks,
    claims::{Claim, claims, misplaced_page},
    counted::{Counted, row_filter, rows_of},
    error::{broken, panicked, reading},
    footer, page_index,
    project::{Projection, counting_leaf, project},
    prune::{Block, Prune, Pruner, blocks},
    schema::without_int96,
};
use crate::{
    error::{Error, Result},
    fs::InputFile,
    limits,
    types::{DataField, special},
};

/// What decoding a column takes, without its pages.
const DECODER_BYTES: usize = 96 * 1024;

/// What decoding an element of a list takes, whatever it is: its levels, and a value.
const ELEMENT_BYTES: usize = 16;

pub(super) type Decoded<T> = std::result::Result<T, ParquetError>;

/// Says of each row whether it stays.
pub type TestRows = Arc<dyn Fn(&Rows) -> Result<BooleanArray> + Send + Sync>;

/// A condition on rows: its columns, which come in this order, and the test.
#[derive(Clone)]
pub struct RowTest {
    /// Columns as the file has them.
    pub columns: Vec<DataField>,
    /// Which rows stay; null drops a row.
    pub test: TestRows,
}

/// What to read of a file.
#[derive(Clone)]
pub struct ParquetRead {
    /// Columns by the names and types that the file has them under; those that it has not are null.
    pub columns: Vec<DataField>,
    /// Skips row groups and pages.
    pub prune: Option<Prune>,
    /// Only these rows, by their numbers in the file: ascending, not overlapping.
    pub rows: Option<Vec<Range<i64>>>,
    /// Drops rows before the other columns are decoded.
    pub row_test: Option<RowTest>,
    /// Whether to say where in the file each row is, to the row test, too.
    pub position: bool,
    /// Largest number of rows at once; fewer come where rows are large.
    pub batch_rows: usize,
}

/// Some rows of a file.
#[derive(Clone, Debug)]
pub struct Rows {
    /// How many.
    pub count: usize,
    /// One array per wanted column, of the Arrow type of its Paimon type.
    pub columns: Vec<ArrayRef>,
    /// Row numbers in the file, when asked for.
    pub positions: Option<Int64Array>,
}

/// An open file.
#[derive(Clone)]
pub struct ParquetFile {
    chunks: Chunks,
    metadata: Arc<ParquetMetaData>,
    /// the page indexes are there
    indexed: bool,
}

impl ParquetFile {
    /// Opens a file and reads its footer; `size` saves a request when it is known.
    pub fn open(input: Arc<dyn InputFile>, size: Option<u64>) -> Result<Self> {
        let chunks = Chunks::open(input, size)?;
        let (at, bytes) = chunks.footer()?;
        footer::check(chunks.path(), at, &bytes)?;
        let metadata = guarded(&chunks, || {
            let metadata = ParquetMetaDataReader::new().parse_and_finish(&chunks)?;
            let schema = without_int96(metadata.file_metadata().schema_descr())
                .map_err(|e| ParquetError::External(Box::new(e)))?;
            match schema {
                None => Ok(metadata),
                Some(schema) => {
                    let options = ParquetMetaDataOptions::new().with_schema(Arc::new(schema));
                    ParquetMetaDataReader::new().with_metadata_options(Some(options)).parse_and_finish(&chunks)
                }
            }
        })?;
        let mut rows = metadata.row_groups().iter().map(RowGroupMetaData::num_rows);
        // the sum of them is asked for later
        if rows.try_fold(0_i64, |sum, rows| sum.checked_add(rows).filter(|_| rows >= 0)).is_none() {
            return Err(broken(chunks.path()));
        }
        Ok(Self { chunks, metadata: Arc::new(metadata), indexed: false })
    }

    /// Rows of the file.
    pub fn rows(&self) -> i64 {
        self.metadata.row_groups().iter().map(RowGroupMetaData::num_rows).sum()
    }

    /// Whether the file has a column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        self.metadata.file_metadata().schema_descr().root_schema().get_fields().iter().any(|f| f.name() == name)
    }

    /// Starts reading.
    pub fn read(&self, request: ParquetRead) -> Result<ParquetBatches> {
        let (metadata, row_groups, selection) = match &request.rows {
            None => self.pruned(request.prune.as_ref())?,
            Some(rows) => self.selected(rows)?,
        };
        let root = metadata.file_metadata().schema_descr().root_schema();
        let mut projection = project(root, &request.columns);
        let mut tested = request.row_test.as_ref().map(|t| project(root, &t.columns));
        // what is decoded first counts the rows
        let first = tested.as_mut().unwrap_or(&mut projection);
        if first.leaves.is_empty() {
            match counting_leaf(&metadata) {
                Some(leaf) => first.leaves.push(leaf),
                None if self.rows() == 0 => {}
                None => return Err(broken(self.chunks.path())),
            }
        }
        let wanted = |leaf: usize| {
            // sorted
            let is_of = |projection: &Projection| projection.leaves.binary_search(&leaf).is_ok();
            is_of(&projection) || tested.as_ref().is_some_and(is_of)
        };
        // chosen rows: where each page lies is known, and reading ahead of one would be in vain
        let ahead = request.rows.is_none() || metadata.offset_index().is_none();
        let chunks = self.chunks.plan(&metadata, &row_groups, &wanted, ahead);
        // with a row test only the decoder knows which rows are left
        let has_test = request.row_test.is_some();
        let numbered = request.position && has_test;
        let decoders = projection.leaves.len().saturating_mul(DECODER_BYTES);
        limits::ask(decoders, format_args!("reading {} columns at once", projection.leaves.len()))
            .map_err(|e| e.with("file", chunks.path()).hint("read fewer columns"))?;
        let leaves: Vec<usize> =
            (0..metadata.file_metadata().schema_descr().num_columns()).filter(|l| wanted(*l)).collect();
        let batch_rows = batch_rows(&metadata, &row_groups, &leaves, request.batch_rows);
        let elements = usize::try_from(elements(&metadata, &row_groups, &leaves, batch_rows)).unwrap_or(usize::MAX);
        limits::ask(
            elements.saturating_mul(ELEMENT_BYTES),
            format_args!("reading {elements} elements of lists at once"),
        )
        .map_err(|e| e.with("file", chunks.path()))?;
        let positions = Positions::new(&metadata, &row_groups, selection.as_ref());
        let chosen = selection.as_ref().map_or_else(|| rows_of(&metadata, &row_groups), RowSelection::row_count);
        let counted = Counted::new(chosen);
        if has_test {
            // a bit for each row, before the first batch comes
            limits::ask(chosen.div_ceil(8), format_args!("testing {chosen} rows of a file"))
                .map_err(|e| e.with("file", chunks.path()))?;
        }
        let groups_in_order = numbered.then(|| with_ordinals(&metadata)).flatten();
        let metadata = groups_in_order.unwrap_or(metadata);
        let reader = guarded(&chunks, || {
            let mut options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            if numbered {
                let field = Field::new(special::POSITION, Arrow::Int64, false).with_extension_type(RowNumber);
                options = options.with_virtual_columns(vec![Arc::new(field)])?;
            }
            let descriptor = metadata.file_metadata().schema_descr_ptr();
            let mask = ProjectionMask::leaves(&descriptor, projection.leaves.iter().copied());
            let described = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options)?;
            let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), described)
                .with_batch_size(batch_rows)
                .with_row_groups(row_groups)
                .with_projection(mask);
            if let Some(selection) = selection {
                builder = builder.with_row_selection(selection);
            }
            if let (Some(test), Some(tested)) = (request.row_test, tested) {
                let mask = ProjectionMask::leaves(&descriptor, tested.leaves.iter().copied());
                // the test comes to the rows in their order, before any other condition
                let numbers = request.position.then(|| positions.clone());
                let predicate = row_filter(test, tested, numbers, chunks.clone(), counted.clone());
                builder =
                    builder.with_row_filter(RowFilter::new(vec![Box::new(ArrowPredicateFn::new(mask, predicate))]));
            }
            builder.build()
        })?;
        let rows = if has_test { counted.passed(chunks.path())? } else { chosen };
        let shape = Shape { columns: request.columns, projection };
        let positions = request.position.then_some(positions);
        Ok(ParquetBatches::new(reader, chunks, shape, positions, numbered, rows))
    }

    /// Row groups and rows that the condition leaves.
    fn pruned(&self, prune: Option<&Prune>) -> Result<(Arc<ParquetMetaData>, Vec<usize>, Option<RowSelection>)> {
        let metadata = Arc::clone(&self.metadata);
        let Some(prune) = prune else {
            let all = (0..metadata.num_row_groups()).collect();
            return Ok((metadata, all, None));
        };
        let row_groups = Pruner::new(prune, &metadata).row_groups();
        if row_groups.is_empty() {
            return Ok((metadata, row_groups, None));
        }
        let metadata = self.with_page_index()?;
        let selection = guarded(&self.chunks, || Ok(Pruner::new(prune, &metadata).pages(&row_groups)))?;
        Ok((metadata, row_groups, selection))
    }

    /// Row groups that have some of these rows, and which rows of them.
    fn selected(&self, rows: &[Range<i64>]) -> Result<(Arc<ParquetMetaData>, Vec<usize>, Option<RowSelection>)> {
        let (mut row_groups, mut ranges) = (Vec::new(), Vec::new());
        let (mut start, mut kept) = (0, 0);
        let offset = |row: i64| usize::try_from(row).unwrap_or(0);
        for (i, group) in self.metadata.row_groups().iter().enumerate() {
            let end = start + group.num_rows();
            let first = rows.partition_point(|r| r.end <= start);
            let inside = rows.iter().skip(first).take_while(|r| r.start < end);
            let inside = inside.map(|r| offset(r.start.max(start) - start)..offset(r.end.min(end) - start));
            let before = ranges.len();
            ranges.extend(inside.filter(|r| !r.is_empty()).map(|r| r.start + kept..r.end + kept));
            if ranges.len() > before {
                row_groups.push(i);
                kept += offset(group.num_rows());
            }
            start = end;
        }
        if row_groups.is_empty() {
            return Ok((Arc::clone(&self.metadata), row_groups, None));
        }
        let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), kept);
        Ok((self.with_page_index()?, row_groups, Some(selection)))
    }

    /// The footer with its page indexes, where the file has some.
    fn with_page_index(&self) -> Result<Arc<ParquetMetaData>> {
        if self.indexed {
            return Ok(Arc::clone(&self.metadata));
        }
        let chunks = page_index::checked(&self.chunks, &self.metadata)?;
        guarded(&chunks, || {
            let mut reader = ParquetMetaDataReader::new_with_metadata(ParquetMetaData::clone(&self.metadata))
                .with_page_index_policy(PageIndexPolicy::Optional);
            reader.read_page_indexes(&chunks)?;
            Ok(Arc::new(reader.finish()?))
        })
    }

    /// The file with its page indexes at hand, for many reads.
    pub fn indexed(self) -> Result<Self> {
        let metadata = self.with_page_index()?;
        Ok(Self { metadata, indexed: true, ..self })
    }

    /// What the file says of the values of these columns; one list for each.
    ///
    /// # Errors
    /// `CorruptFile` where the index of its pages does not fit them.
    pub fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        let metadata = self.with_page_index()?;
        let groups: Vec<usize> = (0..metadata.num_row_groups()).collect();
        let chunks = self.chunks.plan(&metadata, &groups, &|_| true, false);
        if let Some(what) = guarded(&chunks, || misplaced_page(&chunks, &metadata))? {
            return Err(Error::corrupt(chunks.path(), 0, "an index of the pages as they are", what));
        }
        guarded(&chunks, || Ok(columns.iter().map(|column| claims(&metadata, column)).collect()))
    }

    /// Consecutive rows that are worth reading together, with bounds of these columns (`None`: unknown).
    pub fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        let metadata = self.with_page_index()?;
        guarded(&self.chunks, || Ok(blocks(&metadata, columns)))
    }
}

/// Runs the parquet crate over foreign bytes: its errors become ours, and so do its panics.
pub(super) fn guarded<T>(chunks: &Chunks, work: impl FnOnce() -> Decoded<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(chunks.take_failure().unwrap_or_else(|| reading(chunks.path(), e))),
        Err(panic) => Err(panicked(chunks.path(), panic.as_ref())),
    }
}

/// The decoder numbers rows by row-group ordinals: they must be the places of the groups, whatever the writer says.
fn with_ordinals(metadata: &ParquetMetaData) -> Option<Arc<ParquetMetaData>> {
    if (0_i16..).zip(metadata.row_groups()).all(|(place, group)| group.ordinal() == Some(place)) {
        return None;
    }
    let groups: Option<Vec<RowGroupMetaData>> = (0_i16..)
        .zip(metadata.row_groups())
        .map(|(ordinal, group)| group.clone().into_builder().set_ordinal(ordinal).build().ok())
        .collect();
    Some(Arc::new(metadata.clone().into_builder().set_row_groups(groups?).build()))
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile")
            .field("path", &self.chunks.path())
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl ParquetFile {
    pub(crate) fn metadata_for_tests(&self) -> &ParquetMetaData {
        &self.metadata
    }
}
