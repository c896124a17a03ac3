//! The structure of docs/explanation/ARCHITECTURE.md, checked against the sources.
//!
//! A room is a crate, or a folder directly below a crate's `src`. The tests read the paths in the
//! sources and fail on an import between rooms that the tables below do not allow, on files that
//! import each other in a circle, and on a page whose table is another one.

#![expect(clippy::unwrap_used, reason = "a failed test shows its location")]

mod circles;
mod page;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use page::{Imports, PageTables};
use source::{Path as CodePath, Source};

/// What each room of the tool may import; `*` is every room.
const TOOL: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("cli", &["app", "report", "model"]),
    (
        "app",
        &[
            "model",
            "stats",
            "plan",
            "run",
            "hosts",
            "treatments",
            "ph",
            "workloads",
            "estimate",
            "advice",
            "studies",
            "store",
            "bill",
            "fleet",
            "counter",
            "files",
            "signals",
        ],
    ),
    ("files", &["signals"]),
    ("signals", &[]),
    ("plan", &["model"]),
    ("advice", &["model"]),
    ("hosts", &["model", "files", "signals"]),
    ("treatments", &["model", "files"]),
    ("ph", &["model", "treatments", "files", "signals"]),
    ("workloads", &["model", "treatments", "files"]),
    ("estimate", &["model", "stats"]),
    ("run", &["model", "stats", "plan", "hosts", "treatments", "workloads", "estimate", "advice"]),
    ("store", &["model", "stats", "files", "signals"]),
    ("studies", &["model", "stats"]),
    ("bill", &["model", "stats"]),
    ("fleet", &["model", "stats"]),
    ("counter", &["model", "ph"]),
    ("report", &["model", "stats", "estimate", "advice", "studies", "fleet"]),
];

/// What each room of the worker may import. `main` is main.rs, lib.rs and supervisor/.
const WORKER: &[(&str, &[&str])] = &[
    ("main", &["*"]),
    ("kernel", &["model"]),
    ("bench", &["model", "kernel"]),
    ("facts", &["model", "kernel"]),
    ("treatments", &["model", "kernel"]),
    ("benchmarks", &["bench", "kernel"]),
    ("engine", &["bench", "kernel", "model"]),
];

/// Crates of ours that any table may name, and the room that each is.
const LIBRARIES: &[(&str, &str)] = &[("oscost_model", "model"), ("oscost_stats", "stats")];

/// An import of one room by another, and the importing file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    file: String,
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

/// The module of a file, below the crate's root: `["estimate", "row"]`; empty for lib.rs and main.rs.
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
        (_, None) | ("oscost_worker", Some("supervisor")) => "main".to_owned(),
        (_, Some(room)) => room.to_owned(),
    }
}

/// The imports of a file from other rooms. `crate_name` is the crate that the file belongs to.
fn edges(crate_name: &str, module: &[String], text: &str, file: &str) -> BTreeSet<Edge> {
    let from = room(crate_name, module);
    let source = Source::of(text);
    let mut edges = BTreeSet::new();
    for CodePath { words, inside, .. } in source.paths() {
        let here = [module, &inside[..]].concat();
        let library = LIBRARIES.iter().find(|(name, _)| *name == words[0]);
        if let Some((_, room)) = library {
            edges.insert(Edge { from: from.clone(), to: (*room).into(), file: file.into() });
            continue;
        }
        let mut target = match words[0].as_str() {
            "crate" => Vec::new(),
            "self" | "super" => here.clone(),
            own if own == crate_name => Vec::new(),
            other @ ("oscost" | "oscost_worker") => {
                let to = format!("the crate {other}");
                edges.insert(Edge { from: from.clone(), to, file: file.into() });
                continue;
            }
            _ => continue, // The standard library, another crate, or a name of this file.
        };
        for word in &words {
            match word.as_str() {
                "super" => drop(target.pop()),
                "crate" | "self" => {}
                word if word == crate_name => {}
                word => {
                    target.push(word.to_owned());
                    break; // The first word below the root names the room.
                }
            }
        }
        if target.is_empty() {
            continue; // The root of the crate.
        }
        let to = room(crate_name, &target);
        if to != from {
            edges.insert(Edge { from: from.clone(), to, file: file.into() });
        }
    }
    edges
}

