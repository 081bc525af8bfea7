//! Whether a row that is written again takes the place of the old one (primary-key tables), and what is written for that.
//!
//! ```text
//! deduplicate      the whole row
//! partial-update   key, new values, and of the sequence groups of those all columns; the other columns are null, and stay
//! others           refused: they merge new values with the old ones
//! ```
//!
//! Refused is also what would lose to the old row: a smaller value of a sequence field, a null in a column that keeps its old
//! value then; and what would be added up: a group with an aggregate function. (Java's Spark statement writes the whole row
//! in each case.)

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};

use super::{Assignment, append::updated_by, invalid};
use crate::{
    aggregate::FieldOptions,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    merge_tree::merge::key::RowColumns,
    options::{KeyElsewhere, MergeEngine, SequenceGroup, SortOrder, sequence_groups},
    types::DataField,
};

/// How rows of a table are replaced.
pub struct Replacement<'a> {
    set: &'a [Assignment],
    /// Of a partial-update table.
    partial: Option<Partial>,
    /// Sequence fields whose new values may be too small.
    sequences: Vec<Sequence<'a>>,
}

/// Which columns are written.
struct Partial {
    /// As they were, but for new values; the others as null.
    kept: BTreeSet<String>,
    /// Columns whose old value stays where the new one is null.
    keeps_old: BTreeSet<String>,
}

impl<'a> Replacement<'a> {
    /// What is written for new values of these columns.
    ///
    /// # Errors
    /// `InvalidArgument` for a column of the primary key, and where new values would be merged with old ones.
    pub fn new(ctx: &'a TableContext, set: &'a [Assignment]) -> Result<Self> {
        let keys = &ctx.schema.primary_keys;
        if let Some(key) = set.iter().find(|a| keys.iter().any(|key| key == a.column())) {
            return Err(invalid("a column of the primary key cannot be updated")
                .with("table", &ctx.name)
                .with("column", key.column())
                .hint("delete the row and insert it with the other key"));
        }
        let moved = |a: &&Assignment| ctx.schema.partition_keys.iter().any(|key| key == a.column());
        if let Some(partition) = set.iter().find(moved)
            && ctx.options.merge_engine.key_elsewhere() != KeyElsewhere::Moves
        {
            let text = format!("merge engine {} leaves rows in their partition", ctx.options.merge_engine.as_str());
            let hint = if ctx.options.merge_engine == MergeEngine::FirstRow {
                "its first row stays as it is: overwrite the partition without the row, and insert it with the other partition"
            } else {
                "delete the row and insert it with the other partition"
            };
            return Err(invalid(&text).with("table", &ctx.name).with("column", partition.column()).hint(hint));
        }
        let kinds = ctx.options.rowkind_field.as_deref();
        if let Some(kind) = set.iter().find(|a| Some(a.column()) == kinds) {
            return Err(invalid("the column that says what a row does cannot be updated")
                .with("table", &ctx.name)
                .with("column", kind.column())
                .with("option", "rowkind.field"));
        }
        let own = &ctx.options.sequence_fields;
        let mut sequences = Vec::new();
        if set.iter().any(|a| own.iter().any(|name| name == a.column())) {
            sequences.push(Sequence::of(
                ctx,
                own,
                "sequence.field",
                ctx.options.sequence_order == SortOrder::Descending,
            )?);
        }
        let partial = match ctx.options.merge_engine {
            MergeEngine::Deduplicate => None,
            MergeEngine::PartialUpdate => Some(Partial::of(ctx, set, &mut sequences)?),
            engine => {
                let text = format!("merge engine {} takes no updates: it merges new values", engine.as_str());
                return Err(invalid(text).with("table", &ctx.name).hint("write rows with t.append instead"));
            }
        };
        Ok(Self { set, partial, sequences })
    }

    /// The rows to write in the place of some rows of the table. In errors rows are counted from `before` on.
    ///
    /// # Errors
    /// `InvalidArgument` when one would lose to the row that is there; those of the expressions.
    pub(super) fn rows(&self, old: &RecordBatch, before: usize) -> Result<RecordBatch> {
        self.rows_by(old, old, before)
    }

    /// The same, with new values that are computed from other rows, one for each of them.
    pub(super) fn rows_by(&self, old: &RecordBatch, source: &RecordBatch, before: usize) -> Result<RecordBatch> {
        let new = updated_by(old, source, self.set, before)?;
        self.sequences.iter().try_for_each(|sequence| sequence.check(old, &new))?;
        self.partial.as_ref().map_or(Ok(new.clone()), |partial| partial.rows(old, &new, self.set))
    }
}

