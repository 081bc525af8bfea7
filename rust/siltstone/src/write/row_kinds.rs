//! What each row of a batch does: given by the caller or by `rowkind.field`, then filtered (semantics b.1).

use arrow_array::{Array, BooleanArray, Int8Array, RecordBatch, cast::AsArray};
use arrow_select::filter::filter;

use super::{RowKinds, key_names::KeyNames, place::InputRows, retraction::Refusal};
use crate::{
    error::{Error, ErrorKind, Result},
    io::filtered_rows,
    options::CoreOptions,
    row::RowKind,
    schema::{EngineSpec, TableSchema},
};

/// The rules of one table.
pub(super) struct KindRules {
    /// position and name of `rowkind.field`
    field: Option<(usize, String)>,
    ignore_delete: bool,
    ignore_update_before: bool,
    append_only: bool,
    names: KeyNames,
    refusal: Option<Refusal>,
}

impl KindRules {
    /// `moved`: the kinds that the caller gives have gone through these rules before.
    pub(super) fn new(schema: &TableSchema, options: &CoreOptions, spec: &EngineSpec, moved: bool) -> Result<Self> {
        let position = |name: &String| {
            let at = schema.fields.iter().position(|f| &f.name == name);
            at.map(|at| (at, name.clone())).ok_or_else(|| {
                Error::new(ErrorKind::InvalidOption, format!("rowkind.field names '{name}', which is not a column"))
                    .with("option", "rowkind.field")
            })
        };
        Ok(Self {
            field: options.rowkind_field.as_ref().filter(|_| !moved).map(position).transpose()?,
            ignore_delete: options.ignore_delete && !moved,
            ignore_update_before: options.ignore_update_before && !moved,
            append_only: schema.primary_keys.is_empty(),
            names: KeyNames::of(schema),
            refusal: Refusal::of(schema, spec),
        })
    }

    /// The rows that are to be written, their kinds, and which rows of the input they are.
    pub(super) fn apply(
        &self,
        rows: RecordBatch,
        given: Option<&RowKinds>,
        before: usize,
    ) -> Result<(RecordBatch, Int8Array, InputRows)> {
        let input = InputRows::after(before);
        let kinds = match &self.field {
            Some((at, name)) => self.kinds_of_column(&rows, *at, name, &input)?,
            None => self.kinds_of_caller(given, &rows, &input)?,
        };
        let (rows, kinds, input) = self.filter(rows, kinds, input)?;
        if self.append_only {
            only_additions(&kinds, &input)?;
        }
        if let Some(refusal) = &self.refusal {
            let asked = self.field.is_none() && matches!(given, Some(RowKinds::All(RowKind::Delete)));
            refusal.check(&rows, &kinds, asked, &input)?;
        }
        Ok((rows, kinds, input))
    }

    fn filter(
        &self,
        rows: RecordBatch,
        kinds: Int8Array,
        input: InputRows,
    ) -> Result<(RecordBatch, Int8Array, InputRows)> {
        let (before, delete) = (RowKind::UpdateBefore.to_byte(), RowKind::Delete.to_byte());
        let dropped = |k: i8| match k {
            k if k == before => self.ignore_delete || self.ignore_update_before,
            k if k == delete => self.ignore_delete,
            _ => false,
        };
        if !kinds.values().iter().any(|k| dropped(*k)) {
            return Ok((rows, kinds, input));
        }
        let keep: BooleanArray = kinds.values().iter().map(|k| Some(!dropped(*k))).collect();
        let kept = filter(&kinds, &keep)?;
        Ok((filtered_rows(&rows, &keep)?, kept.as_primitive().clone(), input.kept(&keep)))
    }

    fn kinds_of_column(&self, rows: &RecordBatch, at: usize, name: &str, input: &InputRows) -> Result<Int8Array> {
        let column = rows.columns().get(at).and_then(|c| c.as_string_opt::<i32>());
        let column = column.ok_or_else(|| {
            Error::new(ErrorKind::InvalidOption, format!("rowkind.field '{name}' is not a text column"))
                .with("option", "rowkind.field")
                .with("column", name)
        })?;
        let parse = |(row, text): (usize, Option<&str>)| {
            let kind = match text {
                Some(text) => RowKind::parse(text),
                None => Err(Error::new(ErrorKind::InvalidRowKind, "the row kind is null")
                    .hint("rowkind.field must hold one of +I, -U, +U, -D in every row")),
            };
            let named = |e: Error| e.with("column", name).with("option", "rowkind.field").with("row", input.of(row));
            kind.map(RowKind::to_byte).map_err(|e| self.names.named(named(e), rows, row))
        };
        column.iter().enumerate().map(parse).collect()
    }

    fn kinds_of_caller(&self, given: Option<&RowKinds>, rows: &RecordBatch, input: &InputRows) -> Result<Int8Array> {
        let count = rows.num_rows();
        match given {
            None => Ok(Int8Array::from_value(RowKind::Insert.to_byte(), count)),
            Some(RowKinds::All(kind)) => Ok(Int8Array::from_value(kind.to_byte(), count)),
            Some(RowKinds::PerRow(kinds)) => {
                if kinds.len() != count {
                    let message = format!("{} row kinds were given for {count} rows", kinds.len());
                    return Err(Error::new(ErrorKind::InvalidArgument, message));
                }
                let wrong = |row: usize, e: Error| self.names.named(e.with("row", input.of(row)), rows, row);
                if let Some(row) = (0..count).find(|row| kinds.is_null(*row)) {
                    return Err(wrong(row, Error::new(ErrorKind::InvalidRowKind, "a row kind is null")));
                }
                let known = |(row, kind): (usize, &i8)| RowKind::from_byte(*kind).map(drop).map_err(|e| wrong(row, e));
                kinds.values().iter().enumerate().try_for_each(known)?;
                Ok(kinds.clone())
            }
        }
    }
}

/// Append tables take what adds a row (as in Java, `+U` counts as such).
fn only_additions(kinds: &Int8Array, input: &InputRows) -> Result<()> {
    for (row, kind) in kinds.values().iter().enumerate() {
        let kind = RowKind::from_byte(*kind)?;
        if kind.is_retract() {
            let (row, kind) = (input.of(row), kind.as_str());
            let message = format!("row {row} is {kind}, and a table without primary key only takes +I");
            return Err(Error::new(ErrorKind::DeleteNotAllowed, message)
                .hint("set the option ignore-delete to drop such rows, or give the table a primary key"));
        }
    }
    Ok(())
}
