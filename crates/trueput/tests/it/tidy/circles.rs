//! Circles of modules: modules of one crate that use each other, directly or through others.
//!
//! A module is a file. It uses what its paths from `crate`, `super`, `self` or a module that it
//! declares lead to, unit tests aside. A path that ends at a re-export leads to where the item is
//! declared. A module that names an item below it does not count, unless its path begins with
//! `crate` or `self`: a file may be divided into files below it.

use std::collections::{BTreeMap, BTreeSet};

/// The modules of a crate with the modules that each uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The code of each module.
type Codes = BTreeMap<String, String>;

/// What each module imports: names, and paths from the crate's root.
type Imports = BTreeMap<String, Vec<(String, String)>>;

/// Returns the circles of a crate, from the text of each file by its path below `src`.
pub fn circles(files: &BTreeMap<&str, &str>) -> Vec<String> {
    let named = files.iter().map(|(path, text)| (module(path), code(text)));
    let codes: Codes = named.collect();
    let imported = codes.iter();
    let imported: Imports = imported
        .map(|(module, code)| (module.clone(), imports(module, code)))
        .collect();
    let uses: Uses = codes
        .iter()
        .map(|(module, code)| (module.clone(), used(module, code, &codes, &imported)))
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
    path.trim_end_matches(".rs").replace('/', "::")
}

/// The code of a text without unit tests and comments.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join(" ")
}

/// The names that a module imports, with what they stand for: a path from the crate's root.
/// A glob is imported under the name `*`.
fn imports(module: &str, code: &str) -> Vec<(String, String)> {
    let mut imports = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        for path in expand(code[at..].trim_start_matches("use ").trim_start()) {
            let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
            let path = path.trim_end_matches("::self");
            let Some(target) = from_root(module, path, code) else {
                continue;
            };
            let name = if alias.is_empty() { path } else { alias };
            let name = name.rsplit("::").next().unwrap_or_default();
            imports.push((name.trim().to_owned(), target));
        }
    }
    imports
}

/// A path in `module`, from the crate's root; `None`: it leads to another crate.
fn from_root(module: &str, path: &str, code: &str) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|name| *name != "lib").collect();
    let first = path.split("::").next().unwrap_or_default();
    let is_declared = || code.contains(&format!("mod {first};"));
    if !["crate", "super", "self"].contains(&first) && !is_declared() {
        return None;
    }
    for segment in path.split("::") {
        match segment {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            name => at.push(name),
        }
    }
    Some(at.join("::"))
}

/// The modules that a module's code names: by a path from `crate`, `super` or `self`, or from a
/// module that it imports.
fn used(module: &str, code: &str, codes: &Codes, imported: &Imports) -> BTreeSet<String> {
    let imports = imported[module].iter();
    let below = format!("{module}::");
    let starts = imports.filter(|(name, target)| !name.is_empty() && !target.starts_with(&below));
    let starts = starts.map(|(name, target)| (name.as_str(), format!("crate::{target}")));
    let own = ["crate", "super", "self"].map(|start| (start, start.to_owned()));
    let mut used = BTreeSet::new();
    for (start, stands_for) in own.into_iter().chain(starts) {
        for (at, _) in code.match_indices(&format!("{start}::")) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            for path in expand(&code[at..]) {
                let path = path.split(" as ").next().unwrap_or_default();
                let path = path.replacen(start, &stands_for, 1);
                let target = from_root(module, &path, code);
                used.extend(target.and_then(|target| resolve(&target, codes, imported)));
            }
        }
    }
    used.remove(module);
    used
}

