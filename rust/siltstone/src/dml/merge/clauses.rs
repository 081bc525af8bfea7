//! The clauses of a MERGE, over columns `t.a` of the table and `s.a` of the source.

use std::collections::BTreeSet;

use arrow_schema::SchemaRef;
use serde::Deserialize;

use super::source::Source;
use crate::{
    dml::{Assignment, Replacement, check_deletes, invalid, keyed::key_is_enough, node::Truth},
    error::{Error, ErrorKind, Result},
    io::TableContext,
    predicate::{Predicate, resolve_column},
    types::{DataField, data_type_from_arrow},
    write::Formats,
};

/// What a caller says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeArgs {
    /// Which rows belong together: a condition that has at least one `t.a = s.b`.
    pub on: String,
    /// In their order.
    pub clauses: Vec<ClauseArgs>,
    /// Bytes that the rows of the source may hold at once; `None` = 256 MiB.
    pub memory_limit: Option<u64>,
    /// Threads; `None` = all cores.
    pub threads: Option<usize>,
}

/// One clause.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClauseArgs {
    /// Of which rows.
    pub of: Rows,
    /// What becomes of them.
    pub action: Verb,
    /// New values by column, as SQL expressions; `None`: those that the source has in columns of the same names.
    pub set: Option<Vec<(String, String)>>,
    /// Only rows that satisfy this.
    pub condition: Option<String>,
}

/// Rows of the table or of the source.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// Rows of the table that a row of the source belongs to.
    Matched,
    /// Rows of the source that belong to no row of the table.
    NotMatched,
    /// Rows of the table that no row of the source belongs to.
    NotMatchedBySource,
}

/// What a clause does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// New values.
    Update,
    /// No row.
    Delete,
    /// A new row.
    Insert,
}

/// A clause that was checked.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) of: Rows,
    pub(super) verb: Verb,
    pub(super) set: Vec<Assignment>,
    pub(super) condition: Option<Truth>,
}

/// A MERGE that was checked against the table and the source.
#[derive(Debug)]
pub struct Merge {
    /// Pairs of names: a column of the table, and one of the source as `s.a`.
    pub(super) on: Vec<(String, String)>,
    /// What else must hold for a pair.
    pub(super) rest: Option<Truth>,
    /// What of that is about the table's rows alone.
    pub(super) table_only: Predicate,
    pub(super) clauses: Vec<Clause>,
    pub(super) threads: usize,
    memory_limit: Option<u64>,
    source: Vec<DataField>,
}

const TABLE: &str = "t.";
const SOURCE: &str = "s.";

/// Columns of both sides.
struct Names {
    fields: Vec<DataField>,
}

impl Names {
    fn of(table: &[DataField], source: &[DataField], with_table: bool, with_source: bool) -> Self {
        let renamed = |f: &DataField| DataField { name: format!("{TABLE}{}", f.name), ..f.clone() };
        let mut fields: Vec<DataField> = if with_table { table.iter().map(renamed).collect() } else { Vec::new() };
        if with_source {
            fields.extend(source.iter().cloned());
        }
        Self { fields }
    }

    /// `t.a`, `s.a`, `target.a`, `source.a`, or a name that only one side has.
    fn qualify(&self, alias: Option<&str>, name: &str, quoted: bool) -> Result<String> {
        let Some(alias) = alias else {
            return self.qualify_alone(name, quoted);
        };
        let prefix = match alias.to_ascii_lowercase().as_str() {
            "t" | "target" => TABLE,
            "s" | "source" => SOURCE,
            _ => {
                return Err(invalid(format!("there is no '{alias}' here: '{alias}.{name}'"))
                    .hint("columns of the table are t.name, columns of the source s.name"));
            }
        };
        if !self.fields.iter().any(|f| f.name.starts_with(prefix)) {
            let side = if prefix == TABLE { "the table" } else { "the source" };
            return Err(invalid(format!(
                "'{alias}.{name}' has no value here: the clause is about rows without {side}"
            )));
        }
        resolve_column(&self.fields, &format!("{prefix}{name}"), !quoted).map(|f| f.name.clone())
    }

    fn qualify_alone(&self, name: &str, quoted: bool) -> Result<String> {
        let found: Vec<&DataField> = [TABLE, SOURCE]
            .iter()
            .filter_map(|prefix| resolve_column(&self.fields, &format!("{prefix}{name}"), !quoted).ok())
            .collect();
        match found.as_slice() {
            [only] => Ok(only.name.clone()),
            [] => Err(resolve_column(&self.fields, name, false).err().unwrap_or_else(|| invalid("no such column"))),
            _ => Err(invalid(format!("both the table and the source have a column '{name}'"))
                .hint(format!("write t.{name} or s.{name}"))),
        }
    }
}

