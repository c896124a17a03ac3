//! What becomes of a profile, a window and a frame when a task is born, runs another executable, or
//! ends; and of threads.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const CLONE: u16 = if cfg!(target_arch = "aarch64") { 220 } else { 56 };
const EXIT_GROUP: u16 = if cfg!(target_arch = "aarch64") { 94 } else { 231 };
const GETPID: u16 = if cfg!(target_arch = "aarch64") { 172 } else { 39 };
const GETPPID: u16 = if cfg!(target_arch = "aarch64") { 173 } else { 110 };
/// A variable that tells a helper how many turns its threads take.
const TURNS: &str = "OSCOST_TEST_TURNS";
/// A variable that tells a helper which program it is to become, from memory.
const BECOMES: &str = "OSCOST_TEST_BECOMES";

/// What one monitor learns of this command: all profiles.
fn learns(command: &str) -> Vec<Profile> {
    let (data, mut shell) = (data(), Shell::start());
    let monitor = Monitor::start(data.path(), &shell, &[]);
    shell.run(command);
    monitor.end();
    shell.end();
    profiles(&data)
}

fn earlier(pairs: impl Iterator<Item = Pair>, call: u16) -> Vec<u16> {
    let mut earlier: Vec<u16> =
        pairs.filter(|pair| pair.current == call).map(|pair| pair.previous).collect();
    earlier.dedup();
    earlier
}

#[test]
fn an_exec_binds_a_process_to_its_new_profile_and_no_longer_to_the_old_one() {
    let Some(_alone) = alone() else { return };
    let Some(dd) = tool("dd") else { return };
    let calls = |count| {
        let all = learns(&format!("/bin/sh -c 'exec {}'", copy(&dd, count)));
        (of(&all, &dd.file), of(&all, "/bin/sh"))
    };
    let ((few, shell_at_few), (many, shell_at_many)) = (calls(1_000), calls(3_000));
    assert_eq!(many.calls - few.calls, 4_000, "a read and a write each");
    assert!(shell_at_many.calls.abs_diff(shell_at_few.calls) < 100, "none of them is the shell's");
    // The call that begins the new program is the old one's last; nothing comes after it.
    assert!(shell_at_few.train.iter().any(|pair| pair.current == EXECVE));
    assert!(few.train.iter().all(|pair| pair.previous != EXECVE && pair.current != EXECVE));
}

#[test]
fn a_forked_child_has_its_parents_profile_and_a_window_of_its_own() {
    let Some(_alone) = alone() else { return };
    let shell = of(&learns("(:); (:); (:)"), "/bin/sh");
    // The shell itself ends after the monitor: who ends here is a child.
    let before = earlier(shell.train.iter(), EXIT_GROUP);
    if before.is_empty() || before.len() > 6 {
        println!("skipped: this shell calls nothing before the end of a child, or a lot");
        return;
    }
    assert!(earlier(shell.train.iter(), CLONE).len() > 1, "{:?}", shell.train);
    assert!(!before.contains(&CLONE), "a child remembers what its parent called: {before:?}");
}

/// Has a shell fork and wait until that is normal for it. A signal comes now before a call and now
/// after it, and something rare may be new after much that was not.
fn until_it_is_normal(data: &TempDir, shell: &mut Shell) {
    wait_for("it is normal", || {
        let monitor = Monitor::start(data.path(), shell, &["--normal-wait=0s"]);
        for _ in 0..300 {
            shell.run("(:)");
        }
        monitor.end();
        of(&profiles(data), "/bin/sh").state == State::Normal
    });
}

#[test]
fn a_wait_that_a_stop_interrupts_is_no_new_call() {
    let Some(_alone) = alone() else { return };
    let Some(Tool { called, file }) = tool("sleep") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let short = Tool { called: format!("{called} 0.005"), file };
    let monitor = trained(&short, &data, &mut shell, &[]);
    // As a terminal's keys do it: the kernel goes on with the wait by restart_syscall(2).
    let stop =
        format!("{called} 1 & p=$!; {called} 0.3; kill -STOP $p; {called} 0.1; kill -CONT $p");
    shell.run(&format!("{stop}; wait $p"));
    let (anomalies, _) = monitor.end();
    assert_eq!(anomalies, [], "{}", short.file);
    assert_eq!(of(&profiles(&data), &short.file).state, State::Normal);
    shell.end();
}

