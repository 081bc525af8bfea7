//! One ORC file being written.

use std::io::Write;

use arrow_array::RecordBatch;

use super::{
    message::MessageWriter,
    statistics::{self, LONGEST_TEXT},
    stream::{CHUNK, Packing, pack},
    stripe::StripeWriter,
    types::{Type, message, types_of},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{DataFileWriter, Encoding, WrittenFile, collected::Collected},
    fs::OutputFile,
    predicate::ColumnBounds,
    row::Datum,
    types::DataField,
};

const MAGIC: &[u8] = b"ORC";
/// The version of the layout, and of Java's writer whose statistics these are.
const VERSION: [u64; 2] = [0, 12];
const WRITER_VERSION: u64 = 9;
/// The calendar that Java's reader has, too: it changes no date then.
const JULIAN_GREGORIAN: u64 = 1;

/// How files are written.
#[derive(Clone, Debug)]
pub(in crate::format::orc) struct OrcEncoding {
    pub(in crate::format::orc) packing: Packing,
    /// Bytes of a stripe.
    pub(in crate::format::orc) stripe_bytes: usize,
    /// Bytes that a stripe may hold until it is written.
    pub(in crate::format::orc) memory: usize,
}

impl Encoding for OrcEncoding {
    fn create(&self, path: &str, out: Box<dyn OutputFile>, fields: &[DataField]) -> Result<Box<dyn DataFileWriter>> {
        let mut file = OrcFileWriter {
            path: path.to_owned(),
            out,
            encoding: self.clone(),
            types: types_of(fields)?,
            stripe: StripeWriter::new(fields, self.packing)?,
            rows: 0,
            stripes: MessageWriter::default(),
            metadata: MessageWriter::default(),
            collected: Collected::new(fields),
        };
        file.put(MAGIC)?;
        Ok(Box::new(file))
    }
}

struct OrcFileWriter {
    path: String,
    out: Box<dyn OutputFile>,
    encoding: OrcEncoding,
    types: Vec<Type>,
    stripe: StripeWriter,
    rows: u64,
    /// What the footer says of the stripes.
    stripes: MessageWriter,
    /// Their statistics.
    metadata: MessageWriter,
    collected: Collected,
}

impl OrcFileWriter {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| {
            e.downcast::<Error>().unwrap_or_else(|other| {
                Error::new(ErrorKind::Storage, "cannot write the data file").with("file", &self.path).caused_by(other)
            })
        })
    }

    fn end_stripe(&mut self) -> Result<()> {
        if self.stripe.rows == 0 {
            return Ok(());
        }
        let stripe = self.stripe.finish()?;
        let mut place = MessageWriter::default();
        let data = (stripe.bytes.len() as u64).saturating_sub(stripe.footer_length);
        place.number(1, self.out.position()).number(2, 0).number(3, data);
        place.number(4, stripe.footer_length).number(5, stripe.rows);
        self.stripes.message(3, &place);
        let mut statistics = MessageWriter::default();
        for column in &stripe.statistics {
            statistics.message(1, column);
        }
        self.metadata.message(1, &statistics);
        self.collected.absorb(stripe.collected);
        self.put(&stripe.bytes)
    }

    /// What stands behind the stripes.
    fn tail(&self) -> Result<Vec<u8>> {
        let packing = self.encoding.packing;
        let metadata = pack(packing, &self.metadata.out)?;
        let footer = pack(packing, &self.footer().out)?;
        let mut postscript = MessageWriter::default();
        postscript.number(1, footer.len() as u64).number(2, packing.codec.number());
        postscript.number(3, CHUNK as u64).packed(4, VERSION).number(5, metadata.len() as u64);
        postscript.number(6, WRITER_VERSION).bytes(8000, MAGIC);
        let length = u8::try_from(postscript.out.len())
            .map_err(|e| Error::new(ErrorKind::Internal, "a postscript is too long").caused_by(e))?;
        Ok([metadata, footer, postscript.out, vec![length]].concat())
    }

    fn footer(&self) -> MessageWriter {
        let mut footer = MessageWriter::default();
        footer.number(1, MAGIC.len() as u64).number(2, self.out.position());
        footer.out.extend_from_slice(&self.stripes.out);
        for t in &self.types {
            footer.message(4, &message(t));
        }
        footer.number(6, self.rows);
        for statistics in self.statistics() {
            footer.message(7, &statistics);
        }
        footer.number(8, 0).number(9, 0).number(11, JULIAN_GREGORIAN);
        footer.bytes(12, concat!("siltstone ", env!("CARGO_PKG_VERSION")).as_bytes());
        footer
    }

    /// Of each column of the file; of nested ones nothing is said but that there are `rows` at most.
    fn statistics(&self) -> Vec<MessageWriter> {
        let mut all = vec![statistics::counts(self.rows, false)];
        let mut known = self.collected.columns();
        let top = self.types.first().map(|root| &*root.children).unwrap_or_default();
        for column in 1..self.types.len() {
            let own = if top.contains(&column) { known.next() } else { None };
            all.push(own.map_or_else(MessageWriter::default, |(t, bounds)| statistics::message(bounds, t, self.rows)));
        }
        all
    }
}

impl DataFileWriter for OrcFileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.stripe.write(batch.columns()).map_err(|e| e.with("file", &self.path))?;
        self.rows += batch.num_rows() as u64;
        let (memory, size) = self.stripe.sizes();
        if size >= self.encoding.stripe_bytes || memory >= self.encoding.memory { self.end_stripe() } else { Ok(()) }
    }

    fn size(&self) -> u64 {
        self.out.position().saturating_add(self.stripe.sizes().1 as u64)
    }

    fn rows(&self) -> i64 {
        i64::try_from(self.rows).unwrap_or(i64::MAX)
    }

    fn memory_used(&self) -> usize {
        self.stripe.sizes().0
    }

    fn finish(mut self: Box<Self>, sync: bool) -> Result<WrittenFile> {
        self.end_stripe()?;
        let tail = self.tail()?;
        self.put(&tail)?;
        let rows = self.rows();
        let Self { out, collected, .. } = *self;
        let bounds = collected.finish().into_iter().map(|bounds| bounds.map(without_long_texts)).collect();
        Ok(WrittenFile { size: out.close(sync)?, rows, bounds })
    }
}

/// Java makes bounds of what the file says, and it says no long texts.
fn without_long_texts(bounds: ColumnBounds) -> ColumnBounds {
    let long = |value: &Datum| matches!(value, Datum::String(text) if text.len() > LONGEST_TEXT);
    if !long(&bounds.min) && !long(&bounds.max) {
        return bounds;
    }
    ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: bounds.null_count }
}
