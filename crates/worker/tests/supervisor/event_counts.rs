//! Events counted around batches, on the real kernel: those that need no counter of the processor;
//! and that a timed worker opens no counter.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::counters::{CountedSet, CounterEvent, CounterFacts, CountingPlan, EventCounts};
use oscost_model::program::{Program, ProgramResult};
use oscost_model::protocol::Event;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{BatchPlan, Mode, Subject, Task, WorkerSpec};
use oscost_worker::benchmarks;
use oscost_worker::kernel::event::poll;
use oscost_worker::kernel::probe::seccomp::{self, Listener, NotifyMode};
use oscost_worker::kernel::process::open_pidfd;

use crate::common::{
    Session, default_cases, failure_reason, measuring, plan, spec, wait_until_gone,
};
use crate::treated_worker::{EPERM, GETPPID, at_call, filter, pinned};

const PIPE: &str = "switch/pipe:between=processes,peer_cpu=same";
const ZERO_FILL: &str = "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending";

/// Whether the kernel counts this event for us; otherwise says why not.
pub(crate) fn can_count(session: &Session, event: CounterEvent) -> bool {
    let probe = session.hello.facts.counters.events.iter().find(|it| it.event == event).unwrap();
    if let Some(reason) = &probe.refused {
        eprintln!("not tested: {}: {reason}", event.perf_name());
    }
    probe.refused.is_none()
}

/// The plan that a pilot makes for a case; `None`, with a message, if the case is skipped here.
fn piloted(session: &mut Session, id: u64, case: &str) -> Option<BatchPlan> {
    session.measure(id, pinned(session, spec(case, Task::Pilot { interruptions_per_s: 100.0 })));
    if let Event::Skipped { missing, .. } = session.event() {
        eprintln!("{case}: {missing}");
        return None;
    }
    session.go(id, 1);
    match session.event() {
        Event::Piloted { plan, .. } => Some(BatchPlan { groups: 5, ..plan }),
        other => panic!("{case}: {other:?}"),
    }
}

/// A worker that counts a set of events.
pub(crate) fn counting(
    session: &Session,
    case: &str,
    batches: BatchPlan,
    set: &[CounterEvent],
    inherits: bool,
) -> WorkerSpec {
    let sets = vec![set.to_vec()];
    let plan = CountingPlan { batches, sets, inherits, read_by: None, deferred_work_ns: None };
    pinned(session, spec(case, Task::CountEvents(plan)))
}

pub(crate) fn answer(session: &mut Session, id: u64, spec: WorkerSpec) -> Event {
    session.measure(id, spec);
    match session.event() {
        Event::Ready { .. } => {
            session.go(id, 1);
            session.event()
        }
        other => other,
    }
}

pub(crate) fn counts_of(event: Event) -> EventCounts {
    match event {
        Event::EventsCounted { counts, .. } => *counts,
        other => panic!("it should have counted: {other:?}"),
    }
}

/// The median per op of an event, without what reading adds.
pub(crate) fn per_op(set: &CountedSet, event: CounterEvent) -> f64 {
    assert_eq!(set.void, None);
    let at = set.events.iter().position(|it| *it == event).unwrap();
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let empty = median(set.empty.iter().map(|batch| batch.counts[at] as f64).collect());
    let value = |batch: &oscost_model::counters::CountedBatch| {
        (batch.counts[at] as f64 - empty) / batch.sample.n as f64
    };
    median(set.batches.iter().map(value).collect())
}

#[test]
fn a_touched_page_is_a_page_fault_and_the_batches_are_those_of_the_plan() {
    let mut session = Session::start();
    let set = [CounterEvent::TaskClock, CounterEvent::PageFaults];
    if !set.iter().all(|event| can_count(&session, *event)) {
        return;
    }
    let Some(batches) = piloted(&mut session, 1, ZERO_FILL) else { return };
    let spec = counting(&session, ZERO_FILL, batches.clone(), &set, false);
    let counts = counts_of(answer(&mut session, 2, spec));
    assert!(!counts.inherited && counts.sets.len() == 1, "{counts:?}");
    let counted = &counts.sets[0];
    assert_eq!(per_op(counted, CounterEvent::PageFaults), 1.0, "{counted:?}");
    assert_eq!(counted.events, set);
    let per_set = batches.groups as usize * batches.unroll_factors.len();
    assert_eq!((counted.batches.len(), counted.empty.len()), (per_set, 9));
    assert!(counted.empty.iter().all(|batch| batch.sample.n == 0 && batch.counts[1] == 0));
    for batch in counted.batches.iter().chain(&counted.empty) {
        assert!(batch.counts[0] > 0 && batch.enabled_ns == batch.counting_ns, "{batch:?}");
    }
    wait_until_gone(&session, "a counting worker");
}

