//! Murmur3, 32 bits, seed 42, as Paimon hashes rows for buckets (format chapter 6.2).
//!
//! ```text
//! h = 42
//! each 4-byte little-endian word k:  k *= C1; k = rotl(k, 15); k *= C2
//!                                    h ^= k;  h = rotl(h, 13); h = h * 5 + N
//! h ^= number of bytes;  final avalanche
//! ```

const SEED: u32 = 42;
const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;
const N: u32 = 0xe654_6b64;

/// The hash of bytes whose number is a multiple of 4; a row's always is. A shorter tail is ignored.
pub fn hash_words(bytes: &[u8]) -> i32 {
    let (words, _) = bytes.as_chunks::<4>();
    let h = words.iter().fold(SEED, |h, word| mix(h, u32::from_le_bytes(*word)));
    finish(h, bytes.len())
}

/// The hash of any number of bytes. Each byte after the last whole word is a word of its own, sign-extended.
pub fn hash_bytes(bytes: &[u8]) -> i32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let h = words.iter().fold(SEED, |h, word| mix(h, u32::from_le_bytes(*word)));
    let h = tail.iter().fold(h, |h, byte| mix(h, i32::from(byte.cast_signed()).cast_unsigned()));
    finish(h, bytes.len())
}

#[inline]
fn mix(h: u32, word: u32) -> u32 {
    let k = word.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(N)
}

#[inline]
fn finish(h: u32, length: usize) -> i32 {
    // a row is shorter than 2 GiB
    let mut h = h ^ u32::try_from(length).unwrap_or(u32::MAX);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    (h ^ (h >> 16)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hash_as_java_does() {
        assert_eq!(hash_words(&[0; 8]), -1_670_924_195);
        assert_eq!(hash_words(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), 1_465_514_398);
    }

    #[test]
    fn bytes_after_the_last_word_are_words_of_their_own() {
        assert_eq!(hash_bytes(b"abc"), 1_322_437_556);
    }
}
