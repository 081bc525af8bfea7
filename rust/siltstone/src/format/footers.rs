//! What the ends of data files say, kept as long as a handle of a table is used: a file never changes.

use std::{any::Any, sync::Arc};

use quick_cache::{Weighter, sync::Cache};

/// Bytes of memory that are kept.
const CAPACITY: u64 = 32 << 20;
/// What takes more is not kept.
const LARGEST: u64 = CAPACITY / 4;
/// Small footers, of which there may be so many.
const ENTRIES: usize = 256;

/// The decoded ends of files, by path and size.
#[derive(Debug)]
pub struct Footers(Cache<(String, u64), Footer, ByBytes>);

/// Any format's own, and the bytes of memory that it takes.
type Footer = (Arc<dyn Any + Send + Sync>, u64);

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<(String, u64), Footer> for ByBytes {
    fn weight(&self, _: &(String, u64), (_, bytes): &Footer) -> u64 {
        (*bytes).max(1)
    }
}

impl Default for Footers {
    fn default() -> Self {
        Self(Cache::with_weighter(ENTRIES, CAPACITY, ByBytes))
    }
}

impl Footers {
    /// What was kept of a file.
    pub fn get<T: Any + Send + Sync>(&self, path: &str, size: u64) -> Option<Arc<T>> {
        let (footer, _) = self.0.get(&(path.to_owned(), size))?;
        footer.downcast().ok()
    }

    /// Keeps it, unless it takes much memory.
    pub fn keep<T: Any + Send + Sync>(&self, path: &str, size: u64, footer: &Arc<T>, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if bytes <= LARGEST {
            self.0.insert((path.to_owned(), size), (Arc::clone(footer) as Arc<dyn Any + Send + Sync>, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_belongs_to_one_file() {
        let footers = Footers::default();
        footers.keep("a", 1, &Arc::new(7_i64), 100);
        assert_eq!(footers.get::<i64>("a", 1).as_deref(), Some(&7));
        assert!(footers.get::<i64>("a", 2).is_none() && footers.get::<i64>("b", 1).is_none());
        assert!(footers.get::<u8>("a", 1).is_none());
        footers.keep("large", 1, &Arc::new(8_i64), 1 << 30);
        assert!(footers.get::<i64>("large", 1).is_none());
        for number in 0..100 {
            footers.keep(&number.to_string(), 1, &Arc::new(number), 4 << 20);
        }
        assert!(footers.0.weight() <= CAPACITY);
    }
}
