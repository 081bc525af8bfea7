//! The kinds of indexes, and which columns can have them.

use super::key::{Form, KeyType};
use crate::types::{DataType, TypeKind};

/// A kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexKind {
    /// `bitmap`: a bitmap for each value.
    Bitmap,
    /// `bloom-filter`: whether a value may be there.
    BloomFilter,
    /// `bsi`: a bitmap for each bit of the values.
    BitSliced,
    /// `range-bitmap`: the sorted values, and a bitmap for each bit of their numbers.
    RangeBitmap,
}

impl IndexKind {
    /// All of them, by name.
    pub const ALL: [Self; 4] = [Self::Bitmap, Self::BloomFilter, Self::BitSliced, Self::RangeBitmap];

    /// Its name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bitmap => "bitmap",
            Self::BloomFilter => "bloom-filter",
            Self::BitSliced => "bsi",
            Self::RangeBitmap => "range-bitmap",
        }
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether columns of a type can have it.
    pub fn takes(self, data_type: &DataType) -> bool {
        self.key_type(data_type).is_some()
    }

    /// How it keeps values of a type; `None`: not at all.
    pub(super) fn key_type(self, data_type: &DataType) -> Option<KeyType> {
        let of_type = KeyType::of(data_type)?;
        let taken = match self {
            Self::Bitmap => of_type.form != Form::Bytes && !matches!(data_type.kind, TypeKind::Decimal { .. }),
            Self::BloomFilter => of_type.form != Form::Bool && !matches!(data_type.kind, TypeKind::Decimal { .. }),
            Self::BitSliced => matches!(of_type.form, Form::I8 | Form::I16 | Form::I32 | Form::I64),
            Self::RangeBitmap => match data_type.kind {
                TypeKind::Decimal { precision, .. } => precision <= 18,
                TypeKind::Timestamp(digits) | TypeKind::LocalZonedTimestamp(digits) => digits <= 6,
                _ => of_type.form != Form::Bytes,
            },
        };
        taken.then_some(of_type)
    }
}
