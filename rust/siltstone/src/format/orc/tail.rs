//! The end of a file: postscript, footer, statistics of the stripes.

use std::sync::Arc;

use super::{
    compression::{Codec, MOST_CHUNK},
    proto::{Message, push},
    schema::{Node, parse_types},
    statistics::ColumnStatistics,
    stream::Source,
};
use crate::{
    error::{Error, Result},
    fs::InputFile,
    limits::MOST,
};

/// What is read at once, in the hope that it is all.
const TAIL: u64 = 16 * 1024;
/// Chunks where the postscript does not say how large.
const DEFAULT_CHUNK: u64 = 256 * 1024;

/// What the end of a file says.
pub(super) struct Tail {
    pub(super) source: Source,
    pub(super) types: Vec<Node>,
    pub(super) stripes: Vec<StripeInformation>,
    /// Of each stripe and column; empty where there are none.
    pub(super) statistics: Vec<Vec<ColumnStatistics>>,
}

/// Where a stripe lies.
#[derive(Clone, Debug, Default)]
pub(super) struct StripeInformation {
    pub(super) offset: u64,
    pub(super) index_length: u64,
    pub(super) data_length: u64,
    pub(super) footer_length: u64,
    pub(super) rows: u64,
}

/// Reads the end of a file of so many bytes.
pub(super) fn read(input: Arc<dyn InputFile>, size: u64) -> Result<Tail> {
    let path = input.path().to_owned();
    let corrupt = |expected: &str, found: String| Error::corrupt(&path, size, expected, found);
    let tail = input.read_range(size.saturating_sub(TAIL), size.min(TAIL))?;
    let (last, rest) = tail.split_last().ok_or_else(|| corrupt("an ORC file", "no bytes".to_owned()))?;
    let postscript = rest.len().checked_sub(usize::from(*last)).and_then(|at| rest.get(at..));
    let postscript = postscript.ok_or_else(|| corrupt("a postscript", format!("{} bytes", rest.len())))?;
    let (mut footer, mut metadata, mut codec, mut chunk, mut magic) = (0, 0, 0, DEFAULT_CHUNK, "");
    Message::new(&path, postscript).fields(|field, value| {
        match field {
            1 => footer = value.number()?,
            2 => codec = value.number()?,
            3 => chunk = value.number()?,
            5 => metadata = value.number()?,
            8000 => magic = value.text()?,
            _ => {}
        }
        Ok(())
    })?;
    if magic != "ORC" {
        return Err(corrupt("the magic of an ORC file", format!("{magic:?}")));
    }
    let codec = Codec::of(codec)
        .ok_or_else(|| Error::unsupported(format!("the compression {codec} of an ORC file")).with("file", &path))?;
    if chunk > MOST_CHUNK {
        return Err(corrupt("chunks of at most 8 MiB", chunk.to_string()));
    }
    let end = size - 1 - u64::from(*last);
    let footer_start = end.checked_sub(footer);
    let metadata_start = footer_start.and_then(|start| start.checked_sub(metadata));
    let (Some(footer_start), Some(metadata_start)) = (footer_start, metadata_start) else {
        return Err(corrupt("a footer in the file", format!("one of {footer} and {metadata} bytes")));
    };
    let source = Source { input, codec, chunk_bytes: usize::try_from(chunk).unwrap_or(usize::MAX) };
    let bytes = source.plain(footer_start, footer)?;
    let (types, stripes) = read_footer(&path, &bytes, metadata_start)?;
    let places = Places { stripes: stripes.len(), columns: types.len() };
    let statistics = read_statistics(&path, &source.plain(metadata_start, metadata)?, &places)?;
    Ok(Tail { source, types, stripes, statistics })
}

fn read_footer(path: &str, bytes: &[u8], end: u64) -> Result<(Vec<Node>, Vec<StripeInformation>)> {
    let (mut types, mut stripes, mut rows) = (Vec::new(), Vec::new(), None);
    let (mut encrypted, mut statistics) = (false, 0_usize);
    Message::new(path, bytes).fields(|field, value| {
        match field {
            3 => push(&mut stripes, read_stripe(value.message()?)?)?,
            4 => push(&mut types, value.message()?)?,
            7 => statistics += 1,
            6 => rows = Some(value.number()?),
            10 => encrypted = true,
            _ => {}
        }
        Ok(())
    })?;
    if encrypted {
        return Err(Error::unsupported("an encrypted ORC file").with("file", path));
    }
    if statistics > types.len() {
        return Err(Error::corrupt(path, end, format!("statistics of {} columns", types.len()), statistics));
    }
    check_places(path, &stripes, end)?;
    let all = stripes.iter().try_fold(0_u64, |sum, stripe| sum.checked_add(stripe.rows));
    let fits = all.is_some_and(|all| i64::try_from(all).is_ok_and(|all| all <= MOST));
    if !fits || rows.is_some_and(|rows| Some(rows) != all) {
        return Err(Error::corrupt(path, end, format!("stripes of {} rows", rows.unwrap_or(0)), format!("{all:?}")));
    }
    Ok((parse_types(path, &types)?, stripes))
}

