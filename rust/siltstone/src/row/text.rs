//! Values as text.

use super::Datum;
use crate::types::DataType;

/// The text that `CAST(value AS STRING)` gives; null gives `null`.
pub fn datum_to_text(_value: &Datum, _data_type: &DataType) -> String {
    String::new()
}

/// The text of Java's `toString()` on the internal value, as partition directories have it with
/// `partition.legacy-name=true`; null gives `null`.
pub fn datum_to_legacy_text(_value: &Datum, _data_type: &DataType) -> String {
    String::new()
}
