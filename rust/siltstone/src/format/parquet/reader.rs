//! One Parquet file being read.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection},
    },
    errors::ParquetError,
    file::metadata::{
        PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, RowGroupMetaData,
    },
};

use super::{
    super::prune::{Block, Claim, Prune},
    batch_size::{batch_rows, element_bytes},
    batches::ParquetBatches,
    chunks::{Ahead, Chunks},
    claims::{claims, misplaced_page},
    decoder::{Decoder, Tested},
    error::{broken, other_rows},
    footer,
    guard::guarded,
    page_index,
    part::Part,
    project::{Projection, counting_leaf, project},
    prune::{Pruner, blocks},
    schema::without_int96,
    shape::{Shape, missing_bytes},
    views::with_views,
};
use crate::{
    error::{Error, Result},
    format::{DataFileReader, FileRead, Footers, RowTest, RowsStream},
    fs::InputFile,
    limits,
    types::DataField,
};

/// What decoding a column takes, without its pages.
const DECODER_BYTES: usize = 96 * 1024;

/// An open file.
#[derive(Clone)]
pub struct ParquetFile {
    chunks: Chunks,
    metadata: Arc<ParquetMetaData>,
    /// the page indexes are there
    indexed: bool,
    /// Where they are kept.
    footers: Option<Arc<Footers>>,
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
        Ok(Self { chunks, metadata: Arc::new(metadata), indexed: false, footers: None })
    }

    /// The same; with its page indexes, where the end of the file was read before.
    pub fn open_known(input: Arc<dyn InputFile>, size: u64, footers: &Arc<Footers>) -> Result<Self> {
        let footers = Some(Arc::clone(footers));
        let known = footers.as_ref().and_then(|footers| footers.get::<ParquetMetaData>(input.path(), size));
        match known {
            Some(metadata) => Ok(Self { chunks: Chunks::known(input, size), metadata, indexed: true, footers }),
            None => Ok(Self { footers, ..Self::open(input, Some(size))? }),
        }
    }

    /// What its footer says.
    pub(super) fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// Its bytes.
    pub(super) fn chunks(&self) -> &Chunks {
        &self.chunks
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
    pub fn read(&self, request: FileRead) -> Result<ParquetBatches> {
        let (metadata, parts) = match &request.rows {
            None => self.pruned(request.prune.as_ref())?,
            Some(rows) => self.selected(rows)?,
        };
        let row_groups: Vec<usize> = parts.iter().map(|part| part.group).collect();
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
        self.check_values(&parts, &wanted)?;
        // of chosen rows it may be known where their pages lie
        let left = || self.chunks.reads_cheaply() && parts.iter().any(|part| part.selection.is_some());
        let chosen = request.rows.is_some() || left();
        let says_where = chosen && metadata.offset_index().is_some();
        let ahead = if says_where { Ahead::Pages(&parts) } else { Ahead::Chunks };
        let chunks = self.chunks.plan(&metadata, &row_groups, &wanted, ahead);
        let decoders = projection.leaves.len().saturating_mul(DECODER_BYTES);
        limits::ask(decoders, format_args!("reading {} columns at once", projection.leaves.len()))
            .map_err(|e| e.with("file", chunks.path()).hint("read fewer columns"))?;
        let leaves: Vec<usize> =
            (0..metadata.file_metadata().schema_descr().num_columns()).filter(|l| wanted(*l)).collect();
        let missing = missing_bytes(&request.columns, &projection)?;
        let batch_rows = batch_rows(&metadata, &row_groups, &leaves, missing, request.batch_rows);
        let elements = element_bytes(&metadata, &row_groups, &leaves, batch_rows);
        limits::ask(usize::try_from(elements).unwrap_or(usize::MAX), "reading the elements of lists at once")
            .map_err(|e| e.with("file", chunks.path()))?;
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let described = guarded(&chunks, || {
            let described = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.clone())?;
            match with_views(described.schema()) {
                None => Ok(described),
                Some(schema) => {
                    ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.with_schema(Arc::new(schema)))
                }
            }
        })?;
        let mask = |projection: &Projection| {
            let descriptor = metadata.file_metadata().schema_descr();
            ProjectionMask::leaves(descriptor, projection.leaves.iter().copied())
        };
        let tested = request.row_test.zip(tested).map(|(RowTest { columns, test }, projection)| {
            let mask = mask(&projection);
            Tested { test, shape: Arc::new(Shape { columns, projection }), mask }
        });
        let mask = mask(&projection);
        let decoder = Decoder { described, mask, tested, leaves, batch_rows, position: request.position };
        ParquetBatches::new(decoder, chunks, Shape { columns: request.columns, projection }, parts)
    }

    /// Columns without lists have a value for each row: by the numbers of rows it is said where each of them is.
    fn check_values(&self, parts: &VecDeque<Part>, wanted: &dyn Fn(usize) -> bool) -> Result<()> {
        for group in parts.iter().filter_map(|part| self.metadata.row_groups().get(part.group)) {
            let columns = group.columns().iter().enumerate().filter(|(leaf, _)| wanted(*leaf));
            let mut flat = columns.filter(|(_, column)| column.column_descr().max_rep_level() == 0);
            if let Some((_, column)) = flat.find(|(_, column)| column.num_values() != group.num_rows()) {
                let path = column.column_path().string();
                return Err(other_rows(self.chunks.path(), group.num_rows(), column.num_values()).with("column", path));
            }
        }
        Ok(())
    }

    /// The row groups with the numbers of their rows.
    fn groups(&self) -> impl Iterator<Item = (usize, Range<i64>)> {
        let mut start = 0;
        self.metadata.row_groups().iter().enumerate().map(move |(group, head)| {
            let rows = start..start + head.num_rows();
            start = rows.end;
            (group, rows)
        })
    }

    /// [`Self::pruned`], with the page indexes.
    pub(super) fn left_by(&self, prune: Option<&Prune>) -> Result<(Arc<ParquetMetaData>, VecDeque<Part>)> {
        let (_, parts) = self.pruned(prune)?;
        Ok((self.with_page_index()?, parts))
    }

    /// Row groups and rows that the condition leaves.
    fn pruned(&self, prune: Option<&Prune>) -> Result<(Arc<ParquetMetaData>, VecDeque<Part>)> {
        let groups = self.groups().map(|(group, rows)| Part { group, rows, selection: None });
        let parts = groups.filter(|part| part.chosen() > 0);
        let Some(prune) = prune else {
            return Ok((Arc::clone(&self.metadata), parts.collect()));
        };
        // ascending
        let left = Pruner::new(prune, &self.metadata).row_groups()?;
        if left.is_empty() {
            return Ok((Arc::clone(&self.metadata), VecDeque::new()));
        }
        let metadata = self.with_page_index()?;
        let parts = parts.filter(|part| left.binary_search(&part.group).is_ok());
        let parts = guarded(&self.chunks, || {
            let pruner = Pruner::new(prune, &metadata);
            let selected = |part: Part| Ok(Part { selection: pruner.pages(&[part.group])?, ..part });
            Ok(parts.map(selected).collect::<Result<VecDeque<Part>>>())
        })??;
        let parts = parts.into_iter().filter(|part| part.chosen() > 0).collect();
        Ok((metadata, parts))
    }

    /// Row groups that have some of these rows, and which rows of them.
    fn selected(&self, rows: &[Range<i64>]) -> Result<(Arc<ParquetMetaData>, VecDeque<Part>)> {
        let mut parts = VecDeque::new();
        let offset = |row: i64| usize::try_from(row).unwrap_or(0);
        for (group, of_group) in self.groups() {
            let Range { start, end } = of_group;
            let first = rows.partition_point(|r| r.end <= start);
            let inside = rows.iter().skip(first).take_while(|r| r.start < end);
            let inside = inside.map(|r| offset(r.start.max(start) - start)..offset(r.end.min(end) - start));
            let inside: Vec<Range<usize>> = inside.filter(|r| !r.is_empty()).collect();
            if !inside.is_empty() {
                let selection = RowSelection::from_consecutive_ranges(inside.into_iter(), offset(end - start));
                parts.push_back(Part { group, rows: of_group, selection: Some(selection) });
            }
        }
        if parts.is_empty() {
            return Ok((Arc::clone(&self.metadata), parts));
        }
        Ok((self.with_page_index()?, parts))
    }

    /// The footer with its page indexes, where the file has some.
    fn with_page_index(&self) -> Result<Arc<ParquetMetaData>> {
        if self.indexed {
            return Ok(Arc::clone(&self.metadata));
        }
        let (chunks, start) = page_index::checked(&self.chunks, &self.metadata)?;
        limits::ask(self.metadata.memory_size(), "the footer of a Parquet file")
            .map_err(|e| e.with("file", chunks.path()))?;
        let metadata = guarded(&chunks, || {
            let mut reader = ParquetMetaDataReader::new_with_metadata(ParquetMetaData::clone(&self.metadata))
                .with_page_index_policy(PageIndexPolicy::Optional);
            reader.read_page_indexes(&chunks)?;
            Ok(Arc::new(reader.finish()?))
        })
        .map_err(|e| if e.context_value("offset").is_some() { e } else { e.with("offset", start) })?;
        // a small file is read at once each time
        if let Some(footers) = self.footers.as_ref().filter(|_| !self.chunks.is_whole()) {
            footers.keep(self.chunks.path(), self.chunks.size(), &metadata, metadata.memory_size());
        }
        Ok(metadata)
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
        let chunks = self.chunks.plan(&metadata, &groups, &|_| true, Ahead::Nothing);
        if let Some(what) = guarded(&chunks, || misplaced_page(&chunks, &metadata))? {
            return Err(Error::corrupt(chunks.path(), 0, "an index of the pages as they are", what));
        }
        guarded(&chunks, || Ok(claims(&metadata, columns)))?
    }

    /// Consecutive rows that are worth reading together, with bounds of these columns (`None`: unknown).
    pub fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        let metadata = self.with_page_index()?;
        guarded(&self.chunks, || Ok(blocks(&metadata, columns)))?
    }
}

impl DataFileReader for ParquetFile {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn rows(&self) -> i64 {
        Self::rows(self)
    }

    fn read(&self, request: FileRead) -> Result<RowsStream> {
        Ok(Box::new(Self::read(self, request)?))
    }

    fn for_many_reads(&self) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(self.clone().indexed()?))
    }

    fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        Self::blocks(self, columns)
    }

    fn parts(&self, columns: &[DataField], prune: Option<&Prune>) -> Result<Option<Vec<Vec<Range<i64>>>>> {
        Self::parts(self, columns, prune)
    }

    fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        Self::claims(self, columns)
    }
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
