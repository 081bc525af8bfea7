//! ORC as a format of data files.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::ArrayRef;

use super::{
    compression::Codec,
    reader::OrcFile,
    write::{OrcEncoding, Packing, check_columns, check_values},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{DataFileReader, DataFormat, Encoding, WriteOptions},
    fs::InputFile,
    options::{CoreOptions, parse_bool},
    types::{DataField, DataType},
};

/// Whether moments with a local time zone are stored as wall clocks in the writer's zone.
const LEGACY: &str = "orc.timestamp-ltz.legacy.type";

/// Stand in a table for `file.compression`, its level and `file.block-size`.
const COMPRESSION: &str = "orc.compress";
const LEVEL: &str = "orc.compression.zstd.level";
const STRIPE: &str = "orc.stripe.size";
/// Files with these would be other files than were asked for.
const REFUSED: [&str; 4] = ["orc.encrypt", "orc.mask", "orc.key.provider", "orc.proleptic.gregorian"];
/// As large as Java makes stripes.
const STRIPE_BYTES: usize = 64 << 20;
/// Stripes are not made smaller than this to save memory: many small ones are slow to read.
const LEAST_MEMORY: usize = 4 << 20;

/// The format.
#[derive(Debug)]
pub(in crate::format) struct Orc;

impl DataFormat for Orc {
    fn name(&self) -> &'static str {
        "orc"
    }

    fn magic(&self) -> &'static [u8] {
        b"ORC"
    }

    fn open(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(OrcFile::open(input, size, is_legacy(options)?)?))
    }

    fn encoding(&self, options: WriteOptions<'_>) -> Result<Arc<dyn Encoding>> {
        let WriteOptions { compression, table, memory, .. } = options;
        let name = table.get(COMPRESSION).unwrap_or(compression);
        let codec = Codec::named(name).ok_or_else(|| no_compression(name))?;
        let level = number(table, LEVEL)?.and_then(|level| i32::try_from(level).ok()).unwrap_or(table.zstd_level);
        let stripe = match table.file_block_size {
            Some(size) => Some(size),
            None => number(table, STRIPE)?.and_then(|size| u64::try_from(size).ok()),
        };
        let stripe_bytes = stripe.map_or(STRIPE_BYTES, |size| usize::try_from(size).unwrap_or(usize::MAX)).max(1);
        let memory = memory.map_or(usize::MAX, |memory| memory.max(LEAST_MEMORY));
        Ok(Arc::new(OrcEncoding { packing: Packing { codec, level }, stripe_bytes, memory }))
    }

    fn compressions(&self) -> &'static [&'static str] {
        &["none", "zlib", "snappy", "lz4", "zstd"]
    }

    fn check_columns(&self, fields: &[DataField]) -> Result<()> {
        check_columns(fields)
    }

    fn check_values(&self, t: &DataType, values: &ArrayRef) -> Result<()> {
        check_values(t, values)
    }

    fn check_options(&self, options: &CoreOptions) -> Vec<Result<()>> {
        let codec = match options.get(COMPRESSION) {
            Some(name) if !self.has_compression(name) => Err(no_compression(name)),
            _ => Ok(()),
        };
        let refused = REFUSED.iter().map(|key| match options.get(key) {
            Some(value) => {
                Err(Error::unsupported(format!("the table option '{key}' = '{value}'")).with("option", *key))
            }
            None => Ok(()),
        });
        let numbers = [LEVEL, STRIPE].map(|key| number(options, key).map(drop));
        let legacy = options
            .get(LEGACY)
            .map_or(Ok(()), |value| parse_bool(value).map(drop).map_err(|e| e.with("option", LEGACY)));
        refused.chain(numbers).chain([codec, legacy]).collect()
    }
}

/// Java's default is that they are.
fn is_legacy(options: &BTreeMap<String, String>) -> Result<bool> {
    options.get(LEGACY).map_or(Ok(true), |value| parse_bool(value).map_err(|e| e.with("option", LEGACY)))
}

/// The number that an option is.
fn number(options: &CoreOptions, key: &str) -> Result<Option<i64>> {
    let parsed = |value: &str| {
        let positive = value.trim().parse().ok().filter(|number| *number > 0);
        positive.ok_or_else(|| {
            Error::new(ErrorKind::InvalidOption, format!("'{value}' is not a positive number")).with("option", key)
        })
    };
    options.get(key).map(parsed).transpose()
}

fn no_compression(name: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("'{name}' is not a compression"))
        .with("option", COMPRESSION)
        .hint(format!("use one of: {}", Orc.compressions().join(", ")))
}
