//! What a new schema brings with it that somebody may not have meant: it is allowed, as in Java, and it is said.

use std::collections::{BTreeMap, BTreeSet};

use super::TableSchema;
use crate::{
    cast::{cast_loss, is_read_as},
    error::Result,
    options::{CoreOptions, PartitionExpireStrategy},
    types::{DataField, DataType, TypeKind},
};

/// Values that a change of types may lose, one text for each column.
pub fn losses(old: &TableSchema, new: &TableSchema) -> Vec<String> {
    let mut found = Vec::new();
    changed_in(&old.fields, &new.fields, "", &mut |old, new, name| {
        found.extend(cast_loss(old, new).map(|what| {
            format!("column '{name}' was {old} and becomes {new}: {what}; a compaction makes it so for good")
        }));
    });
    found
}

/// Columns whose new type older files than those of `old` cannot be read as, one text for each: each change was allowed by itself, but no
/// cast leads from the first type to the last.
pub fn unreadable(earlier: &[impl AsRef<TableSchema>], old: &TableSchema, new: &TableSchema) -> Vec<String> {
    let mut changed = BTreeSet::new();
    changed_in(&old.fields, &new.fields, "", &mut |old, new, name| {
        if old != new {
            changed.insert(name.to_owned());
        }
    });
    let mut found = BTreeMap::new();
    for schema in earlier.iter().map(AsRef::as_ref) {
        changed_in(&schema.fields, &new.fields, "", &mut |before, new, name| {
            if changed.contains(name) && !is_read_as(before, new) {
                let text = format!(
                    "column '{name}' was {before} in schema {} and becomes {new}: files that were written so are not read then, \
                     until it has a type again that {before} is cast to; compact the table fully before",
                    schema.id
                );
                found.insert(name.to_owned(), text);
            }
        });
    }
    found.into_values().collect()
}

/// Calls `told` with the types of each field that both have, and its name. Fields are compared by id, whatever they are called now.
fn changed_in(old: &[DataField], new: &[DataField], parent: &str, told: &mut dyn FnMut(&TypeKind, &TypeKind, &str)) {
    for field in new {
        if let Some(before) = old.iter().find(|before| before.id == field.id) {
            changed(&before.data_type, &field.data_type, &format!("{parent}{}", field.name), told);
        }
    }
}

fn changed(old: &DataType, new: &DataType, name: &str, told: &mut dyn FnMut(&TypeKind, &TypeKind, &str)) {
    match (&old.kind, &new.kind) {
        (TypeKind::Row(old), TypeKind::Row(new)) => changed_in(old, new, &format!("{name}."), told),
        (TypeKind::Array(old), TypeKind::Array(new)) | (TypeKind::Multiset(old), TypeKind::Multiset(new)) => {
            changed(old, new, &format!("{name}.element"), told);
        }
        (TypeKind::Map(_, old), TypeKind::Map(_, new)) => changed(old, new, &format!("{name}.value"), told),
        (old, new) => told(old, new, name),
    }
}

/// What the options of a new schema mean; of one that is changed, what they did not mean before.
///
/// # Errors
/// An option that cannot be read.
pub fn notes(old: Option<&TableSchema>, new: &TableSchema) -> Result<Vec<String>> {
    let options = CoreOptions::parse(&new.options)?;
    let before = old.map(|old| CoreOptions::parse(&old.options)).transpose()?;
    let mut found = Vec::new();
    let by_values = |options: &CoreOptions| {
        options.partition_expiration_time.is_some()
            && options.partition_expiration_strategy == PartitionExpireStrategy::ValuesTime
    };
    let types = new.partition_fields();
    let keys = types.iter().map(|field| (field.name.as_str(), &field.data_type));
    let day = day_of_age(keys, options.partition_timestamp_pattern.as_deref());
    if let (Some(day), true, false) = (day, by_values(&options), before.as_ref().is_some_and(by_values)) {
        found.push(format!(
            "partitions never expire by the values of the DATE column '{day}': {DATE_SAYS_NONE}; \
             'partition.expiration-strategy' = 'update-time' lets them expire by their last write, and a STRING column \
             by its values"
        ));
    }
    if let Some(before) =
        before.map(|before| before.bucket).filter(|n| *n > 0 && options.bucket > 0 && *n != options.bucket)
    {
        found.push(format!(
            "rows lie in {before} buckets, and 'bucket' is {} now: writes to them are refused until the table is rescaled",
            options.bucket
        ));
    }
    Ok(found)
}

