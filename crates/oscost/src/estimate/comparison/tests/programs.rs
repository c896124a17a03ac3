//! Stored runs of programs, which have no class.

use oscost_model::facts::Facts;
use oscost_model::record::Machine;

use super::*;

/// How far runs of the program differ, as a standard deviation of logarithms.
const BETWEEN_RUNS: f64 = 0.02;

/// A run of this boot of a program that takes so long.
fn run_of(id: &str, boot: &str, cost: f64) -> Record {
    let program =
        Row { class: None, primary_metric: Some("real".to_owned()), ..row("workload/sort", cost) };
    let mut facts = Facts::default();
    facts.counters.boot = Some(boot.to_owned());
    let machines = vec![Machine::new("m0", facts, Vec::new())];
    Record { machines, ..record(id, "2026-11-21T08:00:00Z", vec![program], NO_DRIFT) }
}

/// How many of 200 comparisons of two single runs find a change, after so many earlier ones of this
/// boot, if the new program takes this much longer.
fn changes_found(earlier_runs: u32, boot_of_new: &str, slower: f64) -> u32 {
    let mut seed = Seed::new(28);
    let mut found = 0;
    for _ in 0..200 {
        let mut log = || BETWEEN_RUNS * normal(&mut seed);
        let mut earlier = EarlierRuns::default();
        for _ in 0..earlier_runs {
            let run = RunMedian { value: 100f64.ln() + log(), standard_error: 0.0, count: 6 };
            earlier.base.insert("local", "workload/sort", Some("boot"), run);
        }
        let base = [run_of("one", "boot", 100.0 * log().exp())];
        let new = [run_of("other", boot_of_new, 100.0 * slower * log().exp())];
        let compared = crate::estimate::comparison::compare(&base, &new, &earlier);
        found += u32::from(verdict(&compared) != "inconclusive");
    }
    found
}

#[test]
fn earlier_runs_of_a_program_show_a_change_between_two_runs_of_their_boot() {
    let [equal, slower] = [1.0, 1.15].map(|ratio| changes_found(10, "boot", ratio));
    assert!(equal <= 14, "5 % of 200 are 10, and 3 the deviation: {equal}");
    assert!(slower >= 160, "{slower}");
    assert!(changes_found(3, "boot", 1.0) <= 14);
    // Nothing is known of the program, or of other boots.
    assert_eq!([changes_found(0, "boot", 1.15), changes_found(10, "another", 1.15)], [0; 2]);
}
