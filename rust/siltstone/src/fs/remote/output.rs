//! Writing an object in pieces: parts are sent as they fill, and nothing is visible before the last request.

use std::{io, sync::Arc};

use bytes::Bytes;
use opendal::{Writer, options::WriteOptions};

use super::{client::Store, errors, runtime};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::OutputFile,
};

/// Bytes of a part; what is not longer goes in one request. A store takes 10 000 parts: 80 GB.
const PART: usize = 8 * 1024 * 1024;
/// Parts that are sent at once: with the one that fills, the memory that an open object takes.
const AT_ONCE: usize = 2;

/// An object that is being written.
pub(super) struct RemoteOutput {
    store: Arc<Store>,
    path: String,
    key: String,
    /// `None` after an error
    writer: Option<Writer>,
    buffer: Vec<u8>,
    position: u64,
}

impl RemoteOutput {
    pub(super) fn create(store: &Arc<Store>, path: &str, key: String) -> Result<Self> {
        let (operators, created) = (store.operators()?, key.clone());
        let options = WriteOptions { chunk: Some(PART), concurrent: AT_ONCE, ..WriteOptions::default() };
        let made = runtime::run(async move { operators.retried.writer_options(&created, options).await })?;
        let writer = made.map_err(|e| store.failed("begin the object", path, &e))?;
        Ok(Self {
            store: Arc::clone(store),
            path: path.to_owned(),
            key,
            writer: Some(writer),
            buffer: Vec::new(),
            position: 0,
        })
    }

    /// Sends what is collected.
    fn send(&mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| self.ended())?;
        let part = Bytes::from(std::mem::take(&mut self.buffer));
        let (writer, sent) = runtime::run(async move {
            let sent = writer.write(part).await;
            (writer, sent)
        })?;
        self.writer = Some(writer);
        sent.map_err(|e| self.store.failed("write the object", &self.path, &e))
    }

    /// Completes the object; whether it is there.
    fn finish(&mut self) -> Result<()> {
        let mut writer = self.writer.take().ok_or_else(|| self.ended())?;
        let (key, operators, size) = (self.key.clone(), self.store.operators()?, self.position);
        let closed = runtime::run(async move {
            match writer.close().await {
                Ok(_) => Ok(()),
                Err(failed) => match operators.retried.stat(&key).await {
                    // the answer was lost, and the request is not taken twice
                    Ok(found) if found.content_length() == size => Ok(()),
                    _ => {
                        drop(writer.abort().await);
                        Err(failed)
                    }
                },
            }
        })?;
        closed.map_err(|e| self.store.failed("finish the object", &self.path, &e))
    }

    fn ended(&self) -> Error {
        Error::new(ErrorKind::Storage, "writing the object has failed before").with("file", &self.path)
    }
}

impl io::Write for RemoteOutput {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.get(..data.len().min(PART - self.buffer.len())).unwrap_or_default();
        self.buffer.extend_from_slice(taken);
        self.position += u64::try_from(taken.len()).unwrap_or(0);
        if self.buffer.len() >= PART {
            self.send().map_err(errors::io)?;
        }
        Ok(taken.len())
    }

    /// What is sent is not visible before the end: there is nothing to do.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for RemoteOutput {
    fn position(&self) -> u64 {
        self.position
    }

    fn close(mut self: Box<Self>, _sync: bool) -> Result<u64> {
        if !self.buffer.is_empty() || self.position == 0 {
            self.send()?;
        }
        self.finish()?;
        Ok(self.position)
    }
}

impl Drop for RemoteOutput {
    /// Parts of an object that was not completed take place in the store until it is told.
    fn drop(&mut self) {
        if let (Some(mut writer), Ok(runtime)) = (self.writer.take(), runtime::runtime()) {
            runtime.spawn(async move { drop(writer.abort().await) });
        }
    }
}
