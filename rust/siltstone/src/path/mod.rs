//! Where files live.

/// Names of directories and files of one table. (Declared early so that others compile.)
#[derive(Debug)]
pub struct PathFactory {}
