//! The processor's counters, where this machine shows them; elsewhere each test says why it does not
//! run.

use oscost_model::counters::{CountedBatch, CountedSet, CounterEvent, CounterFacts};
use oscost_model::worker::{BatchPlan, Mode};
use oscost_worker::bench::Work;
use oscost_worker::engine::clock::Tsc;
use oscost_worker::engine::collect::BatchJitter;
use oscost_worker::engine::events::kernel_counters::{
    CounterRequest, KernelCounters, KernelOpener, visible_modes,
};
use oscost_worker::engine::events::refusal::Circumstances;
use oscost_worker::engine::events::survey::survey;
use oscost_worker::kernel::probe::perf::Counted;
use oscost_worker::kernel::syscall::prepared;

use super::{collector, median, ready};

/// The counters of this machine; `None`, with a message, if it shows none.
fn counters() -> Option<CounterFacts> {
    if !ready() {
        return None;
    }
    let circumstances = Circumstances::default();
    let facts = survey(CounterFacts::default(), &mut KernelOpener { pmu: 0 }, &circumstances);
    match facts.can_count_work() {
        true => Some(facts),
        false => {
            let reason = facts.distrusted.or(facts.unavailable).unwrap_or_default();
            println!("not tested: {reason}");
            None
        }
    }
}

/// The work of an op, counted in batches of so many.
fn counted(facts: &CounterFacts, work: &mut Work, iterations: u64) -> CountedSet {
    let unroll_factors = vec![1];
    let (mode, groups, batch_ns) = (Mode::B, 21, 50_000.0);
    let plan =
        BatchPlan { mode, iterations, unroll_factors, groups, batch_ns, coarse_clock: false };
    let events: Vec<CounterEvent> =
        CounterEvent::WORK.into_iter().filter(|&event| facts.can_count(event)).collect();
    let request = CounterRequest {
        events: &events,
        modes: visible_modes().unwrap(),
        counted: Counted::Thread,
        read_by: facts.read_by.unwrap(),
        avoids_syscalls: false,
        pmu: 0,
    };
    let mut counters = KernelCounters::open(&request).unwrap();
    let mut collector = collector(Tsc);
    collector.warm_up(work, &plan).unwrap();
    let mut jitter = BatchJitter::new(1);
    let set = collector.count_set(work, &plan, None, &mut jitter, 0, &mut counters).unwrap();
    assert_eq!(set.void, None);
    set
}

/// The median of an event per op, without what reading adds.
fn per_op(set: &CountedSet, event: CounterEvent) -> f64 {
    let at = set.events.iter().position(|it| *it == event).unwrap();
    let reads = median(set.empty.iter().map(|batch| batch.counts[at] as f64).collect());
    let value = |batch: &CountedBatch| (batch.counts[at] as f64 - reads) / batch.sample.n as f64;
    median(set.batches.iter().map(value).collect())
}

#[test]
fn instructions_of_an_op_repeat_within_a_fifth_of_a_per_cent() {
    let Some(facts) = counters() else { return };
    println!("{facts:?}");
    for event in [CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel] {
        if !facts.can_count(event) {
            println!("not tested: {}", event.perf_name());
            continue;
        }
        let values: Vec<f64> = (0..10)
            .map(|_| per_op(&counted(&facts, &mut Work::raw(prepared::getuid()), 400), event))
            .collect();
        println!("{}: {values:?}", event.perf_name());
        let (low, high) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
        assert!(high / low <= 1.002, "{low} .. {high}");
    }
}

#[test]
fn a_call_enters_the_kernel_for_tens_of_instructions_and_an_empty_op_for_none() {
    let Some(facts) = counters().filter(CounterFacts::sees_kernel) else { return };
    let kernel =
        |work: &mut Work| per_op(&counted(&facts, work, 2_000), CounterEvent::InstructionsKernel);
    let (call, nothing) =
        (kernel(&mut Work::raw(prepared::getuid())), kernel(&mut Work::with_loop(|| Ok(()))));
    println!("getuid {call} instructions in the kernel, nothing {nothing}");
    assert!(call > 20.0 && nothing.abs() < 1.0);
}

#[test]
fn cycles_over_time_are_a_clock_that_a_processor_can_have() {
    let Some(facts) = counters() else { return };
    let set = counted(&facts, &mut Work::with_loop(|| Ok(())), 200_000);
    let cycles = per_op(&set, CounterEvent::Cycles);
    let insn = per_op(&set, CounterEvent::InstructionsUser);
    println!("an empty iteration: {insn} instructions, {cycles} cycles");
    assert!((1.0..=10.0).contains(&insn) && (0.2..=10.0).contains(&cycles));
}
