//! Names of databases and tables: `db.table`, `db.table$branch_b`, `db.table$snapshots`.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// The branch that every table has.
pub const MAIN_BRANCH: &str = "main";

/// Longest name that every file system takes, with room for the suffix `.db`.
const MAX_BYTES: usize = 250;

/// What a user calls a table (`Identifier`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// Database.
    pub database: String,
    /// Table, without branch and system table.
    pub table: String,
    /// Branch, `main` when not said.
    pub branch: String,
    /// System table, such as `snapshots`.
    pub system: Option<String>,
}

impl TableName {
    /// `db.table[$branch_<branch>][$<system table>]`
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::new(ErrorKind::InvalidArgument, format!("'{text}' is not a table name: {why}"))
                .hint("tables are named 'database.table'")
        };
        let Some((database, object)) = text.split_once('.') else { return Err(wrong("the database is missing")) };
        let (table, suffix) = Suffix::split(object)?.ok_or_else(|| wrong(BEHIND_TABLE))?;
        check_database(database)?;
        check_part(table, "table")?;
        Ok(Self {
            database: database.to_owned(),
            table: table.to_owned(),
            branch: suffix.branch.unwrap_or(MAIN_BRANCH).to_owned(),
            system: suffix.system.map(str::to_owned),
        })
    }

    /// A name beside which a branch was given; the name may say it, too.
    pub fn on_branch(text: &str, branch: Option<&str>) -> Result<Self> {
        let name = Self::parse(text)?;
        let said = (name.branch != MAIN_BRANCH).then_some(name.branch.as_str());
        Ok(Self { branch: one_branch(text, said, branch)?, ..name })
    }

    /// A name that is meant to be a table of its own: no branch, no system table.
    pub fn parse_plain(text: &str) -> Result<Self> {
        let name = Self::parse(text)?;
        if name.branch != "main" || name.system.is_some() {
            let message = format!("'{text}' names a branch or system table, not a table");
            return Err(Error::new(ErrorKind::InvalidArgument, message).hint("leave '$' and what follows out"));
        }
        Ok(name)
    }

    /// The system table that a name or a path of a table names, if any.
    pub fn system_of(text: &str) -> Result<Option<String>> {
        if TablePath::is_path(text) {
            return Ok(TablePath::on_branch(text, None)?.system);
        }
        Ok(Self::parse(text)?.system)
    }

    /// `db.table`
    pub fn plain(&self) -> String {
        format!("{}.{}", self.database, self.table)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.table)?;
        if self.branch != "main" {
            write!(f, "$branch_{}", self.branch)?;
        }
        self.system.as_ref().map_or(Ok(()), |system| write!(f, "${system}"))
    }
}

const BEHIND_TABLE: &str = "after '$' comes 'branch_<name>' or a system table";

/// What stands behind the name of a table, or behind its directory: `$branch_b`, `$files` or `$branch_b$files`.
#[derive(Default)]
struct Suffix<'t> {
    branch: Option<&'t str>,
    system: Option<&'t str>,
}

impl<'t> Suffix<'t> {
    /// The table, and what stands behind it; `None` when that is something else.
    fn split(text: &'t str) -> Result<Option<(&'t str, Self)>> {
        let mut parts = text.split('$');
        let table = parts.next().unwrap_or_default();
        let mut found = Self::default();
        for part in parts {
            match part.strip_prefix("branch_") {
                Some(branch) if found.system.is_none() && found.branch.is_none() && !branch.is_empty() => {
                    check_part(branch, "branch")?;
                    found.branch = Some(branch);
                }
                None if found.system.is_none() && !part.is_empty() => found.system = Some(part),
                _ => return Ok(None),
            }
        }
        Ok(Some((table, found)))
    }
}

/// The branch that a text names, or the one that was given beside it.
fn one_branch(text: &str, named: Option<&str>, given: Option<&str>) -> Result<String> {
    match (named, given) {
        (Some(named), Some(given)) if named != given => {
            let message =
                format!("'{text}' names the branch '{named}', and the argument branch another one: '{given}'");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
        _ => Ok(named.or(given).unwrap_or(MAIN_BRANCH).to_owned()),
    }
}

/// A table by its directory: `dir`, `dir$branch_b`, `dir$files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePath {
    /// The directory.
    pub location: String,
    /// Branch, `main` when not said.
    pub branch: String,
    /// System table, such as `files`.
    pub system: Option<String>,
}

impl TablePath {
    /// Whether a text is the directory of a table, or a URI of it, and no name `db.table`.
    pub fn is_path(text: &str) -> bool {
        text.contains('/') || text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"))
    }

