//! Wake-ups across CPUs of which one end is not counted.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use oscost_model::program_calls::OutsideWakes;

use super::*;

/// Writes each line that it reads.
const ECHO: &str = "while read -r line; do echo \"$line\"; done";

/// Pins a process of one thread.
fn pin_process(pid: u32, cpu: usize) {
    let mut mask = CpuSet::new();
    mask.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(pid.try_into().unwrap()), &mask).unwrap();
}

/// Waits until a process of one thread sleeps.
fn wait_for_sleep(pid: u32) {
    while !fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") S ") {
        std::thread::yield_now();
    }
}

/// How many of these wake-ups were of an idle CPU.
fn of_idle(wakes: OutsideWakes) -> u64 {
    wakes.of_idle.wakes()
}

#[test]
fn who_wakes_a_process_from_outside_on_another_cpu_and_is_woken_by_it_is_counted() {
    const LINES: u64 = 200;
    let Some(mut counter) = counter() else { return };
    let Some([one, other]) = two_cpus() else { return };
    let mut shell = Shell::run(ECHO);
    let pid = shell.pid();
    pin_process(pid, one);
    shell.exchange_line();
    counter.begin_process(pid, false).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(other);
            for _ in 0..LINES {
                wait_for_sleep(pid);
                shell.exchange_line();
            }
        });
    });
    let events = counter.end().unwrap().events.unwrap();
    let of_outside = events.remote_wakes_of_outside.unwrap();
    // On a busy machine this thread may not wait yet when the answer comes. What an interrupt wakes in a
    // call about a pipe is counted, too.
    let found = of_outside.pipe;
    assert!((LINES / 2..=2 * LINES).contains(&found.wakes), "{events:?}");
    assert!(of_idle(found) <= found.wakes, "{events:?}");
    let by = [of_outside.tcp, of_outside.unix, of_outside.futex];
    assert!(by.iter().all(|it| it.wakes == 0 && of_idle(*it) == 0), "{events:?}");
    // It has no other task that it could wake.
    assert_eq!(events.remote_wakes_by, Some(RemoteWakesByCall::default()), "{events:?}");
    let Some(by_outside) = events.remote_wakes_by_outside else {
        return println!("skipped: the kernel does not tell who is in a call (before Linux 5.15)");
    };
    // The wait for the first line began before.
    let found = by_outside.pipe;
    assert!((LINES / 2..=2 * LINES).contains(&found.wakes), "{events:?}");
    assert!(of_idle(found) <= found.wakes, "{events:?}");
    shell.end();
}

#[test]
fn messages_to_a_server_that_is_not_billed_are_counted_by_their_unix_socket() {
    const LINES: u64 = 200;
    let Some(mut counter) = counter() else { return };
    let Some([one, other]) = two_cpus() else { return };
    let (mut client, server) = UnixStream::pair().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", ECHO]).stdout(OwnedFd::from(server.try_clone().unwrap()));
    let mut server = command.stdin(OwnedFd::from(server)).spawn().unwrap();
    // The ends of this process would keep the connection open.
    drop(command);
    pin_process(server.id(), other);
    counter.begin_process(std::process::id(), false).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(one);
            let mut answer = [0; 5];
            for _ in 0..LINES {
                wait_for_sleep(server.id());
                client.write_all(b"line\n").unwrap();
                client.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"line\n");
            }
        });
    });
    let events = counter.end().unwrap().events.unwrap();
    let of_outside = events.remote_wakes_of_outside.unwrap().unix;
    // Tests in other threads may send messages, too.
    assert!(of_outside.wakes >= LINES / 2, "{events:?}");
    assert!(of_idle(of_outside) <= of_outside.wakes, "{events:?}");
    match events.remote_wakes_by_outside {
        Some(by) => assert!(by.unix.wakes >= LINES / 2, "{events:?}"),
        None => println!("skipped: the kernel does not tell who is in a call (before Linux 5.15)"),
    }
    drop(client);
    assert!(server.wait().unwrap().success());
}
