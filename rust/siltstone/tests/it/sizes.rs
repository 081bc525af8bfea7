//! No room grows beyond what a newcomer can survey. (Functions: clippy's `too_many_lines`.)

use std::{fs, path::Path};

const MAX_LINES: usize = 900;

#[test]
fn files_are_short_enough_to_survey() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let binding = root.join("../siltstone-py/src");
    let mut long = Vec::new();
    for folder in [root.join("src"), root.join("tests"), binding] {
        visit(&folder, &mut long);
    }
    assert!(long.is_empty(), "split these files (more than {MAX_LINES} lines):\n{}", long.join("\n"));
}

fn visit(folder: &Path, long: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("readable folder") {
        let path = entry.expect("readable entry").path();
        if path.is_dir() {
            visit(&path, long);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let lines = fs::read_to_string(&path).expect("UTF-8 source").lines().count();
            if lines > MAX_LINES {
                long.push(format!("{}: {lines}", path.display()));
            }
        }
    }
}
