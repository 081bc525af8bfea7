//! The four kinds of a change, as a byte (`_VALUE_KIND`) and as text (`+I`).

use crate::error::{Error, ErrorKind, Result};

/// What a record does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum RowKind {
    /// `+I`
    Insert = 0,
    /// `-U`
    UpdateBefore = 1,
    /// `+U`
    UpdateAfter = 2,
    /// `-D`
    Delete = 3,
}

impl RowKind {
    /// From the byte of `_VALUE_KIND`.
    pub fn from_byte(byte: i8) -> Result<Self> {
        Ok(match byte {
            0 => Self::Insert,
            1 => Self::UpdateBefore,
            2 => Self::UpdateAfter,
            3 => Self::Delete,
            other => {
                return Err(Error::new(
                    ErrorKind::InvalidRowKind,
                    format!("row kind {other} is not one of 0 (+I), 1 (-U), 2 (+U), 3 (-D)"),
                ));
            }
        })
    }

    /// From `+I`, `-U`, `+U`, `-D`.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "+I" => Self::Insert,
            "-U" => Self::UpdateBefore,
            "+U" => Self::UpdateAfter,
            "-D" => Self::Delete,
            other => {
                return Err(Error::new(
                    ErrorKind::InvalidRowKind,
                    format!("row kind '{other}' is not one of +I, -U, +U, -D"),
                ));
            }
        })
    }

    /// The byte of `_VALUE_KIND`.
    pub fn to_byte(self) -> i8 {
        self as i8
    }

    /// The text form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "+I",
            Self::UpdateBefore => "-U",
            Self::UpdateAfter => "+U",
            Self::Delete => "-D",
        }
    }

    /// `-U` and `-D` take a row away.
    pub fn is_retract(self) -> bool {
        matches!(self, Self::UpdateBefore | Self::Delete)
    }
}
