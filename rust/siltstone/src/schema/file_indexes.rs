//! Which columns have which indexes: `file-index.<kind>.columns`, and the options of single indexes.
//!
//! Source: `FileIndexOptions`, format chapter 9.1.

use std::collections::BTreeMap;

use super::TableSchema;
use crate::{
    error::{Error, ErrorKind, Result},
    file_index::{IndexKind, IndexSettings},
    types::{DataType, TypeKind},
};

const PREFIX: &str = "file-index.";
const COLUMNS: &str = ".columns";

/// An index that data files of a table have.
#[derive(Clone, Debug, PartialEq)]
pub struct FileIndexSpec {
    /// The column.
    pub column: String,
    /// Of a map: the key whose values are indexed.
    pub key: Option<String>,
    /// What the values are.
    pub data_type: DataType,
    /// The kind of index.
    pub kind: IndexKind,
    /// How it is made.
    pub settings: IndexSettings,
}

impl FileIndexSpec {
    /// Its column in a container.
    pub fn name(&self) -> String {
        match &self.key {
            Some(key) => format!("{}[{key}]", self.column),
            None => self.column.clone(),
        }
    }
}

/// The indexes of a table's data files, by column and kind, that these options ask for.
///
/// # Errors
/// `InvalidOption` or `UnsupportedFeature`, with the option: it names no column, or one that cannot have such an index; no
/// index that there is; or an option that the index has not.
pub fn file_indexes(schema: &TableSchema, options: &BTreeMap<String, String>) -> Result<Vec<FileIndexSpec>> {
    let mut found = BTreeMap::new();
    for (option, value) in options {
        let Some(kind) = option.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(COLUMNS)) else { continue };
        for name in value.split(',').map(str::trim) {
            let target = target(schema, kind, name).map_err(|e| e.with("option", option))?;
            found.insert((name.to_owned(), target.kind), target);
        }
    }
    check_named(options, &found)?;
    let settings = found.iter().map(|((name, kind), target)| {
        let mut own = BTreeMap::new();
        // options of a map are the defaults of all its keys
        let defaults = target.key.is_some().then_some(target.column.as_str());
        for name in defaults.into_iter().chain([name.as_str()]) {
            own.extend(options_of(options, *kind, name));
        }
        own
    });
    let settings: Vec<_> = settings.collect();
    found.into_values().zip(&settings).map(|(target, own)| target.made(own)).collect()
}

/// Whether a key is an option of indexes.
pub(super) fn is_index_option(key: &str) -> bool {
    index_of(key).is_some() || (key.starts_with(PREFIX) && key.ends_with(COLUMNS))
}

/// The kind, the column as it is written, and the option that a key names.
pub(super) fn index_of(key: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = key.strip_prefix(PREFIX)?.split_once('.')?;
    let (column, option) = rest.rsplit_once('.')?;
    Some((kind, column, option))
}

/// An index without its options.
struct Target {
    column: String,
    key: Option<String>,
    data_type: DataType,
    kind: IndexKind,
}

impl Target {
    fn made(self, options: &BTreeMap<String, String>) -> Result<FileIndexSpec> {
        let Self { column, key, data_type, kind } = self;
        let settings = IndexSettings::parse(kind, &data_type, options).map_err(|e| {
            let name = key.as_ref().map_or_else(|| column.clone(), |key| format!("{column}[{key}]"));
            e.with("option", format!("{PREFIX}{}.{name}", kind.name()))
        })?;
        Ok(FileIndexSpec { column, key, data_type, kind, settings })
    }
}

fn target(schema: &TableSchema, kind: &str, name: &str) -> Result<Target> {
    let Some(kind) = IndexKind::parse(kind) else {
        let known: Vec<&str> = IndexKind::ALL.iter().map(|kind| kind.name()).collect();
        let error = Error::unsupported(format!("file indexes of the kind '{kind}'"));
        return Err(error.hint(format!("kinds are {}", known.join(", "))));
    };
    let (column, key) = column_and_key(schema, name);
    let Some(field) = schema.field(column) else {
        return Err(Error::new(ErrorKind::InvalidOption, format!("there is no column '{column}' for a file index")));
    };
    let data_type = match (&field.data_type.kind, key) {
        (_, None) => field.data_type.clone(),
        (TypeKind::Map(keys, values), Some(_)) if matches!(keys.kind, TypeKind::Char(_) | TypeKind::VarChar(_)) => {
            values.as_ref().clone()
        }
        (_, Some(_)) => {
            let message = format!("'{name}' is no key of a map with texts as keys, the column is {}", field.data_type);
            return Err(Error::new(ErrorKind::InvalidOption, message).with("column", column));
        }
    };
    if !kind.takes(&data_type) {
        let error = Error::unsupported(format!("a '{}' index of a column of type {data_type}", kind.name()));
        return Err(error.with("column", column));
    }
    Ok(Target { column: column.to_owned(), key: key.map(str::to_owned), data_type, kind })
}

