use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use oscost_model::program_calls::{RemoteWakesByCall, WakesOfIdle};

use super::*;
use crate::counter::c_library::c_library_of_process;

mod outside;

/// A counter; `None` with a message where programs cannot be loaded.
fn counter() -> Option<KernelCounter> {
    match KernelCounter::load() {
        Ok(counter) => Some(counter),
        Err(why) => {
            assert!(missing_requirement().is_some(), "{why}");
            println!("skipped: {why}");
            None
        }
    }
}

/// A shell with pipes to its script.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn run(script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line, which comes back.
    fn exchange_line(&mut self) {
        self.input.write_all(b"line\n").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "line\n");
    }

    /// Ends its input, and waits for its end.
    fn end(self) -> ExitStatus {
        let Self { mut child, input, .. } = self;
        drop(input);
        child.wait().unwrap()
    }
}

fn times(calls: &ProgramCalls, form: &str, bytes: u64) -> u64 {
    let of_form = calls.forms.iter().filter(|it| it.form == form && it.bytes == Some(bytes));
    of_form.map(|it| it.calls).sum()
}

#[test]
fn the_calls_of_a_running_process_are_counted_and_nothing_is_left() {
    let Some(mut counter) = counter() else { return };
    let script = "while read -r line; do echo \"$line\"; done";
    let mut shell = Shell::run(script);
    let pid = shell.pid();
    let stat = format!("/proc/{pid}/stat");
    let mut exchange = |lines: u32| {
        for _ in 0..lines {
            shell.exchange_line();
            // The shell waits in its next read: its last call has returned.
            while !fs::read_to_string(&stat).unwrap().contains(") S ") {
                std::thread::yield_now();
            }
        }
    };
    exchange(1);
    counter.begin_process(pid, false).unwrap();
    let programs = &counter.current.as_ref().unwrap().programs;
    let map = programs.states.info().unwrap().info.id;
    exchange(20);
    counter.stop();
    exchange(1);
    let calls = counter.end().unwrap();
    // Each line is read byte by byte, and answered by one write of five bytes. The first byte
    // arrives in a call that had begun before.
    let found = (times(&calls, "read pipe", 1), times(&calls, "write pipe", 8));
    assert_eq!(found, (99, 20), "{calls:?}");
    assert_eq!((calls.lost, calls.killed, calls.unread), (0, 0, 0), "{calls:?}");
    let timed = calls.in_kernel.iter().find(|it| it.form == "read pipe").unwrap();
    let time = timed.time;
    assert_eq!(time.calls, 99);
    assert_eq!(timed.on_cpu_histogram.iter().map(|it| it.calls).sum::<u64>(), 99);
    assert!(time.on_cpu_ns > 0);
    // It waits once for the first byte of each line.
    assert!(time.off_cpu_ns > 0);
    let waits: u64 = timed.off_cpu_histogram.iter().map(|it| it.calls).sum();
    assert!((19..=99).contains(&waits), "{timed:?}");
    let events = calls.events.unwrap();
    assert!(events.voluntary_switches >= waits, "{events:?}");
    let [to_process, to_thread] =
        [events.voluntary_to_process, events.voluntary_to_thread].map(Option::unwrap);
    // The process has one thread: what runs after it is another process, or nothing.
    assert_eq!(to_thread, 0, "{events:?}");
    assert!(to_process <= events.voluntary_switches, "{events:?}");
    // The kernel removes the maps some time after the programs are gone that use them.
    while MapHandle::from_map_id(map).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(shell.end().success());
}

#[test]
fn what_a_child_does_that_was_there_before_is_counted() {
    let Some(mut counter) = counter() else { return };
    // The shell waits for its child, which answers.
    let mut shell = Shell::run("(while read -r line; do echo \"$line\"; done); exit 0");
    let pid = shell.pid();
    shell.exchange_line();
    let mut calls_of = |children: bool| {
        counter.begin_process(pid, children).unwrap();
        (0..20).for_each(|_| shell.exchange_line());
        counter.end().unwrap()
    };
    let (of_tree, of_shell) = (calls_of(true), calls_of(false));
    // The last write may return later than its line arrives.
    assert!(times(&of_tree, "write pipe", 8) >= 19, "{of_tree:?}");
    assert_eq!(times(&of_shell, "write pipe", 8), 0, "{of_shell:?}");
    assert!(shell.end().success());
}