#[test]
fn switches_of_both_ends_are_counted_with_inheritance_and_those_of_one_end_without() {
    let mut session = Session::start();
    let set = [CounterEvent::ContextSwitches];
    if !can_count(&session, set[0]) {
        return;
    }
    let Some(batches) = piloted(&mut session, 1, PIPE) else { return };
    for (id, inherits, switches) in [(2, false, 1.0), (3, true, 2.0)] {
        let spec = counting(&session, PIPE, batches.clone(), &set, inherits);
        let counts = counts_of(answer(&mut session, id, spec));
        assert_eq!(counts.inherited, inherits);
        assert_eq!(counts.sets[0].added_per_process.is_some(), inherits);
        // The scheduler may preempt an end once in a while, which only adds.
        let counted = per_op(&counts.sets[0], set[0]);
        assert!((switches..switches + 0.1).contains(&counted), "{inherits}: {counted}");
    }
}

#[test]
fn what_a_child_does_is_counted_with_inheritance_alone() {
    let mut session = Session::start();
    let set = [CounterEvent::PageFaults];
    if !can_count(&session, set[0]) {
        return;
    }
    let case = "process/fork-exit:touched_mib=0,peer_cpu=same";
    let Some(batches) = piloted(&mut session, 1, case) else { return };
    let mut faults = |id, inherits| {
        let spec = counting(&session, case, batches.clone(), &set, inherits);
        let counted = counts_of(answer(&mut session, id, spec)).sets.remove(0);
        (per_op(&counted, set[0]), counted.added_per_process)
    };
    let ((own, none), (both, added)) = (faults(2, false), faults(3, true));
    assert_eq!(none, None);
    // A second counter costs time and instructions, and touches hardly a page of the process.
    let added = added.unwrap();
    assert!(added.len() == 1 && added[0].abs() <= 2.0, "{added:?}");
    // A child copies at least the page of its stack.
    assert!(both >= own + 1.0, "{own} and {both}");
}

#[test]
fn counters_are_opened_before_a_filter_that_forbids_the_call() {
    let mut session = Session::start();
    let set = [CounterEvent::TaskClock];
    if !can_count(&session, set[0]) {
        return;
    }
    let filter = filter(&at_call(libc::SYS_perf_event_open as u32, EPERM));
    let batches = plan(Mode::B, 200, &[1], 5);
    let spec = counting(&session, GETPPID, batches, &set, false);
    let spec = WorkerSpec { treatments: vec![vec![filter]], ..spec };
    match answer(&mut session, 1, spec) {
        Event::Skipped { missing, .. } => eprintln!("not tested: {missing}"),
        event => {
            let counts = counts_of(event);
            assert_eq!(counts.sets[0].void, None);
            assert!(per_op(&counts.sets[0], set[0]) > 0.0);
        }
    }
    wait_until_gone(&session, "a treated counting worker");
}

#[test]
fn a_set_that_cannot_be_counted_says_why_and_others_are_counted() {
    let mut session = Session::start();
    if session.hello.facts.counters.can_count_work()
        || !can_count(&session, CounterEvent::TaskClock)
    {
        return;
    }
    let batches = plan(Mode::U, 200, &[1, 2, 4, 8], 3);
    let sets = vec![CounterEvent::WORK.to_vec(), vec![CounterEvent::TaskClock]];
    let inherits = false;
    let task = CountingPlan { batches, sets, inherits, read_by: None, deferred_work_ns: None };
    let spec = pinned(&session, spec(GETPPID, Task::CountEvents(task)));
    let counts = counts_of(answer(&mut session, 1, spec));
    let [work, clock] = &counts.sets[..] else { panic!("{counts:?}") };
    let reason = work.void.as_deref().unwrap();
    assert!(reason.starts_with("cannot count instructions:u: "), "{reason}");
    assert!(work.batches.is_empty() && work.events == CounterEvent::WORK);
    assert_eq!((clock.void.as_deref(), clock.batches.len()), (None, 12));
    assert!(clock.batches.iter().all(|batch| batch.sample.cpu_ns.is_some()), "calls are made");
}