    /// Reads a path, beside which a branch may have been given. A directory that is there may have a `$` of its own.
    pub fn on_branch(text: &str, branch: Option<&str>) -> Result<Self> {
        let (folder, last) = text.split_at(text.rfind('/').map_or(0, |at| at + 1));
        if !last.contains('$') || std::path::Path::new(text).is_dir() {
            return Ok(Self { location: text.to_owned(), branch: one_branch(text, None, branch)?, system: None });
        }
        let (table, suffix) = Suffix::split(last)?.ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, format!("'{text}' is not a table: {BEHIND_TABLE}"))
        })?;
        Ok(Self {
            location: format!("{folder}{table}"),
            branch: one_branch(text, suffix.branch, branch)?,
            system: suffix.system.map(str::to_owned),
        })
    }
}

/// Refuses names that cannot be a database.
pub(super) fn check_database(name: &str) -> Result<()> {
    if name == "sys" {
        let message = "the database name 'sys' is reserved for Paimon itself";
        return Err(Error::new(ErrorKind::InvalidArgument, message).with("database", name));
    }
    check_part(name, "database")
}

fn check_part(name: &str, what: &'static str) -> Result<()> {
    let why = if name.trim().is_empty() {
        "it is empty"
    } else if name.trim() != name {
        "it begins or ends with a blank"
    } else if name.starts_with('.') {
        "it begins with a dot"
    } else if name.contains(['/', '\\']) {
        "it contains a slash"
    } else if name.contains('$') {
        "'$' separates a table from its branch or system table"
    } else if name.chars().any(char::is_control) {
        "it contains a control character"
    } else if what == "database" && name.contains('.') {
        "a dot separates database and table"
    } else if name.len() > MAX_BYTES {
        "it is too long"
    } else {
        return Ok(());
    };
    let message = format!("{name:?} cannot be the name of a {what}: {why}");
    Err(Error::new(ErrorKind::InvalidArgument, message).with(what, name.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_database_and_maybe_a_branch_and_a_system_table() {
        let name = TableName::parse("shop.orders$branch_b1$snapshots").unwrap();
        assert_eq!((name.database.as_str(), name.table.as_str(), name.branch.as_str()), ("shop", "orders", "b1"));
        assert_eq!(name.system.as_deref(), Some("snapshots"));
        for text in ["a.b", "a.b$branch_x", "a.b$files", "a.b$branch_x$files", "ä.ö ü", "a.b.c"] {
            assert_eq!(TableName::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn paths_are_directories_with_the_suffixes_of_names() {
        let path = TablePath::on_branch("/lake/db.db/t$branch_b$files", None).unwrap();
        assert_eq!((path.location.as_str(), path.branch.as_str()), ("/lake/db.db/t", "b"));
        assert_eq!(path.system.as_deref(), Some("files"));
        assert_eq!(TablePath::on_branch("/lake/t", Some("x")).unwrap().branch, "x");
        for text in ["/t$", "/t$branch_", "/t$files$branch_b", "/t$a$b", "/t$branch_a$branch_b"] {
            assert_eq!(TablePath::on_branch(text, None).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
        for text in ["/lake/t", "db/t", "file:t", "FILE:///t"] {
            assert!(TablePath::is_path(text) && !TablePath::is_path("db.t"), "{text}");
        }
    }

    #[test]
    fn a_branch_is_named_once_or_twice_the_same() {
        assert_eq!(TableName::on_branch("a.b$branch_x", Some("x")).unwrap().branch, "x");
        assert_eq!(TableName::on_branch("a.b$files", Some("x")).unwrap().to_string(), "a.b$branch_x$files");
        for error in [
            TableName::on_branch("a.b$branch_x", Some("y")).unwrap_err(),
            TablePath::on_branch("/b$branch_x", Some("y")).unwrap_err(),
        ] {
            assert!(error.message().contains("'x'") && error.message().contains("'y'"), "{error}");
        }
    }

    #[test]
    fn names_that_would_leave_their_directory_are_refused() {
        for text in [
            "",
            "orders",
            ".orders",
            "shop.",
            "shop./x",
            "shop.a/b",
            "shop.a\\b",
            "../x.y",
            "shop...",
            "shop.a\nb",
            "shop.a\0",
            "shop.$files",
            "shop.a$",
            "shop.a$branch_",
            "shop.a$files$files",
            "shop.a$branch_x/y",
            "shop. a",
            "sys.x",
            "shop.a$branch_..",
            "shop. ",
        ] {
            assert_eq!(TableName::parse(text).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text:?}");
        }
        assert!(TableName::parse(&format!("a.{}", "x".repeat(300))).is_err());
        assert!(TableName::parse_plain("shop.a$branch_b").is_err());
    }
}
