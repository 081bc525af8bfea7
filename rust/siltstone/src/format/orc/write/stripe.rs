//! A stripe being written.

use super::{
    column::{ColumnWriter, columns_of},
    message::MessageWriter,
    shown::as_shown,
    statistics,
    stream::{Packing, pack},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::collected::Collected,
    limits,
    types::DataField,
};

use arrow_array::ArrayRef;

/// The open stripe of a file.
pub(super) struct StripeWriter {
    fields: Vec<DataField>,
    packing: Packing,
    columns: Vec<ColumnWriter>,
    pub(super) collected: Collected,
    pub(super) rows: u64,
}

/// A stripe that is finished.
pub(super) struct FinishedStripe {
    pub(super) bytes: Vec<u8>,
    pub(super) footer_length: u64,
    pub(super) rows: u64,
    /// Statistics of each column, those of nested ones, too.
    pub(super) statistics: Vec<MessageWriter>,
    /// Of the file's columns.
    pub(super) collected: Collected,
}

impl StripeWriter {
    pub(super) fn new(fields: &[DataField], packing: Packing) -> Result<Self> {
        let columns = columns_of(fields, packing)?;
        Ok(Self { fields: fields.to_vec(), packing, columns, collected: Collected::new(fields), rows: 0 })
    }

    /// Takes rows in.
    pub(super) fn write(&mut self, columns: &[ArrayRef]) -> Result<()> {
        if columns.len() != self.columns.len() {
            let message = format!("a batch of {} columns for a file of {}", columns.len(), self.columns.len());
            return Err(Error::new(ErrorKind::Internal, message));
        }
        let columns: Vec<ArrayRef> =
            self.fields.iter().zip(columns).map(|(field, column)| as_shown(&field.data_type, column)).collect();
        for ((writer, column), field) in self.columns.iter_mut().zip(&columns).zip(&self.fields) {
            writer.write(column).map_err(|e| e.with("column", &field.name))?;
        }
        self.rows += columns.first().map_or(0, |column| column.len() as u64);
        self.collected.add(&columns)
    }

    /// Bytes that are held, and those that the stripe is going to have, about.
    pub(super) fn sizes(&self) -> (usize, usize) {
        self.columns.iter().map(ColumnWriter::sizes).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// The stripe; it begins anew.
    pub(super) fn finish(&mut self) -> Result<FinishedStripe> {
        let statistics = self.statistics();
        let (mut streams, mut encodings) = (Vec::new(), vec![0]);
        for column in &mut self.columns {
            column.finish(&mut streams, &mut encodings, self.packing)?;
        }
        let (mut footer, mut bytes) = (MessageWriter::default(), Vec::new());
        for (kind, column, stream) in streams {
            let mut message = MessageWriter::default();
            message.number(1, kind).number(2, column).number(3, stream.len() as u64);
            footer.message(1, &message);
            limits::grow(&mut bytes, stream.len(), "a stripe of an ORC file")?;
            bytes.extend_from_slice(&stream);
        }
        for encoding in encodings {
            let mut message = MessageWriter::default();
            message.number(1, encoding);
            footer.message(2, &message);
        }
        footer.bytes(3, b"UTC");
        let footer = pack(self.packing, &footer.out)?;
        bytes.extend_from_slice(&footer);
        let rows = std::mem::take(&mut self.rows);
        let collected = std::mem::replace(&mut self.collected, Collected::new(&self.fields));
        Ok(FinishedStripe { bytes, footer_length: footer.len() as u64, rows, statistics, collected })
    }

    fn statistics(&self) -> Vec<MessageWriter> {
        let mut all = vec![statistics::counts(self.rows, false)];
        for (column, (t, bounds)) in self.columns.iter().zip(self.collected.columns()) {
            let own = all.len();
            column.counts(&mut all);
            if let Some(slot) = all.get_mut(own) {
                *slot = statistics::message(bounds, t, self.rows);
            }
        }
        all
    }
}
