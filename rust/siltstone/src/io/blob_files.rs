//! Values of BLOB columns on their way into files of their own, beside the file with the other columns of the same rows.
//!
//! Each column has its own files, which are as large as `blob.target-file-size` says; they end where the other file ends, at
//! the latest.
//!
//! Source: `RollingBlobFileWriter`, `MultipleBlobFileWriter`.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::{FileWriteSpec, TableContext};
use crate::{
    env,
    error::{Error, ErrorKind, Result},
    format::{DataFileWriter, Encoding, WriteOptions, blob, file_format},
    manifest::{DataFileFields, DataFileMeta},
    path::FileNames,
    row::BinaryRow,
    stats::SimpleStats,
    types::{DataField, TypeKind, arrow_schema},
};

/// The files of all BLOB columns of a writer.
pub(super) struct BlobFiles {
    columns: Vec<BlobColumn>,
    encoding: Arc<dyn Encoding>,
    target_size: u64,
}

struct BlobColumn {
    field: DataField,
    /// Position in a written batch.
    source: usize,
    open: Option<OpenBlobs>,
    finished: Vec<DataFileMeta>,
}

struct OpenBlobs {
    name: String,
    writer: Box<dyn DataFileWriter>,
}

/// Where new files come, and who keeps their paths.
pub(super) struct Place<'a> {
    pub(super) ctx: &'a TableContext,
    pub(super) names: &'a FileNames,
    pub(super) directory: &'a str,
    pub(super) created: &'a mut Vec<String>,
}

impl BlobFiles {
    /// `None`: the table has no BLOB columns.
    pub(super) fn new(ctx: &TableContext) -> Result<Option<Self>> {
        let fields = ctx.schema.fields.iter().enumerate();
        let columns = fields
            .filter(|(_, field)| field.data_type.kind == TypeKind::Blob)
            .map(|(source, field)| BlobColumn { field: field.clone(), source, open: None, finished: Vec::new() });
        let columns: Vec<BlobColumn> = columns.collect();
        if columns.is_empty() {
            return Ok(None);
        }
        let options =
            WriteOptions { compression: "none", table: &ctx.options, memory: None, bounds: false, keyed: false };
        let encoding = file_format(blob::NAME)?.encoding(options)?;
        let target_size = ctx.options.blob_target_file_size.unwrap_or_else(|| ctx.options.target_file_size(false));
        Ok(Some(Self { columns, encoding, target_size: target_size.max(1) }))
    }

    /// Adds the values of some rows.
    pub(super) fn write(&mut self, batch: &RecordBatch, place: &mut Place<'_>) -> Result<()> {
        for column in &mut self.columns {
            let schema = arrow_schema(std::slice::from_ref(&column.field))?;
            let values = batch.columns().get(column.source);
            let values = values.ok_or_else(|| Error::new(ErrorKind::Internal, "a batch without a BLOB column"))?;
            for row in 0..batch.num_rows() {
                let value = RecordBatch::try_new(Arc::clone(&schema), vec![values.slice(row, 1)])?;
                let open = match &mut column.open {
                    Some(open) => open,
                    closed => closed.insert(create(&*self.encoding, &column.field, place)?),
                };
                open.writer.write(&value)?;
                if open.writer.size() >= self.target_size {
                    column.close(place.ctx)?;
                }
            }
        }
        Ok(())
    }

    /// The files of the rows so far, column by column.
    pub(super) fn close(&mut self, ctx: &TableContext) -> Result<Vec<DataFileMeta>> {
        let mut files = Vec::new();
        for column in &mut self.columns {
            column.close(ctx)?;
            files.append(&mut column.finished);
        }
        Ok(files)
    }

    pub(super) fn memory_used(&self) -> usize {
        self.columns.iter().filter_map(|column| column.open.as_ref()).map(|open| open.writer.memory_used()).sum()
    }
}

fn create(encoding: &dyn Encoding, field: &DataField, place: &mut Place<'_>) -> Result<OpenBlobs> {
    let name = place.names.next_data_file(blob::NAME, "none");
    let path = format!("{}/{name}", place.directory);
    let out = place.ctx.fs.create_unsynced(&path)?;
    place.created.push(path.clone());
    Ok(OpenBlobs { name, writer: encoding.create(&path, out, std::slice::from_ref(field))? })
}

impl BlobColumn {
    fn close(&mut self, ctx: &TableContext) -> Result<()> {
        let Some(OpenBlobs { name, writer }) = self.open.take() else { return Ok(()) };
        let written = writer.finish(ctx.options.sync)?;
        let file_size = i64::try_from(written.size)
            .map_err(|e| Error::new(ErrorKind::Internal, "a file is too large").with("file", &name).caused_by(e))?;
        let no_key = BinaryRow::from_datums(&[], &[])?.to_serialized();
        let FileWriteSpec { level, source, .. } = FileWriteSpec::append(0, crate::manifest::FileSource::Append);
        self.finished.push(
            DataFileFields {
                file_name: name,
                file_size,
                row_count: written.rows,
                min_key: no_key.clone(),
                max_key: no_key,
                key_stats: SimpleStats::empty(),
                value_stats: SimpleStats::empty(),
                min_sequence_number: 0,
                max_sequence_number: 0,
                schema_id: ctx.schema.id,
                level,
                extra_files: Vec::new(),
                creation_time: Some(env::local_millis()),
                delete_row_count: Some(0),
                embedded_file_index: None,
                file_source: Some(source),
                value_stats_cols: Some([].into()),
                external_path: None,
                first_row_id: None,
                write_cols: Some([self.field.name.clone()].into()),
            }
            .into(),
        );
        Ok(())
    }
}
