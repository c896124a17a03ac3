//! The benchmarks of other suites: docs/reference/peers has a file for each suite, with the case
//! that answers the question of each of its benchmarks, or the reason why none does. The page
//! docs/reference/PEERS.md is made of them.

mod page;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, slice};

use oscost::plan;
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent, Requirement};
use serde::Deserialize;

use crate::golden::check_golden;

/// Another suite: a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    name: String,
    /// Its release, or the day of the last commit that the rows were made from.
    version: String,
    source: String,
    /// Which of its benchmarks have a row.
    scope: String,
    rows: Vec<Row>,
}

/// A benchmark of another suite.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// As its suite prints or takes it.
    name: String,
    asks: String,
    /// A selector of the cases that answer it.
    case: Option<String>,
    /// What is different in the case.
    differs: Option<String>,
    /// One of [`SUBJECTS`], if the benchmark is not about the operating system.
    about: Option<String>,
    /// Why no case answers it, if it is about the operating system.
    missing: Option<String>,
}

/// What a benchmark is about if not the operating system.
struct Subject {
    name: &'static str,
    means: &'static str,
}

/// In alphabetical order.
const SUBJECTS: &[Subject] = &[
    Subject { name: "compiler", means: "the code that a compiler makes" },
    Subject { name: "correctness", means: "whether a mechanism is right, not what it costs" },
    Subject { name: "cpu", means: "the instructions and the clock of a processor" },
    Subject { name: "disk", means: "a disk alone" },
    Subject { name: "firmware", means: "the firmware of the machine" },
    Subject { name: "graphics", means: "the display and its driver" },
    Subject { name: "harness", means: "the suite itself, such as what its loop adds" },
    Subject { name: "libc", means: "a function of the C library, most calls of which stay in it" },
    Subject { name: "libm", means: "floating-point functions of the C library" },
    Subject { name: "library", means: "a library between the program and its system calls" },
    Subject { name: "load", means: "a mix of many acts, whose rate is the cost of none of them" },
    Subject { name: "memory", means: "the memory and the caches of a machine" },
    Subject { name: "program", means: "the work of a program such as grep or perf itself" },
];

/// How many rows there are, and how many of them have a case.
#[derive(Default)]
struct Counts {
    about_system: usize,
    about_system_with_case: usize,
    about_others: usize,
    about_others_with_case: usize,
}

impl Counts {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut counts = Self::default();
        for row in rows {
            let has_case = usize::from(row.case.is_some());
            if row.about.is_none() {
                counts.about_system += 1;
                counts.about_system_with_case += has_case;
            } else {
                counts.about_others += 1;
                counts.about_others_with_case += has_case;
            }
        }
        counts
    }

    fn rows(&self) -> usize {
        self.about_system + self.about_others
    }

    fn with_case(&self) -> usize {
        self.about_system_with_case + self.about_others_with_case
    }

    fn missing(&self) -> usize {
        self.about_system - self.about_system_with_case
    }
}

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// The suites, in the order of the names of their files.
fn suites() -> Vec<Suite> {
    let entries = fs::read_dir(reference().join("peers")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let suite = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        toml::from_str::<Suite>(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.iter().map(suite).collect()
}

/// What is wrong with a row, apart from its case.
fn fault(row: &Row) -> Option<&'static str> {
    let is_subject = |about: &String| SUBJECTS.iter().any(|subject| subject.name == about);
    let texts = [Some(&row.asks), row.differs.as_ref(), row.missing.as_ref()];
    match (&row.case, &row.about, &row.missing) {
        _ if row.about.as_ref().is_some_and(|about| !is_subject(about)) => Some("unknown subject"),
        (_, Some(_), Some(_)) => Some("no case is missing: it is not about the operating system"),
        (Some(_), None, Some(_)) => Some("a case, and one that is missing"),
        (None, None, None) => Some("neither a case nor a reason"),
        (None, ..) if row.differs.is_some() => Some("a difference to no case"),
        _ if texts.into_iter().flatten().any(|text| text.is_empty() || text.contains('|')) => {
            Some("an empty text, or one that would end its column")
        }
        _ => None,
    }
}

/// Whether the case can be measured somewhere: no axis has a value that excludes another's.
fn is_defined(catalog: &Catalog, case: &Case) -> bool {
    catalog.get(&case.benchmark).is_some_and(|definition| {
        let point = definition.with_implied(&case.point);
        !definition.needs.iter().any(|need| {
            matches!(need.requirement, Requirement::Undefined(_)) && point.includes(&need.when)
        })
    })
}

#[test]
fn the_page_of_other_suites_is_made_of_their_files() {
    check_golden(&reference().join("PEERS.md"), &page::page(&suites()));
}

#[test]
fn each_benchmark_of_another_suite_has_one_row_with_a_case_or_a_reason() {
    let mut wrong = Vec::new();
    for suite in &suites() {
        let mut names = BTreeSet::new();
        for row in &suite.rows {
            let is_new = names.insert(row.name.as_str());
            let fault = fault(row).or((!is_new).then_some("a second row of that name"));
            wrong.extend(fault.map(|fault| format!("{}: {}: {fault}", suite.name, row.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(SUBJECTS.is_sorted_by_key(|subject| subject.name));
}

#[test]
fn each_case_that_answers_a_benchmark_of_another_suite_exists() {
    let catalog = oscost_worker::benchmarks::data();
    let mut wrong = Vec::new();
    for suite in &suites() {
        for row in &suite.rows {
            let Some(selector) = &row.case else { continue };
            let id = selector.split(':').next().unwrap_or_default();
            let selected = plan::select(&catalog, slice::from_ref(selector), Extent::Default);
            let fault = match selected {
                Err(error) => error.to_string(),
                Ok(_) if catalog.get(id).is_none() => format!("`{id}` is not a whole id"),
                Ok(cases) if !cases.iter().any(|case| is_defined(&catalog, case)) => {
                    format!("`{selector}` is defined at no point")
                }
                Ok(_) => continue,
            };
            wrong.push(format!("{}: {}: {fault}", suite.name, row.name));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nearly_all_benchmarks_about_the_operating_system_have_a_case() {
    let suites = suites();
    let counts = Counts::of(suites.iter().flat_map(|suite| &suite.rows));
    assert!(counts.rows() >= 350, "{} rows", counts.rows());
    let (all, with_case) = (counts.about_system, counts.about_system_with_case);
    assert!(with_case * 100 >= all * 95, "{with_case} of {all} have a case");
}
