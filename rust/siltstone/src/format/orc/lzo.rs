//! LZO1X, decompressed: literals, and copies of what stands before.

use std::io;

/// The plain bytes, at most `most`.
pub(super) fn decompress(packed: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let mut unpacking = Unpacking { rest: packed, plain: Vec::new(), most };
    let mut literals = match packed.first() {
        Some(first) if *first > 17 => {
            unpacking.byte()?;
            unpacking.literals(usize::from(*first) - 17)?;
            if *first < 22 { usize::from(*first) - 17 } else { 4 }
        }
        _ => 0,
    };
    while !unpacking.rest.is_empty() {
        match unpacking.step(literals)? {
            Some(next) => literals = next,
            None => break,
        }
    }
    Ok(unpacking.plain)
}

struct Unpacking<'a> {
    rest: &'a [u8],
    plain: Vec<u8>,
    most: usize,
}

impl Unpacking<'_> {
    fn byte(&mut self) -> io::Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| broken("the end"))?;
        self.rest = rest;
        Ok(*first)
    }

    /// One instruction after so many literals, 4 for many; how many follow it, `None` at the end.
    fn step(&mut self, literals: usize) -> io::Result<Option<usize>> {
        let code = usize::from(self.byte()?);
        let after = match code {
            0..=15 if literals == 0 => {
                let length = 3 + self.length(code, 15)?;
                self.literals(length)?;
                return Ok(Some(4));
            }
            0..=15 => {
                let high = usize::from(self.byte()?) << 2 | code >> 2;
                let (distance, length) = if literals == 4 { (high + 2049, 3) } else { (high + 1, 2) };
                self.copy(distance, length)?;
                code & 3
            }
            16..=31 => {
                let length = 2 + self.length(code & 7, 7)?;
                let low = self.pair()?;
                let distance = 16_384 + ((code & 8) << 11) + (low >> 2);
                if distance == 16_384 {
                    return Ok(None);
                }
                self.copy(distance, length)?;
                low & 3
            }
            32..=63 => {
                let length = 2 + self.length(code & 31, 31)?;
                let low = self.pair()?;
                self.copy((low >> 2) + 1, length)?;
                low & 3
            }
            _ => {
                let length = if code < 128 { 3 + (code >> 5 & 1) } else { 5 + (code >> 5 & 3) };
                let high = usize::from(self.byte()?) << 3;
                self.copy(high + (code >> 2 & 7) + 1, length)?;
                code & 3
            }
        };
        self.literals(after)?;
        Ok(Some(after))
    }

    /// A length that is continued where it is 0.
    fn length(&mut self, short: usize, full: usize) -> io::Result<usize> {
        if short != 0 {
            return Ok(short);
        }
        let mut length = full;
        loop {
            match self.byte()? {
                0 => length = length.saturating_add(255),
                last => return Ok(length.saturating_add(usize::from(last))),
            }
        }
    }

    fn pair(&mut self) -> io::Result<usize> {
        Ok(usize::from(u16::from_le_bytes([self.byte()?, self.byte()?])))
    }

    fn room(&self, length: usize) -> io::Result<()> {
        if self.plain.len().saturating_add(length) > self.most {
            Err(broken("a chunk that is too long"))
        } else {
            Ok(())
        }
    }

    fn literals(&mut self, length: usize) -> io::Result<()> {
        self.room(length)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| broken("the end"))?;
        self.plain.extend_from_slice(taken);
        self.rest = rest;
        Ok(())
    }

    fn copy(&mut self, distance: usize, length: usize) -> io::Result<()> {
        self.room(length)?;
        let start = self.plain.len().checked_sub(distance).ok_or_else(|| broken("a copy from before the start"))?;
        // what is copied may be what the copy makes
        for at in start..start + length {
            let byte = self.plain.get(at).copied().unwrap_or_default();
            self.plain.push(byte);
        }
        Ok(())
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_copies() {
        // 4 literals, then 6 bytes from 4 before, then the end
        let packed = [21, b'a', b'b', b'c', b'd', 0b1010_1100, 0, 0x11, 0, 0];
        assert_eq!(decompress(&packed, 100).unwrap(), b"abcdabcdab");
        assert!(decompress(&packed, 9).is_err());
        assert!(decompress(&[21, b'a'], 100).is_err());
        assert!(decompress(&[18, b'a', 0b1000_1100, 9, 0x11, 0, 0], 100).is_err());
    }
}
