//! Profiles, windows and locality frames across fork, exec and exit, and of threads.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const CLONE: u16 = if cfg!(target_arch = "aarch64") { 220 } else { 56 };
const EXIT_GROUP: u16 = if cfg!(target_arch = "aarch64") { 94 } else { 231 };
const GETPID: u16 = if cfg!(target_arch = "aarch64") { 172 } else { 39 };
const GETPPID: u16 = if cfg!(target_arch = "aarch64") { 173 } else { 110 };
/// The environment variable with the number of calls of each thread of a helper.
const CALLS_PER_THREAD: &str = "OSCOST_TEST_CALLS_PER_THREAD";
/// The environment variable with the program that a helper executes from memory.
const MEMORY_PROGRAM: &str = "OSCOST_TEST_MEMORY_PROGRAM";

/// The profiles that a monitor learns from a command.
fn learn(command: &str) -> Vec<Profile> {
    let (data, mut shell) = (data(), Shell::start());
    let monitor = Monitor::start(data.path(), &shell, &[]);
    shell.run(command);
    monitor.end();
    shell.end();
    profiles(&data)
}

/// The earlier calls of a call's pairs.
fn earlier_calls(pairs: impl Iterator<Item = Pair>, call: u16) -> Vec<u16> {
    let mut earlier: Vec<u16> =
        pairs.filter(|pair| pair.current == call).map(|pair| pair.previous).collect();
    earlier.dedup();
    earlier
}

#[test]
fn an_exec_binds_a_process_to_the_profile_of_its_new_executable() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(dd) = tool("dd") else { return };
    let calls = |count| {
        let all = learn(&format!("/bin/sh -c 'exec {}'", copy_command(&dd, count)));
        (profile_of(&all, &dd.file), profile_of(&all, "/bin/sh"))
    };
    let ((few, shell_at_few), (many, shell_at_many)) = (calls(1_000), calls(3_000));
    assert_eq!(many.calls - few.calls, 4_000, "one read and one write per byte");
    assert!(shell_at_many.calls.abs_diff(shell_at_few.calls) < 100, "they are not the shell's");
    // execve belongs to the old executable; the new one's window begins empty.
    assert!(shell_at_few.train.iter().any(|pair| pair.current == EXECVE));
    assert!(few.train.iter().all(|pair| pair.previous != EXECVE && pair.current != EXECVE));
}

#[test]
fn a_forked_child_has_its_parents_profile_and_an_empty_window() {
    let Some(_lock) = lock_monitor() else { return };
    let shell = profile_of(&learn("(:); (:); (:)"), "/bin/sh");
    // The shell itself ends after the monitor, so only children have ended.
    let before = earlier_calls(shell.train.iter(), EXIT_GROUP);
    if before.is_empty() || before.len() > 6 {
        println!("skipped: children of this shell make no calls before they end, or many");
        return;
    }
    assert!(earlier_calls(shell.train.iter(), CLONE).len() > 1, "{:?}", shell.train);
    assert!(!before.contains(&CLONE), "a child has its parent's window: {before:?}");
}

/// Makes a shell fork and wait until its profile is normal. SIGCHLD may arrive before or after a
/// call, so rare sequences may be new after many known ones.
fn train_shell_until_normal(data: &TempDir, shell: &mut Shell) {
    wait_for("the profile is normal", || {
        let monitor = Monitor::start(data.path(), shell, &["--normal-wait=0s"]);
        for _ in 0..300 {
            shell.run("(:)");
        }
        monitor.end();
        profile_of(&profiles(data), "/bin/sh").state == State::Normal
    });
}

#[test]
fn a_wait_that_a_stop_interrupts_is_not_an_anomaly() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(Tool { path, file }) = tool("sleep") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let short = Tool { path: format!("{path} 0.005"), file };
    let monitor = trained(&short, &data, &mut shell, &[]);
    // As with Ctrl-Z and fg: the kernel continues the wait with restart_syscall(2).
    let stop = format!("{path} 1 & p=$!; {path} 0.3; kill -STOP $p; {path} 0.1; kill -CONT $p");
    shell.run(&format!("{stop}; wait $p"));
    let MonitorEnd { anomalies, .. } = monitor.end();
    assert_eq!(anomalies, [], "{}", short.file);
    assert_eq!(profile_of(&profiles(&data), &short.file).state, State::Normal);
    shell.end();
}

