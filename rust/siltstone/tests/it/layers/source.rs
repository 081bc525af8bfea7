//! What the files of a crate name of each other: paths that begin with `crate`, `super` or `self`. Comments, texts and what is
//! compiled for tests alone do not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// One file.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) module: Vec<String>,
    /// Absolute paths.
    pub(super) used: Vec<Vec<String>>,
    /// Ways of writing paths that `used` does not have.
    pub(super) hidden: Vec<&'static str>,
}

/// Another name of the crate, all names of it, and a path that a macro completes.
const HIDING: [&str; 5] = ["use crate as ", "use crate::{self", "crate::*", "crate::$", "extern crate"];
/// What the text after an attribute begins with when it is an item, not a field or an arm.
const ITEMS: [&str; 17] = [
    "fn",
    "impl",
    "mod",
    "use",
    "struct",
    "enum",
    "const",
    "static",
    "type",
    "trait",
    "unsafe",
    "async",
    "extern",
    "let",
    "union",
    "macro_rules",
    "#",
];

pub(super) struct Crate {
    pub(super) modules: BTreeSet<Vec<String>>,
    pub(super) sources: Vec<Source>,
}

impl Crate {
    pub(super) fn read(src: &Path) -> Self {
        let mut files = Vec::new();
        visit(src, &mut |path| {
            let below = path.strip_prefix(src).expect("below src").with_extension("");
            let module = below.to_string_lossy().replace('\\', "/");
            let module = module.strip_suffix("/mod").unwrap_or(&module).to_owned();
            files.push((module, fs::read_to_string(path).expect("UTF-8 source")));
        });
        Self::of(files)
    }

    /// Of modules (`a/b`) and their texts.
    pub(super) fn of(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut texts = BTreeMap::new();
        let mut tests = BTreeSet::new();
        for (name, text) in files {
            let module: Vec<String> = name.split('/').filter(|part| *part != "lib").map(str::to_owned).collect();
            let (code, of_tests) = without_tests(&text);
            let folder = module.split_last().map_or(&[][..], |(_, folder)| folder);
            for test in of_tests {
                // a module of tests lies below its file, or where an attribute says: beside it
                tests.extend([[&module[..], std::slice::from_ref(&test)].concat(), [folder, &[test]].concat()]);
            }
            texts.insert(module, (name, code));
        }
        texts.retain(|module, _| !(1..=module.len()).any(|end| tests.contains(&module[..end])));
        let exports = exports(&texts);
        let modules: BTreeSet<Vec<String>> = texts.keys().cloned().collect();
        let sources = texts.iter().map(|(module, (name, code))| {
            let used = paths(code).into_iter().filter_map(|path| absolute(module, &path));
            let used = used.map(|path| follow(&path, &exports, &modules)).collect();
            let hidden = HIDING.into_iter().filter(|text| code.contains(text));
            let hidden = hidden.chain(hidden_uses(code)).chain(goes_beyond(module, code)).collect();
            Source { path: name.into(), module: module.clone(), used, hidden }
        });
        Self { sources: sources.collect(), modules }
    }

    /// Modules that have others in them.
    pub(super) fn folders(&self) -> BTreeSet<Vec<String>> {
        self.modules.iter().filter_map(|module| Some(module.split_last()?.1.to_vec())).collect()
    }
}

type Texts = BTreeMap<Vec<String>, (String, String)>;
/// Of a module the names that it exports again, and the child that they are from.
type Exports = BTreeMap<Vec<String>, BTreeMap<String, String>>;

fn exports(texts: &Texts) -> Exports {
    let mut found = Exports::new();
    for (module, (_, code)) in texts {
        let names = found.entry(module.clone()).or_default();
        for (at, _) in code.match_indices("use ") {
            let before = code[..at].trim_end();
            if !(before.ends_with("pub") || before.ends_with(')')) {
                continue;
            }
            for path in tree(&code[at + 4..]) {
                let path: Vec<&String> = path.iter().skip_while(|part| *part == "self").collect();
                if let (Some(child), Some(name)) = (path.first(), path.last()) {
                    names.insert((*name).clone(), (*child).clone());
                }
            }
        }
    }
    found
}

/// `a::Thing` that `a` has from its child `two` is `a::two::Thing`.
fn follow(path: &[String], exports: &Exports, modules: &BTreeSet<Vec<String>>) -> Vec<String> {
    let depth = (0..path.len()).rev().find(|end| modules.contains(&path[..*end])).unwrap_or(0);
    let (module, name) = (&path[..depth], path.get(depth));
    let child = name.and_then(|name| exports.get(module)?.get(name));
    let Some(child) = child.filter(|_| !modules.contains(path)) else { return path.to_vec() };
    [module, std::slice::from_ref(child), &path[depth..]].concat()
}

fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let rest: Vec<String> =
        path.iter().filter(|part| !matches!(part.as_str(), "crate" | "self" | "super")).cloned().collect();
    match path.first()?.as_str() {
        "crate" => Some(rest),
        _ => Some([module.get(..module.len().checked_sub(ups)?)?, &rest].concat()),
    }
}