#[test]
fn a_forked_child_has_a_locality_frame_of_its_own() {
    let Some(_alone) = alone() else { return };
    let (data, mut shell) = (data(), Shell::start());
    until_it_is_normal(&data, &mut shell);
    let monitor = Monitor::start(data.path(), &shell, &[]);
    shell.run("cd /");
    shell.run("(cd /tmp)");
    let (anomalies, _) = monitor.end();
    let parent = shell.child.id();
    let of_parent = anomalies.iter().filter(|it| it.pid == parent).count();
    let of_child: Vec<&Anomaly> = anomalies.iter().filter(|it| it.pid != parent).collect();
    assert!(of_parent > 0 && !of_child.is_empty(), "{anomalies:?}");
    assert_eq!(of_child[0].locality, 1, "{anomalies:?}");
    shell.end();
}

#[test]
fn what_is_known_of_tasks_goes_with_them_however_many_there_are() {
    let Some(_alone) = alone() else { return };
    const MANY: u64 = 20_000;
    let before = small_objects();
    // Five times as many as the largest list of the programs holds: a list that is not cleared
    // would be full, and calls would be lost (Monitor::end looks).
    let (data, mut shell) = (data(), Shell::start());
    let monitor = Monitor::start(data.path(), &shell, &[]);
    shell.run(&format!("i=0; while [ $i -lt {MANY} ]; do (:); i=$((i+1)); done"));
    let after = small_objects();
    monitor.end();
    shell.end();
    let shell = of(&profiles(&data), "/bin/sh");
    assert!(shell.calls > 3 * MANY, "a fork, a wait and an end each: {}", shell.calls);
    assert_eq!(shell.calls, shell.train_count);
    // Others take some as well; what is known of as many tasks would be as many more.
    match (before, after) {
        (Some(before), Some(after)) => assert!(after < before + MANY / 2, "{before} {after}"),
        _ => println!("not looked at: this kernel does not tell what its allocator holds"),
    }
}

