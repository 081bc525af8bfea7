//! Reading parts of an object with few requests: the first one fetches the end, where formats have their footers, and tells the
//! size; later ones fetch more than was asked for where that is little, and keep it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Bytes, BytesMut};
use opendal::{BytesRange, options::ReaderOptions};

use super::{ANSWER, client::Store, errors, runtime};
use crate::{
    error::{Error, Result},
    fs::{InputFile, checked_range},
};

/// Bytes of the end that opening fetches; most manifests and many data files are no longer.
const TAIL: u64 = 256 * 1024;
/// Bytes that a request fetches at least.
const LEAST: u64 = 1024 * 1024;
/// What is larger is fetched in parts of this size, several at once, and not kept.
const PART: usize = 8 * 1024 * 1024;
const AT_ONCE: usize = 4;
/// Stretches of an object that are kept.
const KEPT: usize = 3;

/// An object that is open.
pub(super) struct RemoteInput {
    store: Arc<Store>,
    path: String,
    key: String,
    size: u64,
    kept: Mutex<VecDeque<(u64, Bytes)>>,
}

impl RemoteInput {
    pub(super) fn open(store: &Arc<Store>, path: &str, key: String) -> Result<Self> {
        let (operators, read) = (store.operators()?, key.clone());
        let reads_ends = store.bucket.kind.reads_ends();
        let fetched = runtime::answered(ANSWER, async move {
            use futures::TryStreamExt as _;
            let end = if reads_ends {
                BytesRange::suffix(TAIL)
            } else {
                let size = operators.retried.stat(&read).await?.content_length();
                if size == 0 {
                    return Ok((0, Vec::new()));
                }
                BytesRange::from(size.saturating_sub(TAIL)..size)
            };
            let mut stream = operators.retried.reader(&read).await?.into_stream(end).await?;
            let size = stream.metadata().await?.content_length();
            let mut tail = Vec::new();
            while let Some(part) = stream.try_next().await? {
                tail.extend(part);
            }
            Ok::<_, opendal::Error>((size, tail))
        })?;
        let (size, tail) = match fetched {
            Ok((size, tail)) => (size, joined(tail)),
            // of nothing there is no end
            Err(e) if errors::is_behind_the_end(&e) => (0, Bytes::new()),
            Err(e) => return Err(store.failed("open the object", path, &e)),
        };
        let begin = size.saturating_sub(u64::try_from(tail.len()).unwrap_or(0));
        let kept = Mutex::new(VecDeque::from([(begin, tail)]));
        Ok(Self { store: Arc::clone(store), path: path.to_owned(), key, size, kept })
    }

    fn kept(&self, start: u64, length: u64) -> Option<Bytes> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find_map(|(begin, bytes)| {
            let from = usize::try_from(start.checked_sub(*begin)?).ok()?;
            let to = from.checked_add(usize::try_from(length).ok()?)?;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        })
    }

    fn fetch(&self, start: u64, length: u64) -> Result<Bytes> {
        let (operators, key) = (self.store.operators()?, self.key.clone());
        let large = usize::try_from(length).is_ok_and(|length| length > PART);
        let options = ReaderOptions {
            content_length_hint: Some(self.size),
            chunk: large.then_some(PART),
            concurrent: if large { AT_ONCE } else { 1 },
            ..ReaderOptions::default()
        };
        let read =
            async move { operators.retried.reader_options(&key, options).await?.read(start..start + length).await };
        let bytes = runtime::answered(ANSWER, read)?;
        let bytes = bytes.map_err(|e| self.store.failed("read the object", &self.path, &e))?.to_bytes();
        if u64::try_from(bytes.len()).is_ok_and(|found| found == length) {
            return Ok(bytes);
        }
        Err(Error::corrupt(&self.path, start, format!("{length} bytes"), format!("{} bytes", bytes.len())))
    }
}

impl InputFile for RemoteInput {
    fn path(&self) -> &str {
        &self.path
    }

    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
        checked_range(&self.path, self.size, start, length)?;
        if let Some(bytes) = self.kept(start, length) {
            return Ok(bytes);
        }
        let more = length.max(LEAST).min(self.size - start);
        let fetched = self.fetch(start, more)?;
        if more > 4 * LEAST {
            return Ok(fetched);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // the end, which is asked for again and again, stays
        if kept.len() > KEPT {
            kept.remove(1);
        }
        kept.push_back((start, fetched.clone()));
        drop(kept);
        let asked = usize::try_from(length).unwrap_or(usize::MAX).min(fetched.len());
        Ok(fetched.slice(..asked))
    }
}

/// The parts of an answer as one.
pub(super) fn joined(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() == 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    for part in parts {
        all.extend_from_slice(&part);
    }
    all.freeze()
}
