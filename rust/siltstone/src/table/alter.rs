//! Changes of the definition.

use serde_json::Value;

use super::{Table, write::waiting_rows};
use crate::{
    Error, ErrorKind, Result,
    cleanup::{upkeep_lock, with_effect},
    scan::{has_deleted_rows, has_several_levels, overtaken::at_newest},
    schema::{
        CheckChange, READ_BRANCHES, SchemaChange, TableSchema, VECTORS, level_0_counts, levels_option_changed, losses,
        notes, rows_option_changed, switches_vectors_off, unreadable,
    },
    snapshot::Snapshot,
};

impl Table {
    /// Applies changes given as JSON objects (`{"kind": "set_option", "key": ..., "value": ...}`) as one new schema. Where a
    /// catalog's server keeps the schemas, it makes the new one of the same changes.
    pub fn alter(&mut self, changes: &str) -> Result<()> {
        let changes = SchemaChange::list_from_json(changes)?;
        self.check_branches(&changes)?;
        let ctx = self.context();
        let check = |old: &TableSchema, new: &TableSchema| {
            self.check_no_vectors(old, new)?;
            self.check_levels(old, new)
        };
        // other changes may come in between: what is said is about the schemas as they are now
        let said = self.said_of(&changes)?;
        self.check_free_for_levels(&changes)?;
        let changed = match self.server()? {
            Some(served) => self.alter_by(&changes, &check, &|changes| {
                let changes: Value = changes.iter().map(SchemaChange::to_java).collect();
                served.server().change_schema(&served.name(&ctx.branch), &changes.to_string())
            }),
            None => ctx.schemas.commit_changes_if(&changes, &check).map(drop),
        };
        changed.map_err(|e| e.with("table", &ctx.name))?;
        for text in said {
            tracing::warn!(table = ctx.name, "{text}");
        }
        let showed_all = !ctx.options.skips_level0();
        with_effect(self.reload(), || Ok(Some("the table was changed".to_owned())))?;
        if showed_all && self.context().options.skips_level0() {
            self.warn_of_waiting_rows();
        }
        Ok(())
    }

    /// Rows that were committed when the alter had looked at the levels, and was not done yet, were shown until then.
    fn warn_of_waiting_rows(&self) {
        let ctx = self.context();
        match waiting_rows(ctx) {
            Ok(0) => {}
            Ok(rows) => {
                tracing::warn!(
                    table = ctx.name,
                    rows,
                    "rows are not shown by batch reads any more before a compaction: t.compact()"
                );
            }
            Err(error) => tracing::warn!(%error, table = ctx.name, "it was not found out whether rows wait"),
        }
    }

    /// [`Table::alter`] where a server keeps the schemas, none of which can be pending: what rows mean is looked at again after its
    /// change, under the lock of upkeep, and set back where others have made rows that it would make others of. Rows of a version
    /// that came about under the new schema are none of these.
    fn alter_by(
        &self,
        changes: &[SchemaChange],
        check: CheckChange<'_>,
        change: &dyn Fn(&[SchemaChange]) -> Result<()>,
    ) -> Result<()> {
        let ctx = self.context();
        let (old, new) = ctx.schemas.changed(changes, check)?;
        let Some(option) = rows_option_changed(&old, &new)? else { return change(changes) };
        let _lock = upkeep_lock(ctx)?;
        check(&old, &new)?;
        change(changes)?;
        let Err(refused) = check(&old, &new) else { return Ok(()) };
        if ctx.snapshots().latest()?.is_some_and(|newest| newest.schema_id >= new.id) {
            let text =
                format!("'{option}' was changed, and rows were written under it before they were looked at again");
            return Err(Error::new(refused.kind(), text)
                .caused_by(refused)
                .hint("compact the table, with no writer at work: t.compact(full=True)"));
        }
        let back = |change: &SchemaChange| {
            let (SchemaChange::SetOption { key, .. } | SchemaChange::RemoveOption { key }) = change else {
                return None;
            };
            Some(match old.options.get(key).cloned() {
                Some(value) => SchemaChange::SetOption { key: key.clone(), value },
                None => SchemaChange::RemoveOption { key: key.clone() },
            })
        };
        let back: Vec<SchemaChange> = changes.iter().filter_map(back).collect();
        let set_back = change(&back);
        match set_back {
            Ok(()) => Err(refused),
            Err(e) => Err(Error::new(
                e.kind(),
                format!("the option '{option}' was changed, and may not stay; then a call failed"),
            )
            .caused_by(e)
            .hint("set it back: rows of several levels would become other rows")),
        }
    }

