//! What a tracer sees of a counted copy: its calls, the work behind them, and where its code runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;

use oscost_model::calls::CallCount;
use oscost_model::mark::{self, BEGIN, END, SINGLE_STEP_BEGIN, SINGLE_STEP_END};
use oscost_model::protocol::Event;
use oscost_model::worker::Subject;

use super::failure::failure;
use crate::kernel::probe::ptrace::{self, Stop};
use crate::kernel::process::Termination;
use crate::kernel::process::signal;
use crate::kernel::syscall::names;

/// Steps of both walks together. A step is two switches between processes, in a virtual machine
/// some 20 us, so that a count takes 40 ms more at most. A read of the clock takes some 90 of them;
/// of an op that takes 2,000 it would be a small part.
const MAX_STEPS: u64 = 2_000;

/// Calls whose result is how many bytes they have copied.
const BYTE_COUNT_CALLS: &[&str] = &[
    "copy_file_range",
    "getdents64",
    "getrandom",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "sendfile",
    "sendmsg",
    "sendto",
    "write",
    "writev",
];

/// All that was seen of the copy and of what it started.
pub(super) struct CallCounter {
    traced_pid: u32,
    /// The statuses by which a program says that all went well; its whole run is one op.
    ok_statuses: Option<Vec<i32>>,
    /// The ops that the copy says it has run between the marks.
    ops: u64,
    between_marks: bool,
    ended_by_mark: bool,
    peers: BTreeSet<u32>,
    tasks: BTreeSet<u32>,
    own_calls: BTreeMap<u64, u64>,
    peer_calls: BTreeMap<u64, u64>,
    /// The call that a task is in.
    current_calls: BTreeMap<u32, u64>,
    tasks_created: u64,
    bytes: u64,
    /// What the kernel has charged the copy when the ops began.
    faults_at_begin: Option<u64>,
    /// What they came to; `None` where that cannot be read.
    faults: Option<u64>,
    single_steps: SingleSteps,
    traced_end: Option<Termination>,
}

/// What single steps through some ops show.
#[derive(Default)]
struct SingleSteps {
    /// Which walk goes on.
    current: Option<usize>,
    /// The next resumption is to run one instruction.
    stepping: bool,
    /// The ops of each walk, and the instructions that it took.
    ops: [u64; 2],
    steps: [u64; 2],
    done: [bool; 2],
    /// It took too many steps.
    is_truncated: bool,
    /// Where the vDSO lies in the copy; `None` where that cannot be read.
    vdso: Option<Range<u64>>,
    in_vdso: bool,
}

impl CallCounter {
    pub(super) fn new(copy: u32, subject: &Subject) -> Self {
        let good = match subject {
            Subject::Case(_) => None,
            Subject::Program(program) if program.ok_statuses.is_empty() => Some(vec![0]),
            Subject::Program(program) => Some(program.ok_statuses.clone()),
        };
        Self {
            traced_pid: copy,
            ok_statuses: good,
            ops: 0,
            between_marks: false,
            ended_by_mark: false,
            peers: BTreeSet::new(),
            tasks: BTreeSet::new(),
            own_calls: BTreeMap::new(),
            peer_calls: BTreeMap::new(),
            current_calls: BTreeMap::new(),
            tasks_created: 0,
            bytes: 0,
            faults_at_begin: None,
            faults: Some(0),
            single_steps: SingleSteps::default(),
            traced_end: None,
        }
    }

    /// A task has ended: its number may soon be another's, whom nobody here may kill.
    pub(super) fn remove_task(&mut self, task: u32) {
        self.tasks.remove(&task);
        self.peers.remove(&task);
    }

