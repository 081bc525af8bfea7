//! The bytes of partitions: each partition has one form.
//!
//! An entry is told from others by these bytes. Where they differ in padding or header only, a DELETE does not meet its ADD,
//! and both name the same file.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use crate::{
    error::{Error, Result},
    row::{BinaryRow, Datum},
    types::{DataType, TypeKind},
};

/// So many partitions are remembered: there are few partitions and many entries.
const MOST_KNOWN: usize = 1 << 16;

/// Partitions that were found right.
#[derive(Debug, Default)]
pub(super) struct KnownPartitions(RwLock<HashSet<Vec<u8>>>);

impl KnownPartitions {
    /// # Errors
    /// `CorruptFile` for bytes that are not those of a row of these types.
    pub(super) fn check(&self, file: &str, types: &[DataType], partition: &[u8]) -> Result<()> {
        if self.0.read().unwrap_or_else(PoisonError::into_inner).contains(partition) {
            return Ok(());
        }
        if !is_right(types, partition) {
            let expected = format!("a partition of {} columns in the form of its values", types.len());
            return Err(Error::corrupt(file, 0, expected, format!("{} other bytes", partition.len())));
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_KNOWN {
            known.insert(partition.to_vec());
        }
        Ok(())
    }
}

/// Whether these are the bytes that a row of these types has when it is written.
fn is_right(types: &[DataType], partition: &[u8]) -> bool {
    let Ok(values) = BinaryRow::from_serialized(partition).and_then(|row| row.datums(types)) else { return false };
    let is_written_as = |types: &[DataType]| {
        BinaryRow::from_datums(types, &values).is_ok_and(|written| written.to_serialized() == partition)
    };
    // Java's row serializer reserves nothing for a null DECIMAL(p > 18) or TIMESTAMP(p > 3), its projections do
    is_written_as(types) || is_written_as(&narrow_nulls(types, &values))
}

/// The types, with a narrow one for each null.
fn narrow_nulls(types: &[DataType], values: &[Datum]) -> Vec<DataType> {
    let narrow = |(kind, value): (&DataType, &Datum)| {
        if value.is_null() { DataType::new(TypeKind::Int) } else { kind.clone() }
    };
    types.iter().zip(values).map(narrow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn check(types: &[DataType], partition: &[u8]) -> Result<()> {
        KnownPartitions::default().check("manifest-1", types, partition)
    }

    fn types() -> Vec<DataType> {
        [TypeKind::Int, TypeKind::VarChar(100), TypeKind::Timestamp(6)].into_iter().map(DataType::new).collect()
    }

    #[test]
    fn every_bit_beside_the_values_counts() {
        let values = [Datum::Int(7), Datum::String("more than seven".to_owned()), Datum::Null];
        let right = BinaryRow::from_datums(&types(), &values).unwrap().to_serialized();
        check(&types(), &right).unwrap();
        check(&types(), &BinaryRow::from_datums(&narrow_nulls(&types(), &values), &values).unwrap().to_serialized())
            .unwrap();
        let mut longer = right.clone();
        longer.push(0);
        let mut header = right.clone();
        header[4] ^= 1;
        let mut null_bit = right.clone();
        null_bit[11] ^= 0x80;
        let mut slot = right.clone();
        slot[4 + 8 + 5] ^= 1;
        let mut padding = right.clone();
        padding[4 + 32 + 15] ^= 1;
        for wrong in [longer, header, null_bit, slot, padding] {
            let error = check(&types(), &wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile, "{wrong:?}");
        }
    }

    #[test]
    fn a_table_without_partitions_has_one_form_of_them() {
        let right = BinaryRow::empty().to_serialized();
        check(&[], &right).unwrap();
        for bit in 0..right.len() * 8 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&[], &wrong).is_err(), "{bit}");
        }
        assert!(check(&[], &[]).is_err());
        assert!(check(&[], &[0; 13]).is_err());
    }
}
