//! The order in which Java's `HashMap` gives text keys: it shows in `$schemas` and `$aggregation_fields`.

/// Keys in the order of a `HashMap` that they were put into one by one, in the order given.
pub(super) fn java_order<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut keys: Vec<&str> = keys.collect();
    let mut table: u32 = 16;
    while keys.len() > (table / 4 * 3) as usize {
        table *= 2;
    }
    // a stable sort: keys of one place keep the order in which they came
    keys.sort_by_key(|key| place(key, table));
    keys
}

/// `(h ^ (h >>> 16)) & (table - 1)` with `h = String.hashCode`.
fn place(key: &str, table: u32) -> u32 {
    let hash = key.encode_utf16().fold(0_u32, |h, unit| h.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & (table - 1)
}

#[cfg(test)]
mod tests {
    use super::java_order;

    #[test]
    fn options_come_as_java_shows_them() {
        // two keys of one place keep the order in which they were put
        let first = ["bucket", "file.format", "fields.a.aggregate-function", "fields.b.aggregate-function"];
        let all = first.into_iter().chain(["merge-engine", "write-only"]);
        let expected = [
            "bucket",
            "fields.b.aggregate-function",
            "merge-engine",
            "write-only",
            "file.format",
            "fields.a.aggregate-function",
        ];
        assert_eq!(java_order(all), expected);
    }
}