#[test]
fn workers_of_several_arms_or_windows_count_no_events() {
    let mut session = Session::start();
    let batches = || plan(Mode::B, 10, &[1], 3);
    let one = counting(&session, GETPPID, batches(), &[CounterEvent::TaskClock], false);
    for (id, wrong) in (1..).zip([
        WorkerSpec { arms: 2, ..one.clone() },
        WorkerSpec { toggled: true, ..one.clone() },
        WorkerSpec { windows: Some(10), ..one },
    ]) {
        let reason = failure_reason(answer(&mut session, id, wrong));
        assert!(reason.contains("one arm"), "{reason}");
    }
}

#[test]
fn the_events_of_every_default_case_are_counted_or_it_is_skipped_with_a_reason() {
    let mut session = Session::start();
    let set = [CounterEvent::TaskClock, CounterEvent::PageFaults];
    if !set.iter().all(|event| can_count(&session, *event)) {
        return;
    }
    let catalog = benchmarks::data();
    for (id, case) in (1..).zip(default_cases(&catalog)) {
        let switches = catalog.get(&Case::parse(&case).unwrap().benchmark).unwrap().switches;
        // One op per batch: some works can prepare no more.
        let spec = counting(&session, &case, plan(Mode::B, 1, &[1], 3), &set, switches);
        // A busy machine may deliver a datagram too late, and may stop the counters for a while.
        const ATTEMPTS: u64 = 5;
        let over_udp = case.contains("by=udp");
        let mut answers =
            (0..ATTEMPTS).map(|attempt| answer(&mut session, 10 * id + attempt, spec.clone()));
        let is_whole = |event: &Event| match event {
            Event::TimedOut { .. } => false,
            Event::EventsCounted { counts, .. } => {
                counts.sets[0].void.is_none() || counts.sets[0].batches.is_empty() && over_udp
            }
            _ => true,
        };
        match answers.find(is_whole).unwrap_or_else(|| panic!("{case}: never counted whole")) {
            Event::Skipped { missing, .. } => assert!(!missing.is_empty(), "{case}"),
            Event::EventsCounted { counts, .. } => {
                let counted = &counts.sets[0];
                // A busy machine may lose the datagrams of every batch.
                let is_lost = over_udp && counted.batches.is_empty();
                if !is_lost {
                    assert_eq!((&counted.void, counted.empty.len()), (&None, 9), "{case}");
                }
                let least = if over_udp { 0 } else { 3 };
                assert!((least..=3).contains(&counted.batches.len()), "{case}");
                assert_eq!(counts.inherited, switches, "{case}");
            }
            other => panic!("{case}: {other:?}"),
        }
    }
    wait_until_gone(&session, "the counting workers");
}

/// What the survey of a session found, in any session.
fn check_facts(facts: &CounterFacts) {
    assert_eq!(facts.events.len(), CounterEvent::ALL.len());
    assert_eq!(facts.can_count_work(), facts.unavailable.is_none() && facts.distrusted.is_none());
    let counts_some = facts.events.iter().any(|probe| probe.refused.is_none());
    assert_eq!(facts.read_by.is_some(), counts_some, "{facts:?}");
    assert!(facts.boot.as_ref().is_none_or(|boot| !boot.contains('-')), "{:?}", facts.boot);
}

#[test]
fn a_session_says_which_events_can_be_counted_and_an_ordinary_user_sees_no_kernel() {
    check_facts(&Session::start().hello.facts.counters);
    let ordinary = Session::ordinary();
    let facts = &ordinary.hello.facts.counters;
    check_facts(facts);
    if facts.paranoid.is_some_and(|level| level == 2) && facts.can_count(CounterEvent::PageFaults) {
        for event in [CounterEvent::ContextSwitches, CounterEvent::Migrations] {
            let probe = facts.events.iter().find(|probe| probe.event == event).unwrap();
            let reason = "perf_event_paranoid is 2: needs 1 or less, or CAP_PERFMON";
            assert_eq!(probe.refused.as_deref(), Some(reason));
        }
    }
}

