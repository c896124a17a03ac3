//! The system calls of a fake host's cases and programs.

use std::collections::BTreeMap;

use oscost_model::calls::{ANY_OTHER_CALL, CallCount, CallTimes};
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::point::Point;
use oscost_model::program_calls::{FormCount, ProgramCalls};

use super::scenario::Scenario;

/// The system calls that the scenario names; otherwise those of the definition, or twice as many.
pub(super) fn call_count(
    scenario: &Scenario,
    catalog: &Catalog,
    case: &Case,
    ops: u64,
) -> CallCount {
    let definition = catalog.get(&case.benchmark);
    // Where messages move bytes, a worker counts bytes.
    let ops_per_message = definition.map_or(1, |found| found.ops_per_message(&case.point));
    let counted = |own| CallCount {
        ops: ops * ops_per_message,
        own,
        peer: BTreeMap::new(),
        by: "fake".to_owned(),
        tasks: Some(0),
        faults: Some(0),
        bytes: Some(0),
        vdso: Some(scenario.vdso.contains(&case.to_string())),
        instructions: Some(10.0),
        counted_pid: None,
    };
    if let Some(calls) = scenario.calls.get(&case.to_string()) {
        return counted(calls.iter().map(|(call, times)| (call.clone(), times * ops)).collect());
    }
    let rules = definition.map(|found| found.calls.clone());
    let point = definition.map_or_else(Point::none, |found| found.with_implied(&case.point));
    let factor = if scenario.wrong_calls.contains(&case.to_string()) { 2 } else { 1 };
    let own = rules
        .unwrap_or_default()
        .into_iter()
        .filter(|rule| point.includes(&rule.when) && rule.call != ANY_OTHER_CALL)
        .map(|rule| {
            // Of alternative names, the first.
            let call = rule.call.split('|').next().unwrap_or_default().to_owned();
            match rule.times {
                CallTimes::Exactly(times) => (call, u64::from(times) * ops * factor),
                other => (call, other.range(ops).end() * factor),
            }
        })
        .collect();
    counted(own)
}

/// What every program of a fake host does.
pub(super) fn program_calls() -> ProgramCalls {
    let form = |form: &str, bytes: Option<u64>, calls: u64| FormCount {
        form: form.to_owned(),
        bytes,
        descriptors: None,
        mappings: None,
        messages: None,
        depth: None,
        calls,
        moved: calls * bytes.unwrap_or(0),
        rare: None,
    };
    ProgramCalls {
        by: "fake".to_owned(),
        forms: vec![
            form("close file", None, 3),
            form("getppid", None, 1_000),
            form("openat file", None, 3),
            form("read file", Some(4_096), 7),
        ],
        execs: 1,
        exits: 1,
        real_ns: 200_000_000,
        ..ProgramCalls::default()
    }
}

/// The calls of every program, by name.
pub(super) fn program_call_count() -> CallCount {
    let own = [("openat", 3), ("read", 7)].map(|(call, times)| (call.to_owned(), times));
    let by = "fake".to_owned();
    CallCount { ops: 1, own: own.into(), by, ..CallCount::default() }
}
