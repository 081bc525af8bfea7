//! docs/options.md lists each refused option under what is done about it.

use std::{collections::BTreeSet, fs, path::Path};

use siltstone::options::catalogue::{Class, FIELD_OPTIONS, PREFIXES, options};

#[test]
fn each_refused_option_has_its_reason_in_the_documentation() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    let page = fs::read_to_string(page).unwrap();
    for (class, title) in [
        (Class::Refused, "Neither read nor written"),
        (Class::RefusedForWrite, "Read, not written"),
        (Class::RefusedToSet, "Not set here"),
    ] {
        let of_class = options().filter(|known| known.class == class).map(|known| known.key.to_owned());
        let of_columns = FIELD_OPTIONS.iter().filter(|known| known.class == class);
        let families = PREFIXES.iter().filter(|known| known.class == class);
        let listed: BTreeSet<String> = of_class
            .chain(of_columns.map(|known| format!("fields.*.{}", known.key)))
            .chain(families.map(|known| format!("{}*", known.key)))
            .collect();
        let (_, section) = page.split_once(&format!("\n## {title}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        let documented: BTreeSet<String> = rows
            .map(|(key, reason)| {
                assert!(reason.len() > 20, "no reason for '{key}'");
                key.to_owned()
            })
            .collect();
        assert_eq!(documented, listed, "section '{title}' of docs/options.md");
    }
}
