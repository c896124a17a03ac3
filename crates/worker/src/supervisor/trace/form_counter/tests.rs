//! Counts over made-up stops of traced tasks.

use super::*;

const ROOT: u32 = 1_000_000_001;

fn stop(counter: &mut FormCounter, task: u32, stop: ProgramStop) {
    counter.record(StoppedTask { task, stop });
}

fn enter(counter: &mut FormCounter, task: u32, call: i64, first: u64) {
    let args = [first, 0, 0, 0, 0, 0];
    stop(counter, task, ProgramStop::Entry { call: call as u64, args, is_native: true });
}

fn leave(counter: &mut FormCounter, task: u32, value: i64) {
    stop(counter, task, ProgramStop::Exit { value, is_error: value < 0 });
}

/// A counter of a program that has begun.
fn begun() -> FormCounter {
    let mut counter = FormCounter::new(ROOT, &Program::default());
    enter(&mut counter, ROOT, libc::SYS_getpid, 0);
    leave(&mut counter, ROOT, 1);
    // Not in the first folder of PATH.
    for value in [-2, 0] {
        enter(&mut counter, ROOT, libc::SYS_execve, 0);
        if value == 0 {
            stop(&mut counter, ROOT, ProgramStop::Exec { former: ROOT });
        }
        leave(&mut counter, ROOT, value);
    }
    counter
}

fn calls(counter: FormCounter) -> ProgramCalls {
    match counter.into_event(1) {
        Event::FormsCounted { calls, .. } => *calls,
        other => panic!("{other:?}"),
    }
}

fn times(calls: &ProgramCalls, form: &str) -> u64 {
    calls.forms.iter().filter(|it| it.form == form).map(|it| it.calls).sum()
}

#[test]
fn counting_begins_with_the_execve_that_succeeds_and_ends_with_the_exit() {
    let mut counter = begun();
    enter(&mut counter, ROOT, libc::SYS_getpid, 0);
    leave(&mut counter, ROOT, 1);
    enter(&mut counter, ROOT, libc::SYS_exit_group, 0);
    stop(&mut counter, ROOT, ProgramStop::Ended(Termination::Exited(0)));
    let calls = calls(counter);
    let found = ["execve", "getpid", "exit_group"].map(|form| times(&calls, form));
    assert_eq!((found, calls.calls()), ([1, 1, 1], 3));
    assert_eq!((calls.execs, calls.exits, calls.unfinished), (1, 1, 0));
}

#[test]
fn tasks_are_counted_as_what_their_call_creates() {
    let mut counter = begun();
    let (child, thread) = (ROOT + 1, ROOT + 2);
    let thread_flags = libc::CLONE_THREAD as u64;
    for (flags, made) in [(libc::SIGCHLD as u64, child), (thread_flags, thread)] {
        enter(&mut counter, ROOT, libc::SYS_clone, flags);
        stop(&mut counter, ROOT, ProgramStop::NewTask(made));
        leave(&mut counter, ROOT, i64::from(made));
    }
    assert_eq!(counter.tasks().collect::<Vec<_>>(), [child, thread]);
    // The thread executes a program, and takes over the id of its process, which slept.
    enter(&mut counter, ROOT, libc::SYS_ppoll, 0);
    enter(&mut counter, thread, libc::SYS_execve, 0);
    stop(&mut counter, ROOT, ProgramStop::Exec { former: thread });
    leave(&mut counter, ROOT, 0);
    stop(&mut counter, ROOT, ProgramStop::Signal(libc::SIGCHLD));
    stop(&mut counter, ROOT, ProgramStop::Ended(Termination::Exited(0)));
    assert!(counter.has_ended());
    let calls = calls(counter);
    assert_eq!((calls.forks, calls.threads, calls.execs), (1, 1, 2));
    assert_eq!((calls.unfinished, calls.killed, calls.signals), (1, 1, 1));
    let found = ["clone process", "clone thread", "execve"].map(|form| times(&calls, form));
    assert_eq!(found, [1, 1, 2]);
}

#[test]
fn a_task_that_ends_before_its_creator_tells_of_it_does_not_outlive_the_program() {
    let mut counter = begun();
    let child = ROOT + 1;
    enter(&mut counter, ROOT, libc::SYS_clone, libc::SIGCHLD as u64);
    stop(&mut counter, child, ProgramStop::Ended(Termination::Exited(0)));
    stop(&mut counter, ROOT, ProgramStop::NewTask(child));
    leave(&mut counter, ROOT, i64::from(child));
    assert_eq!(counter.tasks().count(), 0);
    stop(&mut counter, ROOT, ProgramStop::Ended(Termination::Exited(0)));
    let calls = calls(counter);
    assert_eq!((calls.forks, calls.exits, calls.killed), (1, 2, 0));
}

#[test]
fn a_running_process_is_counted_from_the_start_and_need_not_end() {
    let mut counter = FormCounter::of_running(ROOT);
    // The call that it was in returns first.
    leave(&mut counter, ROOT, 1);
    enter(&mut counter, ROOT, libc::SYS_getpid, 0);
    leave(&mut counter, ROOT, 1);
    enter(&mut counter, ROOT, libc::SYS_ppoll, 0);
    let calls = counter.into_calls(0);
    assert_eq!((times(&calls, "getpid"), calls.calls(), calls.unfinished), (1, 1, 0));
}

#[test]
fn the_flags_are_those_of_the_c_library() {
    use oscost_model::call_flags as flags;
    for (flag, of_library) in [
        (flags::O_CREAT, libc::O_CREAT),
        (flags::O_DIRECTORY, libc::O_DIRECTORY),
        (flags::O_TMPFILE, libc::O_TMPFILE),
        (flags::AT_EMPTY_PATH, libc::AT_EMPTY_PATH),
        (flags::MAP_ANONYMOUS, libc::MAP_ANONYMOUS),
        (flags::MAP_FIXED, libc::MAP_FIXED),
        (flags::MAP_FIXED_NOREPLACE, libc::MAP_FIXED_NOREPLACE),
        (flags::CLONE_THREAD, libc::CLONE_THREAD),
        (flags::CLONE_VFORK, libc::CLONE_VFORK),
    ] {
        assert_eq!(flag, of_library as u64);
    }
    assert_eq!(flags::AT_FDCWD, libc::AT_FDCWD);
}

#[test]
fn a_program_that_fails_is_not_counted() {
    let mut counter = begun();
    stop(&mut counter, ROOT, ProgramStop::Ended(Termination::Exited(7)));
    match counter.into_event(1) {
        Event::Failed { reason, .. } => assert!(reason.ends_with("status 7"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn forms_beyond_the_maximum_are_counted_together() {
    let mut counter = begun();
    for request in 0..2 * MAX_FORMS as u64 {
        let args = [0, (request << 8) | 7, 0, 0, 0, 0];
        let call = libc::SYS_ioctl as u64;
        stop(&mut counter, ROOT, ProgramStop::Entry { call, args, is_native: true });
        leave(&mut counter, ROOT, 0);
    }
    stop(&mut counter, ROOT, ProgramStop::Ended(Termination::Exited(0)));
    let calls = calls(counter);
    assert!(times(&calls, "other") > 0 && calls.forms.len() <= MAX_FORMS + 1);
}
