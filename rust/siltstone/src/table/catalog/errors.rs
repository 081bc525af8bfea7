//! What a catalog says when a name is not there, or is there already.

use crate::{
    error::{Error, ErrorKind},
    snapshot::BRANCH_WITHOUT_SCHEMA,
    table::name::TableName,
};

use super::Catalog;

impl Catalog {
    pub(super) fn no_database(&self, name: &str) -> Error {
        let error = Error::new(ErrorKind::DatabaseNotFound, format!("the database '{name}' does not exist"));
        let error = error.with("database", name);
        let names = match self.databases() {
            Err(missing) if missing.kind() == ErrorKind::FileNotFound => {
                return error.hint(NO_WAREHOUSE).caused_by(missing);
            }
            found => found.unwrap_or_default(),
        };
        let hint = near(name, &names).map(|near| format!("did you mean '{near}'?"));
        error.hint(hint.unwrap_or_else(|| {
            if names.is_empty() {
                format!("there is no database in '{}' yet: create_database(name) makes one", self.warehouse)
            } else {
                format!("databases: {}", first_few(&names))
            }
        }))
    }

    pub(super) fn no_table(&self, name: &TableName) -> Error {
        let error = Error::new(ErrorKind::TableNotFound, format!("the table '{}' does not exist", name.plain()));
        let names = self.table_names(&name.database).unwrap_or_default();
        let hint = near(&name.table, &names).map(|near| format!("did you mean '{}.{near}'?", name.database));
        error.with("table", name.plain()).hint(hint.unwrap_or_else(|| {
            if names.is_empty() {
                format!("the database '{}' has no tables", name.database)
            } else {
                format!("tables of '{}': {}", name.database, first_few(&names))
            }
        }))
    }
}

/// `names` are the branches that there are.
pub(super) fn no_branch(name: &TableName, names: &[String]) -> Error {
    let message = if names.contains(&name.branch) {
        format!("the branch '{}' of the table '{}' has no schema", name.branch, name.plain())
    } else {
        format!("the table '{}' has no branch '{}'", name.plain(), name.branch)
    };
    let error = Error::new(ErrorKind::BranchNotFound, message).with("table", name.plain()).with("branch", &name.branch);
    if names.contains(&name.branch) {
        return error.hint(BRANCH_WITHOUT_SCHEMA);
    }
    match near(&name.branch, names) {
        Some(near) => error.hint(format!("did you mean '{}$branch_{near}'?", name.plain())),
        None if names.is_empty() => error.hint("the table has no branches beside main"),
        None => error.hint(format!("branches: {}", first_few(names))),
    }
}

const NO_WAREHOUSE: &str =
    "look at the spelling of the warehouse; a new one is made with its first database: create_database(name)";

pub(super) fn no_warehouse(warehouse: &str) -> Error {
    Error::new(ErrorKind::FileNotFound, format!("the warehouse directory '{warehouse}' does not exist"))
        .with("file", warehouse)
        .hint(NO_WAREHOUSE)
}

pub(super) fn database_exists(name: &str) -> Error {
    Error::new(ErrorKind::DatabaseExists, format!("the database '{name}' exists already")).with("database", name)
}

pub(super) fn not_empty(name: &str, left: usize, what: &str) -> Error {
    let message = format!("the database '{name}' is not empty ({left} {what})");
    let hint = "drop its tables first, or drop the database with cascade";
    Error::new(ErrorKind::InvalidArgument, message).with("database", name).hint(hint)
}

pub(super) fn table_exists(name: &TableName) -> Error {
    Error::new(ErrorKind::TableExists, format!("the table '{}' exists already", name.plain()))
        .with("table", name.plain())
        .hint("choose another name, or open the one that is there; exist_ok=True creates none where there is one")
}

pub(super) fn other_object(name: &TableName, kind: &str) -> Error {
    let message = format!("'{}' is a {kind}, not a table", name.plain());
    Error::new(ErrorKind::UnsupportedFeature, message).with("table", name.plain()).with("object", kind)
}

pub(super) fn no_files(name: &TableName, location: &str) -> Error {
    let message = format!("the catalog has the table '{}', and its directory holds none", name.plain());
    Error::new(ErrorKind::TableNotFound, message).with("table", name.plain()).with("path", location).hint(
        "is the warehouse the right one? If it is, bring its files back, or drop it from the catalog; a rename that was stopped \
         is finished by the same call",
    )
}

fn near<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    let lower = name.to_lowercase();
    let scored = names.iter().map(|other| (strsim::jaro_winkler(&lower, &other.to_lowercase()), other));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > 0.8).map(|(_, other)| other)
}

fn first_few(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(10).map(String::as_str).collect();
    let more = if names.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}