/// `m[k]` is the key `k` of the map `m`, unless a column has this name.
fn column_and_key<'a>(schema: &TableSchema, name: &'a str) -> (&'a str, Option<&'a str>) {
    match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((column, key)) if schema.field(name).is_none() => (column, Some(key)),
        _ => (name, None),
    }
}

fn options_of(options: &BTreeMap<String, String>, kind: IndexKind, name: &str) -> BTreeMap<String, String> {
    let own = options.iter().filter_map(|(key, value)| {
        let (of, column, option) = index_of(key)?;
        (of == kind.name() && column == name).then(|| (option.to_owned(), value.clone()))
    });
    own.collect()
}

/// An option of an index that there is not would do nothing.
fn check_named(options: &BTreeMap<String, String>, found: &BTreeMap<(String, IndexKind), Target>) -> Result<()> {
    for key in options.keys() {
        let Some((kind, column, _)) = index_of(key) else { continue };
        let is_named = found.iter().any(|((name, of), target)| {
            of.name() == kind && (name == column || (target.key.is_some() && target.column == column))
        });
        if !is_named {
            let message = format!("there is no such index: '{PREFIX}{kind}{COLUMNS}' does not name '{column}'");
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", key));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;

    fn indexes(options: &[(&str, &str)]) -> Result<Vec<FileIndexSpec>> {
        let columns = &[("a", "INT"), ("s", "STRING"), ("m", "MAP<STRING, BIGINT>"), ("d", "DECIMAL(20, 2)")];
        let schema = table(columns, &[], &[], &[]).into_schema().unwrap();
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        file_indexes(&schema, &options.collect())
    }

    #[test]
    fn columns_and_keys_of_maps_have_indexes_with_options() {
        let found = indexes(&[
            ("file-index.bloom-filter.columns", "s, m[x],m[y]"),
            ("file-index.bloom-filter.s.fpp", "0.01"),
            ("file-index.bloom-filter.m.items", "10"),
            ("file-index.bloom-filter.m[y].items", "20"),
            ("file-index.bitmap.columns", "a"),
            ("file-index.in-manifest-threshold", "1 mb"),
            ("file-index.read.enabled", "true"),
        ]);
        let found = found.unwrap();
        let names: Vec<String> = found.iter().map(FileIndexSpec::name).collect();
        assert_eq!(names, ["a", "m[x]", "m[y]", "s"]);
        assert_eq!(found[1].settings, IndexSettings::BloomFilter { items: 10, fpp: 0.1 });
        assert_eq!(found[2].settings, IndexSettings::BloomFilter { items: 20, fpp: 0.1 });
        assert_eq!(found[3].settings, IndexSettings::BloomFilter { items: 1_000_000, fpp: 0.01 });
        assert_eq!(found[0].settings, IndexSettings::Bitmap { version: 2, block_size: 16 << 10 });
    }

    #[test]
    fn what_would_do_nothing_is_refused() {
        for (key, value) in [
            ("file-index.bitmap.columns", "x"),
            ("file-index.bitmap.columns", "a,,s"),
            ("file-index.bitmap.columns", "a[k]"),
            ("file-index.bitmap.columns", "d"),
            ("file-index.bitmap.columns", "m"),
            ("file-index.inverted.columns", "s"),
            ("file-index.bitmap.a.version", "2"),
        ] {
            assert_eq!(indexes(&[(key, value)]).unwrap_err().context_value("option"), Some(key), "{value}");
        }
        for (key, value) in [("version", "3"), ("fpp", "0.1"), ("index-block-size", "4 gb")] {
            let key = format!("file-index.bitmap.a.{key}");
            let error = indexes(&[("file-index.bitmap.columns", "a"), (&key, value)]).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("option")),
                (ErrorKind::InvalidOption, Some("file-index.bitmap.a"))
            );
        }
        for (key, value) in [("items", "0"), ("fpp", "1"), ("items", "2147483647")] {
            let key = format!("file-index.bloom-filter.a.{key}");
            indexes(&[("file-index.bloom-filter.columns", "a"), (&key, value)]).unwrap_err();
        }
    }
}
