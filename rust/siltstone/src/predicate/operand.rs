//! What a condition looks at: a column, or the value that a map in it has for a key (`m['k']`).

use std::{borrow::Cow, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, cast::AsArray};
use arrow_schema::{Field, Schema};
use arrow_select::take::take;

use super::{
    CompareOp, Predicate,
    evaluate::compare,
    literal::{self, Literal},
};
use crate::{
    error::{Error, ErrorKind, Result},
    row::Datum,
    types::{DataField, DataType, TypeKind},
};

/// The column of a condition on the values of a key.
pub(super) const VALUE: &str = "value";

/// One side of a comparison.
#[derive(Debug)]
pub(super) struct Operand<'a> {
    field: Cow<'a, DataField>,
    /// column and key
    of_key: Option<(String, Datum)>,
}

impl<'a> Operand<'a> {
    /// A column.
    pub(super) fn column(field: &'a DataField) -> Self {
        Self { field: Cow::Borrowed(field), of_key: None }
    }

    /// What the map in a column has for a key; `shown` is how it was written.
    pub(super) fn of_key(column: &DataField, key: &Literal, shown: &str) -> Result<Self> {
        let invalid = |message: String| Error::new(ErrorKind::InvalidArgument, message).with("column", &column.name);
        let Some((key_type, value_type)) = key_and_value(&column.data_type) else {
            let message = format!("'{shown}' asks for a key, and '{}' is no map but {}", column.name, column.data_type);
            return Err(invalid(message));
        };
        let of_key = DataField::new(column.id, format!("the keys of {}", column.name), key_type);
        let key = literal::exact(&of_key, key)?
            .ok_or_else(|| invalid(format!("the key of '{shown}' is no value of the type {}", of_key.data_type)))?;
        let field = DataField::new(column.id, shown, value_type.with_nullable(true));
        Ok(Self { field: Cow::Owned(field), of_key: Some((column.name.clone(), key)) })
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> &str {
        &self.field.name
    }

    /// Whether its values are true or false.
    pub(super) fn is_boolean(&self) -> bool {
        self.field.data_type.kind == TypeKind::Boolean
    }

    /// Operand op literal.
    pub(super) fn compare(&self, op: CompareOp, value: &Literal) -> Result<Predicate> {
        Ok(self.wrapped(literal::compare(&self.field, op, value)?))
    }

    /// Operand IN (literals).
    pub(super) fn is_in(&self, values: &[Literal], negated: bool) -> Result<Predicate> {
        Ok(self.wrapped(literal::is_in(&self.field, values, negated)?))
    }

    /// Operand LIKE pattern.
    pub(super) fn like(&self, pattern: &Literal, escape: Option<char>, negated: bool) -> Result<Predicate> {
        Ok(self.wrapped(literal::like(&self.field, pattern, escape, negated)?))
    }

    /// Operand IS NULL, or IS NOT NULL.
    pub(super) fn null_test(&self, is_null: bool) -> Predicate {
        let name = self.field.name.clone();
        self.wrapped(if is_null { Predicate::IsNull(name) } else { Predicate::IsNotNull(name) })
    }

    /// The condition on the operand's field, of the column itself.
    fn wrapped(&self, condition: Predicate) -> Predicate {
        let Some((column, key)) = &self.of_key else { return condition };
        match condition {
            Predicate::Constant(_) => condition,
            leaf => {
                let of = Box::new(leaf.renamed(&|_| VALUE.to_owned()));
                Predicate::OfKey { column: column.clone(), key: key.clone(), of }
            }
        }
    }
}

/// The types of keys and values; `None`: no map. The values of a MULTISET say how often its keys are in it.
pub(crate) fn key_and_value(of: &DataType) -> Option<(DataType, DataType)> {
    match &of.kind {
        TypeKind::Map(key, value) => Some((key.as_ref().clone(), value.as_ref().clone())),
        TypeKind::Multiset(element) => Some((element.as_ref().clone(), DataType::not_null(TypeKind::Int))),
        _ => None,
    }
}

/// The values that maps have for a key, as the only column of a batch; null where a map is null or has no such key.
pub(super) fn values_of_key(maps: &ArrayRef, key: &Datum) -> Result<RecordBatch> {
    let maps = maps.as_map_opt().ok_or_else(|| Error::new(ErrorKind::Internal, "a condition on keys of no map"))?;
    let is_key = compare(maps.keys(), CompareOp::Eq, key)?;
    let mut hits = is_key.values().set_indices().filter(|at| is_key.is_valid(*at)).peekable();
    let mut places = Vec::with_capacity(maps.len());
    for (row, ends) in maps.value_offsets().windows(2).enumerate() {
        let bound = |at: Option<&i32>| at.and_then(|at| usize::try_from(*at).ok()).unwrap_or(0);
        let (start, end) = (bound(ends.first()), bound(ends.last()));
        while hits.next_if(|at| *at < start).is_some() {}
        let first = hits.peek().copied().filter(|at| *at < end && maps.is_valid(row));
        places.push(first.map(u32::try_from).transpose().map_err(|e| {
            Error::new(ErrorKind::MemoryLimitExceeded, "a batch has more entries of maps than can be numbered")
                .caused_by(e)
        })?);
    }
    let values = take(maps.values(), &UInt32Array::from(places), None)?;
    let schema = Schema::new(vec![Field::new(VALUE, values.data_type().clone(), true)]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![values])?)
}