impl Merge {
    /// Checks the clauses before anything is read.
    pub fn new(ctx: &TableContext, args: &MergeArgs, schema: &SchemaRef) -> Result<Self> {
        let mut source = source_fields(schema)?;
        let table = &ctx.schema.fields;
        let pairs: Vec<(String, String)> = condition(&args.on, table, &source)?.iter().filter_map(pair_of).collect();
        if pairs.is_empty() {
            return Err(invalid("the condition says of no column of the table that it equals one of the source")
                .with("condition", crate::error::shorten(&args.on))
                .hint("write on=\"t.id = s.id\", or on=[\"id\"]"));
        }
        adopt_types(table, &mut source, &pairs)?;
        let rest = condition(&args.on, table, &source)?;
        let rest: Vec<Truth> = rest.into_iter().filter(|part| pair_of(part).is_none()).collect();
        let table_only: Vec<Predicate> = rest.iter().filter_map(about_the_table).collect();
        if args.clauses.is_empty() {
            return Err(invalid("the merge has no clause: nothing would change")
                .hint("say what is to be done, for example .when_matched_update_all()"));
        }
        let formats = Formats::of(&ctx.options);
        let clause = |args| Ok(Clause::new(table, &source, &pairs, args)?.stored_in(&formats));
        let clauses = args.clauses.iter().map(clause).collect::<Result<Vec<_>>>()?;
        let merge = Self {
            on: pairs,
            rest: (!rest.is_empty()).then_some(Truth::All(rest)),
            table_only: Predicate::all(table_only),
            clauses,
            threads: args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1),
            memory_limit: args.memory_limit,
            source,
        };
        merge.check(ctx)?;
        Ok(merge)
    }

    /// Takes the rows of the source.
    ///
    /// # Errors
    /// Those of a write for keys that the table's columns cannot hold.
    pub fn read(
        &self,
        ctx: &TableContext,
        batches: impl Iterator<Item = Result<arrow_array::RecordBatch>>,
    ) -> Result<Source> {
        let keys: Vec<&str> = self.on.iter().map(|(_, source)| source.as_str()).collect();
        Source::read(ctx, &self.source, &keys, self.memory_limit, batches)
    }

    fn check(&self, ctx: &TableContext) -> Result<()> {
        let has_key = !ctx.schema.primary_keys.is_empty();
        for clause in &self.clauses {
            match clause.verb {
                Verb::Delete if has_key => check_deletes(ctx)?,
                Verb::Update if has_key => drop(Replacement::new(ctx, &clause.set)?),
                Verb::Update | Verb::Delete | Verb::Insert => {}
            }
        }
        if !has_key && ctx.options.data_evolution_enabled && self.clauses.iter().any(|c| c.verb != Verb::Insert) {
            return Err(Error::unsupported("a merge that changes rows of a table with data evolution")
                .with("table", &ctx.name)
                .with("option", "data-evolution.enabled")
                .hint("give columns new values with t.update(), and insert rows with a merge or t.append()"));
        }
        Ok(())
    }

    pub(super) fn of(&self, rows: Rows) -> impl Iterator<Item = (usize, &Clause)> {
        self.clauses.iter().enumerate().filter(move |(_, clause)| clause.of == rows)
    }

    /// Whether rows of the table without a row of the source count.
    pub(super) fn looks_at_all_rows(&self) -> bool {
        self.of(Rows::NotMatchedBySource).next().is_some()
    }

    /// Whether two rows of the source may belong to one row of the table: none is changed, or all are deleted.
    pub(super) fn takes_several(&self) -> bool {
        let mut matched = self.of(Rows::Matched).map(|(_, clause)| clause);
        matched.all(|clause| clause.verb == Verb::Delete && clause.condition.is_none())
    }

    /// Names of the columns, `t.a` and `s.a`, that conditions and new values look at.
    pub(super) fn needs(&self) -> BTreeSet<&str> {
        let mut names = Vec::new();
        if let Some(rest) = &self.rest {
            rest.columns(&mut names);
        }
        for clause in &self.clauses {
            if let Some(condition) = &clause.condition {
                condition.columns(&mut names);
            }
            names.extend(clause.set.iter().flat_map(Assignment::needs));
        }
        names.into_iter().collect()
    }

    /// Columns of the table that are read; `None`: all of them.
    pub(super) fn columns(&self, ctx: &TableContext) -> Option<Vec<String>> {
        let has_key = !ctx.schema.primary_keys.is_empty();
        let fields = &ctx.schema.fields;
        let changes = || self.clauses.iter().filter(|clause| clause.verb != Verb::Insert);
        if has_key && changes().next().is_some() && !key_is_enough(ctx) {
            return None;
        }
        let mut needed: BTreeSet<&str> = self.on.iter().map(|(column, _)| column.as_str()).collect();
        needed.extend(self.needs().into_iter().filter_map(|name| name.strip_prefix(TABLE)));
        needed.extend(ctx.schema.primary_keys.iter().map(String::as_str));
        needed.extend(self.table_only.columns());
        for clause in changes().filter(|clause| clause.verb == Verb::Update) {
            let kept = fields.iter().filter(|f| !clause.set.iter().any(|a| a.column() == f.name));
            needed.extend(kept.map(|f| f.name.as_str()));
        }
        let named = fields.iter().filter(|f| needed.contains(f.name.as_str()));
        Some(named.map(|f| f.name.clone()).collect())
    }
}