#[test]
fn an_ordinary_user_counts_what_happens_in_user_mode() {
    let mut session = Session::ordinary();
    let set = [CounterEvent::PageFaults];
    if !can_count(&session, set[0]) {
        return;
    }
    let Some(batches) = piloted(&mut session, 1, ZERO_FILL) else { return };
    let spec = counting(&session, ZERO_FILL, batches, &set, false);
    let counts = counts_of(answer(&mut session, 2, spec));
    assert_eq!(per_op(&counts.sets[0], set[0]), 1.0);
    let sees_kernel = session.hello.facts.counters.can_count(CounterEvent::ContextSwitches);
    assert_eq!(counts.kernel, sees_kernel);
}

/// The result of a script, run with these events counted over its processes.
fn counted_script(
    session: &mut Session,
    id: u64,
    script: &str,
    counted: &[CounterEvent],
) -> ProgramResult {
    treated_script(session, id, script, counted, &[])
}

/// The result of a script, run under treatments with these events counted over its processes.
pub(crate) fn treated_script(
    session: &mut Session,
    id: u64,
    script: &str,
    counted: &[CounterEvent],
    applied: &[AppliedTreatment],
) -> ProgramResult {
    let words = ["sh", "-c", script].map(str::to_owned).to_vec();
    let program = Program { command: words, captures_output: true, ..Program::default() };
    let subject = Subject::Program(Box::new(program));
    let task = Task::Run { warm_up: false, counted: counted.to_vec() };
    let treatments = vec![applied.to_vec()];
    let spec = WorkerSpec { subject, task, treatments, timeout_ms: 60_000, ..measuring(GETPPID) };
    session.measure(id, spec);
    match session.event() {
        Event::ProgramExited { result, .. } => *result,
        other => panic!("it should have run: {other:?}"),
    }
}

#[test]
fn events_of_a_programs_whole_tree_are_counted_and_it_inherits_no_descriptor() {
    let mut session = Session::start();
    let events = [CounterEvent::TaskClock, CounterEvent::PageFaults];
    if !events.iter().all(|event| can_count(&session, *event)) {
        return;
    }
    let count = |result: &ProgramResult| {
        let counts = result.counts.as_ref().unwrap();
        assert_eq!(counts.void, None);
        counts.counts.iter().map(|total| total.count).collect::<Vec<_>>()
    };
    let list = "ls -l /proc/self/fd; ls -l /proc/$$/fd";
    let one = counted_script(&mut session, 1, list, &events);
    assert!(!one.output.contains("perf"), "{}", one.output);
    let [clock_ns, faults] = count(&one)[..] else { panic!("{one:?}") };
    // The kernel's other account of the tree begins earlier: before the program is executed.
    let usage = one.usage;
    assert!(
        clock_ns > 0 && faults > 0 && faults <= usage.minor_faults + usage.major_faults,
        "{one:?}"
    );
    // Ten more processes have ten times the faults of one, which only inheritance shows.
    let many =
        counted_script(&mut session, 2, &format!("{list}; {}", "ls >&2; ".repeat(10)), &events);
    assert!(count(&many)[1] > 2 * faults, "{faults} and {many:?}");
    assert_eq!(counted_script(&mut session, 3, "true", &[]).counts, None, "a timed trial");
}

#[test]
fn a_programs_events_that_cannot_be_counted_say_why() {
    let mut session = Session::start();
    if session.hello.facts.counters.can_count_work() {
        return;
    }
    let ran = counted_script(&mut session, 1, "true", &CounterEvent::WORK);
    let counts = ran.counts.unwrap();
    assert!(counts.void.unwrap().starts_with("cannot count instructions:u: "));
    assert!(counts.counts.is_empty() && ran.real_ns > 0);
}

