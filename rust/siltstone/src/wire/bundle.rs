//! Several sealed commit messages that belong into one commit, as one piece that travels.
//!
//! The payload of the envelope: each message behind its length, u32 LE.

use super::Seal;
use crate::error::{Error, ErrorKind, Result};

const BUNDLE: Seal = Seal { what: "bundle of commit messages", magic: "SSCB", version: 1 };

/// One piece of several; one alone stays what it is.
pub fn bundled(mut messages: Vec<Vec<u8>>) -> Result<Vec<u8>> {
    if messages.len() == 1
        && let Some(only) = messages.pop()
    {
        return Ok(only);
    }
    let mut payload = Vec::new();
    for message in &messages {
        let length = u32::try_from(message.len())
            .map_err(|e| Error::new(ErrorKind::Internal, "a commit message is too long").caused_by(e))?;
        payload.extend(length.to_le_bytes());
        payload.extend(message);
    }
    BUNDLE.close(&messages.len(), &payload)
}

/// The messages of a piece.
///
/// # Errors
/// `CorruptFile`: damaged on its way.
pub fn unbundled(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    if !BUNDLE.is_on(bytes) {
        return Ok(vec![bytes]);
    }
    let (count, mut rest): (usize, _) = BUNDLE.open(bytes)?;
    let mut messages = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((message, behind)) = behind.split_at_checked(length) else { break };
        messages.push(message);
        rest = behind;
    }
    if messages.len() == count && rest.is_empty() {
        return Ok(messages);
    }
    Err(Error::corrupt(
        BUNDLE.what,
        0,
        format!("{count} messages"),
        format!("{} and {} bytes", messages.len(), rest.len()),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use super::*;

    #[test]
    fn messages_are_the_same_after_their_travel() {
        for messages in [vec![], vec![vec![]], vec![b"one".to_vec()], vec![b"one".to_vec(), vec![], b"three".to_vec()]]
        {
            let bytes = bundled(messages.clone()).unwrap();
            assert_eq!(unbundled(&bytes).unwrap(), messages);
        }
    }

    #[test]
    fn damaged_bundles_are_errors() {
        let bytes = bundled(vec![b"one".to_vec(), b"two".to_vec()]).unwrap();
        for at in 4..bytes.len() {
            assert_eq!(unbundled(&bytes[..at]).unwrap_err().kind(), ErrorKind::CorruptFile, "cut at {at}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x20;
            assert_eq!(unbundled(&flipped).unwrap_err().kind(), ErrorKind::CorruptFile, "changed at {at}");
        }
    }
}
