//! What wide intervals and waits for a CPU do to the answer of a run.

use oscost_model::program::CPU;
use oscost_model::record::{Metric, Row};

use super::{assert_sentences, flagged, record, row};
use crate::report::view::answer::run::answer;
use crate::report::view::answer::trust;
use crate::report::view::document::Answer;

fn of(rows: Vec<Row>) -> Answer {
    let found = answer(&record(rows)).unwrap();
    assert_sentences(&found);
    found
}

#[test]
fn a_command_that_waited_for_a_cpu_is_told_with_its_cpu_time() {
    let mut command = row("workload/command", 4e6);
    let estimate = row("workload/command", 1.2e6).estimate.unwrap();
    let unit = command.unit;
    let metric = Metric { unit, better: unit.better(), estimate };
    command.metrics.insert(CPU.to_owned(), metric);
    let told = |command: Row| of(vec![command]).findings.remove(0);
    let free = told(command.clone());
    assert!(!free.contains("CPU"), "{free}");
    let waited = told(flagged(command, "CPU_CONTENTION"));
    let clause = "; it waited for a CPU, and its CPU time is 1.20 ms (1.14 to 1.26 ms).";
    assert!(waited.ends_with(clause), "{waited}");
}

#[test]
fn an_interval_that_is_wider_than_its_figure_is_a_reason_in_the_trust() {
    let told = |ends: [f64; 2]| {
        let mut one = row("workload/command", 1e6);
        one.estimate.as_mut().unwrap().between_run_ci95 = Some(ends);
        of(vec![one]).trust.unwrap()
    };
    assert_eq!(told([0.9e6, 1.2e6]), "Trust: good.");
    assert_eq!(
        told([0.8e6, 1.6e6]),
        "Trust: fair: the upper end of the 95 % interval of workload/command is 2.0 times the lower."
    );
    assert_eq!(
        told([0.1e6, 13.5e6]),
        "Trust: poor: the upper end of the 95 % interval of workload/command is 135 times the lower."
    );
    let mut wide = row("a/x", 1.0);
    wide.estimate.as_mut().unwrap().between_run_ci95 = Some([0.1, 13.5]);
    let others = ["a/y", "a/z", "a/u"].map(|case| row(case, 1.0));
    let of_many = of(std::iter::once(wide).chain(others).collect()).trust.unwrap();
    assert_eq!(of_many, "Trust: good.", "no figure of so many is the answer");
}

#[test]
fn a_next_step_is_the_cure_of_what_was_wide() {
    let mut wide = row("workload/command", 1e6);
    wide.estimate.as_mut().unwrap().between_run_ci95 = Some([0.8e6, 1.6e6]);
    let next = of(vec![wide]).next;
    assert!(next[0].starts_with("Next: more runs"), "{next:?}");
    let of_control = |profile: &str| {
        let mut run = record(vec![row("a/x", 1.0)]);
        run.settings.profile = profile.to_owned();
        run.conditions[0].flags = vec!["CONTROL_WIDE".to_owned()];
        trust::next(&run).unwrap()
    };
    assert!(of_control("quick").contains("without `--quick`"));
    assert!(of_control("default").contains("with `--thorough`"));
}
