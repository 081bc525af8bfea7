//! The bitmap table of the deletion-vector design, as JSON lines beside the `roaring` of tests/oracle.
//!
//! ```text
//! bitmaps ROUNDS WARMUP MAX[,MAX...] RATIO[,RATIO...] [32|64]
//! ```
//!
//! Positions are those of tests/oracle: the first ratio * max values of a fixed pseudo-random permutation of 0..max, in
//! that order or ascending, made in chunks of 4 Mi outside of what is timed: of u32 as Java's are of int, of u64 for the
//! 64-bit kind.
//! Times are milliseconds, medians. `serialize` run-optimises, writes magic, bitmap and CRC into a reused buffer;
//! `deserialize` checks CRC and structure of bytes that lie in memory; `contains_deleted` asks for each deleted position
//! in the order of the row; `contains_scan` makes the selection mask of every row of the file.
#![allow(clippy::disallowed_methods, clippy::format_push_string, reason = "a measurement reads the clock")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a measurement, not a product"
)]

use std::{hint::black_box, time::Instant};

use siltstone::deletion_vectors::{BitmapKind, DeletedRows, DeletionVector};

const CHUNK: usize = 1 << 22;
/// Rows of a mask.
const BATCH: usize = 1 << 16;
const NAMES: [&str; 7] =
    ["add_ms", "serialize_ms", "deserialize_ms", "contains_scan_ms", "contains_deleted_ms", "bytes", "crc"];

/// A bijection of 0..2^bits, restricted to 0..max by walking its cycles.
struct Permutation {
    mask: u64,
    half: u32,
    max: u64,
}

impl Permutation {
    fn new(max: u64) -> Self {
        let bits = (64 - (max - 1).leading_zeros()).max(2);
        Self { mask: (1 << bits) - 1, half: bits / 2, max }
    }

    fn apply(&self, i: u64) -> u64 {
        let mut x = i;
        loop {
            x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x632B_E59B_D9B4_E019) & self.mask;
            x ^= x >> self.half;
            x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93) & self.mask;
            x ^= x >> self.half;
            x = x.wrapping_mul(0xCA5A_8263_9512_1157) & self.mask;
            x ^= x >> self.half;
            if x < self.max {
                return x;
            }
        }
    }
}

/// The positions, chunk by chunk.
fn chunks(max: u64, count: u64, ascending: bool, each: &mut dyn FnMut(&[u32])) {
    let permutation = Permutation::new(max);
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut push = |position: Option<u64>| {
        chunk.extend(position.map(|p| p as u32));
        if chunk.len() == CHUNK || (position.is_none() && !chunk.is_empty()) {
            each(&chunk);
            chunk.clear();
        }
    };
    if ascending {
        let mut words = vec![0_u64; max.div_ceil(64) as usize];
        for i in 0..count {
            let position = permutation.apply(i);
            words[position as usize / 64] |= 1 << (position % 64);
        }
        for (at, mut word) in words.into_iter().enumerate() {
            while word != 0 {
                push(Some(at as u64 * 64 + u64::from(word.trailing_zeros())));
                word &= word - 1;
            }
        }
    } else {
        (0..count).for_each(|i| push(Some(permutation.apply(i))));
    }
    push(None);
}

fn wide(kind: BitmapKind, positions: &[u32]) -> Option<Vec<u64>> {
    (kind == BitmapKind::Bits64).then(|| positions.iter().map(|p| u64::from(*p)).collect())
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn once(kind: BitmapKind, max: u64, ratio: f64, ascending: bool, buffer: &mut Vec<u8>) -> [f64; 7] {
    let count = (max as f64 * ratio) as u64;
    let mut vector = DeletionVector::new(kind);
    let mut add = 0.0;
    chunks(max, count, ascending, &mut |positions| {
        let wide = wide(kind, positions);
        let start = Instant::now();
        match &wide {
            Some(wide) => vector.delete_all(wide).unwrap(),
            None => vector.delete_all(positions).unwrap(),
        }
        add += millis(start);
    });
    assert_eq!(vector.cardinality(), count);
    buffer.clear();
    let start = Instant::now();
    vector.serialize_into(buffer).unwrap();
    let serialize = millis(start);
    let bytes = bytes::Bytes::from(std::mem::take(buffer));
    let start = Instant::now();
    let rows = DeletedRows::parse("memory", 0, bytes.clone()).unwrap();
    let deserialize = millis(start);
    let start = Instant::now();
    let mut kept = 0;
    for from in (0..max).step_by(BATCH) {
        let length = BATCH.min((max - from) as usize);
        kept += black_box(rows.keep(from, length)).map_or(length, |mask| mask.count_set_bits());
    }
    let scan = millis(start);
    assert_eq!(kept as u64, max - count);
    let (mut asked, mut found) = (0.0, 0);
    chunks(max, count, ascending, &mut |positions| {
        let wide = wide(kind, positions);
        let start = Instant::now();
        let deleted = wide.as_ref().map_or_else(|| rows.deleted_at(positions), |wide| rows.deleted_at(wide));
        found += black_box(deleted).count_set_bits();
        asked += millis(start);
    });
    assert_eq!(found as u64, count);
    // what Java calls the size: the bitmap alone, without its magic number
    let size = bytes.len() as f64 - 12.0;
    let crc = f64::from(bytes.last_chunk::<4>().map_or(0, |crc| u32::from_be_bytes(*crc)));
    drop(rows);
    *buffer = bytes.try_into_mut().map_or_else(|_| Vec::new(), Vec::from);
    [add, serialize, deserialize, scan, asked, size, crc]
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (rounds, warm): (usize, usize) = (args[1].parse().unwrap(), args[2].parse().unwrap());
    let bits = args.get(5).map_or("32", String::as_str);
    let kind = if bits == "64" { BitmapKind::Bits64 } else { BitmapKind::Bits32 };
    let mut buffer = Vec::new();
    for max in args[3].split(',') {
        for ratio in args[4].split(',') {
            for ascending in [false, true] {
                let (max, ratio): (u64, f64) = (max.parse().unwrap(), ratio.parse().unwrap());
                for _ in 0..warm {
                    black_box(once(kind, max, ratio, ascending, &mut buffer));
                }
                let runs: Vec<[f64; 7]> = (0..rounds).map(|_| once(kind, max, ratio, ascending, &mut buffer)).collect();
                let order = if ascending { "ascending" } else { "random" };
                let mut line = format!(
                    "{{\"impl\":\"siltstone\",\"bits\":{bits},\"max\":{max},\"ratio\":{ratio},\"order\":\"{order}\",\"rounds\":{rounds}"
                );
                for (i, name) in NAMES.iter().enumerate() {
                    let mut values: Vec<f64> = runs.iter().map(|run| run[i]).collect();
                    values.sort_by(f64::total_cmp);
                    line += &format!(",\"{name}\":{:.3}", values[values.len() / 2]);
                }
                println!("{line}}}");
            }
        }
    }
}
