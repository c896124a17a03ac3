//! No file imports itself back through others.
//!
//! The nodes are the files of a crate, and an edge leads from a file to each file whose items its
//! own code names. A parent that only declares a child (`mod child;`) or re-exports its items
//! (`pub use child::Item;`) has no edge to it. A path through a re-export leads to both files: the
//! one that re-exports the item, and the one that defines it. Methods are found by the path of their
//! type alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::source::{Role, Source};
use super::{is_test, module_of, rust_files, workspace};

/// How many re-exports of re-exports are followed.
const MAX_REEXPORTS: usize = 8;

type Module = Vec<String>;

/// A file of a crate, as far as its imports go.
struct File {
    name: String,
    words: BTreeSet<String>,
    items: BTreeSet<String>,
    paths: Vec<CodePath>,
}

/// A path in a file, as it starts at the crate's root or at a module of the file.
struct CodePath {
    /// The module that the path is written in.
    base: Module,
    words: Vec<String>,
    role: Role,
}

/// A crate's files by their modules.
struct Crate {
    name: String,
    files: BTreeMap<Module, File>,
}

impl Crate {
    /// Reads files, each given as its module, its name and its text.
    fn new<'a>(name: &str, files: impl IntoIterator<Item = (Module, String, &'a str)>) -> Self {
        let owned = |words: BTreeSet<&str>| words.into_iter().map(str::to_owned).collect();
        let file = |(module, name, text): (Module, String, &str)| {
            let source = Source::of(text);
            let paths = source.paths().into_iter().map(|path| CodePath {
                base: [&module[..], &path.inside].concat(),
                words: path.words,
                role: path.role,
            });
            let paths = paths.collect();
            let (words, items) = (owned(source.words()), owned(source.items()));
            (module, File { name, words, items, paths })
        };
        Self { name: name.to_owned(), files: files.into_iter().map(file).collect() }
    }

    /// Reads the sources of a crate below its root, without its tests.
    fn read(folder: &str, name: &str) -> Self {
        let root = workspace().join(folder);
        let texts: Vec<_> = rust_files(&root)
            .into_iter()
            // The program of a package with a library is a crate of its own, of one file.
            .filter(|file| !file.ends_with("src/main.rs"))
            .map(|file| (module_of(&root, &file), file))
            .filter(|(module, _)| !is_test(module))
            .map(|(module, file)| {
                let name = file.strip_prefix(workspace()).unwrap().display().to_string();
                (module, name, fs::read_to_string(&file).unwrap())
            })
            .collect();
        assert!(texts.len() > 3, "{} has no sources", root.display());
        let files =
            texts.iter().map(|(module, name, text)| (module.clone(), name.clone(), &text[..]));
        Self::new(name, files)
    }

    /// The files that the code of a file needs.
    fn needs(&self, module: &Module) -> BTreeSet<Module> {
        let mut found = BTreeSet::new();
        for path in &self.files[module].paths {
            let targets = self.resolve(module, &path.base, &path.words, 0);
            let is_reexport = matches!(path.role, Role::Import { public: true, .. });
            found.extend(
                targets.into_iter().filter(|target| {
                    target != module && !(is_reexport && target.starts_with(module))
                }),
            );
        }
        found
    }

    /// The files that define what a path names, written in a file; none for paths that lead out of
    /// the crate.
    fn resolve(
        &self,
        file: &Module,
        base: &[String],
        words: &[String],
        depth: usize,
    ) -> Vec<Module> {
        let (mut module, mut rest) = match words[0].as_str() {
            "crate" => (Module::new(), &words[1..]),
            first if first == self.name => (Module::new(), &words[1..]),
            "self" | "super" => (base.to_vec(), words),
            first => {
                let child = [base, &[first.to_owned()]].concat();
                if self.files.contains_key(&child) {
                    (child, &words[1..])
                } else {
                    return self.imported(file, words, depth);
                }
            }
        };
        while let [first, more @ ..] = rest {
            match first.as_str() {
                "self" => {}
                "super" => drop(module.pop()),
                _ => break,
            }
            rest = more;
        }
        while let [first, more @ ..] = rest {
            let child = [&module[..], std::slice::from_ref(first)].concat();
            if !self.files.contains_key(&child) {
                break;
            }
            (module, rest) = (child, more);
        }
        // An inline module is in the file of the enclosing module.
        while !self.files.contains_key(&module) {
            if module.pop().is_none() {
                return Vec::new();
            }
        }
        match rest {
            [] => vec![module],
            [glob, ..] if glob == "*" => self.used_of(file, &module, depth),
            _ if module == *file => vec![module],
            [item, ..] if self.files[&module].items.contains(item) => vec![module],
            // The file that re-exports the item is needed, and the one that defines it.
            _ => {
                let mut through = self.imported(&module, rest, depth);
                through.push(module);
                through
            }
        }
    }

    /// The files that define the path `words`, whose first segment a file imports.
    fn imported(&self, file: &Module, words: &[String], depth: usize) -> Vec<Module> {
        if depth >= MAX_REEXPORTS {
            return Vec::new();
        }
        let mut found = Vec::new();
        for path in &self.files[file].paths {
            let Role::Import { name, .. } = &path.role else { continue };
            if *name == words[0] && path.words[0] != words[0] {
                let whole = [&path.words[..], &words[1..]].concat();
                found.extend(self.resolve(file, &path.base, &whole, depth + 1));
            } else if name == "*" {
                let from =
                    self.resolve(file, &path.base, &path.words[..path.words.len() - 1], depth + 1);
                found
                    .extend(from.into_iter().filter(|it| self.files[it].items.contains(&words[0])));
            }
        }
        found
    }

    /// The files that define what a file uses of a module that it imports as a whole.
    fn used_of(&self, file: &Module, module: &Module, depth: usize) -> Vec<Module> {
        let used = &self.files[file].words;
        let mut found = Vec::new();
        if self.files[module].items.iter().any(|item| used.contains(item)) {
            found.push(module.clone());
        }
        let names = self.files[module].paths.iter().filter_map(|path| match &path.role {
            Role::Import { name, .. } if used.contains(name) => Some(name.clone()),
            _ => None,
        });
        for name in names.collect::<BTreeSet<_>>() {
            let through = self.imported(module, &[name], depth + 1);
            if !through.is_empty() {
                found.push(module.clone());
            }
            found.extend(through);
        }
        found
    }

    /// The circles: sets of files that import each other, directly or through other files.
    fn circles(&self) -> Vec<BTreeSet<Module>> {
        let needs: BTreeMap<&Module, BTreeSet<Module>> =
            self.files.keys().map(|module| (module, self.needs(module))).collect();
        let reached = |from: &Module| {
            let mut reached = BTreeSet::new();
            let mut open: Vec<&Module> = needs[from].iter().collect();
            while let Some(module) = open.pop() {
                if reached.insert(module.clone()) {
                    open.extend(&needs[module]);
                }
            }
            reached
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            self.files.keys().map(|module| (module, reached(module))).collect();
        let circles: BTreeSet<BTreeSet<Module>> = reached
            .iter()
            .filter(|(module, to)| to.contains(**module))
            .map(|(module, to)| {
                to.iter().filter(|it| reached[*it].contains(*module)).cloned().collect()
            })
            .collect();
        circles.into_iter().collect()
    }

    /// A circle in words: each file with those of the circle that it needs.
    fn text(&self, circle: &BTreeSet<Module>) -> String {
        let line = |module: &Module| {
            let needs = self.needs(module);
            let others = needs.intersection(circle).map(|it| self.files[it].name.as_str());
            format!("  {} -> {}", self.files[module].name, others.collect::<Vec<_>>().join(", "))
        };
        format!(
            "a circle of {} files:\n{}",
            circle.len(),
            circle.iter().map(line).collect::<Vec<_>>().join("\n")
        )
    }
}

