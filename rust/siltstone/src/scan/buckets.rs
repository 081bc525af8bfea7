//! Which buckets rows can be in, from the values that a condition allows for the bucket key.
//!
//! `id = 7`, `id IN (1, 2) AND k = 'x'`: every column of the bucket key must be limited to few values. The number of
//! buckets is each entry's own (`_TOTAL_BUCKETS`), because a table may have been rescaled.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use crate::{
    error::{ErrorKind, Result},
    index::{BucketFunction, bucket_of},
    io::TableContext,
    predicate::{CompareOp, Predicate},
    row::Datum,
    types::{DataField, DataType, TypeKind},
};

/// More combinations than this are not worth hashing.
const MAX_KEYS: usize = 1000;

/// The keys that a condition allows.
pub(super) struct BucketSelector {
    function: BucketFunction,
    types: Vec<DataType>,
    keys: Vec<Vec<Datum>>,
    /// Buckets by number of buckets; `None` = cannot be computed.
    by_total: Mutex<HashMap<i32, Option<HashSet<i32>>>>,
}

impl BucketSelector {
    /// `None`: the condition does not limit the bucket, or the table does not assign buckets by a function.
    pub(super) fn new(ctx: &TableContext, predicate: &Predicate) -> Result<Option<Self>> {
        if ctx.options.bucket <= 0 {
            return Ok(None);
        }
        let function = BucketFunction::parse(ctx.options.bucket_function.as_str())?;
        let parts = predicate.clone().without_not().conjuncts();
        let mut types = Vec::new();
        let mut keys: Vec<Vec<Datum>> = vec![Vec::new()];
        for name in ctx.schema.bucket_keys() {
            let Some(field) = ctx.schema.field(&name) else {
                return Ok(None);
            };
            let Some(values) = parts.iter().find_map(|p| allowed_values(p, &name)) else {
                return Ok(None);
            };
            if values.len().saturating_mul(keys.len()) > MAX_KEYS {
                return Ok(None);
            }
            keys = keys
                .iter()
                .flat_map(|key| values.iter().map(|v| [key.as_slice(), std::slice::from_ref(v)].concat()))
                .collect();
            types.push(DataType::new(field.data_type.kind.clone()));
        }
        if !has_always_been(ctx, &ctx.schema.bucket_keys())? {
            return Ok(None);
        }
        let hashable = !types.is_empty() && !types.iter().any(|t| stands_for_several(&t.kind));
        Ok(hashable.then(|| Self { function, types, keys, by_total: Mutex::new(HashMap::new()) }))
    }

    /// Whether a row with one of the keys can be in this bucket of so many.
    pub(super) fn may_hold(&self, bucket: i32, total_buckets: i32) -> bool {
        if total_buckets <= 0 || bucket < 0 {
            return true;
        }
        let mut known = self.by_total.lock().unwrap_or_else(PoisonError::into_inner);
        let buckets = known.entry(total_buckets).or_insert_with(|| self.buckets(total_buckets));
        buckets.as_ref().is_none_or(|set| set.contains(&bucket))
    }

    fn buckets(&self, total: i32) -> Option<HashSet<i32>> {
        self.keys.iter().map(|key| bucket_of(self.function, &self.types, key, total).ok()).collect()
    }
}

/// Whether one value of a condition is several values of a row, which have different hashes: zeros, NaNs, and whole seconds
/// where other programs have kept fractions.
fn stands_for_several(kind: &TypeKind) -> bool {
    use TypeKind::{Double, Float, LocalZonedTimestamp, Timestamp};
    matches!(kind, Float | Double | Timestamp(0) | LocalZonedTimestamp(0))
}

/// Whether these columns have had the same types in all schemas of the table: files of another one were put into buckets by
/// values of its types. A schema that is gone says nothing.
fn has_always_been(ctx: &TableContext, names: &[String]) -> Result<bool> {
    let now: Vec<&DataField> = names.iter().filter_map(|name| ctx.schema.field(name)).collect();
    for id in ctx.schemas.ids()?.into_iter().filter(|id| *id != ctx.schema.id) {
        let then = match ctx.schemas.get(id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(false),
            then => then?,
        };
        let was = |field: &&DataField| {
            let before = then.fields.iter().find(|before| before.id == field.id);
            before.is_some_and(|before| before.data_type.kind == field.data_type.kind)
        };
        if !now.iter().all(was) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The values that a part of the condition leaves for the column, when it lists them.
fn allowed_values(part: &Predicate, column: &str) -> Option<Vec<Datum>> {
    match part {
        Predicate::Compare { column: c, op: CompareOp::Eq, value } if c == column => Some(vec![value.clone()]),
        // a longer list is not worth hashing, nor copying
        Predicate::In { column: c, values, negated: false } if c == column && values.len() <= MAX_KEYS => {
            Some(values.iter().filter(|v| !v.is_null()).cloned().collect())
        }
        Predicate::Or(parts) => {
            let lists: Option<Vec<Vec<Datum>>> = parts.iter().map(|p| allowed_values(p, column)).collect();
            Some(lists?.concat())
        }
        Predicate::And(parts) => parts.iter().find_map(|p| allowed_values(p, column)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::allowed_values;
    use crate::{
        predicate::parse_predicate,
        row::Datum,
        types::{DataField, DataType, TypeKind},
    };

    fn allowed(text: &str) -> Option<Vec<i32>> {
        let fields = ["a", "b"].iter().zip(0..).map(|(n, i)| DataField::new(i, *n, DataType::new(TypeKind::Int)));
        let predicate = parse_predicate(text, &fields.collect::<Vec<_>>()).expect(text);
        let values = predicate.conjuncts().iter().find_map(|p| allowed_values(p, "a"))?;
        values.into_iter().map(|v| if let Datum::Int(v) = v { Some(v) } else { None }).collect()
    }

    #[test]
    fn only_conditions_that_list_the_values_limit_the_bucket() {
        assert_eq!(allowed("a = 1"), Some(vec![1]));
        assert_eq!(allowed("b > 2 AND a IN (1, 2)"), Some(vec![1, 2]));
        assert_eq!(allowed("a = 1 OR a = 3"), Some(vec![1, 3]));
        assert_eq!(allowed("(a = 1 AND b = 2) OR a = 3"), Some(vec![1, 3]));
        for text in ["a > 1", "a <> 1", "a NOT IN (1, 2)", "a = 1 OR b = 2", "a IS NULL", "b = 1"] {
            assert_eq!(allowed(text), None, "{text}");
        }
    }
}
