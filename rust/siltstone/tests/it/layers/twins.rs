//! No struct and no argument list says again what another one says: what is asked of a read is declared once and carried.
//!
//! Two may have names in common: a file's entry and its identity, a plan and what it was made of. From six names on it is the
//! same thing twice; from five on when there are three of them. Arguments of the binding's functions count like fields,
//! because they are where requests came to be declared a second and a third time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::source::{code, visit};

/// The most names that two may share.
const BY_TWO: usize = 5;
/// The most names that three may share.
const BY_THREE: usize = 4;

/// Names of fields or arguments.
type Names = BTreeSet<String>;
/// By file and name.
type Lists = BTreeMap<String, Names>;

#[test]
fn no_struct_and_no_argument_list_repeats_another() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut lists = Lists::new();
    for (folder, with_arguments) in [(manifest.join("src"), false), (manifest.join("../siltstone-py/src"), true)] {
        visit(&folder, &mut |path| {
            let text = fs::read_to_string(path).expect("UTF-8 source");
            collect(&path.strip_prefix(manifest).unwrap_or(path).to_string_lossy(), &text, with_arguments, &mut lists);
        });
    }
    assert!(lists.len() > 400, "structs are found: {}", lists.len());
    let found = twins(&lists);
    assert!(found.is_empty(), "declare it once, and carry it:\n{}", found.join("\n"));
}

fn twins(lists: &Lists) -> Vec<String> {
    let common = |a: &Names, b: &Names| a.intersection(b).cloned().collect::<Names>();
    let all: Vec<(&String, &Names)> = lists.iter().filter(|(_, names)| names.len() > BY_THREE).collect();
    let mut found = Vec::new();
    for (at, (first, names)) in all.iter().enumerate() {
        let others = all.iter().skip(at + 1).map(|(second, others)| (second, common(names, others)));
        let others: Vec<_> = others.filter(|(_, shared)| shared.len() > BY_THREE).collect();
        for (i, (second, shared)) in others.iter().enumerate() {
            if shared.len() > BY_TWO {
                found.push(format!("{first} and {second}: {shared:?}"));
            }
            let thirds = others.iter().skip(i + 1).map(|(third, more)| (third, common(shared, more)));
            found.extend(
                thirds
                    .filter(|(_, more)| more.len() > BY_THREE)
                    .map(|(third, more)| format!("{first}, {second} and {third}: {more:?}")),
            );
        }
    }
    found
}

/// The structs of a text, and the argument lists of its functions.
fn collect(file: &str, text: &str, with_arguments: bool, lists: &mut Lists) {
    let code = code(text);
    let mut add = |keyword: &str, open: char| {
        for (at, _) in code.match_indices(keyword) {
            let rest = &code[at + keyword.len()..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let from = name.len() + generics(&rest[name.len()..]);
            let Some(begin) = rest[from..]
                .find([open, ';'])
                .map(|begin| from + begin)
                .filter(|begin| rest[*begin..].starts_with(open))
            else {
                continue;
            };
            if !name.is_empty() && !rest[..begin].contains('}') {
                lists.insert(format!("{file}: {keyword}{name} at {at}"), names(&rest[begin + open.len_utf8()..]));
            }
        }
    };
    add("struct ", '{');
    if with_arguments {
        add("fn ", '(');
    }
}

/// Bytes of `<F: Fn(i32) -> i32>` behind a name; 0: it has none.
fn generics(rest: &str) -> usize {
    let (mut depth, mut before) = (0_usize, ' ');
    for (at, c) in rest.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { at + 1 } else { 0 };
        }
        before = c;
    }
    0
}

/// `name:` at the outermost level, up to the end of the list.
fn names(body: &str) -> Names {
    let (mut found, mut depth, mut word) = (Names::new(), 0_i32, String::new());
    let mut rest = body.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth == 0 => break,
            '}' | ')' | ']' => depth -= 1,
            ':' if rest.peek() == Some(&':') => drop(rest.next()),
            ':' if depth == 0 && !word.is_empty() => drop(found.insert(std::mem::take(&mut word))),
            _ => {}
        }
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else if !c.is_whitespace() || !word.is_empty() {
            word.clear();
        }
    }
    found.remove("py");
    found
}

mod it_sees {
    use super::*;

    fn lists(text: &str) -> Lists {
        let mut lists = Lists::new();
        collect("f", text, true, &mut lists);
        lists
    }

    #[test]
    fn fields_and_arguments() {
        let found = lists(
            "pub struct A<T> { /// x: y\n pub(crate) a: Vec<b::C>, d: fn(e: i32) -> F }\nfn g(py: P, h: &'a str) {}\nstruct B(i32);",
        );
        let expected = [("f: fn g", vec!["h"]), ("f: struct A", vec!["a", "d"])];
        let expected = expected.map(|(name, names)| (name.to_owned(), names.into_iter().map(str::to_owned).collect()));
        let found = found.into_iter().map(|(name, names)| (name.split(" at ").next().unwrap().to_owned(), names));
        assert_eq!(found.collect::<Lists>(), Lists::from(expected));
    }

    #[test]
    fn a_struct_that_is_declared_again_as_arguments() {
        let five = "a: A, b: B, c: C, d: D, e: E";
        assert_eq!(twins(&lists(&format!("struct S {{ {five} }} fn s({five}) {{}}"))), [""; 0]);
        assert_eq!(twins(&lists(&format!("struct S {{ {five}, f: F }} fn s({five}, f: F) {{}}"))).len(), 1);
        let generic = format!("struct S {{ {five}, f: F }} fn s<G: Fn(i32) -> i32>(g: G, {five}, f: F) {{}}");
        assert_eq!(twins(&lists(&generic)).len(), 1);
        let again = format!("struct S {{ {five}, f: F }} fn s({five}, f: F) {{}} mod other {{ fn s() {{}} }}");
        assert_eq!(twins(&lists(&again)).len(), 1);
        assert_eq!(twins(&lists(&format!("struct S {{ {five} }} fn s({five}) {{}} struct T {{ {five} }}"))).len(), 1);
    }
}