/// `use` with another name of what it begins with, and with all names of a module above.
fn hidden_uses(code: &str) -> impl Iterator<Item = &'static str> {
    let items = code.match_indices("use ").filter_map(|(at, _)| code[at + 4..].split(';').next());
    items.filter_map(|item| {
        let item: String = item.split_whitespace().collect::<Vec<_>>().join(" ");
        let up = item.trim_start_matches("super::");
        if item.contains("self as ") {
            Some("self as")
        } else {
            (up.len() < item.len() && up.starts_with('*')).then_some("super::*")
        }
    })
}

/// `super` above the root: in a module within a file.
fn goes_beyond(module: &[String], code: &str) -> Option<&'static str> {
    let ups = |path: Vec<String>| path.iter().take_while(|part| *part == "super").count();
    paths(code).into_iter().map(ups).any(|ups| ups > module.len()).then_some("super beyond the root")
}

/// All paths of a text that begin with `crate`, `super` or `self`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                found.extend(tree(&code[at..]));
            }
        }
    }
    found
}

/// The paths of `a::{b, c::{D, E}}` at the beginning of a text.
fn tree(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    branch(text, &mut Vec::new(), &mut found);
    found
}

/// What is left of the text behind the tree.
fn branch<'a>(text: &'a str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let before = prefix.len();
    let mut rest = text.trim_start();
    loop {
        if let Some(mut group) = rest.strip_prefix('{') {
            while !group.trim_start().starts_with('}') && !group.trim_start().is_empty() {
                group = branch(group, prefix, found).trim_start();
                group = group.strip_prefix(',').unwrap_or(group);
            }
            rest = group.trim_start().strip_prefix('}').unwrap_or("");
            break;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        prefix.push(rest[..end].to_owned());
        rest = &rest[end..];
        if let Some(next) = rest.strip_prefix("::") {
            rest = next.trim_start();
            continue;
        }
        found.push(prefix.clone());
        // `as other`, `*` and the like
        rest = &rest[rest.find([',', '}', ';', '\n', '(', ')', '<', '>', '.', '{']).unwrap_or(rest.len())..];
        break;
    }
    prefix.truncate(before);
    rest
}

/// The text without items for tests alone, and the names of their modules.
fn without_tests(text: &str) -> (String, Vec<String>) {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let (mut code, mut modules) = (code(text), Vec::new());
    while let Some(start) = code.find(ATTRIBUTE) {
        let item = &code[start + ATTRIBUTE.len()..];
        let length = item_length(item);
        let declared =
            item[..length].trim_end_matches(';').rsplit("mod ").next().filter(|_| item[..length].ends_with(';'));
        modules.extend(declared.map(|name| name.trim().to_owned()));
        // `#[path = "x.rs"]` is a text, which the code does not have any more
        let original = &text[start..start + ATTRIBUTE.len() + length];
        modules.extend(original.split('"').nth(1).and_then(|name| name.strip_suffix(".rs")).map(str::to_owned));
        let end = start + ATTRIBUTE.len() + length;
        code.replace_range(start..end, &" ".repeat(end - start));
    }
    (code, modules)
}

/// Up to the `;` or `}` that ends an item, or the `,` or bracket that ends a field or an arm.
fn item_length(item: &str) -> usize {
    let mut depth = 0_i32;
    let begin = item.trim_start();
    let begin = begin.strip_prefix("pub").map_or(begin, |rest| rest.trim_start());
    let begin =
        if begin.starts_with('(') { begin.split_once(')').map_or(begin, |(_, rest)| rest.trim_start()) } else { begin };
    let word = begin.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_item = ITEMS.contains(&word) || begin.starts_with('#');
    for (at, c) in item.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if !is_item && (depth < 0 || depth == 0 && c == ',') {
            return at;
        }
        if depth == 0 && (c == ';' || c == '}') {
            return at + 1;
        }
    }
    item.len()
}

/// The same text with spaces for comments and for the texts in it; each byte stays in its place.
pub(super) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = skipped(rest, out.chars().next_back());
        if length == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        out.extend(rest[..length].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = &rest[length..];
    }
    out
}

/// Bytes of a comment or text that begins here; 0: none does.
fn skipped(rest: &str, before: Option<char>) -> usize {
    let up_to = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return up_to("*/", 2);
    }
    let raw = rest.strip_prefix('b').unwrap_or(rest);
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if let (Some(hashes), false) = (raw.strip_prefix('r'), in_name) {
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        if hashes[count..].starts_with('"') {
            let from = rest.len() - hashes.len() + count + 1;
            return up_to(&format!("\"{}", "#".repeat(count)), from);
        }
    }
    match rest.as_bytes() {
        [b'"', ..] => text_length(rest),
        // a character, not a lifetime
        [b'\'', b'\\', ..] => up_to("'", 3),
        [b'\'', ..] if rest.chars().nth(2) == Some('\'') => rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at),
        _ => 0,
    }
}

fn text_length(rest: &str) -> usize {
    let mut escaped = true;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

pub(super) fn visit(folder: &Path, f: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).expect("readable source folder") {
        let path = entry.expect("readable entry").path();
        if path.is_dir() {
            visit(&path, f);
        } else if path.extension().is_some_and(|e| e == "rs") {
            f(&path);
        }
    }
}