#[test]
fn nothing_begins_or_wakes_on_another_cpu_where_all_are_on_one() {
    let Some(mut counter) = counter() else { return };
    let script = "read -r line; for i in 1 2 3 4 5; do (:); done; echo \"$line\"; read -r line";
    let mut shell = Shell::run(script);
    let pid = Pid::from_raw(shell.pid().try_into().unwrap());
    let allowed = sched_getaffinity(pid).unwrap();
    let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false);
    let mut one = CpuSet::new();
    one.set((0..CpuSet::count()).find(is_allowed).unwrap()).unwrap();
    sched_setaffinity(pid, &one).unwrap();
    counter.begin_process(shell.pid(), true).unwrap();
    shell.exchange_line();
    let calls = counter.end().unwrap();
    assert_eq!(calls.forks, 5, "{calls:?}");
    let events = calls.events.unwrap();
    let begun = [events.forks_to_other_cpu, events.starts_on_other_cpu];
    let woken = [events.remote_wakes_after_idle, events.remote_wakes_after_switch];
    assert_eq!((begun, woken), ([Some(0); 2], [Some(0); 2]), "{events:?}");
    assert_eq!(events.remote_wakes_by, Some(RemoteWakesByCall::default()));
    let of_idle = events.remote_wakes_of_idle.map(|by| by.sum().wakes());
    assert_eq!(of_idle, Some(0), "{events:?}");
    shell.end();
}

#[test]
fn children_that_may_run_anywhere_begin_on_another_cpu() {
    let Some(mut counter) = counter() else { return };
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false);
    if (0..CpuSet::count()).filter(is_allowed).count() < 2 {
        return println!("skipped: there is one CPU");
    }
    let script = "read -r line; i=0; while [ $i -lt 200 ]; do (:); i=$((i + 1)); done; \
                  echo \"$line\"; read -r line";
    let mut shell = Shell::run(script);
    counter.begin_process(shell.pid(), true).unwrap();
    shell.exchange_line();
    let calls = counter.end().unwrap();
    let events = calls.events.unwrap();
    let elsewhere = events.forks_to_other_cpu.unwrap();
    // Other tests may keep the other CPUs busy: some find one idle.
    assert!((1..=200).contains(&elsewhere), "{events:?}");
    assert_eq!((calls.forks, events.starts_on_other_cpu), (200, Some(0)), "{events:?}");
    shell.end();
}

/// Two CPUs; `None` with a message where there is one.
fn two_cpus() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false);
    let cpus: Vec<usize> = (0..CpuSet::count()).filter(is_allowed).take(2).collect();
    let [one, other] = cpus[..] else {
        println!("skipped: there is one CPU");
        return None;
    };
    Some([one, other])
}

/// Pins the calling thread.
fn pin(cpu: usize) {
    let mut mask = CpuSet::new();
    mask.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(0), &mask).unwrap();
}

#[test]
fn a_send_that_wakes_a_thread_on_another_cpu_is_counted_by_its_socket() {
    const TRIPS: u64 = 100;
    let Some(mut counter) = counter() else { return };
    let Some([one, other]) = two_cpus() else { return };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    counter.begin_process(std::process::id(), false).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(other);
            let (mut stream, _) = listener.accept().unwrap();
            let mut byte = [0];
            while stream.read_exact(&mut byte).is_ok() {
                stream.write_all(&byte).unwrap();
            }
        });
        scope.spawn(|| {
            pin(one);
            let mut stream = TcpStream::connect(address).unwrap();
            for _ in 0..TRIPS {
                stream.write_all(&[1]).unwrap();
                stream.read_exact(&mut [0]).unwrap();
            }
        });
    });
    let events = counter.end().unwrap().events.unwrap();
    let by = events.remote_wakes_by.unwrap();
    // Each of the 200 wakes the other thread, unless that is still on its way to its wait. Tests in
    // other threads wake theirs, too.
    let by_tcp = by.tcp.after_idle + by.tcp.after_switch;
    assert!(by_tcp >= TRIPS, "{events:?}");
    let in_all = [events.remote_wakes_after_idle, events.remote_wakes_after_switch];
    let by_calls = [by.sum().after_idle, by.sum().after_switch];
    assert!(by_calls.into_iter().zip(in_all).all(|(part, all)| Some(part) <= all), "{events:?}");
}

