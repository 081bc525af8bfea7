//! Conditions as questions to indexes.

use super::{
    Candidates, FileIndex, IndexKind, IndexPlace,
    bitmap::Bitmaps,
    bloom::BloomFilter,
    bsi::BitSliced,
    key::{Key, KeyType, Trust},
    question::{Index, Question},
    range_bitmap::RangeBitmap,
    roaring_bytes::hold_answer,
};
use crate::{
    cancel,
    error::Result,
    predicate::{CompareOp, Predicate, key_and_value},
    row::Datum,
    types::{DataField, DataType},
};

/// Rows of a file of so many rows that may satisfy a condition. `stored` gives the field of a column as the file has it,
/// and only where readers make of its values what they are; columns without one narrow nothing. Indexes of kinds that are not
/// known say nothing, and so do those of a name that `is_shared`: a container calls the key `k` of a map `m` by the name `m[k]`,
/// which another column, or a key of another map, may have.
///
/// # Errors
/// `CorruptFile`: an index that was asked is not what its kind says.
pub fn candidates<'a>(
    index: &FileIndex,
    condition: &Predicate,
    rows: i64,
    stored: &dyn Fn(&str) -> Option<&'a DataField>,
    is_shared: &dyn Fn(&str) -> bool,
) -> Result<Candidates> {
    // more rows than bitmaps can name
    let Ok(rows) = u32::try_from(rows) else { return Ok(Candidates::All) };
    Asked { index, rows, stored, is_shared }.about(&condition.clone().without_not())
}

struct Asked<'a, 'b> {
    index: &'b FileIndex,
    rows: u32,
    stored: &'b dyn Fn(&str) -> Option<&'a DataField>,
    is_shared: &'b dyn Fn(&str) -> bool,
}

impl Asked<'_, '_> {
    fn about(&self, condition: &Predicate) -> Result<Candidates> {
        match condition {
            Predicate::Constant(true) | Predicate::Not(_) => Ok(Candidates::All),
            Predicate::Constant(false) => Ok(Candidates::none()),
            Predicate::And(parts) => {
                let mut all = Candidates::All;
                for part in parts {
                    if all.is_none() {
                        break;
                    }
                    all = all.and(self.about(part)?);
                }
                Ok(all)
            }
            Predicate::Or(parts) => {
                let mut any = Candidates::none();
                for part in parts {
                    if any == Candidates::All {
                        break;
                    }
                    any = any.or(self.about(part)?);
                }
                Ok(any)
            }
            leaf => self.about_column(leaf),
        }
    }

    fn about_column(&self, leaf: &Predicate) -> Result<Candidates> {
        let columns = leaf.columns();
        let Some(field) = columns.first().and_then(|column| (self.stored)(column)) else {
            return Ok(Candidates::All);
        };
        let Predicate::OfKey { key, of, .. } = leaf else {
            return self.about_indexed(&field.name, &field.data_type, leaf);
        };
        match (key, key_and_value(&field.data_type)) {
            (Datum::String(key), Some((_, value))) => self.about_indexed(&format!("{}[{key}]", field.name), &value, of),
            _ => Ok(Candidates::All),
        }
    }

    /// About values that have this name in the container.
    fn about_indexed(&self, name: &str, data_type: &DataType, leaf: &Predicate) -> Result<Candidates> {
        let mut found = Candidates::All;
        if (self.is_shared)(name) {
            return Ok(found);
        }
        for (kind, place) in self.index.columns().get(name).into_iter().flatten() {
            if found.is_none() {
                break;
            }
            found = found.and(match place {
                IndexPlace::NoValue if matches!(leaf, Predicate::IsNull(_)) => Candidates::All,
                IndexPlace::NoValue => Candidates::none(),
                IndexPlace::At { start, length } => match IndexKind::parse(kind) {
                    Some(kind) => self.ask(kind, (*start, *length), data_type, leaf)?,
                    None => Candidates::All,
                },
            });
        }
        Ok(found)
    }

    fn ask(
        &self,
        kind: IndexKind,
        (start, length): (u64, u64),
        data_type: &DataType,
        leaf: &Predicate,
    ) -> Result<Candidates> {
        let Some(keys) = kind.key_type(data_type) else { return Ok(Candidates::All) };
        let Some(asked) = AskedOf::new(leaf, keys) else { return Ok(Candidates::All) };
        cancel::check()?;
        let (what, rows) = (self.index.what(), self.rows);
        let _held = hold_answer(rows).map_err(|e| e.with("file", what))?;
        let bytes = self.index.bytes(start, length)?;
        let index: Box<dyn Index + '_> = match kind {
            IndexKind::Bitmap => Box::new(Bitmaps::read(what, &bytes, keys.form, rows)?),
            IndexKind::BloomFilter => Box::new(BloomFilter::read(what, &bytes)?),
            IndexKind::BitSliced => Box::new(BitSliced::read(what, &bytes, rows)?),
            IndexKind::RangeBitmap => Box::new(RangeBitmap::read(what, &bytes, keys.form, rows)?),
        };
        index.answer(&asked.question())
    }
}

/// Longer lists have a value in almost every file: to look them all up takes longer than to read the rows.
const MOST_KEYS: usize = 1 << 16;

/// A question with its keys.
enum AskedOf {
    IsNull,
    IsNotNull,
    In(Vec<Key>),
    NotIn(Vec<Key>),
    Compare(CompareOp, Key),
    Prefix(Key),
}

impl AskedOf {
    /// What a condition asks; `None`: nothing that keys can answer.
    fn new(leaf: &Predicate, keys: KeyType) -> Option<Self> {
        let all = |values: &[Datum]| {
            // a null is not equal to anything
            values
                .iter()
                .filter(|value| !value.is_null())
                .map(|value| keys.of_literal(value))
                .collect::<Option<Vec<_>>>()
        };
        let exact = keys.trust == Trust::Exact;
        match leaf {
            Predicate::In { values, .. } if values.len() > MOST_KEYS => None,
            Predicate::IsNull(_) => Some(Self::IsNull),
            Predicate::IsNotNull(_) => Some(Self::IsNotNull),
            Predicate::Compare { op: CompareOp::Eq, value, .. } => Some(Self::In(vec![keys.of_literal(value)?])),
            Predicate::In { values, negated: false, .. } => Some(Self::In(all(values)?)),
            Predicate::In { values, negated: true, .. } if exact => Some(Self::NotIn(all(values)?)),
            Predicate::Compare { op: CompareOp::NotEq, value, .. } if exact => {
                Some(Self::NotIn(vec![keys.of_literal(value)?]))
            }
            Predicate::Compare { op, value, .. } if exact => Some(Self::Compare(*op, keys.of_literal(value)?)),
            Predicate::Like { negated: false, .. } if exact => {
                let (prefix, whole) = leaf.like_prefix()?;
                let key = keys.of_literal(&Datum::String(prefix))?;
                Some(if whole { Self::In(vec![key]) } else { Self::Prefix(key) })
            }
            _ => None,
        }
    }

    fn question(&self) -> Question<'_> {
        match self {
            Self::IsNull => Question::IsNull,
            Self::IsNotNull => Question::IsNotNull,
            Self::In(keys) => Question::In(keys),
            Self::NotIn(keys) => Question::NotIn(keys),
            Self::Compare(op, key) => Question::Compare(*op, key),
            Self::Prefix(key) => Question::Prefix(key),
        }
    }
}