#[test]
fn a_forked_child_has_a_locality_frame_of_its_own() {
    let Some(_lock) = lock_monitor() else { return };
    let (data, mut shell) = (data(), Shell::start());
    train_shell_until_normal(&data, &mut shell);
    let monitor = Monitor::start(data.path(), &shell, &[]);
    shell.run("cd /");
    shell.run("(cd /tmp)");
    let MonitorEnd { anomalies, .. } = monitor.end();
    let parent = shell.child.id();
    let of_parent = anomalies.iter().filter(|it| it.pid == parent).count();
    let of_child: Vec<&Anomaly> = anomalies.iter().filter(|it| it.pid != parent).collect();
    assert!(of_parent > 0 && !of_child.is_empty(), "{anomalies:?}");
    assert_eq!(of_child[0].locality, 1, "{anomalies:?}");
    shell.end();
}

#[test]
fn the_storage_of_tasks_is_freed_when_they_end() {
    let Some(_lock) = lock_monitor() else { return };
    const TASKS: u64 = 20_000;
    let before = small_objects();
    // Five times the entries of the largest map of the programs: if entries were not removed, it
    // would be full, and calls would be lost, which Monitor::end checks.
    let (data, mut shell) = (data(), Shell::start());
    let monitor = Monitor::start(data.path(), &shell, &[]);
    shell.run(&format!("i=0; while [ $i -lt {TASKS} ]; do (:); i=$((i+1)); done"));
    let after = small_objects();
    monitor.end();
    shell.end();
    let shell = profile_of(&profiles(&data), "/bin/sh");
    assert!(shell.calls > 3 * TASKS, "one fork, wait and exit per task: {}", shell.calls);
    assert_eq!(shell.calls, shell.train_count);
    // Other processes allocate too; the storage of all tasks would be one object per task.
    match (before, after) {
        (Some(before), Some(after)) => assert!(after < before + TASKS / 2, "{before} {after}"),
        _ => println!("not checked: this kernel does not report its allocator's objects"),
    }
}

