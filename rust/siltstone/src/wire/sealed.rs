//! The envelope of what travels between processes: splits, compaction tasks, commit messages.
//!
//! ```text
//! 4 bytes magic | u8 version | u32 LE length of the header | header (JSON) | payload | u32 LE CRC-32 of all before
//! ```
//!
//! The payload is in Java's own bytes, which have no checksum: a damaged length of a file or a changed statistic would
//! be taken for true. The header says which table it is about.

use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Error, ErrorKind, Result};

/// A kind of envelope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal {
    /// What is inside, in errors.
    pub(crate) what: &'static str,
    pub(crate) magic: &'static str,
    pub(crate) version: u8,
}

impl Seal {
    /// Puts a header and a payload into an envelope.
    pub(crate) fn close(&self, header: &impl Serialize, payload: &[u8]) -> Result<Vec<u8>> {
        let internal = |why: &str| Error::new(ErrorKind::Internal, format!("a {} {why}", self.what));
        let header = serde_json::to_vec(header).map_err(|e| internal("has no JSON header").caused_by(e))?;
        let length = u32::try_from(header.len()).map_err(|e| internal("has too long a header").caused_by(e))?;
        let mut out = Vec::with_capacity(self.magic.len() + 1 + 4 + header.len() + payload.len() + 4);
        out.extend(self.magic.as_bytes());
        out.push(self.version);
        out.extend(length.to_le_bytes());
        out.extend(header);
        out.extend(payload);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        Ok(out)
    }

    /// Whether bytes claim to be such an envelope.
    pub(crate) fn is_on(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(self.magic.as_bytes())
    }

    /// Header and payload of an envelope that arrived as it was sent.
    ///
    /// # Errors
    /// `CorruptFile`: something else, or damaged on its way; `UnsupportedVersion`: made by another version.
    pub(crate) fn open<'a, H: DeserializeOwned>(&self, bytes: &'a [u8]) -> Result<(H, &'a [u8])> {
        let corrupt = |offset: usize, expected: &str, found: String| {
            Error::corrupt(self.what, u64::try_from(offset).unwrap_or(u64::MAX), expected, found)
                .hint("it was damaged or cut off on its way: send it again, as it was made")
        };
        if !self.is_on(bytes) {
            return Err(corrupt(0, &format!("a {} of siltstone ({})", self.what, self.magic), "something else".into()));
        }
        let whole = || corrupt(0, &format!("a whole {}", self.what), format!("{} bytes", bytes.len()));
        let (content, stored) = bytes.split_last_chunk::<4>().ok_or_else(whole)?;
        let (stored, computed) = (u32::from_le_bytes(*stored), crc32fast::hash(content));
        if stored != computed {
            return Err(corrupt(content.len(), &format!("the checksum {computed:08x}"), format!("{stored:08x}")));
        }
        let rest = content.get(self.magic.len()..).ok_or_else(whole)?;
        let (version, rest) = rest.split_first().ok_or_else(whole)?;
        if *version != self.version {
            let message = format!("a {} of version {version}, where {} is known", self.what, self.version);
            return Err(Error::new(ErrorKind::UnsupportedVersion, message)
                .hint("use the same version of siltstone on the driver and on the executors"));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(whole)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| whole())?;
        let (header, payload) = rest.split_at_checked(length).ok_or_else(whole)?;
        let header = serde_json::from_slice(header).map_err(|e| {
            corrupt(self.magic.len().saturating_add(5), "a JSON header", "something else".into()).caused_by(e)
        })?;
        Ok((header, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAL: Seal = Seal { what: "parcel", magic: "SSPA", version: 2 };

    #[test]
    fn what_arrives_is_what_was_sent() {
        let bytes = SEAL.close(&("a", 1), b"payload").unwrap();
        let (header, payload): ((String, i32), _) = SEAL.open(&bytes).unwrap();
        assert_eq!((header, payload), (("a".to_owned(), 1), b"payload".as_slice()));
    }

    #[test]
    fn every_changed_byte_and_every_other_length_is_found() {
        let bytes = SEAL.close(&("a", 1), b"payload").unwrap();
        for at in 0..bytes.len() {
            for change in 1..=255 {
                let mut bad = bytes.clone();
                bad[at] ^= change;
                let error = SEAL.open::<(String, i32)>(&bad).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::CorruptFile, "byte {at} by {change}");
            }
            assert_eq!(SEAL.open::<(String, i32)>(&bytes[..at]).unwrap_err().kind(), ErrorKind::CorruptFile, "{at}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(SEAL.open::<(String, i32)>(&longer).unwrap_err().kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn other_versions_are_told_from_damage() {
        let newer = Seal { version: 3, ..SEAL }.close(&("a", 1), b"").unwrap();
        assert_eq!(SEAL.open::<(String, i32)>(&newer).unwrap_err().kind(), ErrorKind::UnsupportedVersion);
        let other_header = SEAL.close(&5, b"").unwrap();
        assert_eq!(SEAL.open::<(String, i32)>(&other_header).unwrap_err().kind(), ErrorKind::CorruptFile);
    }
}
