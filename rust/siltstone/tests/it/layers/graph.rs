//! Circles of a graph.

use std::collections::{BTreeMap, BTreeSet};

/// Who uses whom.
pub(super) type Edges = BTreeMap<String, BTreeSet<String>>;

/// The largest groups in which everybody reaches everybody, of two or more.
pub(super) fn circles(edges: &Edges) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|name| (name.as_str(), reach(edges, name))).collect();
    let reaches = |a: &str, b: &str| reached.get(a).is_some_and(|reached| reached.contains(b));
    let mut found = BTreeSet::new();
    for name in edges.keys() {
        let group: Vec<String> =
            edges.keys().filter(|other| reaches(name, other) && reaches(other, name)).cloned().collect();
        if group.len() > 1 {
            found.insert(group);
        }
    }
    found.into_iter().collect()
}

fn reach<'a>(edges: &'a Edges, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(name) = open.pop() {
        for next in edges.get(name).into_iter().flatten() {
            if found.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    found
}