/// The DATE column among the partition keys by whose value partitions shall expire; `pattern` is
/// `partition.timestamp-pattern`, without which it is the first key.
pub fn day_of_age<'k>(
    keys: impl IntoIterator<Item = (&'k str, &'k DataType)>,
    pattern: Option<&str>,
) -> Option<&'k str> {
    let asked = |at: usize, name: &str| pattern.map_or(at == 0, |pattern| pattern.contains(&format!("${name}")));
    let mut keys = keys.into_iter().enumerate();
    let found = keys.find(|(at, (name, data_type))| data_type.kind == TypeKind::Date && asked(*at, name));
    found.map(|(_, (name, _))| name)
}

/// Why partitions of such a column never expire by their values.
pub const DATE_SAYS_NONE: &str =
    "as in Java Paimon, a DATE counts there as the number of its day, which no pattern reads";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{schema::NewTable, types::parse_type};

    fn schema(fields: &[(&str, &str)], partition_by: &[&str], options: &[(&str, &str)]) -> TableSchema {
        let fields = (0..).zip(fields).map(|(id, (name, kind))| DataField::new(id, *name, parse_type(kind).unwrap()));
        let new = NewTable {
            fields: fields.collect(),
            primary_key: Vec::new(),
            partition_by: partition_by.iter().map(|name| (*name).to_owned()).collect(),
            options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>(),
            comment: None,
        };
        new.into_schema().unwrap()
    }

    #[test]
    fn a_narrower_type_is_told_with_its_column_at_any_depth() {
        let old = schema(&[("a", "BIGINT"), ("r", "ROW<x DECIMAL(10, 2), y ARRAY<BIGINT>>"), ("s", "INT")], &[], &[]);
        let new = schema(&[("b", "SMALLINT"), ("r", "ROW<x DECIMAL(5, 2), y ARRAY<INT>>"), ("s", "BIGINT")], &[], &[]);
        let found = losses(&old, &new);
        let names: Vec<&str> = found.iter().filter_map(|text| text.split('\'').nth(1)).collect();
        assert_eq!(names, ["b", "r.x", "r.y.element"]);
        assert!(found.iter().any(|text| text.contains("was DECIMAL(10, 2) and becomes DECIMAL(5, 2): ")), "{found:?}");
        assert_eq!(losses(&old, &old), Vec::<String>::new());
    }

    #[test]
    fn days_that_never_expire_are_told_when_the_option_is_set() {
        let keeps: (&str, &str) = ("partition.expiration-time", "5 d");
        let (plain, days) = (schema(&[("d", "DATE")], &["d"], &[]), schema(&[("d", "DATE")], &["d"], &[keeps]));
        assert!(notes(Some(&plain), &days).unwrap()[0].contains("DATE column 'd'"));
        assert_eq!(notes(None, &days).unwrap().len(), 1);
        assert_eq!(notes(Some(&days), &days).unwrap(), Vec::<String>::new());
        let by_writes = schema(&[("d", "DATE")], &["d"], &[keeps, ("partition.expiration-strategy", "update-time")]);
        let texts = schema(&[("d", "STRING")], &["d"], &[keeps]);
        for other in [by_writes, texts] {
            assert_eq!(notes(None, &other).unwrap(), Vec::<String>::new());
        }
    }

    #[test]
    fn another_number_of_buckets_is_told() {
        let of = |n| schema(&[("k", "INT")], &[], &[("bucket", n), ("bucket-key", "k")]);
        assert!(notes(Some(&of("2")), &of("3")).unwrap()[0].contains("until the table is rescaled"));
        assert_eq!(notes(Some(&of("2")), &of("2")).unwrap(), Vec::<String>::new());
    }
}
