//! What a format of data files is: how its files are opened, and how they are written.

use std::{collections::BTreeMap, fmt::Debug, ops::Range, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch};

use super::{DataFileReader, EncodedRows, Footers};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{InputFile, OutputFile},
    options::CoreOptions,
    predicate::ColumnBounds,
    types::{DataField, DataType},
};

/// A format of data files.
pub trait DataFormat: Debug + Sync {
    /// Its name in options, which is the end of its files' names.
    fn name(&self) -> &'static str;
    /// With which bytes its files begin.
    fn magic(&self) -> &'static [u8];
    /// Opens a file of so many bytes; the table's options may say how it was written.
    fn open(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn DataFileReader>>;
    /// The same, where what the end of the file says may be known, and is kept.
    fn open_known(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        options: &BTreeMap<String, String>,
        _: &Arc<Footers>,
    ) -> Result<Arc<dyn DataFileReader>> {
        self.open(input, size, options)
    }
    /// How files are written.
    fn encoding(&self, options: WriteOptions<'_>) -> Result<Arc<dyn Encoding>>;
    /// The compressions that files are written with.
    fn compressions(&self) -> &'static [&'static str];
    /// Whether files can be written with a compression of this name.
    fn has_compression(&self, name: &str) -> bool {
        self.compressions().iter().any(|known| known.eq_ignore_ascii_case(name))
    }
    /// An error when no file with such columns can be written.
    fn check_columns(&self, fields: &[DataField]) -> Result<()>;
    /// An error for values of a caller that readers of such files would show otherwise than they were given. Whatever formats the
    /// files of a table may have, rows are looked at when they come: later, a compaction could not write them.
    fn check_values(&self, _: &DataType, _: &ArrayRef) -> Result<()> {
        Ok(())
    }
    /// What is wrong with those of a table's options that are this format's own.
    fn check_options(&self, options: &CoreOptions) -> Vec<Result<()>>;
    /// Whether files tell the statistics of system columns whatever the table asks for (format chapter 5.6, rule 2).
    fn always_describes_system_columns(&self) -> bool {
        true
    }
}

/// How the files of a writer are to be.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions<'a> {
    /// `file.compression`, or what stands for it at a level or for changelog files.
    pub compression: &'a str,
    /// The table's options, for those that are the format's own.
    pub table: &'a CoreOptions,
    /// Encoded bytes that are held at most before they are written; `None`: as many as the options say.
    pub memory: Option<usize>,
    /// Whether anybody asks for [`WrittenFile::bounds`]. A format that finds them for its files' own sake gives them in any case.
    pub bounds: bool,
    /// The rows are sorted by a key, and single ones are looked for by it.
    pub keyed: bool,
}

/// Writes files that are all encoded in the same way.
pub trait Encoding: Debug + Send + Sync {
    /// A file of these columns; `path` is for messages.
    fn create(&self, path: &str, out: Box<dyn OutputFile>, fields: &[DataField]) -> Result<Box<dyn DataFileWriter>>;
    /// Rows of a file, opened for many reads, that can be copied into files of these columns as they are encoded
    /// ([`DataFileWriter::copy`]): all of them, in blocks. `None`: they are encoded otherwise, or not enough is known of them.
    /// `whole`: of which columns (by their place) the bounds may not be cut.
    fn copyable(
        &self,
        file: &dyn DataFileReader,
        fields: &[DataField],
        whole: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Vec<EncodedRows>>> {
        let _ = (file, fields, whole);
        Ok(None)
    }
}

/// A data file that is being written.
pub trait DataFileWriter: Send {
    /// Takes rows in.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;
    /// Takes over rows of a file as they are encoded: some of its blocks ([`Encoding::copyable`]), all of one row group.
    fn copy(&mut self, file: &dyn DataFileReader, rows: &Range<i64>) -> Result<()> {
        let _ = (file, rows);
        Err(Error::new(ErrorKind::Internal, "files of this format take no rows as they are encoded"))
    }
    /// Bytes on disk and expected from what is buffered.
    fn size(&self) -> u64;
    /// Rows taken in.
    fn rows(&self) -> i64;
    /// Memory held by what is buffered.
    fn memory_used(&self) -> usize;
    /// Writes what is left and closes the file; durable when `sync`.
    fn finish(self: Box<Self>, sync: bool) -> Result<WrittenFile>;
}

/// What is known of a finished file.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Bytes.
    pub size: u64,
    /// Rows.
    pub rows: i64,
    /// Exact bounds and null count of each column; `None`: unknown.
    pub bounds: Vec<Option<ColumnBounds>>,
}
