//! Table options as typed values.

/// Table options, parsed. (Declared early so that others compile; the fields follow.)
#[derive(Clone, Debug, Default)]
pub struct CoreOptions {}
