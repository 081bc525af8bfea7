//! One ORC file being read.

use std::{collections::BTreeMap, fmt, sync::Arc};

use orc_rust::reader::metadata::{FileMetadata, read_metadata};

use super::{
    error::{broken, guarded},
    input::Input,
    rows::OrcRows,
    zones::is_legacy,
};
use crate::{
    error::Result,
    format::{
        DataFileReader, FileRead, RowsStream,
        parquet::{Block, Claim},
    },
    fs::InputFile,
    row::Datum,
    types::DataField,
};

/// An open file.
#[derive(Clone)]
pub(super) struct OrcFile {
    pub(super) input: Input,
    pub(super) metadata: Arc<FileMetadata>,
    /// Whether moments of columns with a zone are stored as wall clocks ([`super::zones`]).
    pub(super) legacy_moments: bool,
    rows: i64,
}

impl fmt::Debug for OrcFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrcFile").field("path", &self.input.path()).field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// Opens a file and reads its footer.
pub(super) fn open(
    input: Arc<dyn InputFile>,
    size: u64,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn DataFileReader>> {
    let input = Input::new(input, size);
    let metadata = guarded(&input, || read_metadata(&mut input.clone()))?;
    let mut stripes = metadata.stripe_metadatas().iter().map(orc_rust::stripe::StripeMetadata::number_of_rows);
    let sum = stripes.try_fold(0_u64, u64::checked_add);
    let rows = sum.filter(|sum| *sum == metadata.number_of_rows()).and_then(|rows| i64::try_from(rows).ok());
    let rows = rows.ok_or_else(|| broken(input.path()).with("rows", metadata.number_of_rows()))?;
    Ok(Arc::new(OrcFile { input, metadata: Arc::new(metadata), legacy_moments: is_legacy(options)?, rows }))
}

impl DataFileReader for OrcFile {
    fn rows(&self) -> i64 {
        self.rows
    }

    fn read(&self, request: FileRead) -> Result<RowsStream> {
        Ok(Box::new(OrcRows::new(self.clone(), request)))
    }

    fn for_many_reads(&self) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(self.clone()))
    }

    /// Its stripes, of which nothing is known.
    fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        let mut start = 0_i64;
        let stripes = self.metadata.stripe_metadatas().iter().map(|stripe| {
            let rows = i64::try_from(stripe.number_of_rows()).map_err(|_| broken(self.input.path()))?;
            let rows = start..start.saturating_add(rows);
            start = rows.end;
            Ok(Block { rows, bounds: columns.iter().map(|_| (Datum::Null, Datum::Null)).collect() })
        });
        stripes.collect()
    }

    fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        Ok(vec![Vec::new(); columns.len()])
    }
}
