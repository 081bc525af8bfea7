//! Tables on the local disk that go when their test ends.

/// A folder of its own, gone with the value.
pub(crate) struct Folder(std::path::PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("siltstone-{name}-{}", siltstone::env::new_uuid()));
        Self(path)
    }

    /// Where a table may be.
    pub(crate) fn root(&self) -> String {
        format!("{}/db.db/t", self.0.to_str().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
