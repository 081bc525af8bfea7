//! Replacing a small object, where told so only if it is still the one that was read.

use std::sync::Arc;

use bytes::Bytes;
use opendal::ErrorKind as StoreError;

use super::{ANSWER, client::Store, held, runtime};
use crate::error::{Error, ErrorKind, Result};

/// The entity tag of an object, of a store that replaces on the condition of one.
pub(super) fn version(store: &Arc<Store>, path: &str, key: &str) -> Result<Option<String>> {
    let operators = store.operators()?;
    if !operators.retried.info().capability().write_with_if_match {
        return Ok(None);
    }
    let asked = key.to_owned();
    match runtime::answered(ANSWER, async move { operators.retried.stat(&asked).await })? {
        Ok(found) => Ok(found.etag().map(str::to_owned)),
        Err(e) if e.kind() == StoreError::NotFound => Ok(None),
        Err(e) => Err(store.failed("look at the object", path, &e)),
    }
}

/// Puts another content in the place of an object; `version`: only while it has this entity tag.
pub(super) fn overwrite(store: &Arc<Store>, path: &str, key: &str, data: &[u8], version: Option<&str>) -> Result<()> {
    let operators = store.operators()?;
    let (content, written, tag) = (Bytes::copy_from_slice(data), key.to_owned(), version.map(str::to_owned));
    let put = async move {
        let options = opendal::options::WriteOptions { if_match: tag, ..Default::default() };
        let is_conditional = options.if_match.is_some();
        match operators.retried.write_options(&written, content.clone(), options).await {
            // an answer that was lost, and the next try does not find what it has replaced
            Err(e) if is_conditional && is_another(&e) => match operators.retried.read(&written).await {
                Ok(found) if found.to_bytes() == content => Ok(()),
                _ => Err(e),
            },
            put => put.map(drop),
        }
    };
    held::answered(store, key, ANSWER, put)?.map_err(|e| {
        if version.is_some() && is_another(&e) {
            return Error::new(ErrorKind::CommitConflict, "another object has taken the place of this one")
                .with("file", path)
                .without_effect();
        }
        store.failed("write the object", path, &e)
    })
}

fn is_another(error: &opendal::Error) -> bool {
    matches!(error.kind(), StoreError::ConditionNotMatch | StoreError::NotFound)
}
