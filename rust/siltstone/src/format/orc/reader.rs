//! One ORC file being read.

use std::sync::Arc;

use super::{
    stripe::Stripe,
    tail::{self, Tail},
};
use crate::{
    error::Result,
    format::{
        DataFileReader, FileRead, RowsStream,
        groups::{self, GroupRows, Groups},
        prune::{Block, Claim},
    },
    fs::InputFile,
    predicate::ColumnBounds,
    types::DataField,
};

/// An open file.
#[derive(Clone)]
pub(super) struct OrcFile {
    tail: Arc<Tail>,
    /// Rows of each stripe.
    rows: Arc<[i64]>,
    instants_as_wall: bool,
}

impl OrcFile {
    pub(super) fn open(input: Arc<dyn InputFile>, size: u64, instants_as_wall: bool) -> Result<Self> {
        let tail = tail::read(input, size)?;
        let rows = tail.stripes.iter().map(|stripe| i64::try_from(stripe.rows).unwrap_or(i64::MAX)).collect();
        Ok(Self { tail: Arc::new(tail), rows, instants_as_wall })
    }

    fn claims_of(&self, column: &DataField) -> Vec<Claim> {
        let mut start = 0_i64;
        let of_stripe = |(stripe, rows): (usize, &i64)| {
            let rows = start..start.saturating_add(*rows);
            start = rows.end;
            Some(Claim { place: format!("stripe {stripe}"), rows, bounds: self.bounds(stripe, column)? })
        };
        self.rows.iter().enumerate().filter_map(of_stripe).collect()
    }
}

impl DataFileReader for OrcFile {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn rows(&self) -> i64 {
        self.rows.iter().sum()
    }

    fn read(&self, request: FileRead) -> Result<RowsStream> {
        Ok(groups::read(Arc::new(self.clone()), request))
    }

    fn for_many_reads(&self) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(self.clone()))
    }

    fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        Ok(groups::blocks(self, columns))
    }

    fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        Ok(columns.iter().map(|column| self.claims_of(column)).collect())
    }
}

impl Groups for OrcFile {
    fn group_rows(&self) -> &[i64] {
        &self.rows
    }

    fn bounds(&self, group: usize, column: &DataField) -> Option<ColumnBounds> {
        let place = self.tail.types.first()?.child(&column.name)?;
        let statistics = self.tail.statistics.get(group)?.get(place)?;
        Some(statistics.column_bounds(&column.data_type, *self.rows.get(group)?))
    }

    fn open(&self, group: usize, columns: &[DataField]) -> Result<Box<dyn GroupRows>> {
        let Tail { source, types, stripes, .. } = &*self.tail;
        let stripe = stripes.get(group).cloned().unwrap_or_default();
        Ok(Box::new(Stripe::open(source, types, &stripe, self.instants_as_wall)?.rows(columns)?))
    }
}

impl std::fmt::Debug for OrcFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OrcFile").field("path", &self.tail.source.input.path()).finish_non_exhaustive()
    }
}
