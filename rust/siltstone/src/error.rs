//! One error type for the whole crate: a kind the caller can act on, a sentence, context and a hint.
//!
//! Python maps [`ErrorKind`] to exception classes by one `match`; nothing else inspects the text.
//!
//! What an error quotes may be of any length (a condition, a value, a name in a file). Its texts are bounded here, whoever
//! writes them.

use std::fmt;

/// Longest text of an error, in bytes. No path is longer.
const LONGEST: usize = 5_000;
/// Characters that are shown of a longer one.
const SHOWN: usize = 200;

/// What went wrong, named after what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The database does not exist.
    DatabaseNotFound,
    /// The database exists already.
    DatabaseExists,
    /// The table does not exist.
    TableNotFound,
    /// The table exists already.
    TableExists,
    /// The snapshot never existed.
    SnapshotNotFound,
    /// The snapshot existed and has expired.
    SnapshotExpired,
    /// The tag does not exist.
    TagNotFound,
    /// The tag exists already.
    TagExists,
    /// The branch does not exist.
    BranchNotFound,
    /// The branch exists already.
    BranchExists,
    /// A tag, snapshot or branch that something else still needs.
    VersionInUse,
    /// Input columns or types do not fit the table.
    SchemaMismatch,
    /// A column type that cannot be used here.
    UnsupportedType,
    /// A null in a key column or a NOT NULL column.
    NullInKey,
    /// A value is longer than its CHAR/VARCHAR/BINARY/VARBINARY column, or a number does not fit its type.
    LengthExceeded,
    /// A schema that breaks a rule of the format.
    IllegalSchema,
    /// A schema change that the format forbids.
    IllegalSchemaChange,
    /// Another commit changed what this commit relies on.
    CommitConflict,
    /// The retries of a commit are used up.
    CommitRetriesExhausted,
    /// Another operation that removes versions works on the table.
    UpkeepRunning,
    /// A write failed, and nobody said what becomes of the rows that were taken before.
    WriteFailed,
    /// The merge engine, or the function of a column, cannot take a value back.
    DeleteNotAllowed,
    /// A row kind that is not one of +I, -U, +U, -D.
    InvalidRowKind,
    /// Bytes of a file are not what the format says.
    CorruptFile,
    /// A stored checksum does not match.
    ChecksumMismatch,
    /// A version of a stored structure that is not known.
    UnsupportedVersion,
    /// A file that must exist does not.
    FileNotFound,
    /// A file that must not exist does.
    FileExists,
    /// The storage failed.
    Storage,
    /// More memory than the limit would be needed.
    MemoryLimitExceeded,
    /// The operation was stopped.
    Cancelled,
    /// An option key that is not known.
    UnknownOption,
    /// An option value that cannot be used.
    InvalidOption,
    /// A wrong argument of a call (predicate text, column name, time...).
    InvalidArgument,
    /// The table uses a feature that siltstone does not implement.
    UnsupportedFeature,
    /// A defect of siltstone itself.
    Internal,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error with its context. `Display` is one line; the hint says what to do next.
#[derive(Debug)]
pub struct Error(Box<Inner>);

