//! Reads from two branches: partitions that the first does not have come from the second.
//!
//! ```text
//! scan.fallback-branch = b    first the table's own branch, then b
//! scan.primary-branch = b     first b, then the table's own branch
//! ```
//!
//! Only reads of rows and `$partitions` do so; writes, streams and all other system tables are of the own branch. Columns
//! and partition keys must agree, everything else (primary key, buckets, merge engine, options) is each branch's own.
//!
//! The versions of both are looked up once: which partitions the first branch has and which rows it has is asked of the same
//! snapshot, and beside commits no partition comes from both branches, or from neither.
//!
//! Source: semantics f.8; `FallbackReadFileStoreTable`, `FileStoreTableFactory`, `PartitionsTable`.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::Table;
use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, TableContext},
    scan::{Resolved, VersionSelector, counterpart, overtaken::TRIES},
    types::DataField,
};

/// Options that a read of the other branch does not take over.
const OWN: [&str; 4] = ["branch", "bucket", "scan.fallback-branch", "scan.primary-branch"];

/// The branch that reads of a table take partitions from, too.
#[derive(Debug)]
pub(super) struct OtherBranch {
    /// The table of that branch.
    pub(super) table: Table,
    /// Whether its partitions come before those of the table's own branch.
    pub(super) first: bool,
}

impl Table {
    /// The branch that the table's options name besides its own, unless it is the same.
    ///
    /// # Errors
    /// `InvalidOption` for both options at once; `BranchNotFound` for a branch that is not there and was named for this
    /// read. One that the stored options name is a warning, as in Java.
    pub(super) fn other_branch(&self) -> Result<Option<OtherBranch>> {
        let ctx = self.context();
        let named = |value: &Option<String>| value.clone().filter(|name| !name.trim().is_empty());
        let options = &ctx.options;
        let (key, name) = match (named(&options.scan_fallback_branch), named(&options.scan_primary_branch)) {
            (None, None) => return Ok(None),
            (Some(name), None) => ("scan.fallback-branch", name),
            (None, Some(name)) => ("scan.primary-branch", name),
            (Some(_), Some(_)) => {
                let message = "scan.fallback-branch and scan.primary-branch cannot both be set";
                return Err(Error::new(ErrorKind::InvalidOption, message)
                    .with("table", &ctx.name)
                    .with("option", "scan.primary-branch"));
            }
        };
        if name == ctx.branch {
            return Ok(None);
        }
        if let Err(e) = ctx.branches().check_exists(&name) {
            if e.kind() == ErrorKind::BranchNotFound && !self.dynamic_options().contains_key(key) {
                tracing::warn!(table = %ctx.name, option = key, branch = %name, "the branch does not exist: only {} is read", ctx.branch);
                return Ok(None);
            }
            return Err(e.with("table", &ctx.name).with("option", key));
        }
        let dynamic: BTreeMap<String, String> = self
            .dynamic_options()
            .iter()
            .filter(|(key, _)| !OWN.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let table = Self::open_with(Arc::clone(&ctx.fs), &ctx.location, &name, None, dynamic)?;
        Ok(Some(OtherBranch { table, first: key == "scan.primary-branch" }))
    }
}

/// A branch, and what is read of it.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub(super) table: &'a Table,
    pub(super) at: Resolved,
}

impl OtherBranch {
    /// Both branches, the one whose partitions come first before the other, at a version of `table` and the one that goes with
    /// it here; `None`: here is none.
    ///
    /// The first is looked up again after the second: while it is the same, both were there at one time, and a partition that
    /// moves between the branches is in one of them.
    pub(super) fn sides<'a>(
        &'a self,
        table: &'a Table,
        version: &VersionSelector,
        find: impl Fn(&TableContext, &VersionSelector) -> Result<Resolved>,
    ) -> Result<Option<[Side<'a>; 2]>> {
        let Some(there) = counterpart(table.context(), self.table.context(), version)? else { return Ok(None) };
        let (own, other) = ((table, version), (&self.table, &there));
        let (first, second) = if self.first { (other, own) } else { (own, other) };
        let find = |(table, version): (&'a Table, &VersionSelector)| {
            find(table.context(), version).map(|at| Side { table, at })
        };
        let mut ahead = find(first)?;
        let mut tries = 1;
        loop {
            let behind = find(second)?;
            let before = std::mem::replace(&mut ahead, find(first)?);
            if tries == TRIES || ahead.at.snapshot == before.at.snapshot {
                return Ok(Some([ahead, behind]));
            }
            tries += 1;
        }
    }

    /// Columns that may be null in one of the two branches, after a check that columns agree.
    pub(super) fn nullable_columns(&self, sides: &[Side<'_>; 2]) -> Result<Vec<String>> {
        let [first, second] = sides;
        let (own, other) = if self.first { (&second.at.ctx, &first.at.ctx) } else { (&first.at.ctx, &second.at.ctx) };
        check_columns(own, other)?;
        let pairs = own.schema.fields.iter().zip(&other.schema.fields);
        let mixed = pairs.filter(|(a, b)| a.data_type.nullable != b.data_type.nullable);
        Ok(mixed.map(|(field, _)| field.name.clone()).collect())
    }
}

/// Names and types of all columns, and the partition keys, must be the same; only top-level nullability may differ.
fn check_columns(own: &TableContext, other: &TableContext) -> Result<()> {
    let (ours, theirs) = (&own.schema.fields, &other.schema.fields);
    let alike = |a: &DataField, b: &DataField| a.name == b.name && a.data_type.kind == b.data_type.kind;
    let columns = ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| alike(a, b));
    let (what, here, there) = if !columns {
        ("columns", columns_text(ours), columns_text(theirs))
    } else if own.schema.partition_keys != other.schema.partition_keys {
        ("partition keys", own.schema.partition_keys.join(", "), other.schema.partition_keys.join(", "))
    } else {
        return Ok(());
    };
    let message = format!(
        "the branches {} and {} have different {what}, and cannot be read together: {here} / {there}",
        own.branch, other.branch
    );
    Err(Error::new(ErrorKind::IllegalSchema, message)
        .with("table", &own.name)
        .with("branch", &other.branch)
        .hint("change one of them, or leave scan.fallback-branch and scan.primary-branch out"))
}

fn columns_text(fields: &[DataField]) -> String {
    let texts: Vec<String> = fields.iter().map(|f| format!("{} {}", f.name, f.data_type)).collect();
    texts.join(", ")
}

/// The schema with these columns nullable.
pub(super) fn with_nullable(schema: &SchemaRef, columns: &[String]) -> SchemaRef {
    if columns.is_empty() {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().map(|field| {
        let nullable = field.is_nullable() || columns.contains(field.name());
        field.as_ref().clone().with_nullable(nullable)
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// Batches under a schema that differs from theirs only in what may be null.
pub(super) fn relabelled(rows: BatchStream, schema: &SchemaRef, columns: &[String]) -> BatchStream {
    if columns.is_empty() {
        return rows;
    }
    let schema = Arc::clone(schema);
    Box::new(rows.map(move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), batch.columns().to_vec(), &options)?)
    }))
}
