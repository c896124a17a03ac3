//! The rooms of docs/DESIGN, and who may import whom: this reads the paths in the sources and fails
//! on an edge that is not in the table, so that the picture stays true.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shows where it stood")]

mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use scan::{Path as CodePath, Source};

/// What a room of the tool may import; `*` is every room.
const TOOL: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("cli", &["*"]),
    ("plan", &["model"]),
    ("advice", &["model"]),
    ("host", &["model"]),
    ("treat", &["model"]),
    ("ph", &["model", "treat"]),
    ("workload", &["model"]),
    ("stats", &[]),
    ("estimate", &["model", "stats"]),
    ("run", &["model", "plan", "host", "treat", "workload", "estimate", "advice", "stats"]),
    ("store", &["model", "stats"]),
    ("study", &["model", "stats"]),
    ("report", &["model", "estimate", "advice", "study", "stats"]),
];

/// What a room of the worker may import. `main` is main.rs, lib.rs and supervise/.
const WORKER: &[(&str, &[&str])] = &[
    ("main", &["*"]),
    ("sys", &["model"]),
    ("bench", &["model", "sys"]),
    ("facts", &["model", "sys"]),
    ("treat", &["model", "sys"]),
    // The design's table leaves out the model: but the catalog hands itself over as its plain data.
    ("catalog", &["bench", "sys", "model"]),
    ("engine", &["bench", "model", "sys"]),
];

/// One import: from a room to a room, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    at: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every Rust file below `folder`, in order.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file's module below the crate's root: `["estimate", "row"]`; none for lib.rs and main.rs.
fn module_of(source_root: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source_root).unwrap().with_extension("");
    let mut module: Vec<String> =
        inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// The room that a module belongs to.
fn room(crate_name: &str, module: &[String]) -> String {
    match (crate_name, module.first().map(String::as_str)) {
        (_, None) | ("oscost_worker", Some("supervise")) => "main".to_owned(),
        (_, Some(room)) => room.to_owned(),
    }
}

/// Where the paths of a file lead, out of its own room. `crate_name` is the crate it belongs to.
fn edges(crate_name: &str, module: &[String], text: &str, at: &str) -> BTreeSet<Edge> {
    let from = room(crate_name, module);
    let source = Source::of(text);
    let mut edges = BTreeSet::new();
    for CodePath { words, inside } in source.paths() {
        let here = [module, &inside[..]].concat();
        let mut target = match words[0].as_str() {
            "crate" => Vec::new(),
            "self" | "super" => here.clone(),
            "oscost_model" => {
                edges.insert(Edge { from: from.clone(), to: "model".into(), at: at.into() });
                continue;
            }
            own if own == crate_name => Vec::new(),
            other @ ("oscost" | "oscost_worker") => {
                let to = format!("the crate {other}");
                edges.insert(Edge { from: from.clone(), to, at: at.into() });
                continue;
            }
            _ => continue, // The standard library, another crate, or a name of this module.
        };
        for word in &words {
            match word.as_str() {
                "super" => drop(target.pop()),
                "crate" | "self" => {}
                word if word == crate_name => {}
                word => {
                    target.push(word.to_owned());
                    break; // One word below a module is as far as its room hangs on.
                }
            }
        }
        if target.is_empty() {
            continue; // `use super::*` at the root of the crate, or the root itself.
        }
        let to = room(crate_name, &target);
        if to != from {
            edges.insert(Edge { from: from.clone(), to, at: at.into() });
        }
    }
    edges
}

/// All edges of a crate's sources.
fn edges_of_crate(folder: &str, crate_name: &str) -> BTreeSet<Edge> {
    let root = workspace().join(folder).join("src");
    let files = rust_files(&root);
    assert!(files.len() > 5, "{} has no sources", root.display());
    let mut all = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let at = file.strip_prefix(workspace()).unwrap().display().to_string();
        let module = module_of(&root, &file);
        if !is_test(&module) {
            all.extend(edges(crate_name, &module, &text, &at));
        }
    }
    all
}

/// Whether a module is nothing but tests: `#[cfg(test)] mod tests;`.
fn is_test(module: &[String]) -> bool {
    module.iter().any(|part| part == "tests")
}

/// The edges that the table does not have, as lines.
fn forbidden(edges: &BTreeSet<Edge>, table: &[(&str, &[&str])]) -> Vec<String> {
    let table: BTreeMap<_, _> = table.iter().copied().collect();
    let allowed = |edge: &Edge| {
        let targets = table.get(edge.from.as_str());
        targets.is_some_and(|to| to.iter().any(|&to| to == edge.to || to == "*"))
    };
    edges
        .iter()
        .filter(|edge| !allowed(edge))
        .map(|Edge { from, to, at }| format!("{at}: `{from}` may not import `{to}`"))
        .collect()
}

#[test]
fn the_rooms_of_the_tool_import_only_what_the_table_allows() {
    let edges = edges_of_crate("crates/oscost", "oscost");
    assert!(edges.len() > 20, "the checker sees next to nothing: {edges:?}");
    assert_eq!(forbidden(&edges, TOOL), Vec::<String>::new());
}

#[test]
fn the_rooms_of_the_worker_import_only_what_the_table_allows() {
    let edges = edges_of_crate("crates/worker", "oscost_worker");
    assert!(edges.len() > 15, "the checker sees next to nothing: {edges:?}");
    assert_eq!(forbidden(&edges, WORKER), Vec::<String>::new());
    let meet = |from: &str, to: &str| edges.iter().any(|edge| edge.from == from && edge.to == to);
    assert!(!meet("engine", "catalog") && !meet("catalog", "engine"), "engine and catalog meet");
}