    /// Every task that was made and has not ended.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u32> {
        self.tasks.iter().copied()
    }

    /// The copy has ended.
    pub(super) fn ended(&mut self, how: Termination) {
        if let (Some(good), Termination::Exited(status)) = (&self.ok_statuses, how)
            && good.contains(&status)
        {
            (self.ended_by_mark, self.ops) = (true, 1);
            // Its account has gone with it.
            self.faults = None;
        }
        self.traced_end = Some(how);
    }

    /// Whether a task that stands is to run one instruction only.
    pub(super) fn single_steps_task(&self, task: u32) -> bool {
        task == self.traced_pid && self.single_steps.stepping
    }

    /// The kernel lets nobody run single instructions here.
    pub(super) fn stop_stepping(&mut self) {
        self.single_steps.stop();
    }

    /// Takes in a stop.
    pub(super) fn record_stop(&mut self, task: u32, stop: Stop) {
        match stop {
            Stop::NewTask(made) => {
                self.tasks.insert(made);
                if self.between_marks {
                    self.tasks_created += 1;
                } else {
                    // Whoever stands beside the copy when the ops begin is its peer.
                    self.peers.insert(made);
                }
            }
            Stop::Entry { call, args } => {
                self.current_calls.insert(task, call);
                if task == self.traced_pid
                    && call == libc::SYS_prctl as u64
                    && args[0] == u64::from(mark::OPTION)
                {
                    self.record_mark(args[1]);
                } else if self.between_marks {
                    let calls = if self.peers.contains(&task) {
                        &mut self.peer_calls
                    } else {
                        &mut self.own_calls
                    };
                    *calls.entry(call).or_default() += 1;
                }
                self.single_steps.stepping = false;
            }
            Stop::Exit(result) => {
                let call = self.current_calls.remove(&task);
                // The copy of a program is that program from here on.
                self.between_marks |= self.ok_statuses.is_some()
                    && (task, call, result) == (self.traced_pid, Some(libc::SYS_execve as u64), 0);
                let call = call.map(names::name_of);
                let copies = call.is_some_and(|call| BYTE_COUNT_CALLS.contains(&call.as_str()));
                if copies && self.between_marks && !self.peers.contains(&task) {
                    self.bytes += u64::try_from(result).unwrap_or(0);
                }
                self.single_steps.stepping =
                    task == self.traced_pid && self.single_steps.current.is_some();
            }
            Stop::SingleStep if task == self.traced_pid => self.single_steps.record_step(task),
            _ => {}
        }
    }

    /// The copy has come to a mark.
    fn record_mark(&mut self, value: u64) {
        let ops = value >> mark::BITS;
        match (value & ((1 << mark::BITS) - 1)) as u32 {
            BEGIN => {
                self.between_marks = true;
                self.faults_at_begin = page_faults(self.traced_pid);
            }
            END => {
                self.ops += ops;
                self.between_marks = false;
                self.ended_by_mark = true;
                let now = page_faults(self.traced_pid).zip(self.faults_at_begin);
                let grown = now.map(|(now, then)| now.saturating_sub(then));
                self.faults = self.faults.zip(grown).map(|(sum, grown)| sum + grown);
                self.single_steps.vdso = vdso_range(self.traced_pid);
            }
            SINGLE_STEP_END => {
                if let Some(walk) = self.single_steps.current.take() {
                    self.single_steps.done[walk] = true;
                }
            }
            // An op that makes tasks would be stepped through while others run beside it.
            mark if mark >= SINGLE_STEP_BEGIN
                && self.tasks_created == 0
                && !self.single_steps.is_truncated =>
            {
                self.single_steps.current =
                    Some((mark - SINGLE_STEP_BEGIN) as usize).filter(|&walk| walk < 2);
                if let Some(walk) = self.single_steps.current {
                    self.single_steps.ops[walk] = ops;
                }
            }
            _ => {}
        }
    }

    /// The answer: what was counted, or how the copy ended before its ops were done.
    pub(super) fn into_event(self, id: u64) -> Event {
        if !self.ended_by_mark {
            let how = match self.traced_end {
                Some(Termination::Killed(by)) => format!("was killed by {}", signal::name(by)),
                Some(Termination::Exited(status)) => format!("ended with status {status}"),
                None => "could not be traced".to_owned(),
            };
            return failure(id, format!("the counted copy {how} before its ops were done"));
        }
        let named = |calls: BTreeMap<u64, u64>| {
            calls.into_iter().map(|(call, times)| (names::name_of(call), times)).collect()
        };
        let count = CallCount {
            ops: self.ops,
            own: named(self.own_calls),
            peer: named(self.peer_calls),
            by: "ptrace".to_owned(),
            tasks: Some(self.tasks_created),
            faults: self.faults,
            bytes: Some(self.bytes),
            vdso: self.single_steps.enters_vdso(),
            instructions: self.single_steps.instructions_per_op(),
            counted_pid: Some(self.traced_pid),
        };
        Event::Counted { id, count: Box::new(count) }
    }
}