#[test]
fn a_thread_that_ends_on_another_cpu_than_the_one_that_joins_it_wakes_that_by_no_call() {
    const THREADS: u64 = 20;
    let Some(mut counter) = counter() else { return };
    let Some([one, other]) = two_cpus() else { return };
    counter.begin_process(std::process::id(), false).unwrap();
    let joins_all = std::thread::spawn(move || {
        pin(one);
        for _ in 0..THREADS {
            let ends = std::thread::spawn(move || {
                pin(other);
                // The other one waits by then.
                std::thread::sleep(std::time::Duration::from_millis(2));
            });
            ends.join().unwrap();
        }
    });
    joins_all.join().unwrap();
    let events = counter.end().unwrap().events.unwrap();
    let by_calls = events.remote_wakes_by.unwrap().sum();
    let in_all = [events.remote_wakes_after_idle, events.remote_wakes_after_switch];
    let in_all: u64 = in_all.into_iter().flatten().sum();
    // On a busy machine the join may come too late.
    let by_none = in_all - by_calls.after_idle - by_calls.after_switch;
    assert!(by_none >= THREADS / 2, "{events:?}");
}

#[test]
fn a_write_after_two_milliseconds_wakes_a_reader_whose_cpu_was_idle_for_as_long() {
    const WRITES: u64 = 100;
    let Some(mut counter) = counter() else { return };
    let Some([one, other]) = two_cpus() else { return };
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    counter.begin_process(std::process::id(), false).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(other);
            let mut byte = [0];
            while reader.read_exact(&mut byte).is_ok() {}
        });
        scope.spawn(move || {
            pin(one);
            for _ in 0..WRITES {
                std::thread::sleep(std::time::Duration::from_millis(2));
                writer.write_all(&[1]).unwrap();
            }
        });
    });
    let events = counter.end().unwrap().events.unwrap();
    let (by, of_idle) = (events.remote_wakes_by.unwrap(), events.remote_wakes_of_idle.unwrap());
    let in_all = by.pipe.after_idle + by.pipe.after_switch;
    let WakesOfIdle { below_150_us, longer, below_150_us_tickless, .. } = of_idle.pipe;
    assert!(below_150_us_tickless.is_none_or(|times| times <= below_150_us), "{events:?}");
    let was_idle = of_idle.pipe.wakes();
    assert!(in_all >= WRITES / 2, "{events:?}");
    assert!(was_idle <= in_all, "{events:?}");
    // Other tests, and tasks of other programs, may run on that CPU meanwhile.
    let is_busy = by.pipe.after_idle < WRITES / 2;
    assert!(is_busy || longer >= WRITES / 10, "{events:?}");
}

/// Gives RCU something to free, so that this CPU keeps its tick for a while.
fn free_by_rcu() {
    drop(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
}

/// Two threads on two CPUs that wake each other by pipes so often, after both have slept; with an act of both
/// in each turn.
fn take_turns_after_a_rest([one, other]: [usize; 2], rounds: u64, act: fn()) {
    let (mut first_reader, mut second_writer) = std::io::pipe().unwrap();
    let (mut second_reader, mut first_writer) = std::io::pipe().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(other);
            let mut byte = [0];
            while second_reader.read(&mut byte).unwrap() > 0 {
                act();
                second_writer.write_all(&byte).unwrap();
            }
        });
        scope.spawn(move || {
            pin(one);
            std::thread::sleep(std::time::Duration::from_millis(100));
            let mut byte = [1];
            for _ in 0..rounds {
                first_writer.write_all(&byte).unwrap();
                first_reader.read_exact(&mut byte).unwrap();
                act();
            }
        });
    });
}