/// The imports between the rooms of a crate.
fn edges_of_crate(folder: &str, crate_name: &str) -> BTreeSet<Edge> {
    let root = workspace().join(folder).join("src");
    let files = rust_files(&root);
    assert!(files.len() > 5, "{} has no sources", root.display());
    let mut all = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(workspace()).unwrap().display().to_string();
        let module = module_of(&root, &file);
        if !is_test(&module) {
            all.extend(edges(crate_name, &module, &text, &name));
        }
    }
    all
}

/// Whether a module holds tests alone: `#[cfg(test)] mod tests;`.
fn is_test(module: &[String]) -> bool {
    module.iter().any(|part| part == "tests")
}

/// The imports that the table does not allow, one a line.
fn forbidden(edges: &BTreeSet<Edge>, table: &[(&str, &[&str])]) -> Vec<String> {
    let table: BTreeMap<_, _> = table.iter().copied().collect();
    let allowed = |edge: &Edge| {
        let targets = table.get(edge.from.as_str());
        targets.is_some_and(|to| to.iter().any(|&to| to == edge.to || to == "*"))
    };
    edges
        .iter()
        .filter(|edge| !allowed(edge))
        .map(|Edge { from, to, file }| format!("{file}: `{from}` may not import `{to}`"))
        .collect()
}

#[test]
fn what_reports_show_does_not_depend_on_a_medium() {
    let root = workspace().join("crates/oscost/src");
    for file in rust_files(&root.join("report/view")) {
        if is_test(&module_of(&root, &file)) {
            continue;
        }
        let source = Source::of(&fs::read_to_string(&file).unwrap());
        for medium in ["askama", "render", "terminal", "html", "markdown", "WIDTH"] {
            assert!(!source.has_word(medium), "{} names `{medium}`", file.display());
        }
    }
}

#[test]
fn the_rooms_of_the_tool_import_only_what_the_table_allows() {
    let edges = edges_of_crate("crates/oscost", "oscost");
    assert!(edges.len() > 20, "too few imports were found: {edges:?}");
    assert_eq!(forbidden(&edges, TOOL), Vec::<String>::new());
}

#[test]
fn the_rooms_of_the_worker_import_only_what_the_table_allows() {
    let edges = edges_of_crate("crates/worker", "oscost_worker");
    assert!(edges.len() > 15, "too few imports were found: {edges:?}");
    assert_eq!(forbidden(&edges, WORKER), Vec::<String>::new());
    let meet = |from: &str, to: &str| edges.iter().any(|edge| edge.from == from && edge.to == to);
    assert!(
        !meet("engine", "benchmarks") && !meet("benchmarks", "engine"),
        "engine and benchmarks import each other"
    );
}

#[test]
fn the_model_and_the_statistics_import_nothing_of_ours_and_do_no_input_or_output() {
    for member in ["model", "stats"] {
        let root = workspace().join("crates").join(member).join("src");
        for file in rust_files(&root) {
            let text = fs::read_to_string(&file).unwrap();
            let source = Source::of(&text);
            let ours = ["oscost", "oscost_worker", "oscost_stats", "oscost_model"];
            for word in ours.into_iter().chain(["fs", "File", "Command", "stdout", "stderr"]) {
                assert!(!source.has_word(word), "{} names `{word}`", file.display());
            }
        }
    }
}

