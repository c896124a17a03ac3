//! Every signal at every process of a run, at its begin and in its middle.

use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::attack::{Attack, Effort, Outcome, make};
use crate::common::{Ran, Sandbox, until};
use crate::kills::stored_workers;
use crate::oracles::{check_store, store_of};

/// Who gets the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Process {
    Tool,
    Supervisor,
    Worker,
    All,
}

/// When.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// As soon as the process is there.
    Begin,
    /// When some workers are in the store.
    Middle,
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let text = lists.collect::<Vec<_>>().join(" ");
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The processes that are meant, as far as they are there: a worker lives for milliseconds.
fn processes(tool: u32, process: Process) -> Vec<u32> {
    let supervisors = children(tool);
    let workers = || supervisors.iter().flat_map(|&pid| children(pid)).collect::<Vec<_>>();
    match process {
        Process::Tool => vec![tool],
        Process::Supervisor => supervisors,
        Process::Worker => workers(),
        Process::All => [vec![tool], supervisors.clone(), workers()].concat(),
    }
}

/// Waits for the moment. False if the run ends before it.
fn is_reached(tool: &mut Child, sandbox: &Sandbox, process: Process, moment: Moment) -> bool {
    let mut ended = false;
    until("the moment has come", || {
        ended = tool.try_wait().unwrap().is_some();
        let workers = || stored_workers(&store_of(sandbox)).values().sum::<u64>();
        let has_come = match moment {
            Moment::Begin => !processes(tool.id(), process).is_empty(),
            Moment::Middle => workers() >= 3,
        };
        ended || has_come
    });
    !ended
}

fn send(signal: Signal, pids: &[u32]) -> usize {
    // One that has ended by itself is no victim.
    let is_hit = |pid: u32| pid > 1 && kill(Pid::from_raw(pid.cast_signed()), signal).is_ok();
    pids.iter().filter(|&&pid| is_hit(pid)).count()
}

fn strike(sandbox: &Sandbox, signal: Signal, process: Process, moment: Moment) -> Outcome {
    let arguments = ["run", "--quick", "--no-lock", "syscall/getppid:via=raw", "timer/nothing"];
    // What the parent of the tests ignores would stay ignored.
    let script = "exec env --default-signal \"$0\" \"$@\"";
    let mut command = sandbox.command_in_shell(script, &arguments);
    let mut tool = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut hit = 0;
    if is_reached(&mut tool, sandbox, process, moment) {
        // A worker may be missed between two.
        for _ in 0..1_000 {
            let victims = processes(tool.id(), process);
            hit = send(signal, &victims);
            if hit > 0 || tool.try_wait().unwrap().is_some() {
                if is_stop(signal) {
                    std::thread::sleep(Duration::from_millis(500));
                    send(Signal::SIGCONT, &victims);
                }
                break;
            }
        }
    }
    let before = stored_workers(&store_of(sandbox));
    let ran = Ran::of_child(tool);
    let at_tool = hit > 0 && matches!(process, Process::Tool | Process::All);
    match (end_status(signal), ran.code) {
        (Some(status), Some(code)) if at_tool => assert!(
            // A run that had ended by itself, but for its last words.
            code == status || code == 0,
            "{signal} ends it with {code}, not {status}: {}",
            ran.stderr
        ),
        // By the signal itself: it is not handled, or not yet.
        (_, None) if at_tool => {}
        (_, code) => assert!(
            matches!(code, Some(0 | 3 | 129 | 130 | 143)),
            "{signal} at {process:?}: {code:?}: {}",
            ran.stderr
        ),
    }
    if process == Process::All && ran.code.is_none() {
        // No process was left that could remove the session's folder: the next session does.
        sandbox.oscost(&["machine"]).exits(0);
    }
    sandbox.nothing_is_left();
    check_store(sandbox);
    let after = stored_workers(&store_of(sandbox));
    // A run in which nothing was measured is not kept.
    for (run, workers) in before.into_iter().filter(|&(_, workers)| workers > 0) {
        assert!(after.get(&run).is_some_and(|&kept| kept >= workers), "workers of {run} are lost");
    }
    Outcome::Withstood(ran.code.map_or("ended by it".to_owned(), |code| format!("status {code}")))
}

/// The status of a tool that is asked to end.
fn end_status(signal: Signal) -> Option<i32> {
    match signal {
        Signal::SIGHUP => Some(129),
        Signal::SIGINT => Some(130),
        Signal::SIGTERM => Some(143),
        _ => None,
    }
}

fn is_stop(signal: Signal) -> bool {
    matches!(signal, Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU)
}

#[test]
fn a_signal_loses_nothing_and_leaves_nothing() {
    let moments = [Moment::Begin, Moment::Middle];
    let processes = [Process::Tool, Process::Supervisor, Process::Worker, Process::All];
    let attacks = Signal::iterator().flat_map(|signal| {
        processes.into_iter().flat_map(move |process| {
            moments.map(move |moment| {
                let name = format!("{signal} at {process:?}, {moment:?}");
                Attack::in_sandbox(name, Effort::Long, move |sandbox| {
                    strike(sandbox, signal, process, moment)
                })
            })
        })
    });
    make("signals", attacks);
}
