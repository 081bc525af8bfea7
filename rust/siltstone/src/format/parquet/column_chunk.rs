//! What a footer says of a column chunk.

use std::ops::Range;

use parquet::{
    basic::{ConvertedType, Encoding, LogicalType, Type},
    file::metadata::ColumnChunkMetaData,
};

/// Where a column chunk lies.
pub(super) fn chunk_range(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let (start, length) = (u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?);
    (length > 0).then(|| start..start.saturating_add(length))
}

/// Texts of it may be those of a dictionary.
pub(super) fn has_dictionary(column: &ColumnChunkMetaData) -> bool {
    let encoded = [Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY];
    column.dictionary_page_offset().is_some() || column.encodings().any(|encoding| encoded.contains(&encoding))
}

/// Texts of it may come behind their lengths.
pub(super) fn has_lengths(column: &ColumnChunkMetaData) -> bool {
    let encoded = [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY];
    column.encodings().any(|encoding| encoded.contains(&encoding))
}

/// Bytes of the copy that is made of a value after it was decoded: decimals become numbers of 128 bits, values of fixed length
/// texts, numbers or times. A null is copied, too.
pub(super) fn copied_bytes(column: &ColumnChunkMetaData) -> u64 {
    let of = column.column_descr();
    let decimal = of.converted_type() == ConvertedType::DECIMAL
        || matches!(of.logical_type_ref(), Some(LogicalType::Decimal { .. }));
    match column.column_type() {
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(of.type_length()).unwrap_or(0).max(16),
        _ if decimal => 16,
        _ => 0,
    }
}
