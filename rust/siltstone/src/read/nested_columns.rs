//! Fields of rows as columns of the result: of `a.b.c` the column `a` is read with nothing but that field.
//!
//! ```text
//! a ROW<b ROW<c INT, d STRING>, e DATE>     a.b.c   is read as   a ROW<b ROW<c INT>>, and comes as `a.b.c` INT
//! ```
//!
//! A value is null where a row around it is. Names are the table's: of a column whose own name has dots, that is the one.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, cast::AsArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::SchemaRef;

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    predicate::{Condition, resolved_by_name},
    scan::{ReadRequest, ScanRequest},
    types::{DataField, DataType, TypeKind},
};

/// From the columns that are read to those that are asked for.
#[derive(Clone, Debug)]
pub struct NestedColumns {
    leaves: Vec<Leaf>,
    schema: SchemaRef,
}

/// One column of the result: a column that is read, and the names of the fields on the way to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leaf {
    column: String,
    path: Vec<String>,
    field: DataField,
}

/// The scan of whole columns below a request, and what becomes of its rows; `None`: no field of a row is asked for.
///
/// # Errors
/// `InvalidArgument`: a path that leads nowhere, or one that is asked for twice.
pub fn nested_columns(ctx: &TableContext, request: &ScanRequest) -> Result<Option<(ScanRequest, NestedColumns)>> {
    let fields = &ctx.schema.fields;
    let Some(names) = request.columns.as_ref().filter(|names| names.iter().any(|name| is_path(fields, name))) else {
        return Ok(None);
    };
    let leaves = names.iter().map(|name| leaf(fields, name)).collect::<Result<Vec<_>>>()?;
    for (at, leaf) in leaves.iter().enumerate() {
        if leaves.iter().take(at).any(|earlier| earlier == leaf) {
            let name = &leaf.field.name;
            return Err(Error::new(ErrorKind::InvalidArgument, format!("the column '{name}' is asked for twice"))
                .with("column", name));
        }
    }
    let mut columns: Vec<String> = Vec::new();
    for leaf in &leaves {
        if !columns.contains(&leaf.column) {
            columns.push(leaf.column.clone());
        }
    }
    let filter = Condition::of(request.filter.as_ref(), fields)?;
    let asked: Vec<&str> = filter.iter().flat_map(|filter| filter.columns()).collect();
    let mut pruned = HashMap::new();
    for field in fields.iter().filter(|field| !asked.contains(&field.name.as_str()) && rows_are_chosen(ctx)) {
        let paths: Vec<&[String]> =
            leaves.iter().filter(|leaf| leaf.column == field.name).map(|leaf| leaf.path.as_slice()).collect();
        if !paths.is_empty() {
            pruned.insert(field.id, with_paths(&field.data_type, &paths));
        }
    }
    let output: Vec<DataField> = leaves.iter().map(|leaf| leaf.field.clone()).collect();
    // with the columns that the options put in front
    let output = ReadRequest { fields: output, options: request.options.clone(), ..ReadRequest::default() };
    let below = ScanRequest { columns: Some(columns), pruned: Some(Arc::new(pruned)), ..request.clone() };
    Ok(Some((below, NestedColumns { leaves, schema: output.arrow_schema()? })))
}

/// Whether rows of a key come as they were written: what computes columns needs them whole.
fn rows_are_chosen(ctx: &TableContext) -> bool {
    !ctx.schema.has_primary_key() || ctx.options.merge_engine.chooses_rows()
}

fn is_path(fields: &[DataField], name: &str) -> bool {
    name.contains('.') && !fields.iter().any(|field| field.name == name)
}

/// The longest name of a column that a path begins with, and the fields behind it.
fn leaf(fields: &[DataField], name: &str) -> Result<Leaf> {
    if !is_path(fields, name) {
        let field = resolved_by_name(fields)(name)?;
        return Ok(Leaf { column: field.name.clone(), path: Vec::new(), field: field.clone() });
    }
    let begins = fields.iter().filter(|field| rest(name, &field.name).is_some());
    let Some(column) = begins.max_by_key(|field| field.name.len()) else {
        let first = name.split('.').next().unwrap_or_default();
        return Err(resolved_by_name(fields)(first).err().unwrap_or_else(|| nowhere(name, "the table")));
    };
    let (mut path, mut left) = (Vec::new(), rest(name, &column.name).unwrap_or_default());
    let (mut at, mut nullable) = (column, column.data_type.nullable);
    loop {
        let TypeKind::Row(inner) = &at.data_type.kind else {
            return Err(nowhere(name, &format!("'{}' of type {}", at.name, at.data_type)));
        };
        // a field may have dots in its name, too
        let whole = inner.iter().find(|field| field.name == left);
        let begins = || inner.iter().filter(|field| rest(left, &field.name).is_some()).max_by_key(|f| f.name.len());
        let Some(next) = whole.or_else(begins) else {
            return Err(nowhere(name, &format!("'{}' of type {}", at.name, at.data_type)));
        };
        path.push(next.name.clone());
        nullable |= next.data_type.nullable;
        at = next;
        if whole.is_some() {
            break;
        }
        left = rest(left, &next.name).unwrap_or_default();
    }
    let field = DataField::new(at.id, name, at.data_type.clone().with_nullable(nullable));
    Ok(Leaf { column: column.name.clone(), path, field })
}

/// What is behind `first.` in a path.
fn rest<'a>(path: &'a str, first: &str) -> Option<&'a str> {
    path.strip_prefix(first)?.strip_prefix('.')
}

fn nowhere(name: &str, place: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("there is no column '{name}': {place} has no such field"))
        .with("column", name)
        .hint("a path names fields of rows: 'column.field.field'")
}

/// A type with only the fields that these paths lead to.
fn with_paths(data_type: &DataType, paths: &[&[String]]) -> DataType {
    let TypeKind::Row(fields) = &data_type.kind else { return data_type.clone() };
    let mut behind: BTreeMap<&str, Vec<&[String]>> = BTreeMap::new();
    for path in paths {
        match path.split_first() {
            Some((first, rest)) => behind.entry(first.as_str()).or_default().push(rest),
            None => return data_type.clone(),
        }
    }
    let kept = fields.iter().filter_map(|field| {
        let paths = behind.get(field.name.as_str())?;
        Some(DataField { data_type: with_paths(&field.data_type, paths), ..field.clone() })
    });
    DataType { kind: TypeKind::Row(kept.collect()), nullable: data_type.nullable }
}

impl NestedColumns {
    /// The schema of the result.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns that were asked for, behind those that a scan puts in front.
    pub fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let front = self.schema.fields().len().saturating_sub(self.leaves.len());
        let front = rows.columns().iter().take(front).map(|column| Ok(Arc::clone(column)));
        let leaves = self.leaves.iter().map(|leaf| {
            let column = rows.column_by_name(&leaf.column);
            let column = column.ok_or_else(|| missing(&leaf.column))?;
            leaf.path.iter().try_fold(Arc::clone(column), |array, name| child(&array, name))
        });
        let columns = front.chain(leaves).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// A field of rows; null where the row is.
fn child(array: &ArrayRef, name: &str) -> Result<ArrayRef> {
    let rows = array.as_struct_opt().ok_or_else(|| missing(name))?;
    let values = rows.column_by_name(name).ok_or_else(|| missing(name))?;
    let nulls = NullBuffer::union(rows.nulls(), values.nulls());
    Ok(make_array(values.to_data().into_builder().nulls(nulls).build()?))
}

fn missing(name: &str) -> Error {
    Error::new(ErrorKind::Internal, "a column that is asked for was not read").with("column", name)
}
