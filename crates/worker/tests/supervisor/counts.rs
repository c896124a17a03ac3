//! Counted calls: exactly those of the definition, in exactly the requested number of ops.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Task, WorkerSpec};
use oscost_worker::benchmarks;

use crate::common::{Session, default_cases, failure_reason, measuring, spec, wait_until_gone};

/// A prime, so that a call made in every second or third op cannot hide.
const OPS: u64 = 23;

/// The event of a count; `None`, with a message, if ptrace is forbidden here.
fn counted(session: &mut Session, id: u64, case: &str, ops: u64) -> Option<Event> {
    let mut spec = spec(case, Task::Count { warm_ops: 3, ops });
    // Pinned and with the best clock, like a worker of a run: some ops need to know their CPU, and
    // some read the clock themselves.
    let usable = session.hello.clocks.iter().find(|clock| clock.unusable_reason.is_none());
    spec.clock.kind = usable.map_or(spec.clock.kind, |clock| clock.kind);
    spec.cpu = session.hello.facts.cpu.allowed_cpus.as_ref().and_then(|cpus| cpus.last().copied());
    let mut count = |spec: &WorkerSpec| {
        session.send(&Order::Count { id, spec: Box::new(spec.clone()) });
        session.event()
    };
    let mut event = count(&spec);
    if matches!(&event, Event::Failed { reason, .. } if reason.starts_with("pin to CPU")) {
        spec.cpu = None;
        event = count(&spec);
    }
    // The kernel keeps pages that a CPU has just used or that are being written, which other tests
    // may cause: an eviction is tried again, as in a run.
    for _ in 0..3 {
        if !matches!(&event, Event::Failed { reason, .. } if reason.contains("file is not cold")) {
            break;
        }
        event = count(&spec);
    }
    match event {
        Event::Failed { reason, .. } if reason.contains("ptrace is refused") => {
            eprintln!("cannot run here: {reason}");
            None
        }
        event => Some(event),
    }
}

fn count_of(event: Event) -> CallCount {
    match event {
        Event::Counted { count, .. } => *count,
        other => panic!("it should be counted: {other:?}"),
    }
}

/// Whether the vDSO's clocks enter the kernel here, because the clock source is none that a
/// program can read by itself.
fn clock_enters_the_kernel(session: &Session) -> bool {
    let readable = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    let source = session.hello.facts.scheduling.clocksource.as_deref();
    let enters = !source.is_some_and(|source| readable.contains(&source));
    if enters {
        eprintln!("clock reads enter the kernel here: the clock source is {source:?}");
    }
    enters
}

#[test]
fn l12_every_case_of_price_list_and_survey_makes_exactly_the_calls_of_its_definition_and_no_others()
{
    let mut session = Session::start();
    let catalog = benchmarks::data();
    let survey = catalog.survey_cases().into_iter().map(|case| case.to_string());
    let cases: BTreeSet<String> = default_cases(&catalog).into_iter().chain(survey).collect();
    for (id, text) in (1..).zip(cases) {
        let case = Case::parse(&text).unwrap();
        let definition = catalog.get(&case.benchmark).unwrap();
        // On a busy machine a datagram comes late and is asked for again, and one who waits for a
        // thread that does not run asks whether it has died: other calls, by chance.
        const ATTEMPTS: u64 = 5;
        let mut found = None;
        for attempt in 1..=ATTEMPTS {
            let Some(event) = counted(&mut session, id * 10 + attempt, &text, OPS) else { return };
            if let Event::Skipped { missing, .. } = &event {
                eprintln!("{text}: {missing}");
                break;
            }
            let count = count_of(event);
            assert!(count.ops >= OPS && count.by == "ptrace", "{text}: {count:?}");
            // Of what moves bytes the calls are those of a message.
            let count = count.grouped_by(definition.ops_per_message(&case.point));
            let whole = definition.with_implied(&case.point);
            let unexpected = count.unexpected(&definition.calls, &whole);
            let is_last = unexpected.is_empty() || attempt == ATTEMPTS;
            found = Some((count, unexpected));
            if is_last {
                break;
            }
        }
        let Some((count, unexpected)) = found else { continue };
        if text.starts_with("timer/") && clock_enters_the_kernel(&session) {
            continue;
        }
        assert_eq!(unexpected, Vec::<String>::new(), "{text}: {count:?}");
        if !definition.switches {
            // A child that an op asks about sleeps: it may have begun to only now, on a busy machine
            // it may even start only now, and one that ignores a signal wakes where it is traced.
            const START: [&str; 6] =
                ["getppid", "pause", "ppoll", "prctl", "sched_setaffinity", "set_robust_list"];
            let awake = count.peer.keys().filter(|call| !START.contains(&call.as_str()));
            assert_eq!(awake.collect::<Vec<_>>(), Vec::<&String>::new(), "{text} has no peer");
        }
    }
}