#[test]
fn the_model_imports_nothing_of_ours_and_does_no_input_or_output() {
    let root = workspace().join("crates/model/src");
    for file in rust_files(&root) {
        let text = fs::read_to_string(&file).unwrap();
        let source = Source::of(&text);
        for word in ["oscost", "oscost_worker", "fs", "File", "Command", "stdout", "stderr"] {
            assert!(!source.has_word(word), "{} knows `{word}`", file.display());
        }
    }
}

#[test]
fn every_room_has_its_line_in_the_table() {
    for (folder, crate_name, table) in
        [("crates/oscost", "oscost", TOOL), ("crates/worker", "oscost_worker", WORKER)]
    {
        let root = workspace().join(folder).join("src");
        for file in rust_files(&root) {
            let room = room(crate_name, &module_of(&root, &file));
            assert!(table.iter().any(|(name, _)| *name == room), "no line for `{room}`");
        }
    }
}

#[test]
fn unsafe_stands_only_in_the_room_that_touches_the_kernel() {
    let root = workspace();
    let home = root.join("crates/worker/src/sys");
    let mut at_home = 0;
    for member in ["model", "worker", "oscost"] {
        for file in rust_files(&root.join("crates").join(member).join("src")) {
            let source = fs::read_to_string(&file).unwrap();
            if !Source::of(&source).has_word("unsafe") {
                continue;
            }
            assert!(file.starts_with(&home), "`unsafe` in {}", file.display());
            at_home += 1;
        }
    }
    assert!(at_home > 0, "the checker sees no `unsafe` at all");
}

#[test]
fn the_tool_never_links_the_worker() {
    let root = workspace().join("crates/oscost/src");
    for file in rust_files(&root).iter().filter(|file| !is_test(&module_of(&root, file))) {
        let text = fs::read_to_string(file).unwrap();
        assert!(
            !Source::of(&text).has_word("oscost_worker"),
            "{} links the worker",
            file.display()
        );
    }
    let manifest = fs::read_to_string(workspace().join("crates/oscost/Cargo.toml")).unwrap();
    let tests = manifest.find("[dev-dependencies]").unwrap();
    let worker = manifest.find("oscost-worker").unwrap();
    assert!(worker > tests, "the worker is a dependency of the tool itself");
}

#[test]
fn made_up_edges_are_found_wherever_they_hide() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let found = |of: &str, text: &str| {
        let edges = edges("oscost", &module(of), text, "made-up.rs");
        forbidden(&edges, TOOL)
    };
    let nothing: Vec<String> = Vec::new();
    for (of, text, edge) in [
        ("stats::order", "use crate::report::table;", "`stats` may not import `report`"),
        ("stats::order", "use oscost_model::unit::Unit;", "`stats` may not import `model`"),
        ("stats", "use super::report;", "`stats` may not import `report`"),
        ("stats::order", "use super::super::report;", "`stats` may not import `report`"),
        ("plan", "use crate::{run, plan::{select, rows}};", "`plan` may not import `run`"),
        ("plan", "use crate::{self, stats::{order, robust}};", "`plan` may not import `stats`"),
        ("plan", "use {std::fs, crate::run::{self}};", "`plan` may not import `run`"),
        ("report", "fn f() { crate::run::run(); }", "`report` may not import `run`"),
        ("report::table", "pub(in crate::report) use crate::cli as x;", "may not import `cli`"),
        ("host", "mod a { mod b { use super::super::super::plan; } }", "may not import `plan`"),
        ("host", "type T = Vec<crate::store::Store>;", "`reach` may not import `store`"),
        ("run", "use oscost_worker::engine;", "may not import `the crate oscost_worker`"),
        ("advice", "/* */ use /* */ crate /* */ :: // \n run::run;", "may not import `run`"),
        ("kitchen", "use crate::plan;", "`kitchen` may not import `plan`"),
    ] {
        let told = found(of, text);
        assert!(told.len() == 1 && told[0].contains(edge), "{of}: {text}: {told:?}");
    }
    for (of, text) in [
        ("cli::run", "use crate::{plan, run, stats}; use oscost_model::record::Record;"),
        ("run", "use crate::estimate::{self, Assembler}; use super::reach::{Session};"),
        ("stats::order", "use super::robust::{self, median}; use oscost_stats::line;"),
        ("stats", "pub(super) fn f() {} pub(crate) struct S; mod a { use super::order; }"),
        ("stats", "// use crate::run;\n/// [`crate::run`]\n/* crate::run */ fn f() {}"),
        ("stats", r##"const S: &str = "crate::run"; const R: &str = r#"crate::"run"#;"##),
        ("stats", "fn f() {}\n#[cfg(test)]\nmod tests { use crate::run; }"),
        ("stats", "const C: char = '\"'; fn f<'a>(x: &'a str) -> &'a str { x } // crate::run"),
    ] {
        assert_eq!(found(of, text), nothing, "{of}: {text}");
    }
    assert!(Source::of("fn f() { unsafe { g() } }").has_word("unsafe"));
    assert!(!Source::of("#![deny(unsafe_code)] // unsafe\n").has_word("unsafe"));
}