impl Clause {
    /// The same, whose values can be stored in files of these formats.
    fn stored_in(self, formats: &Formats) -> Self {
        Self { set: self.set.into_iter().map(|value| value.stored_in(formats)).collect(), ..self }
    }

    fn new(table: &[DataField], source: &[DataField], on: &[(String, String)], args: &ClauseArgs) -> Result<Self> {
        let names = Names::of(table, source, args.of != Rows::NotMatched, args.of != Rows::NotMatchedBySource);
        let qualify = |alias: Option<&str>, name: &str, quoted: bool| names.qualify(alias, name, quoted);
        let condition = args.condition.as_ref();
        let condition = condition.map(|text| Truth::parse(text, &names.fields, Some(&qualify))).transpose()?;
        let parse = |column: &str, text: &str| Assignment::over(table, &names.fields, Some(&qualify), column, text);
        let set: Vec<Assignment> = match (&args.set, args.action) {
            (_, Verb::Delete) => Vec::new(),
            (Some(set), _) => set.iter().map(|(column, text)| parse(column, text)).collect::<Result<_>>()?,
            (None, verb) => {
                let given = every_column(table, source, on, verb)?;
                given.iter().map(|(column, text)| parse(column, text)).collect::<Result<_>>()?
            }
        };
        if set.is_empty() && args.action != Verb::Delete {
            return Err(invalid("a clause gives no column a value").hint("name columns of the table and their values"));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = set.iter().find(|assignment| !seen.insert(assignment.column())) {
            return Err(invalid("a column gets two values").with("column", twice.column()));
        }
        Ok(Self { of: args.of, verb: args.action, set, condition })
    }
}

/// The columns of the source for those of the table, by name; an update leaves out those that are equal already.
fn every_column(
    table: &[DataField],
    source: &[DataField],
    on: &[(String, String)],
    verb: Verb,
) -> Result<Vec<(String, String)>> {
    let mut given = Vec::new();
    for field in source {
        let name = field.name.strip_prefix(SOURCE).unwrap_or(&field.name);
        let column = resolve_column(table, name, true).map_err(|_| {
            Error::new(ErrorKind::SchemaMismatch, format!("the source has the column '{name}', the table has not"))
                .with("column", name)
                .hint("name the columns that get values, for example .when_matched_update({'a': 's.a'})")
        })?;
        let is_equal = on.iter().any(|(a, b)| *a == column.name && *b == field.name);
        if verb == Verb::Insert || !is_equal {
            given.push((column.name.clone(), format!("s.\"{}\"", name.replace('"', "\"\""))));
        }
    }
    Ok(given)
}

/// The parts of ON.
fn condition(text: &str, table: &[DataField], source: &[DataField]) -> Result<Vec<Truth>> {
    let names = Names::of(table, source, true, true);
    let qualify = |alias: Option<&str>, name: &str, quoted: bool| names.qualify(alias, name, quoted);
    Ok(Truth::parse(text, &names.fields, Some(&qualify))?.conjuncts())
}

fn source_fields(schema: &SchemaRef) -> Result<Vec<DataField>> {
    let mut fields: Vec<DataField> = Vec::new();
    for (field, id) in schema.fields().iter().zip(0..) {
        let name = format!("{SOURCE}{}", field.name());
        if fields.iter().any(|other| other.name == name) {
            return Err(Error::new(
                ErrorKind::SchemaMismatch,
                format!("column '{}' is in the source twice", field.name()),
            )
            .with("column", field.name()));
        }
        let mut data_type = match field.data_type() {
            // a column of nothing but nulls
            arrow_schema::DataType::Null => crate::types::DataType::new(crate::types::TypeKind::Int),
            _ => data_type_from_arrow(field)?,
        };
        data_type.nullable = true;
        fields.push(DataField::new(id, name, data_type));
    }
    Ok(fields)
}

/// Keys are compared as values of the table.
fn adopt_types(table: &[DataField], source: &mut [DataField], on: &[(String, String)]) -> Result<()> {
    for (column, name) in on {
        let field = resolve_column(table, column, false)?;
        if field.data_type.is_nested() {
            return Err(invalid("rows are not matched by nested columns").with("column", column));
        }
        if let Some(key) = source.iter_mut().find(|f| f.name == *name) {
            key.data_type = crate::types::DataType { nullable: true, ..field.data_type.clone() };
        }
    }
    Ok(())
}

/// A column of the table and one of the source that must be equal.
fn pair_of(part: &Truth) -> Option<(String, String)> {
    let (a, b) = part.equal_columns()?;
    let (t, s) = if a.name.starts_with(TABLE) { (a, b) } else { (b, a) };
    let column = t.name.strip_prefix(TABLE)?.to_owned();
    s.name.starts_with(SOURCE).then(|| (column, s.name.clone()))
}

/// The condition as one over the table's own rows.
fn about_the_table(part: &Truth) -> Option<Predicate> {
    match part {
        Truth::Plain(predicate) if predicate.columns().iter().all(|name| name.starts_with(TABLE)) => {
            Some(predicate.renamed(&|name| name.strip_prefix(TABLE).unwrap_or(name).to_owned()))
        }
        _ => None,
    }
}
