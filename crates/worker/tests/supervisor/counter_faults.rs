//! Counters that lie, through the kernel's own interface: a clock of the kernel stands in for each
//! event of the processor, and what is read of it is falsified. So these tests run on machines with
//! and without counters of the processor.

use oscost_model::counters::{CountedBatch, CountedSet, CounterEvent, CounterFacts, CounterRead};
use oscost_model::fault_injection::{COUNTER_FAULT, CounterFault, STAND_IN};
use oscost_model::program::ProgramResult;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Mode, WorkerSpec};

use crate::common::{Session, plan, wait_until_gone};
use crate::event_counts::{answer, can_count, counting, counts_of, per_op, treated_script};
use crate::treated_worker::GETPPID;

/// A session whose survey finds counters with this fault; `None`, with a message, if its worker
/// injects none, or if the kernel lets it count nothing.
fn surveyed(fault: CounterFault) -> Option<Session> {
    let session = Session::with_variable(COUNTER_FAULT, fault.name());
    if session.hello.facts.counters.pmus != [STAND_IN] {
        eprintln!("not tested: the worker was built without the feature fault-injection");
        return None;
    }
    can_count(&session, CounterEvent::TaskClock).then_some(session)
}

/// The treatment that gives a worker counters with this fault.
fn with(fault: CounterFault) -> AppliedTreatment {
    AppliedTreatment::Env { name: COUNTER_FAULT.to_owned(), value: fault.name().to_owned() }
}

/// The events of work that this session sees.
fn work(session: &Session) -> Vec<CounterEvent> {
    let facts = &session.hello.facts.counters;
    CounterEvent::WORK.into_iter().filter(|&event| facts.can_count(event)).collect()
}

/// The work of a call, counted by a worker whose counters have this fault.
fn counted(session: &mut Session, id: u64, fault: CounterFault, inherits: bool) -> CountedSet {
    let set = [work(session), vec![CounterEvent::TaskClock]].concat();
    let spec = counting(session, GETPPID, plan(Mode::B, 400, &[1], 7), &set, inherits);
    let spec = WorkerSpec { treatments: vec![vec![with(fault)]], ..spec };
    let mut counts = counts_of(answer(session, id, spec));
    assert_eq!((counts.inherited, counts.read_by), (inherits, CounterRead::Read), "{fault:?}");
    counts.sets.remove(0)
}

#[test]
fn honest_counters_are_trusted_and_count() {
    let Some(mut session) = surveyed(CounterFault::Honest) else { return };
    let facts = &session.hello.facts.counters;
    assert!(facts.can_count_work(), "{facts:?}");
    assert_eq!((&facts.distrusted, &facts.unavailable), (&None, &None));
    // A clock is on no counter of the processor: its page is mapped, and forbids the instruction.
    assert_eq!((facts.rdpmc, facts.read_by), (Some(false), Some(CounterRead::Read)));
    assert_eq!((facts.simultaneous, facts.width_bits), (Some(8), None));
    for (id, inherits) in [(1, false), (2, true)] {
        let set = counted(&mut session, id, CounterFault::Honest, inherits);
        assert_eq!(set.void, None, "{inherits}");
        assert_eq!((set.batches.len(), set.empty.len()), (7, 9));
        assert_eq!(set.added_per_process.is_some(), inherits);
        for &event in &set.events {
            assert!(per_op(&set, event) > 0.0, "{}: {set:?}", event.perf_name());
        }
    }
    wait_until_gone(&session, "the counting workers");
}

