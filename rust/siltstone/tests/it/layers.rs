//! Modules may use only modules below them.
//!
//! The list is the architecture: a new edge that points upwards fails here, and the fix is either to
//! move code or to change this list in the same review.

use std::{collections::HashMap, fs, path::Path};

/// Rooms of one layer that see each other.
const TOGETHER: &[&str] = &["cleanup", "scan", "read", "write", "compact", "commit", "dml", "maintenance"];

/// From the bottom up. Modules on one line are neighbours and do not see each other.
const LAYERS: &[&[&str]] = &[
    // foundation
    &["error"],
    &["codec", "env", "cancel", "limits"],
    &["threads"],
    // model
    &["types"],
    &["options", "row"],
    &["cast", "aggregate"],
    &["predicate"],
    // storage
    &["fs"],
    &["format"],
    // metadata
    &["stats", "snapshot"],
    &["schema"],
    &["path"],
    &["manifest"],
    // data
    &["index", "deletion_vectors"],
    &["io"],
    // engines
    &["append", "merge_tree"],
    // what a user asks for
    &["wire"],
    &["cleanup", "scan", "read", "write", "compact", "commit", "dml", "maintenance"],
    &["table"],
];

#[test]
fn modules_use_only_lower_layers() {
    let rank: HashMap<&str, usize> =
        LAYERS.iter().enumerate().flat_map(|(level, names)| names.iter().map(move |name| (*name, level))).collect();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    visit(&src, &mut |path, text| {
        let user = module_of(&src, path);
        let Some(&level) = rank.get(user.as_str()) else {
            return;
        };
        for used in used_modules(text) {
            let together = [&user, &used].iter().all(|name| TOGETHER.contains(&name.as_str()));
            let allowed = used == user || together || rank.get(used.as_str()).is_none_or(|&l| l < level);
            if !allowed {
                wrong.push(format!("{} uses `{used}`", path.display()));
            }
        }
    });
    assert!(wrong.is_empty(), "upward edges:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let known: Vec<&str> = LAYERS.iter().flat_map(|names| names.iter().copied()).collect();
    visit(&src, &mut |path, _| {
        let module = module_of(&src, path);
        assert!(module == "lib" || known.contains(&module.as_str()), "`{module}` has no layer");
    });
}

fn module_of(src: &Path, file: &Path) -> String {
    let first = file.strip_prefix(src).expect("below src").iter().next().expect("a file name");
    first.to_string_lossy().trim_end_matches(".rs").to_owned()
}

/// Names after `crate::`, grouped imports included, test modules and comment lines left out.
fn used_modules(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    code.split("crate::").skip(1).flat_map(leading_names).collect()
}

/// `a::X` gives `a`; `{a::X, b::{Y, Z}}` gives `a` and `b`.
fn leading_names(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![identifier(rest)];
    };
    let mut depth = 1;
    let mut names = vec![identifier(group.trim_start())];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(identifier(group[at + 1..].trim_start())),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn visit(dir: &Path, f: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(dir).expect("readable source folder") {
        let path = entry.expect("readable entry").path();
        if path.is_dir() {
            visit(&path, f);
        } else if path.extension().is_some_and(|e| e == "rs") {
            f(&path, &fs::read_to_string(&path).expect("UTF-8 source"));
        }
    }
}
