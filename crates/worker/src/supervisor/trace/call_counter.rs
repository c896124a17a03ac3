//! What a tracer records of a counted copy: its calls, bytes copied, page faults and instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;

use oscost_model::calls::CallCount;
use oscost_model::mark::{self, BEGIN, END, SINGLE_STEP_BEGIN, SINGLE_STEP_END};
use oscost_model::protocol::Event;
use oscost_model::worker::Subject;

use crate::kernel::probe::ptrace::{self, Stop};
use crate::kernel::process::Termination;
use crate::kernel::process::signal;
use crate::kernel::syscall::names;
use crate::supervisor::protocol::failure::failure;

/// Maximum number of single steps of both passes. A step takes two context switches, some 20 us in
/// a virtual machine, so that a count takes at most 40 ms more. A clock read has some 90
/// instructions; in an op of 2,000 it would be a small part.
const MAX_STEPS: u64 = 2_000;

/// Calls that return the number of bytes they have copied.
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

/// What was recorded of the copy and its descendants.
pub(super) struct CallCounter {
    traced_pid: u32,
    /// The exit statuses that mean success, if it is a program; its whole run is one op.
    ok_statuses: Option<Vec<i32>>,
    /// The number of ops between the marks, as the marks state it.
    ops: u64,
    between_marks: bool,
    ended_by_mark: bool,
    peers: BTreeSet<u32>,
    tasks: BTreeSet<u32>,
    own_calls: BTreeMap<u64, u64>,
    peer_calls: BTreeMap<u64, u64>,
    /// The call that each task is in.
    current_calls: BTreeMap<u32, u64>,
    tasks_created: u64,
    bytes: u64,
    /// The page faults of the copy when the ops began.
    faults_at_begin: Option<u64>,
    /// The page faults of the ops; `None` if they cannot be read.
    faults: Option<u64>,
    single_steps: SingleSteps,
    traced_end: Option<Termination>,
}

/// The results of single-stepping some ops, in two passes of different length.
#[derive(Default)]
struct SingleSteps {
    /// The pass in progress.
    current: Option<usize>,
    /// Whether the next resume executes one instruction only.
    stepping: bool,
    /// The ops of each pass, and its instructions.
    ops: [u64; 2],
    steps: [u64; 2],
    done: [bool; 2],
    /// Whether the maximum number of steps was reached.
    is_truncated: bool,
    /// The address range of the vDSO in the copy; `None` if it cannot be read.
    vdso: Option<Range<u64>>,
    in_vdso: bool,
}

impl CallCounter {
    pub(crate) fn new(copy: u32, subject: &Subject) -> Self {
        let good = match subject {
            Subject::Program(program) => {
                Some((0..=0xff).filter(|&status| program.accepts(status)).collect())
            }
            Subject::Case(_) | Subject::Programs(_) => None,
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

    /// Removes a task that has exited: its number may be reused, and must not be killed.
    pub(super) fn remove_task(&mut self, task: u32) {
        self.tasks.remove(&task);
        self.peers.remove(&task);
    }

    /// The tasks that were created and have not exited.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u32> {
        self.tasks.iter().copied()
    }

    /// Records the exit of the copy.
    pub(crate) fn ended(&mut self, termination: Termination) {
        if let (Some(good), Termination::Exited(status)) = (&self.ok_statuses, termination)
            && good.contains(&status)
        {
            (self.ended_by_mark, self.ops) = (true, 1);
            // Its page fault counters have gone with it.
            self.faults = None;
        }
        self.traced_end = Some(termination);
    }

    /// Whether a stopped task is to execute one instruction only.
    pub(super) fn single_steps_task(&self, task: u32) -> bool {
        task == self.traced_pid && self.single_steps.stepping
    }

    /// Ends single-stepping, which the kernel refuses.
    pub(super) fn stop_stepping(&mut self) {
        self.single_steps.stop();
    }

    /// Records a stop.
    pub(super) fn record_stop(&mut self, task: u32, stop: Stop) {
        match stop {
            Stop::NewTask(made) => {
                self.tasks.insert(made);
                if self.between_marks {
                    self.tasks_created += 1;
                } else {
                    // A task that exists when the ops begin is a peer.
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
                // A successful execve(2) starts the program to be counted.
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

    /// Records a mark of the copy.
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
            // Ops that create tasks are not stepped: the tasks would run at the same time.
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

    /// The event: the counts, or how the copy ended before its ops were done.
    pub(super) fn into_event(self, id: u64) -> Event {
        if !self.ended_by_mark {
            let termination = match self.traced_end {
                Some(Termination::Killed(by)) => format!("was killed by {}", signal::name(by)),
                Some(Termination::Exited(status)) => format!("exited with status {status}"),
                None => "could not be traced".to_owned(),
            };
            return failure(id, format!("the counted copy {termination} before its ops were done"));
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
    /// Records one executed instruction.
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
            // A single step would hide which call it is; a resume stops at its entry.
            Ok(enters) => self.stepping = !enters,
            Err(_) => self.stop(),
        }
    }

    fn stop(&mut self) {
        (self.current, self.stepping) = (None, false);
    }

    /// Additional instructions of the longer pass per additional op.
    fn instructions_per_op(&self) -> Option<f64> {
        let more = self.steps[1].checked_sub(self.steps[0])?;
        let ops = self.ops[1].saturating_sub(self.ops[0]);
        (self.done == [true; 2]).then(|| more as f64 / ops as f64)
    }

    /// Whether an op runs code of the vDSO; `None` if no such code was seen in an incomplete pass.
    fn enters_vdso(&self) -> Option<bool> {
        let enough = self.vdso.is_some() && (self.is_truncated || self.done == [true; 2]);
        (self.in_vdso || enough).then_some(self.in_vdso)
    }
}

/// The minor and major page faults of a process: fields 10 and 12 of its `stat`, whose second field
/// may contain spaces and parentheses.
fn page_faults(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(field(10)? + field(12)?)
}

/// The address range of the vDSO in a process; empty if it has none.
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
    fn the_vdso_and_the_page_faults_of_this_process_are_found() {
        let me = std::process::id();
        let before = page_faults(me).unwrap();
        let pages = vec![1u8; 64 << 20];
        assert!(page_faults(me).unwrap() > before, "{}", pages.len());
        // Some kernels map no vDSO.
        let mapped = crate::kernel::time::vdso::ClockGettime::find().is_some();
        assert_eq!(!vdso_range(me).unwrap().is_empty(), mapped);
    }

    #[test]
    fn an_incomplete_pass_reports_only_what_it_saw() {
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
