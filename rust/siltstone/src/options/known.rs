//! What is said of one option: its key, the form of its value, and what siltstone does about it.

/// What siltstone does about an option that is set to something else than its neutral value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It does what the option says.
    Honoured,
    /// It ignores the option, and no row, file or snapshot is wrong because of that: tuning of other engines,
    /// maintenance that siltstone does only when asked.
    Harmless,
    /// Nobody may set it here, because it would do nothing; tables of others that have it are read and written.
    RefusedToSet,
    /// Tables with it are read, not written.
    RefusedForWrite,
    /// Tables with it are neither read nor written.
    Refused,
}

/// The form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`
    Bool,
    /// i32
    Int,
    /// i64
    Long,
    /// A decimal number.
    Double,
    /// `128 mb`
    Size,
    /// `10 min`
    Duration,
    /// `0:avro,5:parquet`
    Levels,
    /// One of these texts.
    Enum(&'static [&'static str]),
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its key.
    pub key: &'static str,
    /// The form of its value.
    pub kind: Kind,
    /// What siltstone does about it.
    pub class: Class,
    /// For refused options: the value that asks for nothing, usually the default.
    pub neutral: Option<&'static str>,
    /// Whether it is fixed once the table has a snapshot.
    pub immutable: bool,
    /// Older keys that still work.
    pub aliases: &'static [&'static str],
}

impl Known {
    pub(super) const fn neutral(mut self, value: &'static str) -> Self {
        self.neutral = Some(value);
        self
    }

    pub(super) const fn immutable(mut self) -> Self {
        self.immutable = true;
        self
    }

    pub(super) const fn aliases(mut self, keys: &'static [&'static str]) -> Self {
        self.aliases = keys;
        self
    }

    /// Whether `value` asks for nothing special.
    pub fn is_neutral(&self, value: &str) -> bool {
        let Some(neutral) = self.neutral else { return value.trim().is_empty() };
        let same = |text: &str| text.trim().replace('_', "-").eq_ignore_ascii_case(neutral);
        match self.kind {
            Kind::Levels => value.split(',').all(|part| part.split_once(':').is_some_and(|(_, format)| same(format))),
            _ => value.trim().is_empty() || same(value),
        }
    }
}

/// A row of the list.
pub(super) const fn row(key: &'static str, kind: Kind, class: Class) -> Known {
    Known { key, kind, class, neutral: None, immutable: false, aliases: &[] }
}

/// Of files that are spilled.
pub(super) const BLOCK_COMPRESSIONS: &[&str] = &["none", "zstd", "lz4", "lzo"];

/// `fields.<column>.<suffix>` → column (or several, separated by commas).
pub fn column_of_field_option<'a>(key: &'a str, suffix: &str) -> Option<&'a str> {
    let column = key.strip_prefix("fields.")?.strip_suffix(suffix)?.strip_suffix('.')?;
    (!column.is_empty()).then_some(column)
}
