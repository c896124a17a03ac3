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

/// The counts of a worker over ticks: in every second batch the kernel takes the CPU away, and does what
/// it has deferred.
fn counts_over_ticks(amortized: bool) -> EventCounts {
    let mut counts = counts(GETPPID, QUIET, &plan(Mode::B), &mut Seed::new(1));
    let long = |round: u32| {
        let is_hit = round % 2 == 1;
        let mut batch = batch(GETPPID, 142, round, if is_hit { 2_840.0 } else { 0.0 });
        batch.sample.involuntary_switches = u32::from(is_hit);
        batch
    };
    counts.sets[0].batches = (0..30).map(long).collect();
    counts.sets[0].amortized = amortized;
    counts.sets[0].spans_ticks = true;
    counts
}

#[test]
fn over_ticks_batches_that_lost_their_cpu_have_what_the_kernel_did_then() {
    let plan = plan(Mode::B);
    let insn = |counts: &EventCounts| {
        let found = counted_figures(counts, ops(context(&plan)));
        (found.figures.get(INSN).map(|it| (it.value, it.batches)), found.void)
    };
    let (found, void) = insn(&counts_over_ticks(true));
    let (value, batches) = found.unwrap();
    assert!(near(value, 305.0 + 2_840.0 / 142.0 / 2.0, 1e-3) && void.is_empty(), "{value}");
    assert_eq!(batches, 30);
    let of_set = |counts: &EventCounts| counted_figures(counts, ops(context(&plan))).spans_ticks;
    assert!(of_set(&counts_over_ticks(false)) && !of_set(&counts_in(&LONG, true)));
    // Without such work they are no part of the lower mode.
    let (value, batches) = insn(&counts_over_ticks(false)).0.unwrap();
    assert!(near(value, 305.0, 1e-3), "{value}");
    assert_eq!(batches, 15);
    // In batches of another kind they are disturbed, and half of them are too many.
    let mut short = counts_over_ticks(false);
    short.sets[0].spans_ticks = false;
    let (none, void) = insn(&short);
    assert!(none.is_none() && void.iter().any(|why| why.contains("disturbed")), "{void:?}");
    let mut moved = counts_over_ticks(true);
    moved.sets[0].batches.iter_mut().for_each(|it| it.sample.migrated = true);
    assert!(insn(&moved).0.is_none(), "a move to another CPU disturbs any batch");
}

#[test]
fn the_time_in_which_others_had_the_cpu_is_not_that_of_an_op() {
    let plan = plan(Mode::B);
    let mut counts = counts_over_ticks(true);
    let batches = &mut counts.sets[0].batches;
    for batch in batches.iter_mut().filter(|it| it.sample.involuntary_switches > 0) {
        // Three milliseconds, of which the clock of the task shows nothing.
        batch.sample.ticks += (3e6 * CLOCK.ticks_per_ns) as i64;
    }
    let found = counted_figures(&counts, ops(context(&plan)));
    let (time, running) = (found.time_ns.unwrap(), found.running_ns.unwrap());
    // The time of the other batches also has the reads around them, 8.5 ns an op.
    assert!((0.0..10.0).contains(&(time - running)), "{time} and {running}");
    let mut without_clock = counts;
    let set = &mut without_clock.sets[0];
    set.events.truncate(3);
    set.batches.iter_mut().chain(&mut set.empty).for_each(|it| it.counts.truncate(3));
    let found = counted_figures(&without_clock, ops(context(&plan)));
    let quiet = found.time_ns.unwrap();
    assert!(near(quiet, GETPPID.time_ns(), 0.06), "{quiet}: of the other batches alone");
    assert_eq!(found.running_ns, Some(quiet));
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