#[test]
fn a_worker_whose_counters_lie_says_how_and_one_of_a_coarse_clock_counts() {
    let Some(mut session) = surveyed(CounterFault::Honest) else { return };
    let faults = [
        (CounterFault::Zero, "the counter of instructions:u stood still"),
        (CounterFault::Constant, "all 7 batches have 1000 cycles"),
        (CounterFault::Backwards, "went backwards"),
        (CounterFault::Wrapped, "went backwards"),
        (CounterFault::Halved, "a loop of 999999 instructions in user mode was counted as"),
        (CounterFault::Multiplexed, "the counters were multiplexed: they counted for 50 %"),
        (CounterFault::Unscheduled, "the counters were not scheduled: they counted for none of"),
        (CounterFault::Untimed, "the kernel says that they were enabled for 0 ns"),
        (CounterFault::Stopped, "so another user of the counters has"),
        (CounterFault::Restarted, "went backwards"),
    ];
    for (id, (fault, reason)) in (1..).zip(faults) {
        for (id, inherits) in [(2 * id, false), (2 * id + 1, true)] {
            let set = counted(&mut session, id, fault, inherits);
            let void = set.void.unwrap_or_default();
            assert!(void.contains(reason), "{fault:?}, inherited {inherits}: {void}");
        }
    }
    for (id, inherits) in [(100, false), (101, true)] {
        let set = counted(&mut session, id, CounterFault::CoarseClock, inherits);
        assert_eq!(set.void, None, "{inherits}");
        let is_still = |ns: u64| ns.is_multiple_of(4_000_000);
        assert!(set.batches.iter().all(|batch| is_still(batch.enabled_ns)), "{set:?}");
        assert!(set.batches.iter().any(|batch| batch.enabled_ns == 0), "{set:?}");
        assert!(per_op(&set, CounterEvent::InstructionsUser) > 0.0);
    }
    wait_until_gone(&session, "the counting workers");
}

#[test]
fn batches_become_longer_where_what_a_read_adds_varies_too_much_for_them() {
    let Some(mut session) = surveyed(CounterFault::Honest) else { return };
    let set = counted(&mut session, 1, CounterFault::UnevenReads, false);
    assert_eq!(set.void, None);
    // 400 in the plan, whose batches may take four times as long, and vary by a tenth.
    let ops = |batch: &CountedBatch| (1_440..=1_760).contains(&batch.sample.n);
    assert!(set.batches.iter().all(ops), "{set:?}");
    assert_eq!((set.batches.len(), set.empty.len()), (7, 9));
    assert!(set.empty.iter().all(|batch| batch.sample.n == 0));
}

#[test]
fn a_survey_of_counters_that_lie_does_not_use_them() {
    for (fault, reason) in [
        (CounterFault::Zero, "its counter stands still"),
        (CounterFault::Constant, "runs of a loop all took 1000 cycles"),
        (CounterFault::Backwards, "the counter of instructions:u went backwards"),
        (CounterFault::Wrapped, "the counter of instructions:u went backwards"),
        (CounterFault::Halved, "a loop of 999999 instructions in user mode was counted as"),
        (CounterFault::Multiplexed, "another user of the counters has them: it was multiplexed"),
        (CounterFault::Unscheduled, "another user of the counters has them: it was not scheduled"),
    ] {
        let Some(session) = surveyed(fault) else { return };
        let facts: &CounterFacts = &session.hello.facts.counters;
        assert!(!facts.can_count_work(), "{fault:?}: {facts:?}");
        let said = facts.distrusted.as_ref().or(facts.unavailable.as_ref());
        assert!(said.is_some_and(|said| said.contains(reason)), "{fault:?}: {said:?}");
        // The kernel's own events are no counters of the processor.
        assert!(facts.can_count(CounterEvent::TaskClock), "{fault:?}");
    }
}

#[test]
fn a_program_is_counted_by_honest_counters_and_told_how_others_lie() {
    let Some(mut session) = surveyed(CounterFault::Honest) else { return };
    let events = work(&session);
    let mut run = |id, fault| -> ProgramResult {
        treated_script(&mut session, id, "ls / >&2", &events, &[with(fault)])
    };
    let counts = run(1, CounterFault::Honest).counts.unwrap();
    assert_eq!((counts.void, counts.counts.len()), (None, events.len()));
    let zero =
        |event: CounterEvent| counts.counts.iter().any(|it| it.event == event && it.count == 0);
    assert!(!zero(CounterEvent::InstructionsUser) && !zero(CounterEvent::Cycles));
    for (id, (fault, reason)) in (2..).zip([
        (CounterFault::Zero, "the counter of instructions:u stood still"),
        (CounterFault::Multiplexed, "was multiplexed: it was counted for 50 % of the time"),
        (CounterFault::Unscheduled, "was not scheduled: it was counted for none of"),
        (CounterFault::Untimed, "the kernel says that it was enabled for 0 ns"),
    ]) {
        let counts = run(id, fault).counts.unwrap();
        let void = counts.void.unwrap_or_default();
        assert!(void.contains(reason) && counts.counts.is_empty(), "{fault:?}: {void}");
    }
}
