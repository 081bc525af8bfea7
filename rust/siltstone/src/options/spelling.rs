//! An option has one name and maybe older ones; a map of options may have any of them.

use std::collections::BTreeMap;

use super::{
    CoreOptions,
    catalogue::{aliases, spellings},
};
use crate::error::Result;

impl CoreOptions {
    /// The same options with others set over them.
    pub fn with(&self, dynamic: &BTreeMap<String, String>) -> Result<Self> {
        Self::parse(&overlay(&self.raw, dynamic))
    }

    /// The raw text of any option, its aliases included.
    pub fn get(&self, key: &str) -> Option<&str> {
        std::iter::once(key).chain(aliases(key).iter().copied()).find_map(|key| self.raw.get(key)).map(String::as_str)
    }
}

/// The value in force of the option that `key`, its name or an alias, stands for: the name wins over aliases.
pub fn effective<'a>(options: &'a BTreeMap<String, String>, key: &str) -> Option<&'a String> {
    spellings(key).find_map(|spelling| options.get(spelling))
}

/// Options with others over them: those are in force, however either side spells them.
pub fn overlay(stored: &BTreeMap<String, String>, over: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut merged = stored.clone();
    for key in over.keys() {
        remove(&mut merged, key);
    }
    merged.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

/// Takes an option out under all of its names.
pub fn remove(options: &mut BTreeMap<String, String>, key: &str) {
    for spelling in spellings(key) {
        options.remove(spelling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn an_option_that_is_laid_over_another_spelling_is_in_force() {
        let (name, alias) = ("write-only", "write.compaction-skip");
        assert_eq!(
            overlay(&map(&[(name, "false"), ("x", "1")]), &map(&[(alias, "true")])),
            map(&[(alias, "true"), ("x", "1")])
        );
        assert_eq!(overlay(&map(&[(alias, "true")]), &map(&[(name, "false")])), map(&[(name, "false")]));
        assert_eq!(effective(&map(&[(alias, "true")]), name).map(String::as_str), Some("true"));
        assert_eq!(effective(&map(&[(alias, "true"), (name, "false")]), alias).map(String::as_str), Some("false"));
        assert_eq!(effective(&map(&[("my.key", "x")]), "my.key").map(String::as_str), Some("x"));
    }
}
