//! The cases whose added costs predict what a change adds to a program.

use oscost_model::bill::BillItem;
use oscost_model::reach::Reach;

use super::freed_pages::{FREED_PAGE, UNMAPPED_PAGE};
use super::rules::{rule_of, selectors_of};
use super::switch_items::is_of_scheduler;

/// Forms are priced, the most frequent first, until they are so many of all calls: the last ones would
/// take as long to measure as the first, and change the sum by less than its interval.
const PRICED_SHARE: f64 = 0.95;
/// What begins or ends a task.
const TASK_CALLS: [&str; 5] = ["clone", "execve", "exit", "fork", "vfork"];
/// Of these, those of threads: the C library makes further calls in their ops.
const THREAD_CALLS: [&str; 3] = ["clone thread", "clone3 thread", "exit"];

/// The selectors of the cases whose added costs predict what a change adds to these items. What begins or
/// ends a task is priced however rare it is, where a change does more there: it may cost a thousand calls.
/// Page faults are, where it does not act at calls alone.
pub fn selectors_to_price(items: &[BillItem], reach: Reach) -> Vec<String> {
    // A call that only waits has no case: it pays what others pay.
    let is_priced = |item: &&BillItem| is_call(&item.name) && item.part > 0.0;
    let mut calls: Vec<&BillItem> = items.iter().filter(is_priced).collect();
    calls.sort_by(|one, other| other.times.total_cmp(&one.times));
    let all: f64 = calls.iter().map(|item| item.times).sum();
    let mut so_far = 0.0;
    let mut wanted: Vec<&BillItem> = Vec::new();
    for item in calls {
        let is_wanted_task = reach != Reach::Calls && is_of_task(&item.name);
        if so_far < PRICED_SHARE * all || is_wanted_task {
            wanted.push(item);
        }
        so_far += item.times;
    }
    if !reach.is_at_each_call() {
        wanted.extend(items.iter().filter(|item| is_fault(&item.name)));
    }
    let mut selectors: Vec<String> = Vec::new();
    for selector in wanted.into_iter().flat_map(selectors_of) {
        if !selectors.iter().any(|it| it == selector) {
            selectors.push(selector.to_owned());
        }
    }
    selectors
}

pub(super) fn is_fault(name: &str) -> bool {
    name.ends_with("page fault")
}

pub(super) fn is_call(name: &str) -> bool {
    !is_fault(name) && !is_of_scheduler(name) && ![FREED_PAGE, UNMAPPED_PAGE].contains(&name)
}

/// Whether a call begins or ends a task; one that failed (`execve ENOENT`) does not.
pub(super) fn is_of_task(name: &str) -> bool {
    let mut words = name.split(' ');
    let call = words.next().unwrap_or(name);
    let has_failed = words.any(|word| word.starts_with(|it: char| it.is_ascii_uppercase()));
    !has_failed && TASK_CALLS.iter().any(|begin| call.starts_with(begin))
}

/// Whether the cost of an item that begins or ends a task is that of one call: what else its op does has a
/// price, and is subtracted.
pub(super) fn is_one_call(item: &BillItem) -> bool {
    let less = rule_of(&item.name).map_or(0, |rule| rule.less.len());
    item.less.len() == less && !THREAD_CALLS.contains(&item.name.as_str())
}