/// The number of kernel objects in use of the sizes that task storage may have; `None` if the
/// kernel does not report objects that are charged to cgroups (slabinfo(5)).
fn small_objects() -> Option<u64> {
    let slabinfo = fs::read_to_string("/proc/slabinfo").ok()?;
    let sizes = ["96", "128", "192", "256"];
    let counts = slabinfo.lines().filter_map(|line| {
        let mut fields = line.strip_prefix("kmalloc-cg-")?.split_whitespace();
        fields.next().filter(|size| sizes.contains(size))?;
        fields.next()?.parse::<u64>().ok()
    });
    let counts: Vec<u64> = counts.collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

#[test]
fn a_delayed_fork_or_wait_completes_after_the_delay() {
    let Some(_lock) = lock_monitor() else { return };
    let (data, mut shell) = (data(), Shell::start());
    train_shell_until_normal(&data, &mut shell);
    // With a window of two, a new call causes two anomalies instead of nine, each of which doubles
    // the delay.
    let monitor = Monitor::start(data.path(), &shell, &["--delay-factor=1", "--window=2"]);
    let (done, is_done) = std::sync::mpsc::channel();
    // In a thread, since reading from a shell that stays stopped never returns.
    std::thread::spawn(move || {
        shell.run("cd /; (:); (:)");
        let _ = done.send(shell);
    });
    let shell = is_done.recv_timeout(TIMEOUT).expect("the shell continues");
    let MonitorEnd { anomalies, .. } = monitor.end();
    // SIGSTOP interrupts fork(2) and wait(2), and the kernel restarts them.
    let restarted = |it: &&Anomaly| it.current == it.previous;
    assert_eq!(anomalies.iter().find(restarted), None, "{anomalies:?}");
    assert!(!anomalies.is_empty());
    shell.end();
}

/// A command that runs an ignored test of this program as a helper.
fn helper(variable: &str, value: &str, name: &str) -> String {
    let own = std::env::current_exe().unwrap();
    let arguments = format!("--ignored --exact task_lifecycle::{name}");
    format!("{variable}={value} '{}' {arguments} >/dev/null", own.display())
}

/// Two threads that alternate: one calls getppid(2), the other getpid(2). They wait for each other
/// without system calls.
fn alternate(calls_per_thread: usize) {
    let turn = AtomicUsize::new(0);
    let calls = [std::os::unix::process::parent_id, std::process::id];
    std::thread::scope(|scope| {
        for (own, call) in calls.into_iter().enumerate() {
            let turn = &turn;
            scope.spawn(move || {
                for _ in 0..calls_per_thread {
                    while turn.load(Ordering::SeqCst) % 2 != own {
                        std::hint::spin_loop();
                    }
                    call();
                    turn.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
}

#[test]
#[ignore = "a helper that another test starts"]
fn a_helper_with_alternating_threads() {
    if let Some(calls) = std::env::var(CALLS_PER_THREAD).ok().and_then(|it| it.parse().ok()) {
        alternate(calls);
    }
}

#[test]
fn threads_share_a_profile_and_have_separate_windows() {
    let Some(_lock) = lock_monitor() else { return };
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let profile = |calls| {
        profile_of(
            &learn(&helper(CALLS_PER_THREAD, calls, "a_helper_with_alternating_threads")),
            own,
        )
    };
    let (few, many) = (profile("50"), profile("250"));
    let more = many.calls - few.calls;
    // The calls with which threads start and end depend on timing.
    assert!((350..450).contains(&more), "200 more calls of each thread: {more}");
    for (call, other) in [(GETPPID, GETPID), (GETPID, GETPPID)] {
        let before = earlier_calls(many.train.iter(), call);
        assert!(before.contains(&call) && !before.contains(&other), "{call}: {before:?}");
    }
}

#[test]
#[ignore = "a helper that another test starts"]
fn a_helper_that_executes_a_program_from_memory() {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;

    use nix::sys::memfd::{MFdFlags, memfd_create};
    if let Some(program) = std::env::var_os(MEMORY_PROGRAM) {
        let memory = memfd_create(c"oscost", MFdFlags::MFD_CLOEXEC).unwrap();
        let mut memory = fs::File::from(memory);
        std::io::copy(&mut fs::File::open(program).unwrap(), &mut memory).unwrap();
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        panic!("{}", Command::new(path).args(["-c", ":"]).exec());
    }
}

#[test]
fn a_memfd_is_an_executable_and_a_script_is_its_interpreter() {
    let Some(_lock) = lock_monitor() else { return };
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let command = helper(
        MEMORY_PROGRAM,
        shell.to_str().unwrap(),
        "a_helper_that_executes_a_program_from_memory",
    );
    let in_memory = learn(&command);
    let names: Vec<&str> = in_memory.iter().map(|it| it.executable.as_str()).collect();
    let found = in_memory.iter().find(|it| it.executable == "/memfd:oscost");
    assert!(found.is_some_and(|it| it.calls > 0), "{names:?}");
    let folder = data();
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\n:\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let calls = |command: &str| profile_of(&learn(command), "/bin/sh").calls;
    let (with_script, without) = (calls(&format!("'{}'", script.display())), calls(":"));
    assert!(with_script > without + 10, "{with_script} {without}");
    let inode = fs::metadata(&script).unwrap().ino();
    let learned = learn(&format!("'{}'", script.display()));
    assert!(learned.iter().all(|it| it.key.inode != inode), "{names:?}");
}

#[test]
fn executables_without_a_free_slot_are_counted_and_reported() {
    let Some(_lock) = lock_monitor() else { return };
    let (data, mut shell) = (data(), Shell::start());
    let programs = data.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for number in 0..140 {
        // Copied by another process: a file that this one writes may be open in a child that
        // another test starts, and cannot be executed then (ETXTBSY).
        let copy =
            Command::new("cp").arg("/bin/sh").arg(programs.join(number.to_string())).status();
        assert!(copy.unwrap().success());
    }
    let run_all = format!("for i in '{}'/*; do $i -c :; done", programs.display());
    let last_event = |shell: &mut Shell| {
        let mut monitor = Monitor::start(data.path(), shell, &[]);
        shell.run(&run_all);
        drop(monitor.input.take());
        std::iter::from_fn(|| monitor.next()).last()
    };
    let Some(MonitorEvent::Ended(first)) = last_event(&mut shell) else { panic!("no last event") };
    let (calls, lost) = (first.calls, first.lost);
    let saved = profiles(&data);
    assert!(saved.len() < 140 && lost >= 140 - saved.len() as u64, "{} {lost}", saved.len());
    assert!(calls > saved.iter().map(|it| it.calls).sum(), "calls without a profile are counted");
    // The next monitor has slots for the remaining ones.
    let Some(MonitorEvent::Ended(second)) = last_event(&mut shell) else { panic!("no last event") };
    assert_eq!((second.lost, profiles(&data).len() > 140), (0, true));
    shell.end();
}
