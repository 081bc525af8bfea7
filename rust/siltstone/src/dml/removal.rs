//! Whether a row of kind -D removes a row of the table (semantics b.8).

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::FieldRef;

use crate::{
    aggregate::FieldOptions,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{ChangelogProducer, CoreOptions, MergeEngine, parse_list, sequence_groups},
    types::DataField,
};

const ENGINE: &str = "merge-engine";
const ON_DELETE: &str = "partial-update.remove-record-on-delete";
const AGGREGATION_ON_DELETE: &str = "aggregation.remove-record-on-delete";
/// Functions whose value stays what it was before the -D, a null, too.
const FIRST: [&str; 2] = ["first_value", "first_non_null_value"];
const ON_GROUP: &str = "partial-update.remove-record-on-sequence-group";

fn is_true(options: &CoreOptions, key: &str) -> bool {
    options.get(key).is_some_and(|v| v.eq_ignore_ascii_case("true"))
}

fn refused(ctx: &TableContext, option: &str, text: &str, hint: &str) -> Error {
    let error = Error::new(ErrorKind::DeleteNotAllowed, text).with("table", &ctx.name).with("option", option);
    error.hint(hint.to_owned())
}

/// An error unless the table takes deletes of rows.
pub fn check_deletes(ctx: &TableContext) -> Result<()> {
    let options = &ctx.options;
    if options.ignore_delete {
        let text = "the table ignores deletes ('ignore-delete' = 'true')";
        return Err(refused(ctx, "ignore-delete", text, "remove the option 'ignore-delete'"));
    }
    match options.merge_engine {
        MergeEngine::Deduplicate => Ok(()),
        MergeEngine::PartialUpdate if is_true(options, ON_DELETE) || options.get(ON_GROUP).is_some() => Ok(()),
        MergeEngine::Aggregation if is_true(options, AGGREGATION_ON_DELETE) => Ok(()),
        MergeEngine::PartialUpdate => Err(refused(
            ctx,
            ENGINE,
            "merge engine partial-update takes no deletes",
            if sequence_groups(&options.raw).is_empty() {
                "a new table with 'partial-update.remove-record-on-delete' = 'true' takes them; the option cannot \
                 change once there are snapshots"
            } else {
                "a new table whose 'partial-update.remove-record-on-sequence-group' names a sequence field takes them; \
                 the option cannot change once there are snapshots"
            },
        )),
        MergeEngine::Aggregation => Err(refused(
            ctx,
            ENGINE,
            "merge engine aggregation retracts values, it deletes no rows",
            "a new table with 'aggregation.remove-record-on-delete' = 'true' takes deletes; the option cannot change \
             once there are snapshots",
        )),
        MergeEngine::FirstRow => Err(refused(
            ctx,
            ENGINE,
            "merge engine first-row takes no deletes",
            "overwrite the partition, or drop it with truncate",
        )),
    }
}

/// Columns of which a -D of a statement has no value ([`Removal`]).
fn emptied(ctx: &TableContext) -> Vec<String> {
    let (options, schema) = (&ctx.options, &ctx.schema);
    let begins_with_it = match options.merge_engine {
        MergeEngine::PartialUpdate => is_true(options, ON_DELETE),
        MergeEngine::Aggregation => is_true(options, AGGREGATION_ON_DELETE),
        MergeEngine::Deduplicate | MergeEngine::FirstRow => false,
    };
    if !begins_with_it || options.changelog_producer == ChangelogProducer::Input {
        return Vec::new();
    }
    let deciding = [&options.rowkind_field, &options.record_level_time_field].into_iter().flatten();
    let deciding: Vec<&String> = deciding.chain(&options.sequence_fields).chain(&schema.partition_keys).collect();
    let keeps_first = |field: &DataField| {
        let function = FieldOptions::of(&options.raw, &field.name).ok().and_then(|of| of.function);
        function.is_some_and(|function| FIRST.contains(&function.as_str()))
    };
    let is_free = |field: &&DataField| {
        let is_needed = schema.primary_keys.contains(&field.name) || deciding.contains(&&field.name);
        field.data_type.nullable && !is_needed && !keeps_first(field)
    };
    schema.fields.iter().filter(is_free).map(|field| field.name.clone()).collect()
}

/// The -D of rows.
///
/// ```text
/// partial-update, aggregation   what comes after a -D begins with its values: they would come back with the next row of the
///                               key, unless a compaction was faster. So it has none, but where it decides by them, and where
///                               a null would stay: in NOT NULL columns and under functions that keep what was first
/// changelog-producer = input    has the -D as it is written: with all values
/// ```
pub(super) struct Removal<'a> {
    ctx: &'a TableContext,
    /// The sequence groups whose -D removes the row; a group whose sequence fields are all null sees nothing of it. `None`: every
    /// -D removes its row.
    groups: Option<Vec<Vec<String>>>,
    /// Columns of which it has no value.
    emptied: Vec<String>,
}

impl<'a> Removal<'a> {
    pub(super) fn of(ctx: &'a TableContext) -> Self {
        let options = &ctx.options;
        let by_group = options.merge_engine == MergeEngine::PartialUpdate && !is_true(options, ON_DELETE);
        let removing = options.get(ON_GROUP).map(parse_list).unwrap_or_default();
        let groups = || sequence_groups(&options.raw).into_iter().map(|group| group.sequence);
        let removes = |group: &Vec<String>| group.iter().any(|field| removing.contains(field));
        Self { ctx, groups: by_group.then(|| groups().filter(removes).collect()), emptied: emptied(ctx) }
    }

    /// What is written for these rows, in the kind -D.
    ///
    /// # Errors
    /// `DeleteNotAllowed` when a row would stay.
    pub(super) fn rows(&self, rows: RecordBatch) -> Result<RecordBatch> {
        self.check(&rows)?;
        if self.emptied.is_empty() {
            return Ok(rows);
        }
        let schema = rows.schema();
        let column = |(field, values): (&FieldRef, &ArrayRef)| {
            if self.emptied.contains(field.name()) {
                new_null_array(values.data_type(), values.len())
            } else {
                ArrayRef::clone(values)
            }
        };
        let columns = schema.fields().iter().zip(rows.columns()).map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    fn check(&self, rows: &RecordBatch) -> Result<()> {
        let Some(groups) = &self.groups else { return Ok(()) };
        let sees = |row: usize| {
            let mut fields = groups.iter().flatten().filter_map(|name| rows.column_by_name(name));
            fields.any(|field| field.is_valid(row))
        };
        if (0..rows.num_rows()).all(sees) {
            return Ok(());
        }
        let fields = groups.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
        let text = format!("a row has no value in {fields}: its delete would remove nothing");
        Err(refused(self.ctx, ON_GROUP, &text, "upsert the row with a value in one of them first"))
    }
}