/// What is known of an error besides its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    WithoutEffect,
    FilesStay,
    AsWritten,
    OldHandle,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    context: Vec<(&'static str, String)>,
    marks: Vec<Mark>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: bounded(message.into()),
            hint: None,
            context: Vec::new(),
            marks: Vec::new(),
            source: None,
        }))
    }

    /// A file whose bytes break the format: what was expected and what was found, at which offset.
    pub fn corrupt(
        file: impl fmt::Display,
        offset: u64,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self::new(ErrorKind::CorruptFile, format!("expected {expected}, found {found}"))
            .with("file", file)
            .with("offset", offset)
    }

    /// A feature that siltstone does not implement; `feature` names it as users know it.
    pub fn unsupported(feature: impl fmt::Display) -> Self {
        Self::new(ErrorKind::UnsupportedFeature, format!("{feature} is not supported by this version of siltstone"))
    }

    /// Adds a piece of context: `table`, `file`, `column`, `option`, `offset`, `snapshot`, ...
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, bounded(value.to_string())));
        self
    }

    /// Adds the table, unless the error names one already.
    #[must_use]
    pub fn in_table(self, name: &str) -> Self {
        if self.context_value("table").is_some() { self } else { self.with("table", name) }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(bounded(hint.into()));
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says that the call which failed has changed nothing. Without it nobody knows: an answer may have been lost.
    #[must_use]
    pub fn without_effect(mut self) -> Self {
        self.0.marks.push(Mark::WithoutEffect);
        self
    }

    /// Whether the call which failed is known to have changed nothing.
    pub fn is_without_effect(&self) -> bool {
        self.0.marks.contains(&Mark::WithoutEffect)
    }

    /// Says that the files of the commit which failed must stay, whatever its kind says otherwise: others may have seen it.
    #[must_use]
    pub fn files_stay(mut self) -> Self {
        self.0.marks.push(Mark::FilesStay);
        self
    }

    /// Whether the files of the commit which failed must stay.
    pub fn lets_files_stay(&self) -> bool {
        self.0.marks.contains(&Mark::FilesStay)
    }

    /// Says of a conflict that it is about how the rows were written: written again as the table is now, they may be committed.
    #[must_use]
    pub fn for_rows_as_written(mut self) -> Self {
        self.0.marks.push(Mark::AsWritten);
        self
    }

    /// Whether the same rows, written again, may be committed.
    pub fn may_pass_if_written_again(&self) -> bool {
        self.0.marks.contains(&Mark::AsWritten)
    }

    /// Says of a conflict that the table has changed since it was opened: it stays, however often the same handle tries again.
    #[must_use]
    pub fn of_old_handle(mut self) -> Self {
        self.0.marks.push(Mark::OldHandle);
        self
    }

    /// Whether only opening the table again may help.
    pub fn is_of_old_handle(&self) -> bool {
        self.0.marks.contains(&Mark::OldHandle)
    }

    /// Whether stored values cannot be written again: the files of the table have another format by now, or a sum has grown. What
    /// is done beside a write of other rows is given up then.
    pub(crate) fn is_about_stored_values(&self) -> bool {
        matches!(self.kind(), ErrorKind::UnsupportedType | ErrorKind::LengthExceeded)
    }

    /// Whether a file is gone, and none with one of these names.
    pub(crate) fn misses_file_but<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        let path = self.context_value("file").unwrap_or_default();
        self.kind() == ErrorKind::FileNotFound && !names.any(|name| path.rsplit('/').next() == Some(name))
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The sentence without context and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The sentence with what caused the error.
    pub fn message_and_cause(&self) -> String {
        match &self.0.source {
            Some(source) => format!("{}: {}", self.0.message, bounded(source.to_string())),
            None => self.0.message.clone(),
        }
    }

    /// What to do next, when there is advice.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Context pairs in the order they were added.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// The first value of a context key.
    pub fn context_value(&self, key: &str) -> Option<&str> {
        self.0.context.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str())
    }
}

/// The beginning of a text that is quoted, and its length when that is not all of it.
pub(crate) fn shorten(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() == text.len() { shown } else { format!("{shown}... ({} characters)", text.chars().count()) }
}

/// The text, or of one that is too long its beginning, its length and its end.
fn bounded(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let end: Vec<char> = text.chars().rev().take(SHOWN).collect();
    let end: String = end.into_iter().rev().collect();
    format!("{}...{end}", shorten(&text))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if !self.0.context.is_empty() {
            let pairs: Vec<String> = self.0.context.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            write!(f, " ({})", pairs.join(", "))?;
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {}", bounded(source.to_string()))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(e: arrow_schema::ArrowError) -> Self {
        Self::new(ErrorKind::Internal, "an Arrow operation failed").caused_by(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A condition of 1 MB was quoted whole.
    #[test]
    fn an_error_quotes_the_beginning_of_a_long_text_and_its_length() {
        let name = "é".repeat(1 << 20);
        let error = Error::new(ErrorKind::InvalidArgument, format!("there is no column '{name}' here"))
            .with("column", &name)
            .hint(format!("give another than {name}"))
            .caused_by(std::io::Error::other(name.clone()));
        let texts = [error.to_string(), error.message_and_cause(), error.hint_text().unwrap().to_owned()];
        for text in texts {
            assert!(text.len() < 4_000 && text.contains("characters)"), "{} bytes", text.len());
        }
        assert!(error.message().starts_with("there is no column 'éé") && error.message().ends_with("éé' here"));
        assert_eq!(
            error.context_value("column").unwrap().chars().count(),
            2 * SHOWN + "... (1048576 characters)...".len()
        );
        assert_eq!(shorten(&name), format!("{}... (1048576 characters)", "é".repeat(SHOWN)));
        let path = "/a".repeat(2_048);
        assert_eq!(Error::new(ErrorKind::Storage, "x").with("file", &path).context_value("file"), Some(path.as_str()));
        assert_eq!(shorten("short"), "short");
    }
}
