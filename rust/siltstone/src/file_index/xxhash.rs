//! xxHash64, seed 0, as bloom filters hash texts and bytes (`LongHashFunction.xx()`).
//!
//! Source: the specification of xxHash, "XXH64 algorithm description".

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// The hash of bytes.
pub(super) fn xxhash64(bytes: &[u8]) -> u64 {
    let (stripes, mut rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        P5
    } else {
        let mut lanes = [P1.wrapping_add(P2), P2, 0, 0_u64.wrapping_sub(P1)];
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<8>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
        let mixed = turned.fold(0_u64, u64::wrapping_add);
        lanes.iter().fold(mixed, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((word, more)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ round(0, u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        rest = more;
    }
    if let Some((word, more)) = rest.split_first_chunk::<4>() {
        let word = u64::from(u32::from_le_bytes(*word));
        hash = (hash ^ word.wrapping_mul(P1)).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        rest = more;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::xxhash64;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(xxhash64(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(xxhash64(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(xxhash64(b"abc"), 0x44BC_2CF5_AD77_0999);
        assert_eq!(xxhash64(b"abcdefghijklmnopqrstuvwxyz0123456789"), 0x64F2_3ECF_1609_B766);
    }
}
