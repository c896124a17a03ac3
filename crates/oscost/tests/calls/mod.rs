//! The system calls of ordinary programs: docs/reference/calls has what scripts/program-calls.py
//! counted, and the cases that price each call in its form. The page docs/reference/CALLS.md is made
//! of them.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, slice};

use oscost::bill::{PriceRule, price_rules};
use oscost::plan;
use oscost_model::case::Case;
use oscost_model::definition::Extent;

use crate::golden::check_golden;

/// Forms that the script does not tell: programs make such calls, and none was counted in this form.
const NOT_TOLD_BY_SCRIPT: [&str; 10] = [
    "close shared *",
    "execve dynamic",
    "execveat dynamic",
    "futex wake waiter",
    "futex wait EAGAIN",
    "write append file",
    "sendmmsg unix",
    "recvmmsg unix",
    "sendmmsg udp",
    "recvmmsg udp",
];

/// A call in one form, in all programs together.
struct Form {
    name: String,
    calls: u64,
    programs: u64,
}

impl Form {
    fn call(&self) -> &str {
        self.name.split(' ').next().unwrap()
    }
}

/// What was counted.
struct Counted {
    /// The names of the programs.
    programs: Vec<String>,
    /// By number of calls, descending.
    forms: Vec<Form>,
    /// The nanoseconds on a CPU inside each call.
    cpu_ns: BTreeMap<String, u64>,
}

/// A part of something, and all of it.
#[derive(Clone, Copy)]
struct Share {
    part: f64,
    whole: f64,
}

impl Share {
    fn is_at_least_per_mille(self, per_mille: f64) -> bool {
        self.part * 1e3 >= self.whole * per_mille
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/calls")
}

/// The lines of a table, each as its columns.
fn columns(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

impl Counted {
    fn read() -> Self {
        let form = |columns: Vec<String>| match &columns[..] {
            [name, calls, programs] => Form {
                name: name.clone(),
                calls: calls.parse().unwrap(),
                programs: programs.parse().unwrap(),
            },
            other => panic!("{other:?}"),
        };
        let time = |columns: Vec<String>| match &columns[..] {
            [call, _, ns] => (call.clone(), ns.parse().unwrap()),
            other => panic!("{other:?}"),
        };
        Self {
            programs: columns("programs.tsv").into_iter().map(|mut it| it.remove(0)).collect(),
            forms: columns("calls.tsv").into_iter().map(form).collect(),
            cpu_ns: columns("times.tsv").into_iter().map(time).collect(),
        }
    }
}

fn price<'a>(prices: &'a [PriceRule], form: &Form) -> Option<&'a PriceRule> {
    prices.iter().find(|price| price.is_of(&form.name))
}

/// The calls that have a case.
fn calls_with_case(counted: &Counted, prices: &[PriceRule]) -> Share {
    calls_of(counted, &|form| price(prices, form).is_some())
}

/// The time in calls that have a case.
fn time_with_case(counted: &Counted, prices: &[PriceRule]) -> Share {
    time_of(counted, &|form| price(prices, form).is_some())
}

/// The calls whose forms are chosen.
fn calls_of(counted: &Counted, is_chosen: &dyn Fn(&Form) -> bool) -> Share {
    let calls = |form: &Form| form.calls as f64;
    let chosen = counted.forms.iter().filter(|form| is_chosen(form));
    Share { part: chosen.map(calls).sum(), whole: counted.forms.iter().map(calls).sum() }
}

/// The time in calls whose forms are chosen. It was measured for each call, whatever its form: of a
/// call only some of whose forms are chosen, as much of the time counts as of the number.
fn time_of(counted: &Counted, is_chosen: &dyn Fn(&Form) -> bool) -> Share {
    let mut time = Share { part: 0.0, whole: 0.0 };
    for (call, &ns) in &counted.cpu_ns {
        let forms: Vec<&Form> = counted.forms.iter().filter(|form| form.call() == call).collect();
        let calls = |form: &&Form| form.calls as f64;
        let chosen = forms.iter().filter(|form| is_chosen(form));
        let (part, whole): (f64, f64) = (chosen.map(calls).sum(), forms.iter().map(calls).sum());
        time.whole += ns as f64;
        if whole > 0.0 {
            time.part += ns as f64 * part / whole;
        }
    }
    time
}

/// The names of the cases that `selectors` choose; without any, those of the price list.
fn cases(selectors: &[String]) -> BTreeSet<String> {
    let catalog = oscost_worker::benchmarks::data();
    let selected = plan::select(&catalog, selectors, Extent::Default).unwrap();
    selected.iter().map(Case::to_string).collect()
}

#[test]
fn the_page_of_the_calls_of_programs_is_made_of_its_files() {
    check_golden(&folder().join("../CALLS.md"), &page::page(&Counted::read(), price_rules()));
}

#[test]
fn each_case_that_prices_a_call_exists_and_each_row_prices_one_that_was_counted() {
    let catalog = oscost_worker::benchmarks::data();
    let (prices, counted) = (price_rules(), Counted::read());
    let mut wrong = Vec::new();
    for row in prices {
        for selector in row.selectors() {
            let selector = selector.to_owned();
            let selected = plan::select(&catalog, slice::from_ref(&selector), Extent::Default);
            wrong.extend(selected.err().map(|error| format!("{selector}: {error}")));
        }
        let is_told = row.forms.iter().any(|form| !NOT_TOLD_BY_SCRIPT.contains(&form.as_str()));
        let prices_one = |form: &Form| price(prices, form).is_some_and(|it| it.case == row.case);
        if is_told && !counted.forms.iter().any(prices_one) {
            wrong.push(format!("{}: no program makes such a call", row.case));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nearly_all_calls_of_programs_and_nearly_all_their_time_have_a_price() {
    let (prices, counted) = (price_rules(), Counted::read());
    assert!(counted.programs.len() >= 40, "{} programs", counted.programs.len());
    let (calls, time) = (calls_with_case(&counted, prices), time_with_case(&counted, prices));
    assert!(calls.is_at_least_per_mille(990.0), "{} of {} calls", calls.part, calls.whole);
    assert!(time.is_at_least_per_mille(950.0), "{} of {} ns", time.part, time.whole);
}

#[test]
fn the_price_list_prices_nearly_all_calls_of_programs_and_nearly_all_their_time() {
    let (prices, counted, listed) = (price_rules(), Counted::read(), cases(&[]));
    let is_listed = |row: &&PriceRule| !cases(slice::from_ref(&row.case)).is_disjoint(&listed);
    let of_list: BTreeSet<&str> =
        prices.iter().filter(is_listed).map(|row| row.case.as_str()).collect();
    let is_priced =
        |form: &Form| price(prices, form).is_some_and(|row| of_list.contains(row.case.as_str()));
    let (calls, time) = (calls_of(&counted, &is_priced), time_of(&counted, &is_priced));
    assert!(calls.is_at_least_per_mille(940.0), "{} of {} calls", calls.part, calls.whole);
    assert!(time.is_at_least_per_mille(950.0), "{} of {} ns", time.part, time.whole);
}