fn read_stripe(message: Message<'_>) -> Result<StripeInformation> {
    let mut stripe = StripeInformation::default();
    message.fields(|field, value| {
        match field {
            1 => stripe.offset = value.number()?,
            2 => stripe.index_length = value.number()?,
            3 => stripe.data_length = value.number()?,
            4 => stripe.footer_length = value.number()?,
            5 => stripe.rows = value.number()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(stripe)
}

/// Stripes lie one after another before the metadata: of stripes that share bytes a small file would have any number.
fn check_places(path: &str, stripes: &[StripeInformation], end: u64) -> Result<()> {
    let mut together = 0_u64;
    for stripe in stripes {
        let parts = [stripe.index_length, stripe.data_length, stripe.footer_length];
        let length = parts.into_iter().try_fold(0_u64, u64::checked_add);
        let inside = length.and_then(|length| stripe.offset.checked_add(length)).is_some_and(|stop| stop <= end);
        if !inside {
            return Err(Error::corrupt(path, stripe.offset, "a stripe before the metadata", format!("{stripe:?}")));
        }
        // one without bytes has no footer
        together = together.saturating_add(length.unwrap_or(u64::MAX).max(1));
    }
    if together > end {
        let found = format!("{} stripes of {together} bytes together", stripes.len());
        return Err(Error::corrupt(path, end, format!("stripes in {end} bytes"), found));
    }
    Ok(())
}

/// Of what a file may have statistics.
struct Places {
    stripes: usize,
    columns: usize,
}

/// A file that has statistics of fewer stripes than it has gives none.
fn read_statistics(path: &str, bytes: &[u8], places: &Places) -> Result<Vec<Vec<ColumnStatistics>>> {
    let mut all = Vec::new();
    let too_many = |what: &str, most: usize| Error::corrupt(path, 0, format!("statistics of {most} {what}"), "more");
    Message::new(path, bytes).fields(|field, value| {
        if field != 1 {
            return Ok(());
        }
        let mut columns = Vec::new();
        value.message()?.fields(|field, value| {
            if field == 1 {
                if columns.len() == places.columns {
                    return Err(too_many("columns", places.columns));
                }
                push(&mut columns, ColumnStatistics::read(value.message()?)?)?;
            }
            Ok(())
        })?;
        if all.len() == places.stripes {
            return Err(too_many("stripes", places.stripes));
        }
        push(&mut all, columns)
    })?;
    if all.len() != places.stripes {
        all.clear();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// A field of a message, with bytes or with a number.
    fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
        [&[field << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn number(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    /// One of 3 rows.
    fn stripe(offset: u8, [index, data, footer]: [u8; 3]) -> Vec<u8> {
        let numbers = [(1, offset), (2, index), (3, data), (4, footer), (5, 3)];
        bytes(3, &numbers.map(|(field, value)| number(field, value)).concat())
    }

    /// A struct without fields.
    fn root() -> Vec<u8> {
        bytes(4, &number(1, 12))
    }

    fn stripes_of(footer: &[Vec<u8>], end: u64) -> std::result::Result<usize, ErrorKind> {
        let read = read_footer("m.orc", &[footer.concat(), root()].concat(), end);
        read.map(|(_, stripes)| stripes.len()).map_err(|e| e.kind())
    }

    /// A file of 12 MB had a million stripes over the same bytes, and reading it had no end.
    #[test]
    fn stripes_share_no_bytes() {
        let (first, second) = (stripe(3, [0, 20, 10]), stripe(33, [10, 20, 10]));
        assert_eq!(stripes_of(&[first.clone(), second], 73), Ok(2));
        assert_eq!(stripes_of(&[first.clone(), first.clone(), first], 73), Err(ErrorKind::CorruptFile));
        let empty = stripe(3, [0, 0, 0]);
        assert_eq!(stripes_of(&[empty.clone(), empty], 1), Err(ErrorKind::CorruptFile));
    }

    #[test]
    fn there_are_no_more_statistics_than_stripes_and_columns() {
        let of_file = bytes(7, &[]);
        assert_eq!(stripes_of(std::slice::from_ref(&of_file), 9), Ok(0));
        assert_eq!(stripes_of(&[of_file.clone(), of_file], 9), Err(ErrorKind::CorruptFile));
        let column = bytes(1, &[]);
        let (stripe, wide) = (bytes(1, &column), bytes(1, &column.repeat(2)));
        let read = |all: &[u8]| {
            let read = read_statistics("m.orc", all, &Places { stripes: 2, columns: 1 });
            read.map(|all| all.len()).map_err(|e| e.kind())
        };
        assert_eq!((read(&stripe.repeat(2)), read(&stripe)), (Ok(2), Ok(0)));
        assert_eq!(read(&stripe.repeat(3)), Err(ErrorKind::CorruptFile));
        assert_eq!(read(&wide), Err(ErrorKind::CorruptFile));
    }
}
