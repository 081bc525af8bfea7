//! Messages of protocol buffers, written.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageWriter {
    /// The bytes so far.
    pub(super) out: Vec<u8>,
}

impl MessageWriter {
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        varint(&mut self.out, field << 3);
        varint(&mut self.out, value);
        self
    }

    pub(super) fn signed(&mut self, field: u64, value: i64) -> &mut Self {
        self.number(field, zigzag(value))
    }

    pub(super) fn double(&mut self, field: u64, value: f64) -> &mut Self {
        varint(&mut self.out, field << 3 | 1);
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn bytes(&mut self, field: u64, value: &[u8]) -> &mut Self {
        varint(&mut self.out, field << 3 | 2);
        varint(&mut self.out, value.len() as u64);
        self.out.extend_from_slice(value);
        self
    }

    pub(super) fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.bytes(field, &message.out)
    }

    pub(super) fn packed(&mut self, field: u64, values: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut list = Vec::new();
        values.into_iter().for_each(|value| varint(&mut list, value));
        self.bytes(field, &list)
    }
}

/// Seven bits a byte, the least first.
pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        let [low, ..] = value.to_le_bytes();
        out.push(low | 0x80);
        value >>= 7;
    }
    let [low, ..] = value.to_le_bytes();
    out.push(low);
}

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}