    /// Values that changes of types would lose, in words, for a question before [`Table::alter`]; nothing is changed.
    pub fn losses(&self, changes: &str) -> Result<Vec<String>> {
        let changes = SchemaChange::list_from_json(changes)?;
        let ctx = self.context();
        if ctx.snapshots().latest_id()?.is_none() {
            return Ok(Vec::new());
        }
        let (old, new) = ctx.schemas.changed(&changes, &|_, _| Ok(())).map_err(|e| e.with("table", &ctx.name))?;
        self.lost(&old, &new)
    }

    /// What a change of types loses of the rows that are there.
    fn lost(&self, old: &TableSchema, new: &TableSchema) -> Result<Vec<String>> {
        let schemas = &self.context().schemas;
        // files of the newest schema are not read either where several changes of one column come together
        let ids = schemas.ids()?.into_iter().filter(|id| *id <= old.id);
        let earlier = ids.map(|id| schemas.get(id)).collect::<Result<Vec<_>>>()?;
        let mut lost = losses(old, new);
        lost.extend(unreadable(&earlier, old, new));
        Ok(lost)
    }

    /// What [`Table::alter`] warns of.
    fn said_of(&self, changes: &[SchemaChange]) -> Result<Vec<String>> {
        let ctx = self.context();
        let (old, new) = ctx.schemas.changed(changes, &|_, _| Ok(())).map_err(|e| e.with("table", &ctx.name))?;
        let mut said = notes(Some(&old), &new)?;
        if ctx.snapshots().latest_id()?.is_some() {
            said.extend(self.lost(&old, &new)?);
        }
        Ok(said)
    }

    /// Where rows are deleted by vectors, tables without the mode would show them again. The stored schemas say whether the
    /// mode ends: the handle may be older, or have another value on top.
    fn check_no_vectors(&self, old: &TableSchema, new: &TableSchema) -> Result<()> {
        if !switches_vectors_off(old, new)? {
            return Ok(());
        }
        let ctx = self.context();
        let deleted = at_newest(ctx, |newest| newest.map_or(Ok(false), |newest| has_deleted_rows(ctx, newest)))?;
        if !deleted {
            return Ok(());
        }
        let message = "rows are deleted by deletion vectors: without them these rows would be there again";
        Err(Error::new(ErrorKind::IllegalSchemaChange, message)
            .with("option", VECTORS)
            .hint("compact the table first: t.compact(full=True)"))
    }

    /// Where files of several levels hold records of one key, what rows they make hangs on some options.
    fn check_levels(&self, old: &TableSchema, new: &TableSchema) -> Result<()> {
        let Some(option) = levels_option_changed(old, new)? else { return Ok(()) };
        let ctx = self.context();
        let several =
            |newest: &Snapshot| has_several_levels(ctx, newest, level_0_counts(option, new, newest.schema_id)?);
        if !at_newest(ctx, |newest| newest.map_or(Ok(false), several))? {
            return Ok(());
        }
        let message =
            "files of several levels hold rows of the same keys, which would become other rows with this option";
        Err(Error::new(ErrorKind::IllegalSchemaChange, message)
            .with("option", option)
            .hint("compact the table first, with no writer at work: t.compact(full=True)"))
    }

    /// The last look at what levels hold is taken under the lock of upkeep, which a rollback has: who cannot have it changes nothing.
    fn check_free_for_levels(&self, changes: &[SchemaChange]) -> Result<()> {
        let ctx = self.context();
        let (old, new) = ctx.schemas.changed(changes, &|_, _| Ok(())).map_err(|e| e.with("table", &ctx.name))?;
        if levels_option_changed(&old, &new)?.is_some() {
            drop(upkeep_lock(ctx)?);
        }
        Ok(())
    }

    /// A branch that reads shall come from must exist (`SchemaValidation.validateFallbackBranch`).
    fn check_branches(&self, changes: &[SchemaChange]) -> Result<()> {
        let ctx = self.context();
        for change in changes {
            let SchemaChange::SetOption { key, value } = change else { continue };
            if READ_BRANCHES.contains(&key.as_str()) && !value.trim().is_empty() {
                let branches = ctx.branches();
                branches.check_exists(value).map_err(|e| e.with("table", &ctx.name).with("option", key))?;
            }
        }
        Ok(())
    }
}