#[test]
fn l12_makers_of_processes_and_threads_do_so_beside_their_usual_points_too() {
    const CASES: &[&str] = &[
        "process/fork:until=runs,via=raw,touched_mib=8,written=anew",
        "process/fork-exit:touched_mib=8,peer_cpu=same,written=anew",
        "process/fork-exit:touched_mib=0,peer_cpu=other",
        "process/exit:touched_mib=8",
        "thread/create:until=returns,state=joinable,peer_cpu=other",
        "thread/create:until=runs,state=detached,peer_cpu=other",
        "thread/create-join:via=libc,peer_cpu=other",
    ];
    let mut session = Session::start();
    let catalog = benchmarks::data();
    let cpus = session.hello.facts.cpu.allowed_cpus.clone().unwrap_or_default();
    for (id, text) in (1..).zip(CASES) {
        let case = Case::parse(text).unwrap();
        let Some(event) = counted(&mut session, id, text, OPS) else { return };
        if let Event::Skipped { missing, .. } = &event {
            eprintln!("{text}: {missing}");
            // A copy is pinned, and still has all the CPUs that its supervisor may use.
            assert!(cpus.len() < 2, "{text} on CPUs {cpus:?}: {missing}");
            continue;
        }
        let count = count_of(event);
        let rules = &catalog.get(&case.benchmark).unwrap().calls;
        assert_eq!(count.unexpected(rules, &case.point), Vec::<String>::new(), "{text}: {count:?}");
    }
}

#[test]
fn l13_an_empty_op_and_a_clock_read_enter_the_kernel_0_times_getppid_once_open_close_twice() {
    let mut session = Session::start();
    let enters = u64::from(clock_enters_the_kernel(&session));
    let has_vdso = oscost_worker::kernel::time::vdso::ClockGettime::find().is_some();
    for (id, (case, entries, vdso)) in (1..).zip([
        ("timer/nothing", 0, false),
        ("procedure/call:args=0,chain=independent", 0, false),
        ("timer/clock-gettime:clock=monotonic,via=vdso", enters, true),
        ("timer/clock-gettime:clock=monotonic,via=libc", enters, true),
        ("timer/clock-gettime:clock=monotonic,via=raw", 1, false),
        ("timer/clock-gettime:clock=thread-cputime,via=libc", 1, true),
        ("syscall/getppid:via=raw", 1, false),
        ("syscall/getppid:via=libc", 1, false),
        ("syscall/open-close:via=raw", 2, false),
        ("syscall/open-close:via=libc", 2, false),
        ("syscall/function", 0, false),
        ("syscall/function:call=time", 0, true),
        ("syscall/function:call=sbrk", 0, false),
        ("syscall/function:call=clock-gettime-coarse", 0, true),
        ("syscall/function:call=clock-gettime", enters, true),
        ("syscall/function:call=getppid", 1, false),
        ("syscall/function:call=getpid", 1, false),
        ("syscall/function:call=brk", 1, false),
        ("syscall/function:call=close", 1, false),
        ("syscall/function:call=open-close", 2, false),
        ("syscall/sbrk-0", 0, false),
        ("syscall/getcpu:via=raw", 1, false),
        ("syscall/getcpu:via=vdso", 0, true),
        ("syscall/invalid", 1, false),
        ("syscall/getpid:via=raw", 1, false),
        ("syscall/getpid:via=libc", 1, false),
        ("syscall/brk:via=raw", 1, false),
        ("syscall/brk:via=libc", 1, false),
        ("syscall/close-closed:via=libc", 1, false),
        ("syscall/open", 1, false),
        ("syscall/close", 1, false),
        ("syscall/getppid:via=raw,state=cold", 1, false),
        ("syscall/open-close:via=libc,state=cold", 2, false),
        ("syscall/signal", 2, false),
        ("timer/clock-gettime:clock=realtime-coarse,via=libc", 0, true),
        ("timer/gettimeofday:via=libc", enters, true),
        ("timer/gettimeofday:via=raw", 1, false),
        ("timer/time:via=libc", 0, true),
        ("timer/time:via=raw", 1, false),
        ("timer/tsc:read=fenced-rdtsc", 0, false),
        ("timer/clock", 1, true),
    ]) {
        let Some(event) = counted(&mut session, id, case, OPS) else { return };
        if let Event::Skipped { missing, .. } = &event {
            eprintln!("{case}: {missing}");
            continue;
        }
        let count = count_of(event);
        assert_eq!(count.own.values().sum::<u64>(), entries * OPS, "{case}: {count:?}");
        assert_eq!(count.vdso, Some(vdso && has_vdso), "{case}: where its code runs: {count:?}");
        let work = (count.tasks, count.faults, count.bytes);
        assert_eq!(work, (Some(0), Some(0), Some(0)), "{case}: it works for nothing else");
    }
}

