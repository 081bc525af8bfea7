//! Values as Iceberg's bounds have them (table specification, "Binary single-value serialization").

use crate::{
    row::Datum,
    types::{DataType, TypeKind},
};

/// The bytes of a value; `None`: null, or a value that bounds nothing.
pub(super) fn bytes_of(value: &Datum, data_type: &DataType) -> Option<Vec<u8>> {
    Some(match value {
        Datum::Boolean(v) => vec![u8::from(*v)],
        Datum::TinyInt(v) => i32::from(*v).to_le_bytes().to_vec(),
        Datum::SmallInt(v) => i32::from(*v).to_le_bytes().to_vec(),
        Datum::Int(v) | Datum::Date(v) => v.to_le_bytes().to_vec(),
        Datum::BigInt(v) => v.to_le_bytes().to_vec(),
        Datum::Float(v) if !v.is_nan() => v.to_le_bytes().to_vec(),
        Datum::Double(v) if !v.is_nan() => v.to_le_bytes().to_vec(),
        Datum::String(v) => v.as_bytes().to_vec(),
        Datum::Bytes(v) => v.clone(),
        Datum::Decimal(v) => shortest(*v),
        Datum::Timestamp { millis, nanos_of_milli } => {
            if !matches!(data_type.kind, TypeKind::Timestamp(4..=6) | TypeKind::LocalZonedTimestamp(4..=6)) {
                return None;
            }
            millis.checked_mul(1000)?.checked_add(i64::from(nanos_of_milli / 1000))?.to_le_bytes().to_vec()
        }
        _ => return None,
    })
}

/// Two's complement, the first byte first, in as few bytes as tell the number.
fn shortest(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let fill = if value < 0 { 0xff } else { 0 };
    let says_sign = |next: Option<&u8>| next.is_some_and(|next| (next & 0x80 != 0) == (value < 0));
    let more = (0..bytes.len() - 1).take_while(|at| bytes.get(*at) == Some(&fill) && says_sign(bytes.get(at + 1)));
    bytes.iter().skip(more.count()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_bytes_that_java_gives_them() {
        let of = |value: Datum, kind: TypeKind| bytes_of(&value, &DataType::new(kind)).unwrap();
        let decimal = TypeKind::Decimal { precision: 9, scale: 2 };
        assert_eq!(of(Datum::Decimal(350), decimal.clone()), [1, 0x5e]);
        assert_eq!(of(Datum::Decimal(250), decimal.clone()), [0, 0xfa]);
        assert_eq!(of(Datum::Decimal(-1), decimal.clone()), [0xff]);
        assert_eq!(of(Datum::Decimal(-129), decimal.clone()), [0xff, 0x7f]);
        assert_eq!(of(Datum::Decimal(0), decimal), [0]);
        assert_eq!(of(Datum::TinyInt(3), TypeKind::TinyInt), [3, 0, 0, 0]);
        let time = Datum::Timestamp { millis: 1_704_067_200_000, nanos_of_milli: 0 };
        assert_eq!(of(time, TypeKind::Timestamp(6)), *b"\x00 !\x10\xd7\r\x06\x00");
        assert_eq!(bytes_of(&Datum::Double(f64::NAN), &DataType::new(TypeKind::Double)), None);
    }
}
