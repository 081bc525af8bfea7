//! A request for the table as it is: what is checked before a file of it is looked at.

use std::{collections::HashSet, sync::Arc};

use super::{EntryFilter, ReadRequest, ScanRequest};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    merge_tree::merge_function,
    predicate::{Condition, Predicate, resolve_column, resolved_by_name},
    types::{DataField, special},
};

/// A request whose columns and condition are checked against a schema.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    filter: Predicate,
    /// What is left of the condition without the parts over partition columns.
    pub(super) residual: Predicate,
    pub(super) read: ReadRequest,
    /// No row can satisfy the request.
    pub(super) nothing: bool,
    not_partitions: Option<Arc<HashSet<Vec<u8>>>>,
    min_level: Option<i32>,
}

impl Prepared {
    pub(super) fn new(ctx: &TableContext, request: &ScanRequest) -> Result<Self> {
        if let Some(system) = &request.system {
            return Err(Error::unsupported(format!("the system table '${system}' here")).with("table", &ctx.name));
        }
        let filter = Condition::of(request.filter.as_ref(), &ctx.schema.fields)?.unwrap_or(Predicate::Constant(true));
        for column in filter.columns() {
            resolve_column(&ctx.schema.fields, column, false)?;
        }
        let partition_keys = &ctx.schema.partition_keys;
        let (on_partition, residual) = filter.clone().split(&|c| partition_keys.iter().any(|k| k == c));
        let tracking = request.options.row_ids.then(|| [special::row_id(), special::sequence_number()]);
        let fields: Vec<DataField> = ctx.schema.fields.iter().cloned().chain(tracking.into_iter().flatten()).collect();
        let mut fields = projection(&fields, request.columns.as_deref())?;
        for field in &mut fields {
            if let Some(pruned) = request.pruned.as_ref().and_then(|pruned| pruned.get(&field.id)) {
                field.data_type = pruned.clone();
            }
        }
        let read = ReadRequest {
            fields,
            filter: (!residual.is_always_true()).then(|| residual.clone()),
            options: request.options.clone(),
            decoders: 0,
            whole: false,
        };
        let nothing = on_partition == Predicate::Constant(false) || request.options.limit == Some(0);
        Ok(Self {
            filter,
            residual,
            read,
            nothing,
            not_partitions: request.not_partitions.clone(),
            min_level: request.min_level,
        })
    }

    /// The columns that are read: those of the result and of the condition.
    pub(super) fn columns(&self, ctx: &TableContext) -> Vec<DataField> {
        let asked = self.residual.columns();
        let asked = ctx.schema.fields.iter().filter(|field| asked.iter().any(|name| *name == field.name));
        self.read.fields.iter().chain(asked).cloned().collect()
    }

    /// As [`Self::entry_filter`], of changes: from the request's lowest level on, without what batch reads leave out.
    pub(super) fn changes_filter(&self, ctx: &TableContext) -> EntryFilter {
        let min_level = self.min_level.max(skips_level_0(ctx).then_some(1));
        EntryFilter { min_level, ..self.entry_filter(ctx) }
    }

    /// The entries that may hold rows of the result, of all levels.
    pub(super) fn entry_filter(&self, ctx: &TableContext) -> EntryFilter {
        EntryFilter {
            partition_predicate: Some(self.filter.clone()),
            bucket: ctx.options.scan_bucket,
            bucket_predicate: Some(self.filter.clone()),
            not_partitions: self.not_partitions.clone(),
            ..EntryFilter::default()
        }
    }
}

/// How the splits of a request are read.
pub fn read_request(ctx: &TableContext, request: &ScanRequest) -> Result<ReadRequest> {
    Ok(Prepared::new(ctx, request)?.read)
}

/// Whether batch reads of the table leave level 0 out: its rows count when they have been compacted.
pub(crate) fn skips_level_0(ctx: &TableContext) -> bool {
    ctx.schema.has_primary_key() && ctx.options.skips_level0()
}

/// An error when siltstone does not have the table's merge engine.
pub(super) fn mergeable(ctx: &TableContext) -> Result<()> {
    merge_function::for_table(ctx, None).map(drop)
}

/// The columns of the result.
fn projection(fields: &[DataField], columns: Option<&[String]>) -> Result<Vec<DataField>> {
    let Some(columns) = columns else {
        return Ok(fields.to_vec());
    };
    let resolve = resolved_by_name(fields);
    let (mut found, mut ids) = (Vec::with_capacity(columns.len()), HashSet::new());
    for name in columns {
        let field = resolve(name)?;
        if !ids.insert(field.id) {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("the column '{name}' is asked for twice"))
                .with("column", name));
        }
        found.push(field.clone());
    }
    Ok(found)
}