#[test]
fn single_steps_are_exact_and_exclude_the_marks() {
    let mut session = Session::start();
    let mut instructions = Vec::new();
    for (id, args) in [(1, 0), (2, 4), (3, 7)] {
        let case = format!("procedure/call:args={args},chain=independent");
        let Some(event) = counted(&mut session, id, &case, OPS) else { return };
        instructions.push(count_of(event).instructions.unwrap());
    }
    // The same every time, so a whole number an op; an argument more is an instruction more.
    assert!(instructions.iter().all(|it| it.fract() == 0.0), "{instructions:?}");
    assert!(instructions.is_sorted_by(|less, more| less < more), "{instructions:?}");
    assert!(instructions[0] >= 2.0, "a call and a return at least: {instructions:?}");
}

#[test]
fn ops_that_share_a_call_make_exactly_their_share_wherever_the_count_begins() {
    let mut session = Session::start();
    for (id, ops) in [(1, 32), (2, 23 * 32)] {
        let case = "syscall/io-uring:batch=32";
        let Some(event) = counted(&mut session, id, case, ops) else { return };
        if let Event::Skipped { missing, .. } = &event {
            eprintln!("{case}: {missing}");
            continue;
        }
        let calls = BTreeMap::from([("io_uring_enter".to_owned(), ops / 32)]);
        assert_eq!(count_of(event).own, calls, "{ops} ops");
    }
}

#[test]
fn only_a_part_of_a_long_pass_over_a_file_is_counted() {
    let mut session = Session::start();
    for (id, (via, size, ops, reads_per_call)) in (1..).zip([
        ("read", 8, OPS, 1),
        ("fread", 8, 512 * OPS, 512),
        ("mmap", 8, OPS, 0),
        ("read", 65_536, OPS, 1),
    ]) {
        let reads_in_the_file: u64 = (8 << 20) / size;
        let case = format!("file/read:via={via},size={size},cache=cold,file_mib=8");
        let Some(event) = counted(&mut session, id, &case, ops) else { return };
        if let Event::Skipped { missing, .. } = &event {
            eprintln!("{case}: {missing}");
            continue;
        }
        let count = count_of(event);
        // Of a million small reads a part is counted, once; short passes as often as other ops.
        let pass = reads_in_the_file.min(1 << 15);
        assert_eq!(count.ops, pass * OPS.min(((1 << 13) / pass).max(1)), "{case}");
        assert!(count.ops >= ops, "{case}: {} ops", count.ops);
        let calls: Vec<(String, u64)> = count.own.into_iter().collect();
        let expected = count.ops.checked_div(reads_per_call).map(|it| ("read".to_owned(), it));
        assert_eq!(calls, Vec::from_iter(expected), "{case}");
    }
}

#[test]
fn a_count_is_proportional_to_the_number_of_ops() {
    let mut session = Session::start();
    for (id, ops) in [(1, 0), (2, 1), (3, 2), (4, 101)] {
        let Some(event) = counted(&mut session, id, "syscall/open-close:via=raw", ops) else {
            return;
        };
        let calls = [("close".to_owned(), ops), ("openat".to_owned(), ops)];
        let calls: BTreeMap<_, _> = calls.into_iter().filter(|(_, times)| *times > 0).collect();
        assert_eq!(count_of(event).own, calls, "{ops} ops");
    }
    wait_until_gone(&session, "a counted copy");
}

#[test]
fn a_task_other_than_counting_is_refused() {
    let mut session = Session::start();
    let wrong = measuring("syscall/getppid:via=raw");
    session.send(&Order::Count { id: 1, spec: Box::new(wrong) });
    assert_eq!(failure_reason(session.event()), "the task of the order is not to count");
    let Some(event) = counted(&mut session, 2, "syscall/no-such-thing", OPS) else {
        return;
    };
    let reason = failure_reason(event);
    assert_eq!(reason, "`syscall/no-such-thing` is not in this worker's catalog");
}
