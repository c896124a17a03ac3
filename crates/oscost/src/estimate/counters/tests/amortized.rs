//! Work that one op does for many: figures are means.

use super::*;

/// Of how many ops one does it.
const EVERY: u64 = 48;
/// Its instructions.
const REFILL: f64 = 2_900.0;

/// The counts of a worker of batches of so many ops, which follow each other.
fn counts_in(batch_ops: &[u64], amortized: bool) -> EventCounts {
    let mut counts = counts(GETPPID, QUIET, &plan(Mode::B), &mut Seed::new(1));
    let mut done = 7;
    let batches = (0..).zip(batch_ops).map(|(round, &ops)| {
        let refills = (done + ops) / EVERY - done / EVERY;
        done += ops;
        batch(GETPPID, ops, round, REFILL * refills as f64)
    });
    counts.sets[0].batches = batches.collect();
    counts.sets[0].amortized = amortized;
    counts
}

const LONG: [u64; 5] = [672, 650, 705, 611, 737];

#[test]
fn the_figures_are_means_that_belong_together() {
    let plan = plan(Mode::B);
    let found = counted_figures(&counts_in(&LONG, true), ops(context(&plan)));
    let of = |metric: &str| found.figures[metric].value;
    let truth = 305.0 + REFILL / EVERY as f64;
    assert!(near(of(INSN), truth, 0.005), "{} and {truth}", of(INSN));
    assert!(near(of("insn_user"), 12.0, 1e-4) && near(of("insn_kernel"), truth - 12.0, 0.005));
    let product = of(INSN) * of(CPI) / of(GHZ);
    assert!(near(product, found.running_ns.unwrap(), 1e-9), "{found:?}");
    assert!(found.amortized && found.figures[INSN].batches == LONG.len(), "{found:?}");
}

#[test]
fn the_control_short_batches_of_which_the_lower_mode_is_taken_lose_it() {
    let plan = plan(Mode::B);
    let found = counted_figures(&counts_in(&[14; 12], false), ops(context(&plan)));
    assert!(near(found.figures[INSN].value, 305.0, 1e-3) && !found.amortized, "{found:?}");
}

#[test]
fn an_interrupt_is_counted_and_a_batch_that_lost_its_cpu_is_not() {
    let plan = plan(Mode::B);
    let insn = |change: &dyn Fn(&mut CountedSet)| {
        let mut counts = counts_in(&LONG, true);
        change(&mut counts.sets[0]);
        counted_figures(&counts, ops(context(&plan))).figures[INSN]
    };
    let [quiet, interrupted] = [0, 6_000].map(|more| insn(&|set| set.batches[2].counts[1] += more));
    let added = interrupted.value - quiet.value;
    assert!(near(added, 6_000.0 / (5.0 * LONG[2] as f64), 1e-6), "{added}");
    let switched = insn(&|set| set.batches[2].sample.involuntary_switches = 1);
    assert_eq!((quiet.batches, switched.batches), (5, 4));
}

#[test]
fn a_set_without_instructions_has_means_too() {
    let plan = plan(Mode::B);
    let misses = |amortized| {
        let mut counts = counts_in(&LONG, amortized);
        let mut set = counts.sets[0].clone();
        set.events = vec![CounterEvent::BranchMisses];
        set.amortized = false;
        set.empty.iter_mut().for_each(|it| it.counts = vec![0]);
        // All of one batch.
        set.batches.iter_mut().for_each(|it| it.counts = vec![0]);
        set.batches[1].counts = vec![LONG[1]];
        counts.sets.push(set);
        counted_figures(&counts, ops(context(&plan))).figures["branch_misses"].value
    };
    assert_eq!([true, false].map(misses), [0.2, 0.0]);
}
