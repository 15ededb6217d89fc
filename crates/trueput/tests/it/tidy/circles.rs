//! Circles of modules: modules of one crate that use each other, directly or through others.
//!
//! A module is a file. It uses what its paths from `crate`, `super` or `self` on name, unit tests
//! aside. A module that names an item below it without such a path does not count: a file may be
//! divided into files below it.

use std::collections::{BTreeMap, BTreeSet};

/// The modules of a crate with the modules that each uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Returns the circles of a crate, from the text of each file by its path below `src`.
pub fn circles(files: &BTreeMap<&str, &str>) -> Vec<String> {
    let named = files.iter().map(|(path, text)| (module(path), *text));
    let texts: BTreeMap<String, &str> = named.collect();
    let uses: Uses = texts
        .iter()
        .map(|(module, text)| (module.clone(), used(module, text, &texts)))
        .collect();
    let reached: Uses = uses
        .keys()
        .map(|module| (module.clone(), reach(module, &uses)))
        .collect();
    let circle = |module: &String| {
        let members = reached[module]
            .iter()
            .filter(|other| reached[*other].contains(module));
        members.map(String::as_str).collect::<Vec<_>>()
    };
    let circles: BTreeSet<_> = reached.keys().map(circle).collect();
    let circles = circles.iter().filter(|members| !members.is_empty());
    circles.map(|members| members.join(", ")).collect()
}

fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs");
    path.trim_end_matches("/mod").replace('/', "::")
}

/// The modules that a module's text names.
fn used(module: &str, text: &str, modules: &BTreeMap<String, &str>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join(" ");
    let mut used = BTreeSet::new();
    for start in ["crate", "super", "self"] {
        for (at, _) in code.match_indices(&format!("{start}::")) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            for path in expand(&code[at..]) {
                used.extend(resolve(module, &path, modules));
            }
        }
    }
    used.remove(module);
    used
}

/// The paths of a use tree such as `crate::a::{b, c::D}`.
fn expand(tree: &str) -> Vec<String> {
    let end = tree.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let (path, rest) = tree.split_at(end.unwrap_or(tree.len()));
    let (Some(rest), true) = (rest.strip_prefix('{'), path.ends_with("::")) else {
        return vec![path.to_owned()];
    };
    let (mut depth, mut first, mut paths) = (0, 0, Vec::new());
    for (at, letter) in rest.char_indices() {
        let is_end = depth == 0 && matches!(letter, ',' | '}');
        if is_end {
            let branches = expand(rest[first..at].trim());
            paths.extend(branches.iter().map(|branch| format!("{path}{branch}")));
            first = at + 1;
        }
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
    }
    paths
}

/// The module that a path in `module` leads to; `None`: an item of the crate's root.
fn resolve(module: &str, path: &str, modules: &BTreeMap<String, &str>) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").collect();
    for segment in path.split("::") {
        match segment {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            name => at.push(name),
        }
    }
    let prefixes = (1..=at.len()).rev().map(|count| at[..count].join("::"));
    let mut known = prefixes.filter(|prefix| modules.contains_key(prefix));
    known.next()
}

/// The modules that a module uses directly or through others.
fn reach(module: &str, uses: &Uses) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if reached.insert(used.clone()) {
                next.push(used);
            }
        }
    }
    reached
}

#[test]
fn a_circle_is_found_and_a_tree_is_none() {
    let tree = [
        ("lib.rs", "mod a;\npub use a::A;"),
        ("a.rs", "use crate::{B, b::{c, D}};\n// crate::e\nfn f() {}"),
        ("b/mod.rs", "mod c; pub struct D;\nuse super::e::E;"),
        (
            "b/c.rs",
            "use super::D;\n#[cfg(test)]\nmod tests { use crate::a::A; }",
        ),
        ("e.rs", "pub struct E;"),
    ];
    let mut files = BTreeMap::from(tree);
    assert!(circles(&files).is_empty(), "{:?}", circles(&files));
    files.insert("e.rs", "fn f() { crate::b::c::g() }\nuse super::a::A;");
    assert_eq!(circles(&files), ["a, b, b::c, e"]);
}