#[test]
fn a_cpu_that_stops_its_tick_while_it_is_idle_is_seen() {
    const ROUNDS: u64 = 1_000;
    const ATTEMPTS: u32 = 40;
    let Some(cpus) = two_cpus() else { return };
    let is_off = fs::read_to_string("/proc/cmdline").is_ok_and(|it| it.contains("nohz=off"));
    let mut seen = Vec::new();
    // Other tests, which free what RCU frees, keep the ticks of both CPUs, or run there.
    for _ in 0..ATTEMPTS {
        let Some(mut counter) = counter() else { return };
        let of_idle = [|| (), free_by_rcu].map(|act| {
            counter.begin_process(std::process::id(), false).unwrap();
            take_turns_after_a_rest(cpus, ROUNDS, act);
            counter.end().unwrap().events.unwrap().remote_wakes_of_idle.unwrap().pipe
        });
        if is_off || of_idle.iter().any(|it| it.below_150_us_tickless.is_none()) {
            return println!("skipped: the kernel does not tell it, or never stops the tick");
        }
        let tickless = of_idle.map(|it| it.below_150_us_tickless.unwrap());
        let is_idle = of_idle.iter().all(|it| it.below_150_us > ROUNDS / 2);
        if is_idle && tickless[0] > ROUNDS / 2 && tickless[1] < ROUNDS / 4 {
            return;
        }
        seen.push(of_idle);
    }
    panic!("{seen:?}");
}

#[test]
fn calls_after_a_busy_time_are_rare_and_those_of_a_burst_are_not() {
    const RARE: u64 = 20;
    const BURST: u64 = 1_000;
    let Some(mut counter) = counter() else { return };
    let Some([cpu, _]) = two_cpus() else { return };
    counter.begin_process(std::process::id(), false).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(cpu);
            for _ in 0..RARE {
                let began = std::time::Instant::now();
                while began.elapsed() < std::time::Duration::from_millis(1) {}
                nix::unistd::getsid(None).unwrap();
            }
            for _ in 0..BURST {
                nix::unistd::getsid(None).unwrap();
            }
        });
    });
    let calls = counter.end().unwrap();
    let found = calls.forms.iter().find(|it| it.form == "getsid").unwrap();
    assert_eq!(found.calls, RARE + BURST, "{found:?}");
    // A task of another program may take the CPU within the burst.
    let rare = found.rare.unwrap();
    assert!((RARE..RARE + BURST / 10).contains(&rare), "{found:?}");
}

#[test]
fn clock_reads_are_counted_at_the_functions_of_the_c_library() {
    let Some(mut counter) = counter() else { return };
    let library = match c_library_of_process(std::process::id()) {
        Ok(library) => library,
        Err(why) => return println!("skipped: {why}"),
    };
    if let Err(why) = counter.count_clock_reads(&library) {
        assert!(!Path::new("/sys/bus/event_source/devices/uprobe").exists(), "{why}");
        return println!("skipped: {why}");
    }
    counter.begin_process(std::process::id(), false).unwrap();
    // From its first call on this thread is followed.
    assert!(fs::read("/proc/self/comm").is_ok());
    for _ in 0..100 {
        std::hint::black_box(Instant::now());
    }
    let reads = counter.end().unwrap().events.unwrap().clock_reads.unwrap();
    // Tests in other threads may read clocks, too.
    assert!(reads.clock_gettime >= 100, "{reads:?}");
}

#[test]
fn a_program_without_a_mark_is_not_counted() {
    let Some(mut counter) = counter() else { return };
    counter.begin_program().unwrap();
    assert!(Command::new("true").status().unwrap().success());
    let why = counter.end().unwrap_err();
    assert!(why.contains("begin"), "{why}");
    assert!(counter.end().is_err());
    // The next one is loaded anew.
    counter.begin_process(std::process::id(), false).unwrap();
    assert!(counter.end().unwrap().calls() > 0);
}
