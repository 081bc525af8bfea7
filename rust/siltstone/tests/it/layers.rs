//! The order of the layers, and no circles.
//!
//! `src/lib.rs` has the order: a module uses only modules above it, and those of one group do not see each other.
//! ARCHITECTURE.md draws the same order. A new edge that points upwards fails here, and the fix is either to move code or to
//! change the order in the same review.

mod graph;
mod source;
mod twins;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use graph::{Edges, circles};
use source::{Crate, Source, code};

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn binding() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../siltstone-py/src")
}

/// Groups of modules in the order of `lib.rs`.
fn order() -> Vec<BTreeSet<String>> {
    let text = fs::read_to_string(src().join("lib.rs")).expect("lib.rs");
    let mut groups = vec![BTreeSet::new()];
    for line in text.lines() {
        let declared = line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod "));
        match (declared.and_then(|rest| rest.strip_suffix(';')), groups.last_mut()) {
            (Some(name), Some(group)) => drop(group.insert(name.to_owned())),
            _ => groups.push(BTreeSet::new()),
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[test]
fn modules_use_only_modules_above_them() {
    let wrong = upward(&order(), &Crate::read(&src()).sources);
    assert!(wrong.is_empty(), "upward edges:\n{}", wrong.join("\n"));
}

fn upward(order: &[BTreeSet<String>], sources: &[Source]) -> Vec<String> {
    let rank = |name: &str| order.iter().position(|group| group.contains(name));
    let mut wrong = Vec::new();
    for source in sources {
        let Some(user) = source.module.first() else { continue };
        let at = rank(user).unwrap_or_else(|| panic!("`{user}` has no place in lib.rs"));
        for used in &source.used {
            let Some(name) = used.first().filter(|name| *name != user) else { continue };
            if rank(name).is_some_and(|other| other >= at) {
                wrong.push(format!("{} uses `{}`", source.path.display(), used.join("::")));
            }
        }
    }
    wrong
}

/// The second column of the table of layers, whose groups are apart by dots.
#[test]
fn the_architecture_draws_the_same_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let rows = text.lines().skip_while(|line| !line.starts_with("| Layer |")).skip(2);
    let cells = rows.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(2));
    let drawn: Vec<BTreeSet<String>> = cells
        .flat_map(|cell| cell.split('·'))
        .map(|group| group.split('`').skip(1).step_by(2).map(str::to_owned).collect())
        .collect();
    assert_eq!(drawn, order(), "ARCHITECTURE.md and src/lib.rs have one order");
}

#[test]
fn no_folders_beside_each_other_use_each_other_in_a_circle() {
    let found = Crate::read(&src()).circles(|module, folders| folders.contains(module));
    assert!(found.is_empty(), "circles of folders:\n{found:#?}");
}

/// The binding crate has one file a noun and no order of them.
#[test]
fn no_files_of_the_binding_use_each_other_in_a_circle() {
    let found = Crate::read(&binding()).circles(|_, _| true);
    assert!(found.is_empty(), "circles of files:\n{found:#?}");
}

#[test]
fn no_path_is_hidden_from_these_rules() {
    let sources = [src(), binding()].into_iter().flat_map(|folder| Crate::read(&folder).sources);
    let hidden: Vec<_> = sources.filter(|source| !source.hidden.is_empty()).collect();
    let named: Vec<_> = hidden.iter().map(|source| (&source.path, &source.hidden)).collect();
    assert!(named.is_empty(), "paths that nobody can follow:\n{named:#?}");
}

#[test]
fn no_circle_inside_a_folder_has_more_than_three_files() {
    let found = Crate::read(&src()).circles(|_, _| true);
    let large: Vec<_> = found.into_iter().filter(|(_, circle)| circle.len() > 3).collect();
    assert!(large.is_empty(), "circles of more than three files:\n{large:#?}");
}

impl Crate {
    /// Circles among the children of each folder that `counts`, with the folder.
    fn circles(&self, counts: impl Fn(&[String], &BTreeSet<Vec<String>>) -> bool) -> Vec<(String, Vec<String>)> {
        let folders = self.folders();
        let mut found = Vec::new();
        for folder in &folders {
            let depth = folder.len();
            let child = |path: &[String]| {
                let child = path.get(..=depth).filter(|child| child.starts_with(folder))?;
                (self.modules.contains(child) && counts(child, &folders)).then(|| child[depth].clone())
            };
            let mut edges = Edges::new();
            for source in &self.sources {
                let Some(user) = child(&source.module) else { continue };
                for used in source.used.iter().filter_map(|used| child(used)).filter(|used| *used != user) {
                    edges.entry(user.clone()).or_default().insert(used);
                }
            }
            found.extend(circles(&edges).into_iter().map(|circle| (folder.join("/"), circle)));
        }
        found
    }
}

/// The rules see what is written behind tests, in groups, through `super` and through what a folder exports again.
mod the_rules_see {
    use super::*;

    fn source(module: &str, text: &str) -> (String, String) {
        (module.to_owned(), text.to_owned())
    }

    #[test]
    fn an_upward_edge_behind_a_test_module() {
        let text =
            "#[cfg(test)]\nmod tests { use crate::high::X; }\n// crate::high::Y\nfn f() { crate::high::g(\"'\") }\n";
        let sources = Crate::of([source("low", text), source("high", "")]).sources;
        let order = ["low", "high"].map(|name| BTreeSet::from([name.to_owned()]));
        assert_eq!(upward(&order, &sources), ["low uses `high::g`"]);
    }

    #[test]
    fn a_circle_of_folders_through_super_and_exports() {
        let files = [
            source("a", "pub use two::Thing;\nmod one; mod two;"),
            source("a/one", "use super::super::{b::X, a::{Thing, other}};"),
            source("a/one/deep", ""),
            source("a/two", "use crate::a::one::{self, Y};"),
            source("a/two/deep", ""),
        ];
        let found = Crate::of(files).circles(|module, folders| folders.contains(module));
        assert_eq!(found, [("a".to_owned(), vec!["one".to_owned(), "two".to_owned()])]);
    }

    #[test]
    fn paths_that_cannot_be_followed() {
        let hides = |text: &str| !Crate::of([source("a", text)]).sources[0].hidden.is_empty();
        assert!(hides("use crate as root; fn f() { root::b::g() }"));
        assert!(hides("use crate::*; fn f() { b::g() }"));
        assert!(hides("macro_rules! at { ($m:ident) => { crate::$m::g() } }"));
        assert!(hides("use crate::{b::g, self as root}; fn f() { root::c::g() }"));
        assert!(hides("use super::{\n    self as root,\n};"));
        assert!(hides("use super::*; fn f() { b::g() }"));
        assert!(hides("extern crate self as own;"));
        assert!(hides("mod inner { use super::super::b::g; }"));
        assert!(!hides("use crate::b::g; // use crate::*"));
        assert!(!hides("fn f(self) -> i8 { self as i8 }"));
    }

    #[test]
    fn an_upward_edge_behind_a_field_or_an_arm_of_tests() {
        for text in [
            "struct A { #[cfg(test)] probe: u32, other: u32 } fn f() { crate::high::g() }",
            "struct A { #[cfg(test)] pub(crate) probe: u32 } fn f() { crate::high::g() }",
            "fn f(x: u32) { match x { #[cfg(test)] Some(7) => 7, _ => crate::high::g() } }",
            "#[cfg(test)] pub(super) fn t<A, B>(a: A) { crate::none::g() } fn f() { crate::high::g() }",
        ] {
            let sources = Crate::of([source("low", text), source("high", "")]).sources;
            let order = ["low", "high"].map(|name| BTreeSet::from([name.to_owned()]));
            assert_eq!(upward(&order, &sources), ["low uses `high::g`"], "{text}");
        }
    }

    #[test]
    fn no_comment_and_no_text() {
        assert_eq!(code("a // crate::b\n'\"' \"crate::c\" r#\"crate::d\"# 'x e").replace(' ', ""), "a\n'xe");
    }
}