impl Partial {
    fn of<'a>(ctx: &'a TableContext, set: &[Assignment], sequences: &mut Vec<Sequence<'a>>) -> Result<Self> {
        let needed = |f: &&DataField| {
            !f.data_type.nullable
                || ctx.schema.primary_keys.contains(&f.name)
                || ctx.options.sequence_fields.contains(&f.name)
        };
        let mut kept: BTreeSet<String> = ctx.schema.fields.iter().filter(needed).map(|f| f.name.clone()).collect();
        let mut keeps_old: BTreeSet<String> = set.iter().map(|a| a.column().to_owned()).collect();
        let mut groups = sequence_groups(&ctx.options.raw);
        // a row that has the sequence fields of a group says what all of its columns are
        let is_written = |group: &SequenceGroup, kept: &BTreeSet<String>| {
            set.iter().any(|a| group.has(a.column())) || group.sequence.iter().any(|field| kept.contains(field))
        };
        while let Some(at) = groups.iter().position(|group| is_written(group, &kept)) {
            let group = groups.swap_remove(at);
            for column in group.sequence.iter().chain(&group.columns) {
                if let (Some(function), false) =
                    (FieldOptions::of(&ctx.options.raw, column)?.function, group.sequence.contains(column))
                {
                    let text = format!("the statement would add the old value again: '{function}' is its function");
                    return Err(invalid(text)
                        .with("table", &ctx.name)
                        .with("column", column)
                        .with("option", &group.option)
                        .hint("write rows with t.upsert instead"));
                }
                keeps_old.remove(column);
                kept.insert(column.clone());
            }
            sequences.push(Sequence::of(ctx, &group.sequence, &group.option, false)?);
        }
        Ok(Self { kept, keeps_old })
    }

    fn rows(&self, old: &RecordBatch, new: &RecordBatch, set: &[Assignment]) -> Result<RecordBatch> {
        let mut columns: Vec<(String, ArrayRef, bool)> = Vec::with_capacity(new.num_columns());
        for ((field, new), old) in new.schema_ref().fields().iter().zip(new.columns()).zip(old.columns()) {
            let name = field.name();
            if self.keeps_old.contains(name) && (0..new.len()).any(|row| new.is_null(row) && old.is_valid(row)) {
                return Err(invalid("merge engine partial-update keeps the old value where the new one is null")
                    .with("column", name)
                    .hint("delete the row and insert it again, or put the column into a sequence group"));
            }
            let is_written = self.kept.contains(name) || set.iter().any(|a| a.column() == name);
            let column = if is_written { ArrayRef::clone(new) } else { new_null_array(new.data_type(), new.len()) };
            columns.push((name.clone(), column, true));
        }
        Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
    }
}

/// Columns that say which of two rows is newer.
struct Sequence<'a> {
    option: String,
    fields: Vec<&'a DataField>,
    rows: RowColumns,
    /// A row without any of them would say nothing.
    is_group: bool,
}

impl<'a> Sequence<'a> {
    fn of(ctx: &'a TableContext, names: &[String], option: &str, descending: bool) -> Result<Self> {
        let fields: Vec<&DataField> = names.iter().filter_map(|name| ctx.schema.field(name)).collect();
        let rows = RowColumns::of_fields(&fields, descending)?;
        Ok(Self { option: option.to_owned(), fields, rows, is_group: option != "sequence.field" })
    }

    /// An error where a row would lose to the one that it is to replace.
    fn check(&self, old: &RecordBatch, new: &RecordBatch) -> Result<()> {
        let (old, new) = (self.columns(old)?, self.columns(new)?);
        let (before, after) = (self.rows.encode(&old)?, self.rows.encode(&new)?);
        let is_nothing = |row: usize| self.is_group && new.columns().iter().all(|column| column.is_null(row));
        let wins = |row: usize| before.row(row) <= after.row(row) && !is_nothing(row);
        if (0..new.num_rows()).all(wins) {
            return Ok(());
        }
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        let text = format!("the table would keep the old row: the new one is not newer by {}", names.join(", "));
        Err(invalid(text)
            .with("option", &self.option)
            .hint("give these columns values that are not null and not smaller than the old ones"))
    }

    fn columns(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.fields.iter().map(|field| {
            let column = batch.column_by_name(&field.name);
            let column = column.ok_or_else(|| Error::new(ErrorKind::Internal, "a sequence field was not read"))?;
            Ok((field.name.as_str(), ArrayRef::clone(column), true))
        });
        Ok(RecordBatch::try_from_iter_with_nullable(columns.collect::<Result<Vec<_>>>()?)?)
    }
}
