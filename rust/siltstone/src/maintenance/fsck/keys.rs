//! Rows, keys: order, range and kinds of the rows of a file, compared with its manifest entry.

use arrow_array::{
    RecordBatch,
    cast::AsArray,
    types::{Int8Type, Int64Type},
};
use arrow_row::{OwnedRow, Rows};

use super::fault::Found;
use crate::{
    error::{Error, ErrorKind, Result},
    io::KvLayout,
    merge_tree::merge::key::RowColumns,
    row::{BinaryRow, Datum, RowKind, compare_rows, datum_from_array, datum_to_text},
    types::{DataField, DataType},
};

/// Order, bounds and kinds of the rows of a key-value file.
pub(super) struct Keys {
    positions: Vec<usize>,
    types: Vec<DataType>,
    encoder: RowColumns,
    width: usize,
    last: Option<OwnedRow>,
    ends: Option<(Vec<Datum>, Vec<Datum>)>,
    sequences: Option<(i64, i64)>,
    retracts: i64,
    unsorted: Option<i64>,
    twice: Option<i64>,
}

impl Keys {
    pub(super) fn new(fields: &[DataField], names: &[&str]) -> Result<Self> {
        let place = |name: &&str| fields.iter().position(|f| f.name == **name);
        let positions: Vec<usize> = names.iter().filter_map(place).collect();
        if positions.is_empty() {
            let text = "the schema's primary key has no column besides the partition columns: rows have no key";
            return Err(Error::new(ErrorKind::CorruptFile, text).with("expected", "one column more"));
        }
        let types = positions.iter().filter_map(|at| fields.get(*at)).map(|f| f.data_type.clone()).collect();
        let layout = KvLayout {
            fields: fields.to_vec(),
            key: positions.clone(),
            sequence: Vec::new(),
            sequence_descending: false,
        };
        let encoder = RowColumns::new(&layout, &positions, false)?;
        Ok(Self {
            positions,
            types,
            encoder,
            width: fields.len(),
            last: None,
            ends: None,
            sequences: None,
            retracts: 0,
            unsorted: None,
            twice: None,
        })
    }

    pub(super) fn add(&mut self, batch: &RecordBatch, before: i64) -> Result<()> {
        let Some(end) = batch.num_rows().checked_sub(1) else { return Ok(()) };
        let keys = self.encoder.encode(batch)?;
        self.order(&keys, before);
        self.last = Some(keys.row(end).owned());
        let last = self.key(batch, end)?;
        self.ends = Some(match self.ends.take() {
            Some((first, _)) => (first, last),
            None => (self.key(batch, 0)?, last),
        });
        let system =
            |at: usize| batch.columns().get(at).ok_or_else(|| Error::new(ErrorKind::Internal, "no such column"));
        let (numbers, kinds) = (system(self.width)?, system(self.width + 1)?);
        if let Some(numbers) = numbers.as_primitive_opt::<Int64Type>() {
            for number in numbers.values() {
                let (least, most) = self.sequences.unwrap_or((*number, *number));
                self.sequences = Some((least.min(*number), most.max(*number)));
            }
        }
        if let Some(kinds) = kinds.as_primitive_opt::<Int8Type>() {
            let retract = |kind: &&i8| RowKind::from_byte(**kind).is_ok_and(RowKind::is_retract);
            let retracts = kinds.values().iter().filter(retract).count();
            self.retracts = self.retracts.saturating_add(i64::try_from(retracts).unwrap_or(i64::MAX));
        }
        Ok(())
    }

    /// Compares each key with the one before it.
    fn order(&mut self, keys: &Rows, before: i64) {
        for (row, number) in keys.iter().zip(before..) {
            let order = match number.checked_sub(before).and_then(|at| usize::try_from(at).ok()) {
                Some(0) | None => self.last.as_ref().map(|last| last.row().cmp(&row)),
                Some(at) => Some(keys.row(at - 1).cmp(&row)),
            };
            match order {
                Some(std::cmp::Ordering::Greater) => self.unsorted = self.unsorted.or(Some(number)),
                Some(std::cmp::Ordering::Equal) => self.twice = self.twice.or(Some(number)),
                _ => {}
            }
        }
    }

    fn key(&self, batch: &RecordBatch, row: usize) -> Result<Vec<Datum>> {
        let columns = self.positions.iter().filter_map(|at| batch.columns().get(*at)).zip(&self.types);
        columns.map(|(column, data_type)| datum_from_array(column, row, data_type)).collect()
    }

    pub(super) fn check(&self, found: &mut Found<'_>, sorted: bool, changelog: bool) -> Result<()> {
        let file = found.file;
        if let Some(says) = file.delete_row_count.filter(|says| *says != self.retracts) {
            found.add("wrong-delete-count", format!("has {} delete rows, the manifest says {says}", self.retracts));
        }
        if !sorted {
            return Ok(());
        }
        if let Some(row) = self.unsorted {
            found.add("unsorted-file", format!("is not sorted by key at row {row}"));
        }
        if let Some(row) = self.twice.filter(|_| !changelog) {
            found.add("key-twice", format!("has a key twice, at row {row}"));
        }
        if let Some((first, last)) = &self.ends {
            let least = BinaryRow::from_serialized(&file.min_key)?.datums(&self.types)?;
            let most = BinaryRow::from_serialized(&file.max_key)?.datums(&self.types)?;
            let (low, high) = (compare_rows(first, &least), compare_rows(last, &most));
            if low.is_lt() || high.is_gt() {
                let text = |key: &[Datum]| self.text(key);
                found.add(
                    "wrong-key-range",
                    format!(
                        "has keys from {} to {}, the manifest says {} to {}",
                        text(first),
                        text(last),
                        text(&least),
                        text(&most)
                    ),
                );
            } else if low.is_ne() || high.is_ne() {
                found.warn("wide-key-range", "has fewer keys than its smallest and largest key in the manifest span");
            }
        }
        let (least, most) = (file.min_sequence_number, file.max_sequence_number);
        match self.sequences.filter(|_| !changelog) {
            Some((low, high)) if low < least || high > most => {
                let message = format!("has sequence numbers {low} to {high}, the manifest says {least} to {most}");
                found.add("wrong-sequence-range", message);
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&self, key: &[Datum]) -> String {
        let texts: Vec<String> = key.iter().zip(&self.types).map(|(value, t)| datum_to_text(value, t)).collect();
        format!("[{}]", texts.join(", "))
    }
}
