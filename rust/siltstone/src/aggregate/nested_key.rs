//! The key of nested rows: what `nested_update` and `nested_partial_update` have in common.

use arrow_array::{Array, ArrayRef};

use super::{FieldOptions, NullKeyStrategy, element_keys::Keys, elements::columns_of, hash_order::HashOrder};
use crate::{
    Error, ErrorKind, Result,
    row::hash_rows,
    types::{DataField, DataType, TypeKind},
};

/// ARRAY<ROW>.
pub(super) fn is_nested_table(data_type: &DataType) -> bool {
    nested_fields(data_type).is_some()
}

fn nested_fields(data_type: &DataType) -> Option<&[DataField]> {
    let TypeKind::Array(element) = &data_type.kind else { return None };
    let TypeKind::Row(fields) = &element.kind else { return None };
    Some(fields)
}

/// The numbers of these fields of the nested rows; one that does not exist is an `InvalidOption`.
pub(super) fn field_numbers(field: &DataField, suffix: &str, names: &[String]) -> Result<Vec<usize>> {
    let fields = nested_fields(&field.data_type).unwrap_or_default();
    let number = |name: &String| {
        fields.iter().position(|f| &f.name == name).ok_or_else(|| {
            let known = fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ");
            Error::new(ErrorKind::InvalidOption, format!("the nested rows have no field '{name}'"))
                .with("option", format!("fields.{}.{suffix}", field.name))
                .hint(format!("their fields are {known}"))
        })
    };
    names.iter().map(number).collect()
}

/// Options that mean something only with a nested key: `InvalidOption` without one.
pub(super) fn needs_key(field: &DataField, options: &FieldOptions) -> Result<()> {
    if !options.nested_key.is_empty() {
        return Ok(());
    }
    let needs = |suffix: &str| {
        let message = format!("'fields.{0}.{suffix}' needs 'fields.{0}.nested-key'", field.name);
        Err(Error::new(ErrorKind::InvalidOption, message)
            .with("option", format!("fields.{}.{suffix}", field.name))
            .hint("name the fields that identify a nested row by 'nested-key'"))
    };
    if options.nested_key_null_strategy.is_some() {
        return needs("nested-key-null-strategy");
    }
    if options.nested_sequence_field.is_empty() { Ok(()) } else { needs("nested-sequence-field") }
}

/// How nested rows are told apart.
#[derive(Debug)]
pub(super) struct NestedKey {
    fields: Vec<usize>,
    types: Vec<DataType>,
    nulls: NullKeyStrategy,
    /// the strategy was given: an option of Paimon 2.0
    strategic: bool,
}

impl NestedKey {
    /// By the options of a column; a wrong field is an `InvalidOption`.
    pub(super) fn new(field: &DataField, options: &FieldOptions) -> Result<Self> {
        let fields = field_numbers(field, "nested-key", &options.nested_key)?;
        let nested = nested_fields(&field.data_type).unwrap_or_default();
        let types = fields.iter().filter_map(|at| nested.get(*at)).map(|f| f.data_type.clone()).collect();
        let strategic = options.nested_key_null_strategy.is_some();
        let nulls = options.nested_key_null_strategy.unwrap_or(NullKeyStrategy::Merge);
        Ok(Self { fields, types, nulls, strategic })
    }

    /// Whether the options ask for what came with Paimon 2.0. Without, the first array of a key is taken as it is.
    pub(super) fn is_strategic(&self) -> bool {
        self.strategic
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The keys of all nested rows.
    pub(super) fn of(&self, rows: &ArrayRef) -> Result<KeyedRows> {
        let columns = columns_of(rows, &self.fields)?;
        let keys = Keys::of(&columns)?;
        let order = HashOrder::new(hash_rows(&self.types, &columns)?);
        Ok(KeyedRows { order, keys, nulls: self.nulls, rows: rows.nulls().cloned() })
    }
}

/// Nested rows with their keys.
#[derive(Debug)]
pub(super) struct KeyedRows {
    /// the order of a hash map by key
    pub(super) order: HashOrder,
    keys: Keys,
    nulls: NullKeyStrategy,
    rows: Option<arrow_buffer::NullBuffer>,
}

impl KeyedRows {
    /// The key of a row; `None` for rows that are null and, by strategy, those whose key holds a null.
    ///
    /// With the strategy `error` such a key is an `InvalidArgument`.
    pub(super) fn key(&self, row: usize) -> Result<Option<&[u8]>> {
        if self.rows.as_ref().is_some_and(|rows| rows.is_null(row)) {
            return Ok(None);
        }
        match self.nulls {
            NullKeyStrategy::Ignore if self.keys.any_null(row) => Ok(None),
            NullKeyStrategy::Error if self.keys.any_null(row) => {
                Err(Error::new(ErrorKind::NullInKey, "the key of a nested row holds a null"))
            }
            _ => Ok(Some(self.keys.get(row))),
        }
    }
}