#[test]
fn the_command_line_opens_no_file_itself() {
    let root = workspace().join("crates/oscost/src");
    let files = rust_files(&root.join("cli"));
    assert!(files.len() > 20, "the sources of the command line are not found");
    for file in files.iter().filter(|file| !is_test(&module_of(&root, file))) {
        let source = Source::of(&fs::read_to_string(file).unwrap());
        for word in ["fs", "OpenOptions"] {
            assert!(!source.has_word(word), "{} names `{word}`", file.display());
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

/// A table of this file as the page has it.
fn imports(table: &[(&str, &[&str])]) -> Imports {
    let owned =
        |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
    table.iter().map(|(room, to)| ((*room).to_owned(), owned(to))).collect()
}

#[test]
fn the_page_of_the_architecture_has_these_tables() {
    let path = workspace().join("docs/explanation/ARCHITECTURE.md");
    let PageTables { mut tool, mut worker } = page::tables(&fs::read_to_string(path).unwrap());
    for (_, library) in LIBRARIES {
        let to = tool.remove(*library).unwrap();
        assert!(to.is_empty(), "`{library}` imports nothing, and on the page {to:?}");
    }
    assert_eq!(tool, imports(TOOL));
    // The supervisor is a part of `main` here.
    assert_eq!(worker.remove("supervisor"), worker.get("main").cloned());
    assert_eq!(worker, imports(WORKER));
}

#[test]
fn only_the_room_of_system_calls_has_unsafe_code() {
    let root = workspace();
    let home = root.join("crates/worker/src/kernel");
    let mut at_home = 0;
    for member in ["model", "stats", "worker", "oscost"] {
        for file in rust_files(&root.join("crates").join(member).join("src")) {
            let source = fs::read_to_string(&file).unwrap();
            if !Source::of(&source).has_word("unsafe") {
                continue;
            }
            assert!(file.starts_with(&home), "`unsafe` in {}", file.display());
            at_home += 1;
        }
    }
    assert!(at_home > 0, "no `unsafe` was found in {}", home.display());
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
fn imports_are_found_in_every_form() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let found = |of: &str, text: &str| {
        let edges = edges("oscost", &module(of), text, "made-up.rs");
        forbidden(&edges, TOOL)
    };
    let nothing: Vec<String> = Vec::new();
    for (of, text, edge) in [
        ("estimate::row", "use crate::report::view;", "`estimate` may not import `report`"),
        ("plan::order", "use oscost_stats::order;", "`plan` may not import `stats`"),
        ("estimate", "use super::report;", "`estimate` may not import `report`"),
        ("estimate::row", "use super::super::report;", "`estimate` may not import `report`"),
        ("plan", "use crate::{run, plan::{select, rows}};", "`plan` may not import `run`"),
        ("plan", "use crate::{self, store::{read, write}};", "`plan` may not import `store`"),
        ("plan", "use {std::fs, crate::run::{self}};", "`plan` may not import `run`"),
        ("report", "fn f() { crate::run::run(); }", "`report` may not import `run`"),
        ("report::table", "pub(in crate::report) use crate::cli as x;", "may not import `cli`"),
        ("app::run", "use crate::report::view;", "`app` may not import `report`"),
        ("hosts", "mod a { mod b { use super::super::super::plan; } }", "may not import `plan`"),
        ("hosts", "type T = Vec<crate::store::Store>;", "`hosts` may not import `store`"),
        ("run", "use oscost_worker::engine;", "may not import `the crate oscost_worker`"),
        ("advice", "/* */ use /* */ crate /* */ :: // \n run::run;", "may not import `run`"),
        ("plan", "#[cfg(test)]\nmod tests;\nuse crate::run;", "`plan` may not import `run`"),
        ("kitchen", "use crate::plan;", "`kitchen` may not import `plan`"),
    ] {
        let lines = found(of, text);
        assert!(lines.len() == 1 && lines[0].contains(edge), "{of}: {text}: {lines:?}");
    }
    for (of, text) in [
        ("cli::run", "use crate::{app, report}; use oscost_model::record::Record;"),
        ("run", "use crate::estimate::{self, Assembler}; use super::hosts::{Session};"),
        ("estimate::row", "use super::case::{self, median}; use oscost_stats::line;"),
        ("plan", "pub(super) fn f() {} pub(crate) struct S; mod a { use super::order; }"),
        ("plan", "// use crate::run;\n/// [`crate::run`]\n/* crate::run */ fn f() {}"),
        ("plan", r##"const S: &str = "crate::run"; const R: &str = r#"crate::"run"#;"##),
        ("plan", "fn f() {}\n#[cfg(test)]\nmod tests { use crate::run; }"),
        ("plan", "const C: char = '\"'; fn f<'a>(x: &'a str) -> &'a str { x } // crate::run"),
    ] {
        assert_eq!(found(of, text), nothing, "{of}: {text}");
    }
    assert!(Source::of("fn f() { unsafe { g() } }").has_word("unsafe"));
    assert!(!Source::of("#![deny(unsafe_code)] // unsafe\n").has_word("unsafe"));
}
