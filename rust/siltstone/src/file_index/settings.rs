//! The options of single indexes, `file-index.<kind>.<column>.<option>` (format chapters 9.3, 9.4, 9.6).

use std::collections::BTreeMap;

use super::IndexKind;
use crate::{
    error::{Error, ErrorKind, Result},
    options::parse_size,
    types::{DataType, TypeKind},
};

/// Of a chunk, and of a block of bitmaps.
const BLOCK: u64 = 16 << 10;

/// How an index is made.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexSettings {
    /// A bloom filter for so many values, that finds one in `1 / fpp` others, too.
    BloomFilter {
        /// `items`
        items: i64,
        /// `fpp`
        fpp: f64,
    },
    /// Bitmaps.
    Bitmap {
        /// `version`: 1 or 2
        version: u8,
        /// `index-block-size`
        block_size: u64,
    },
    /// Bit slices, which have no options.
    BitSliced,
    /// A range bitmap.
    RangeBitmap {
        /// `chunk-size`
        chunk_size: u64,
    },
}

impl IndexSettings {
    /// From the options of an index of a column of this type.
    ///
    /// # Errors
    /// `InvalidOption`, which does not name the option: the index has none of this name, or not such a value.
    pub fn parse(kind: IndexKind, data_type: &DataType, options: &BTreeMap<String, String>) -> Result<Self> {
        let known: &[&str] = match kind {
            IndexKind::BloomFilter => &["items", "fpp"],
            IndexKind::Bitmap => &["version", "index-block-size"],
            IndexKind::BitSliced => &[],
            IndexKind::RangeBitmap => &["chunk-size"],
        };
        if let Some(name) = options.keys().find(|name| !known.contains(&name.as_str())) {
            let error = invalid(format!("a '{}' index has no option '{name}'", kind.name()));
            return Err(if known.is_empty() { error } else { error.hint(format!("it has {}", known.join(", "))) });
        }
        let size = |name: &str, default: u64| match options.get(name) {
            Some(text) => parse_size(text)
                .ok()
                .filter(|size| i32::try_from(*size).is_ok())
                .ok_or_else(|| invalid(format!("'{text}' is not a size below 2 GiB, such as '16 kb'"))),
            None => Ok(default),
        };
        Ok(match kind {
            IndexKind::BitSliced => Self::BitSliced,
            IndexKind::RangeBitmap => {
                let one = matches!(data_type.kind, TypeKind::Boolean | TypeKind::TinyInt | TypeKind::SmallInt);
                Self::RangeBitmap { chunk_size: size("chunk-size", if one { 0 } else { BLOCK })? }
            }
            IndexKind::Bitmap => {
                let version = match options.get("version").map_or("2", |text| text.trim()) {
                    "1" => 1,
                    "2" => 2,
                    other => return Err(invalid(format!("'{other}' is not a version: there are 1 and 2"))),
                };
                Self::Bitmap { version, block_size: size("index-block-size", BLOCK)? }
            }
            IndexKind::BloomFilter => bloom_filter(options)?,
        })
    }
}

fn bloom_filter(options: &BTreeMap<String, String>) -> Result<IndexSettings> {
    let items = match options.get("items") {
        Some(text) => text.trim().parse::<i32>().ok().filter(|items| *items > 0),
        None => Some(1_000_000),
    };
    let items = items.ok_or_else(|| invalid("'items' is not a number of values from 1 on"))?;
    let fpp = match options.get("fpp") {
        Some(text) => text.trim().parse::<f64>().ok().filter(|fpp| *fpp > 0.0 && *fpp < 1.0),
        None => Some(0.1),
    };
    let fpp = fpp.ok_or_else(|| invalid("'fpp' is not a probability between 0 and 1"))?;
    let ln_2 = std::f64::consts::LN_2;
    if -f64::from(items) * fpp.ln() / (ln_2 * ln_2) > f64::from(i32::MAX - 8) {
        return Err(invalid(format!("a filter for {items} values with 'fpp' = {fpp} has more than 2^31 bits")));
    }
    Ok(IndexSettings::BloomFilter { items: items.into(), fpp })
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOption, message)
}
