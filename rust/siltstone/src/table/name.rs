//! Names of databases and tables: `db.table`, `db.table$branch_b`, `db.table$snapshots`.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

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
        let mut parts = object.split('$');
        let table = parts.next().unwrap_or_default();
        let mut name =
            Self { database: database.to_owned(), table: table.to_owned(), branch: "main".to_owned(), system: None };
        for part in parts {
            match part.strip_prefix("branch_") {
                Some(branch) if name.system.is_none() && name.branch == "main" && !branch.is_empty() => {
                    check_part(branch, "branch")?;
                    branch.clone_into(&mut name.branch);
                }
                None if name.system.is_none() && !part.is_empty() => name.system = Some(part.to_owned()),
                _ => return Err(wrong("after '$' comes 'branch_<name>' or a system table")),
            }
        }
        check_database(&name.database)?;
        check_part(&name.table, "table")?;
        Ok(name)
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
