//! A running process whose calls are counted for some time: it goes on as before.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use oscost_model::program_calls::ProgramCalls;
use oscost_model::protocol::{Event, Order};

use crate::common::{Session, until, wait_until_gone};

/// A shell that answers each line: it reads a pipe byte by byte.
struct Echo {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Echo {
    fn start() -> Self {
        Self::of_script("while read -r line; do echo \"$line\"; done")
    }

    /// A shell with a script that answers each line.
    fn of_script(script: &str) -> Self {
        let mut command = Command::new("sh");
        let pipes = command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut echo = Self { child, input, output: BufReader::new(output) };
        // It has started.
        echo.exchange(1);
        echo
    }

    /// Lines of five bytes, one after the other.
    fn exchange(&mut self, lines: u32) {
        for _ in 0..lines {
            self.input.as_mut().unwrap().write_all(b"line\n").unwrap();
            let mut answer = String::new();
            self.output.read_line(&mut answer).unwrap();
            assert_eq!(answer, "line\n");
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn is_traced(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        !status.lines().any(|line| line.starts_with("TracerPid:") && line.ends_with("\t0"))
    }

    /// Whether it sleeps in its next read, and not at a stop.
    fn waits(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.contains(") S ")
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Begins to count a process; says whether it is traced, with a message if ptrace is refused.
fn begin(session: &mut Session, id: u64, pid: u32, children: bool) -> bool {
    session.send(&Order::CountProcess { id, pid, for_ms: 60_000, children });
    match session.event() {
        Event::Ready { .. } => true,
        Event::Failed { reason, .. } if reason.contains("is refused") => {
            eprintln!("skipped: {reason}");
            false
        }
        other => panic!("{other:?}"),
    }
}

fn counted(event: Event) -> ProgramCalls {
    match event {
        Event::FormsCounted { calls, .. } => *calls,
        other => panic!("{other:?}"),
    }
}

fn times(calls: &ProgramCalls, form: &str, bytes: u64) -> u64 {
    let of_form = calls.forms.iter().filter(|it| it.form == form && it.bytes == Some(bytes));
    of_form.map(|it| it.calls).sum()
}

#[test]
fn the_calls_of_a_running_process_are_counted_and_it_goes_on() {
    let mut session = Session::start();
    let mut echo = Echo::start();
    if !begin(&mut session, 1, echo.pid(), false) {
        return;
    }
    assert!(echo.is_traced());
    until("it reads again", || echo.waits());
    echo.exchange(20);
    until("its last call has returned", || echo.waits());
    session.send(&Order::Stop { id: 1 });
    let calls = counted(session.event());
    // Each line is read byte by byte, and answered by one write of five bytes.
    let found = (times(&calls, "read pipe", 1), times(&calls, "write pipe", 8));
    assert_eq!(found, (100, 20), "{calls:?}");
    assert_eq!((calls.killed, calls.exits, calls.forks), (0, 0, 0), "{calls:?}");
    wait_until_gone(&session, "a watch");
    until("it is let go of", || !echo.is_traced());
    echo.exchange(3);
}

#[test]
fn what_a_child_does_that_was_there_before_is_counted() {
    let mut session = Session::start();
    // The shell waits for its child, which answers.
    let script = "(while read -r line; do echo \"$line\"; done); exit 0";
    let mut echo = Echo::of_script(script);
    if !begin(&mut session, 1, echo.pid(), true) {
        return;
    }
    echo.exchange(20);
    session.send(&Order::Stop { id: 1 });
    let calls = counted(session.event());
    // The last write may return later than its line arrives.
    assert!(times(&calls, "write pipe", 8) >= 19, "{calls:?}");
    assert_eq!((calls.exits, calls.forks), (0, 0), "{calls:?}");
    wait_until_gone(&session, "a watch");
    until("it is let go of", || !echo.is_traced());
    echo.exchange(3);
    // The end of its input ends it.
    echo.input = None;
    assert!(echo.child.wait().unwrap().success());
}

#[test]
fn a_watch_ends_with_its_process() {
    let mut session = Session::start();
    let mut echo = Echo::start();
    let pid = echo.pid();
    if !begin(&mut session, 1, pid, false) {
        return;
    }
    until("it reads again", || echo.waits());
    echo.exchange(2);
    // The end of its input ends it.
    echo.input = None;
    let calls = counted(session.event());
    let found = (times(&calls, "read pipe", 1), times(&calls, "read pipe", 0));
    assert_eq!(found, (10, 1), "{calls:?}");
    assert_eq!(calls.exits, 1, "{calls:?}");
    assert!(echo.child.wait().unwrap().success());
    session.send(&Order::CountProcess { id: 2, pid, for_ms: 10, children: false });
    match session.event() {
        Event::Failed { reason, .. } => assert!(reason.contains("has ended"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
