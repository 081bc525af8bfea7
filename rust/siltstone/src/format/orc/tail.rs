//! The end of a file: postscript, footer, statistics of the stripes.

use std::sync::Arc;

use super::{
    compression::{Codec, MOST_CHUNK},
    proto::Message,
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
    let statistics = read_statistics(&path, &source.plain(metadata_start, metadata)?, stripes.len())?;
    Ok(Tail { source, types, stripes, statistics })
}

fn read_footer(path: &str, bytes: &[u8], end: u64) -> Result<(Vec<Node>, Vec<StripeInformation>)> {
    let (mut types, mut stripes, mut rows) = (Vec::new(), Vec::new(), None);
    let mut encrypted = false;
    Message::new(path, bytes).fields(|field, value| {
        match field {
            3 => stripes.push(read_stripe(value.message()?)?),
            4 => types.push(value.message()?),
            6 => rows = Some(value.number()?),
            10 => encrypted = true,
            _ => {}
        }
        Ok(())
    })?;
    if encrypted {
        return Err(Error::unsupported("an encrypted ORC file").with("file", path));
    }
    for stripe in &stripes {
        let parts = [stripe.offset, stripe.index_length, stripe.data_length, stripe.footer_length];
        let inside = parts.into_iter().try_fold(0_u64, u64::checked_add).is_some_and(|stop| stop <= end);
        if !inside {
            return Err(Error::corrupt(path, stripe.offset, "a stripe before the metadata", format!("{stripe:?}")));
        }
    }
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

/// A file that has statistics of other stripes than it has gives none.
fn read_statistics(path: &str, bytes: &[u8], stripes: usize) -> Result<Vec<Vec<ColumnStatistics>>> {
    let mut all = Vec::new();
    Message::new(path, bytes).fields(|field, value| {
        if field == 1 {
            let mut columns = Vec::new();
            value.message()?.fields(|field, value| {
                if field == 1 {
                    columns.push(ColumnStatistics::read(value.message()?)?);
                }
                Ok(())
            })?;
            all.push(columns);
        }
        Ok(())
    })?;
    if all.len() != stripes {
        all.clear();
    }
    Ok(all)
}