/// How many objects of the sizes that the kernel may give to what is known of a task are in use;
/// `None` where that is not told for those that are charged to whoever asks (slabinfo(5)).
fn small_objects() -> Option<u64> {
    let told = fs::read_to_string("/proc/slabinfo").ok()?;
    let sizes = ["96", "128", "192", "256"];
    let counts = told.lines().filter_map(|line| {
        let mut words = line.strip_prefix("kmalloc-cg-")?.split_whitespace();
        words.next().filter(|size| sizes.contains(size))?;
        words.next()?.parse::<u64>().ok()
    });
    let counts: Vec<u64> = counts.collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

#[test]
fn a_delayed_process_that_is_to_fork_or_to_wait_does_so_after_its_time() {
    let Some(_alone) = alone() else { return };
    let (data, mut shell) = (data(), Shell::start());
    until_it_is_normal(&data, &mut shell);
    // Two calls at a time: one call that is new is two anomalies, and not nine, each of which
    // doubles the time.
    let monitor = Monitor::start(data.path(), &shell, &["--delay-factor=1", "--window=2"]);
    let (done, is_done) = std::sync::mpsc::channel();
    // A thread, since a shell that is stopped for ever says nothing.
    std::thread::spawn(move || {
        shell.run("cd /; (:); (:)");
        let _ = done.send(shell);
    });
    let shell = is_done.recv_timeout(PATIENCE).expect("it goes on");
    let (anomalies, _) = monitor.end();
    // A signal interrupts fork(2) and wait(2), and they are begun once more.
    let twice = |it: &&Anomaly| it.current == it.previous;
    assert_eq!(anomalies.iter().find(twice), None, "{anomalies:?}");
    assert!(!anomalies.is_empty());
    shell.end();
}

/// A command that starts a helper of this program's.
fn helper(variable: &str, value: &str, name: &str) -> String {
    let own = std::env::current_exe().unwrap();
    let words = format!("--ignored --exact lives::{name}");
    format!("{variable}={value} '{}' {words} >/dev/null", own.display())
}

/// Two threads that call in turns: one of them only getppid(2), the other one only getpid(2). They
/// wait for each other without a call.
fn take_turns(turns: usize) {
    let turn = AtomicUsize::new(0);
    let calls = [std::os::unix::process::parent_id, std::process::id];
    std::thread::scope(|scope| {
        for (own, call) in calls.into_iter().enumerate() {
            let turn = &turn;
            scope.spawn(move || {
                for _ in 0..turns {
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
#[ignore = "the threads that another test starts"]
fn a_helper_that_takes_turns() {
    if let Some(turns) = std::env::var(TURNS).ok().and_then(|it| it.parse().ok()) {
        take_turns(turns);
    }
}

#[test]
fn threads_share_a_profile_and_each_has_a_window_of_its_own() {
    let Some(_alone) = alone() else { return };
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let helps = |turns| of(&learns(&helper(TURNS, turns, "a_helper_that_takes_turns")), own);
    let (few, many) = (helps("50"), helps("250"));
    let more = many.calls - few.calls;
    // How often threads wait for each other at their beginning and end is chance.
    assert!((350..450).contains(&more), "two calls a turn, 200 turns more: {more}");
    for (call, other) in [(GETPPID, GETPID), (GETPID, GETPPID)] {
        let before = earlier(many.train.iter(), call);
        assert!(before.contains(&call) && !before.contains(&other), "{call}: {before:?}");
    }
}

#[test]
#[ignore = "what another test starts"]
fn a_helper_that_becomes_what_lies_in_memory() {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    if let Some(program) = std::env::var_os(BECOMES) {
        let mut memory = oscost_worker::kernel::memory::region::memory_file(0).unwrap();
        std::io::copy(&mut fs::File::open(program).unwrap(), &mut memory).unwrap();
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        panic!("{}", Command::new(path).args(["-c", ":"]).exec());
    }
}

#[test]
fn an_executable_is_a_file_also_one_without_a_folder_and_of_a_script_it_is_the_interpreter() {
    let Some(_alone) = alone() else { return };
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let becomes =
        helper(BECOMES, shell.to_str().unwrap(), "a_helper_that_becomes_what_lies_in_memory");
    let in_memory = learns(&becomes);
    let names: Vec<&str> = in_memory.iter().map(|it| it.executable.as_str()).collect();
    let found = in_memory.iter().find(|it| it.executable == "/memfd:oscost");
    assert!(found.is_some_and(|it| it.calls > 0), "{names:?}");
    let folder = data();
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\n:\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let calls = |command: &str| of(&learns(command), "/bin/sh").calls;
    let (one, none) = (calls(&format!("'{}'", script.display())), calls(":"));
    assert!(one > none + 10, "{one} {none}");
    let inode = fs::metadata(&script).unwrap().ino();
    let learnt = learns(&format!("'{}'", script.display()));
    assert!(learnt.iter().all(|it| it.key.inode != inode), "{names:?}");
}

#[test]
fn executables_beyond_the_room_are_counted_all_the_same_and_told() {
    let Some(_alone) = alone() else { return };
    let (data, mut shell) = (data(), Shell::start());
    let programs = data.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for number in 0..140 {
        // What this process writes may still be open for writing, in what other tests start, when it
        // is to be run.
        let copy =
            Command::new("cp").arg("/bin/sh").arg(programs.join(number.to_string())).status();
        assert!(copy.unwrap().success());
    }
    let runs = format!("for i in '{}'/*; do $i -c :; done", programs.display());
    let once = |shell: &mut Shell| {
        let mut monitor = Monitor::start(data.path(), shell, &[]);
        shell.run(&runs);
        drop(monitor.input.take());
        std::iter::from_fn(|| monitor.next()).last()
    };
    let Some(MonitorEvent::Ended(first)) = once(&mut shell) else { panic!("no last word") };
    let (calls, lost) = (first.calls, first.lost);
    let kept = profiles(&data);
    assert!(kept.len() < 140 && lost >= 140 - kept.len() as u64, "{} {lost}", kept.len());
    assert!(calls > kept.iter().map(|it| it.calls).sum(), "those of no profile are counted");
    // There is room for as many more the next time.
    let Some(MonitorEvent::Ended(second)) = once(&mut shell) else { panic!("no last word") };
    assert_eq!((second.lost, profiles(&data).len() > 140), (0, true));
    shell.end();
}