/// Counts the calls of perf_event_open(2) by what the calling thread starts from now on; `None`, with
/// a message, where a filter cannot have a listener.
fn count_opens() -> Option<Arc<AtomicU64>> {
    const NOTIFY: u32 = 0x7fc0_0000;
    let filter = at_call(libc::SYS_perf_event_open as u32, NOTIFY);
    let installed = seccomp::install(&filter, NotifyMode::Listener);
    let fd = match installed {
        Ok(fd) => fd.unwrap(),
        Err(error) => {
            eprintln!("not tested: a filter with a listener: {error}");
            return None;
        }
    };
    let own = open_pidfd(std::process::id()).unwrap();
    let listener =
        Listener::take_from_process(std::os::fd::AsFd::as_fd(&own), fd.as_raw_fd()).unwrap();
    drop(fd);
    let opens = Arc::new(AtomicU64::new(0));
    let counter = opens.clone();
    let running = AtomicBool::new(true);
    // Ends with the test program.
    std::thread::spawn(move || {
        while running.load(Ordering::Relaxed) {
            let ready = poll::readable(
                &[std::os::fd::AsFd::as_fd(&listener)],
                Some(Duration::from_secs(60)),
            );
            if !ready.is_ok_and(|ready| ready[0]) || listener.continue_call(&counter).is_err() {
                break;
            }
        }
    });
    Some(opens)
}

#[test]
fn a_timed_worker_opens_no_counter() {
    // In a thread of its own, since a filter stays for as long as the thread.
    let test = std::thread::spawn(|| {
        let Some(opens) = count_opens() else { return };
        let mut session = Session::start();
        let survey = opens.swap(0, Ordering::Relaxed);
        assert!(survey > 0, "the survey opens counters: the listener works");
        let Some(batches) = piloted(&mut session, 1, GETPPID) else { return };
        let timed = spec(GETPPID, Task::Measure(batches.clone()));
        let timed = pinned(&session, timed);
        let treated = WorkerSpec {
            treatments: vec![vec![AppliedTreatment::Nice { increment: 1 }]],
            ..timed.clone()
        };
        for (id, spec) in (2..).zip([timed, treated]) {
            match session.measured(id, spec, batches.groups) {
                Event::Sampled { samples, .. } => assert!(!samples.is_empty()),
                other => panic!("it should have been timed: {other:?}"),
            }
        }
        assert_eq!(counted_script(&mut session, 4, "true", &[]).counts, None);
        assert_eq!(opens.load(Ordering::Relaxed), 0, "of a pilot, two timed workers and a trial");
        let spec = counting(&session, GETPPID, batches, &[CounterEvent::TaskClock], false);
        counts_of(answer(&mut session, 5, spec));
        assert!(opens.load(Ordering::Relaxed) > 0, "a counting worker opens some");
    });
    test.join().unwrap();
}

#[test]
fn where_a_filter_forbids_the_call_it_is_named_and_ops_are_timed_as_before() {
    const ENOSYS: u32 = 0x0005_0000 | libc::ENOSYS as u32;
    for action in [EPERM, ENOSYS] {
        // In a thread of its own, since a filter stays for as long as the thread.
        let test = std::thread::spawn(move || {
            let filter = at_call(libc::SYS_perf_event_open as u32, action);
            if let Err(error) = seccomp::install(&filter, NotifyMode::None) {
                return eprintln!("not tested: a filter: {error}");
            }
            let mut session = Session::start();
            let facts = &session.hello.facts.counters;
            check_facts(facts);
            assert!(facts.sets().is_empty(), "{facts:?}");
            let reason = facts.unavailable.as_deref().unwrap();
            assert!(reason.contains("a seccomp filter restricts system calls here"), "{reason}");
            let batches = plan(Mode::B, 10, &[1], 3);
            let set = [CounterEvent::TaskClock];
            let spec = counting(&session, GETPPID, batches, &set, false);
            let counts = counts_of(answer(&mut session, 1, spec));
            let void = counts.sets[0].void.as_deref().unwrap();
            assert!(void.starts_with("cannot count task-clock: "), "{void}");
            match session.measured(2, measuring(GETPPID), 3) {
                Event::Sampled { samples, .. } => assert_eq!(samples.len(), 3),
                other => panic!("it should have been timed: {other:?}"),
            }
        });
        test.join().unwrap();
    }
}