/// The paths of a use tree such as `crate::a::{b, c::D}`, each with its ` as NAME`.
fn expand(tree: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = tree.find(|c: char| !is_name(c) && c != ':' && c != '*');
    let (path, rest) = tree.split_at(end.unwrap_or(tree.len()));
    let (Some(rest), true) = (rest.strip_prefix('{'), path.ends_with("::")) else {
        let alias = rest.strip_prefix(" as ").map(|rest| {
            let end = rest.find(|c: char| !is_name(c));
            format!(" as {}", &rest[..end.unwrap_or(rest.len())])
        });
        return vec![format!("{path}{}", alias.unwrap_or_default())];
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

/// The module that declares what a path from the crate's root leads to; `None`: the root itself.
fn resolve(path: &str, codes: &Codes, imported: &Imports) -> Option<String> {
    let mut path = path.to_owned();
    // A chain of re-exports is short; a longer one is one that imports itself.
    for _ in 0..8 {
        let names: Vec<&str> = path.split("::").collect();
        let prefixes = (1..=names.len()).rev();
        let mut known = prefixes.map(|count| (names[..count].join("::"), &names[count..]));
        let found = known.find(|(prefix, _)| codes.contains_key(prefix));
        let (module, rest) = found.unwrap_or_else(|| ("lib".to_owned(), &names));
        let next = rest
            .split_first()
            .and_then(|(name, rest)| exported(&module, name, rest, codes, imported));
        let Some(next) = next else {
            return (module != "lib").then_some(module);
        };
        path = next;
    }
    None
}

/// The path for which a name in a module stands, with the rest of the path after it; `None`: the
/// module declares it.
fn exported(
    module: &str,
    name: &str,
    rest: &[&str],
    codes: &Codes,
    imported: &Imports,
) -> Option<String> {
    let imports = imported.get(module)?;
    let whole = |target: &str| [&[target], rest].concat().join("::");
    if let Some((_, target)) = imports.iter().find(|(own, _)| own == name) {
        return Some(whole(target));
    }
    let mut globs = imports
        .iter()
        .filter_map(|(_, target)| target.strip_suffix("::*"));
    let declares = |code: &String| {
        let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static"];
        kinds.iter().any(|kind| {
            let declared = format!("{kind} {name}");
            let ends =
                |at: usize| !code[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let mut found = code.match_indices(&declared);
            found.any(|(at, _)| ends(at + declared.len()))
        })
    };
    let glob = globs.find(|glob| codes.get(*glob).is_some_and(declares))?;
    Some(whole(&format!("{glob}::{name}")))
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
        ("b.rs", "mod c; pub struct D;\nuse super::e::E;"),
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

#[test]
fn a_re_export_hides_no_circle_and_makes_none() {
    let hidden = |root, parent| {
        BTreeMap::from([
            ("lib.rs", root),
            ("a.rs", parent),
            (
                "a/part.rs",
                "use crate::b::B;\npub struct A;\npub fn f() {}",
            ),
            ("b.rs", "use crate::a::f;\npub struct B;"),
        ])
    };
    for parent in [
        "mod part;\npub(crate) use part::{A, f};",
        "mod part;\npub use self::part::g as f;",
        "mod part;\npub use part::*;",
    ] {
        assert_eq!(circles(&hidden("mod a;\nmod b;", parent)), ["a::part, b"]);
    }
    let mut of_root = hidden("mod a;\nmod b;\npub use a::part::A;", "pub mod part;");
    of_root.insert("b.rs", "fn f() -> crate::A {}\npub struct B;");
    assert_eq!(circles(&of_root), ["a::part, b"]);
    // A module that is imported, and named before the item.
    of_root.insert(
        "b.rs",
        "use crate::{a, C};\nfn g() { a::part::f(C) }\npub struct B;",
    );
    assert_eq!(circles(&of_root), ["a::part, b"]);
    // The control: the parent passes on what a third module declares.
    of_root.insert("a.rs", "mod part;\npub use crate::c::f;");
    of_root.insert("b.rs", "use crate::a::f;\npub struct B;");
    of_root.insert("c.rs", "pub fn f() {}");
    assert!(circles(&of_root).is_empty(), "{:?}", circles(&of_root));
}
