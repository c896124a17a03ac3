//! Counting calls: a process of its own traces an untimed copy of the case and all it starts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use oscost_model::calls::CallCount;
use oscost_model::cell::{CellSpec, Task};
use oscost_model::protocol::{Event, Order};

use super::job::{Wire, counted, failed};
use crate::engine::count::{BEGIN, END};
use crate::sys::process::Ended;
use crate::sys::syscall::MARK;
use crate::sys::trace::{self, Stop};
use crate::sys::{Errno, call_names, process, signal};

/// What a count comes to.
pub(super) enum Answer {
    /// It was counted, or could not be.
    Counted(Event),
    /// The copy itself says why it could not run its ops: a line to pass on.
    CopySays(Vec<u8>),
}

/// Starts the copy, follows it, and says what it called.
pub(super) fn count(id: u64, spec: &CellSpec) -> Answer {
    let Task::Count { ops, .. } = spec.task else {
        return Answer::Counted(failed(id, "its task is not to count"));
    };
    match follow(id, spec) {
        Ok((calls, words)) if words.is_empty() => Answer::Counted(calls.answer(id, ops)),
        Ok((_, words)) => Answer::CopySays(words.trim_ascii_end().to_vec()),
        Err(error) => Answer::Counted(failed(id, format!("trace the copy: {error}"))),
    }
}

/// The traced copy: asks for its tracer, then runs the case's ops between two marks.
pub fn run_traced() -> Result<(), Errno> {
    process::die_with(process::named_parent())?;
    let mut wire = Wire::open()?;
    let Some(Order::Count { id, spec }) = wire.order()? else {
        return Err(Errno::EINVAL);
    };
    if let Err(error) = trace::ask_for_tracer() {
        return wire.say(&failed(id, format!("ptrace is refused here: {error}")));
    }
    counted(id, &spec).or_else(|answer| wire.say(&answer))
}

/// Runs the copy from stop to stop until it ends; hands back what it called and what it said.
fn follow(id: u64, spec: &CellSpec) -> Result<(Calls, Vec<u8>), Errno> {
    let mut copy = Command::new(process::own_program())
        .arg("traced")
        .arg(std::process::id().to_string())
        .env_clear()
        .envs(std::env::var_os("TMPDIR").map(|folder| ("TMPDIR", folder)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let order = Order::Count { id, spec: Box::new(spec.clone()) };
    let mut line = serde_json::to_vec(&order).map_err(|_| Errno::EINVAL)?;
    line.push(b'\n');
    if let Some(mut input) = copy.stdin.take() {
        input.write_all(&line)?;
    }
    let pid = copy.id();
    let mut calls = Calls::of(pid);
    if trace::take_over(pid).is_ok() {
        let mut waiting = vec![(pid, 0)];
        loop {
            for (task, signal) in waiting.drain(..) {
                // A task that was killed meanwhile shows as gone at the next wait.
                let _ = trace::resume(task, signal);
            }
            match trace::next() {
                Ok((task, Stop::Gone(how))) if task == pid => {
                    calls.ended = Some(how);
                    break;
                }
                Ok((_, Stop::Gone(_))) => {}
                Ok((task, Stop::Signal(signal))) => waiting.push((task, signal)),
                Ok((task, stop)) => {
                    calls.saw(task, stop);
                    waiting.push((task, 0));
                }
                Err(Errno::ECHILD) => break,
                Err(error) => return Err(error),
            }
        }
    }
    for &task in &calls.tasks {
        process::kill(task);
    }
    let mut words = Vec::new();
    if let Some(output) = copy.stdout.take() {
        // Its own words are one short line. Whoever else may hold the pipe has been killed, or the
        // end of it would never come.
        output.take(64 << 10).read_to_end(&mut words)?;
    }
    Ok((calls, words))
}

/// What the traced tasks have called between the marks.
struct Calls {
    copy: u32,
    between_marks: bool,
    ended_by_mark: bool,
    peers: BTreeSet<u32>,
    tasks: BTreeSet<u32>,
    own: BTreeMap<u64, u64>,
    peer: BTreeMap<u64, u64>,
    ended: Option<Ended>,
}

impl Calls {
    fn of(copy: u32) -> Self {
        Self {
            copy,
            between_marks: false,
            ended_by_mark: false,
            peers: BTreeSet::new(),
            tasks: BTreeSet::new(),
            own: BTreeMap::new(),
            peer: BTreeMap::new(),
            ended: None,
        }
    }

    fn saw(&mut self, task: u32, stop: Stop) {
        if let Stop::Made(made) = stop {
            self.tasks.insert(made);
            if !self.between_marks {
                // Whoever stands beside the copy when the ops begin is its peer.
                self.peers.insert(made);
            }
        }
        let Stop::Entry { call, args } = stop else { return };
        if task == self.copy && call == libc::SYS_prctl as u64 && args[0] == MARK {
            match args[1] {
                BEGIN => self.between_marks = true,
                END => {
                    self.between_marks = false;
                    self.ended_by_mark = true;
                }
                _ => {}
            }
            return;
        }
        if self.between_marks {
            let calls = if self.peers.contains(&task) { &mut self.peer } else { &mut self.own };
            *calls.entry(call).or_default() += 1;
        }
    }

    fn answer(self, id: u64, ops: u64) -> Event {
        if !self.ended_by_mark {
            let how = match self.ended {
                Some(Ended::Killed(by)) => format!("was killed by {}", signal::name(by)),
                Some(Ended::Exited(status)) => format!("ended with status {status}"),
                None => "could not be traced".to_owned(),
            };
            return failed(id, format!("the counted copy {how} before its ops were done"));
        }
        let named = |calls: BTreeMap<u64, u64>| {
            calls.into_iter().map(|(call, times)| (call_names::of(call), times)).collect()
        };
        let count = CallCount {
            ops,
            own: named(self.own),
            peer: named(self.peer),
            by: "ptrace".to_owned(),
        };
        Event::Counted { id, count }
    }
}