#[test]
fn no_file_imports_itself_back_through_others() {
    let crates = [
        Crate::read("crates/model/src", "oscost_model"),
        Crate::read("crates/stats/src", "oscost_stats"),
        Crate::read("crates/worker/src", "oscost_worker"),
        Crate::read("crates/oscost/src", "oscost"),
        Crate::read("crates/oscost/benches/peers", "peers"),
    ];
    let circles = crates.iter().flat_map(|of| of.circles().into_iter().map(|it| of.text(&it)));
    let circles: Vec<String> = circles.collect();
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn circles_are_found_through_every_form_of_import() {
    let circles = |files: &[(&str, &str)]| -> Vec<Vec<String>> {
        let module = |path: &str| -> Module {
            path.split("::").filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let files = files.iter().map(|&(path, text)| (module(path), path.to_owned(), text));
        let of = Crate::new("oscost", files);
        let names = |circle: BTreeSet<Module>| circle.iter().map(|it| it.join("::")).collect();
        of.circles().into_iter().map(names).collect()
    };
    let two = vec![vec!["a".to_owned(), "b".to_owned()]];
    for (a, b) in [
        ("use crate::b::g; pub fn f() {}", "use super::a; pub fn g() { a::f() }"),
        ("pub fn f() { crate::b::g() }", "use oscost::a::f; pub fn g() {}"),
        ("use crate::{b::{self, g}}; pub fn f() {}", "pub type T = super::a::S;"),
        ("use crate::b::*; pub fn f() { g() }", "pub fn g() {} fn h() { crate::a::f() }"),
        ("use crate::R; pub fn f() {}", "use crate::a::f; pub struct G;"),
    ] {
        assert_eq!(
            circles(&[("", "mod a; mod b; pub use b::G as R;"), ("a", a), ("b", b)]),
            two,
            "{a}"
        );
    }
    let none: Vec<Vec<String>> = Vec::new();
    for (parent, child) in [
        ("mod c; pub use c::f; pub struct S;", "use super::S; pub fn f() {}"),
        ("mod c; fn g() { c::f() }", "use super::super::x; pub fn f() {}"),
        ("mod c; fn g() { c::f() }", "pub(in crate::p) fn f() {}"),
        ("mod c; use crate::q::Q; fn g() { c::f() }", "use crate::q::Q; pub fn f() {}"),
        (
            "mod c; fn g() { c::f() }",
            "pub fn f() {}\n#[cfg(test)]\nmod tests { use super::super::*; }",
        ),
    ] {
        let files =
            [("", "mod p; mod q; mod x;"), ("p", parent), ("p::c", child), ("q", "pub struct Q;")];
        assert_eq!(circles(&files), none, "{parent} / {child}");
    }
    // Through the face of a folder: it re-exports what `a` uses, and uses `a` itself.
    let face = "mod d; pub use d::D; fn g() { crate::a::f() }";
    let through = vec![vec!["a".to_owned(), "b".to_owned()]];
    for a in [
        "use crate::b::D; pub fn f() {}",
        "use crate::b::*; pub fn f(of: D) {}",
        "pub fn f(of: crate::b::D) {}",
    ] {
        let files = [("", "mod a; mod b;"), ("a", a), ("b", face), ("b::d", "pub struct D;")];
        assert_eq!(circles(&files), through, "{a}");
    }
    let parent = "mod c; pub struct S; fn g() { c::f() }";
    let both = vec![vec!["p".to_owned(), "p::c".to_owned()]];
    for child in ["use super::S; pub fn f() {}", "use super::*; pub fn f(of: S) {}"] {
        assert_eq!(circles(&[("", "mod p;"), ("p", parent), ("p::c", child)]), both, "{child}");
    }
    // The parent imports what the child takes from it.
    let parent = "mod c; use crate::q::Q; fn g() { c::f() }";
    for child in ["use super::Q; pub fn f() {}", "use super::*; pub fn f(of: Q) {}"] {
        let files = [("", "mod p; mod q;"), ("p", parent), ("p::c", child), ("q", "pub struct Q;")];
        assert_eq!(circles(&files), both, "{child}");
    }
}
