//! Rows, buckets: rows of fixed buckets lie where the hash of their bucket key says. Readers with a condition on it look
//! nowhere else, and a key that is somewhere else can be there twice.

use arrow_array::{ArrayRef, RecordBatch};

use super::fault::{Fault, Found};
use crate::{
    error::{Error, ErrorKind, Result},
    index::{BucketFunction, assign_buckets},
    io::TableContext,
    manifest::ManifestEntry,
    schema::TableSchema,
    types::{DataField, DataType},
};

const REWRITE: &str = "overwrite the partition with its own rows, each key once: they get their buckets anew";

/// How rows of a table get their bucket.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct BucketRule {
    ids: Vec<i32>,
    types: Vec<DataType>,
    function: BucketFunction,
}

impl BucketRule {
    /// `None` where it is not the same under all schemas: a file that a compaction wrote has rows of older ones, in the buckets
    /// that they had.
    pub(super) fn of(ctx: &TableContext) -> Option<Self> {
        let mut rules = ctx.schemas.ids().ok()?.into_iter().map(|id| Self::under(&*ctx.schemas.get(id).ok()?));
        let first = rules.next()??;
        rules.all(|rule| rule.as_ref() == Some(&first)).then_some(first)
    }

    fn under(schema: &TableSchema) -> Option<Self> {
        let field = |name: &String| schema.fields.iter().find(|field| field.name == *name);
        let key: Vec<&DataField> = schema.bucket_keys().iter().map(field).collect::<Option<_>>()?;
        let function = schema.options.get("bucket-function.type");
        Some(Self {
            ids: key.iter().map(|field| field.id).collect(),
            types: key.iter().map(|field| field.data_type.clone().with_nullable(true)).collect(),
            function: function.map_or(Ok(BucketFunction::default()), |name| BucketFunction::parse(name)).ok()?,
        })
        .filter(|rule| !rule.ids.is_empty())
    }
}

/// The rows of one file.
pub(super) struct Buckets<'a> {
    rule: &'a BucketRule,
    at: Vec<usize>,
    bucket: i32,
    total: i32,
    elsewhere: usize,
}

impl<'a> Buckets<'a> {
    /// `None` where rows have no bucket of their own, or the file does not have the columns that say it.
    pub(super) fn new(rule: Option<&'a BucketRule>, entry: &ManifestEntry, fields: &[DataField]) -> Option<Self> {
        let (rule, bucket, total) = (rule?, entry.bucket, entry.total_buckets);
        let place = |id: &i32| fields.iter().position(|field| field.id == *id);
        let at: Vec<usize> = rule.ids.iter().map(place).collect::<Option<_>>()?;
        (bucket >= 0 && total > 1).then_some(Self { rule, at, bucket, total, elsewhere: 0 })
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = |at: &usize| batch.columns().get(*at).cloned();
        let missing = || Error::new(ErrorKind::Internal, "no such column");
        let key: Vec<ArrayRef> = self.at.iter().map(column).collect::<Option<_>>().ok_or_else(missing)?;
        let buckets = assign_buckets(self.rule.function, &self.rule.types, &key, self.total)?;
        self.elsewhere += buckets.iter().filter(|bucket| **bucket != self.bucket).count();
        Ok(())
    }

    pub(super) fn check(&self, found: &mut Found<'_>) {
        let Self { bucket, total, elsewhere, .. } = self;
        if *elsewhere > 0 {
            let name = &found.file.file_name;
            let message = format!("{name} of bucket {bucket} has {elsewhere} rows of other buckets, of {total}");
            found.faults.push(Fault { code: "row-in-wrong-bucket", message, repair: REWRITE, mild: false });
        }
    }
}