impl SingleSteps {
    /// The copy has run an instruction, and stands before the next.
    fn record_step(&mut self, task: u32) {
        let Some(walk) = self.current else { return };
        self.steps[walk] += 1;
        let Ok(position) = ptrace::instruction_pointer(task) else { return self.stop() };
        self.in_vdso |= self.vdso.as_ref().is_some_and(|vdso| vdso.contains(&position));
        if self.steps.iter().sum::<u64>() >= MAX_STEPS {
            self.is_truncated = true;
            return self.stop();
        }
        match ptrace::is_syscall_instruction_at(task, position) {
            // A step over it would hide which call it is; the next stop is its entry.
            Ok(enters) => self.stepping = !enters,
            Err(_) => self.stop(),
        }
    }

    fn stop(&mut self) {
        (self.current, self.stepping) = (None, false);
    }

    /// What the longer walk took more, for each op that it did more.
    fn instructions_per_op(&self) -> Option<f64> {
        let more = self.steps[1].checked_sub(self.steps[0])?;
        let ops = self.ops[1].saturating_sub(self.ops[0]);
        (self.done == [true; 2]).then(|| more as f64 / ops as f64)
    }

    /// Seen there is there; not seen counts only if there was enough to see.
    fn enters_vdso(&self) -> Option<bool> {
        let enough = self.vdso.is_some() && (self.is_truncated || self.done == [true; 2]);
        (self.in_vdso || enough).then_some(self.in_vdso)
    }
}

/// The faults of a process so far, minor and major: fields 10 and 12 of its `stat`, of which the
/// second may hold blanks and brackets.
fn page_faults(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(field(10)? + field(12)?)
}

/// Where the vDSO lies in a process; nowhere is an empty range.
fn vdso_range(pid: u32) -> Option<Range<u64>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let Some(line) = maps.lines().find(|line| line.ends_with("[vdso]")) else {
        return Some(0..0);
    };
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    Some(u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vdso_and_the_faults_of_this_process_are_found() {
        let me = std::process::id();
        let before = page_faults(me).unwrap();
        let pages = vec![1u8; 64 << 20];
        assert!(page_faults(me).unwrap() > before, "{}", pages.len());
        // A kernel that maps no vDSO has none to find.
        let mapped = crate::kernel::time::vdso::ClockGettime::find().is_some();
        assert_eq!(!vdso_range(me).unwrap().is_empty(), mapped);
    }

    #[test]
    fn a_walk_that_did_not_end_says_nothing_but_what_it_saw() {
        let mut walk =
            SingleSteps { ops: [1, 4], steps: [12, 30], done: [true; 2], ..SingleSteps::default() };
        assert_eq!((walk.instructions_per_op(), walk.enters_vdso()), (Some(6.0), None));
        walk.vdso = Some(4..8);
        assert_eq!(walk.enters_vdso(), Some(false));
        walk.done[1] = false;
        assert_eq!((walk.instructions_per_op(), walk.enters_vdso()), (None, None));
        walk.in_vdso = true;
        assert_eq!(walk.enters_vdso(), Some(true));
        let long = SingleSteps { is_truncated: true, vdso: Some(4..8), ..SingleSteps::default() };
        assert_eq!((long.instructions_per_op(), long.enters_vdso()), (None, Some(false)));
    }
}
