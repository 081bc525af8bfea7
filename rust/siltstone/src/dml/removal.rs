//! Whether a row of kind -D removes a row of the table (semantics b.8).

use arrow_array::{Array, RecordBatch};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{CoreOptions, MergeEngine, parse_list, sequence_groups},
};

const ENGINE: &str = "merge-engine";
const ON_DELETE: &str = "partial-update.remove-record-on-delete";
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
        MergeEngine::Aggregation if is_true(options, "aggregation.remove-record-on-delete") => Ok(()),
        MergeEngine::PartialUpdate => Err(refused(
            ctx,
            ENGINE,
            "merge engine partial-update takes no deletes",
            "set 'partial-update.remove-record-on-delete' = 'true'",
        )),
        MergeEngine::Aggregation => Err(refused(
            ctx,
            ENGINE,
            "merge engine aggregation retracts values, it deletes no rows",
            "set 'aggregation.remove-record-on-delete' = 'true'",
        )),
        MergeEngine::FirstRow => Err(refused(
            ctx,
            ENGINE,
            "merge engine first-row takes no deletes",
            "overwrite the partition, or drop it with truncate",
        )),
    }
}

/// The sequence groups whose -D removes the row; a group whose sequence fields are all null sees nothing of it.
pub(super) struct Removal<'a> {
    ctx: &'a TableContext,
    /// `None`: every -D removes its row
    groups: Option<Vec<Vec<String>>>,
}

impl<'a> Removal<'a> {
    pub(super) fn of(ctx: &'a TableContext) -> Self {
        let options = &ctx.options;
        let by_group = options.merge_engine == MergeEngine::PartialUpdate && !is_true(options, ON_DELETE);
        let removing = options.get(ON_GROUP).map(parse_list).unwrap_or_default();
        let groups = || sequence_groups(&options.raw).into_iter().map(|group| group.sequence);
        let removes = |group: &Vec<String>| group.iter().any(|field| removing.contains(field));
        Self { ctx, groups: by_group.then(|| groups().filter(removes).collect()) }
    }

    /// An error when a row would stay.
    pub(super) fn check(&self, rows: &RecordBatch) -> Result<()> {
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
        Err(refused(self.ctx, ON_GROUP, &text, "set 'partial-update.remove-record-on-delete' = 'true'"))
    }
}
