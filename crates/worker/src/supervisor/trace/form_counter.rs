//! What a tracer records of a program: the calls of its process tree by form.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use oscost_model::call_classes::{CallClass, class_of};
use oscost_model::call_form::{
    BegunCall, FOREIGN_CALL, FormKey, MAX_SET_DESCRIPTORS, OTHER_FORMS, ReturnedCall, TaskView,
    descriptors_in_sets, set_bound,
};
use oscost_model::descriptor_kind::UNKNOWN_KIND;
use oscost_model::program::Program;
use oscost_model::program_calls::{FormCount, ProgramCalls};
use oscost_model::protocol::Event;

use crate::kernel::probe::argument_area;
use crate::kernel::probe::auxiliary_vector;
use crate::kernel::probe::mapping_count;
use crate::kernel::probe::program_trace::{ProgramStop, StoppedTask, text_of_task, word_of_task};
use crate::kernel::probe::task_descriptor::{descriptor_kind, ends_beyond_file};
use crate::kernel::process::{Termination, signal};
use crate::kernel::syscall::names;
use crate::supervisor::protocol::failure::failure;

/// A program has some hundred forms; one that makes up requests of ioctl(2) could have any number.
const MAX_FORMS: usize = 4_096;
/// A kernel has some 400 calls; one that makes up numbers could have any.
const MAX_KNOWN: usize = 1_024;
/// The longest path of the kernel (PATH_MAX).
const MAX_PATH_BYTES: usize = 4_096;

/// What was recorded.
pub(super) struct FormCounter {
    root: u32,
    /// The exit statuses that mean success.
    ok_statuses: Vec<i32>,
    /// When the program began; `None` before its execve(2) has succeeded.
    began: Option<Instant>,
    tasks: BTreeSet<u32>,
    /// Those that have ended before their creator stopped and told of them.
    ended_early: BTreeSet<u32>,
    /// The call that each task is in.
    begun: BTreeMap<u32, BegunCall>,
    /// Names and classes of the calls so far.
    known: HashMap<u64, KnownCall>,
    counts: HashMap<FormKey, CallSum>,
    totals: ProgramCalls,
    unread: u64,
    end: Option<Termination>,
}

/// A call that was seen before.
#[derive(Clone)]
struct KnownCall {
    name: String,
    class: CallClass,
}

/// Calls of one form and size.
#[derive(Clone, Copy, Default)]
struct CallSum {
    calls: u64,
    moved: u64,
}

/// The name of an error, as in errno(3).
fn error_name(number: i32) -> String {
    format!("{:?}", nix::errno::Errno::from_raw(number))
}

/// A stopped task.
struct TracedTask<'a> {
    task: u32,
    unread: &'a mut u64,
}

impl TaskView for TracedTask<'_> {
    fn descriptor(&mut self, fd: u64) -> String {
        let fd = fd as i32;
        if fd == libc::AT_FDCWD {
            return "directory".to_owned();
        }
        descriptor_kind(self.task, fd).unwrap_or_else(|| {
            *self.unread += 1;
            UNKNOWN_KIND.to_owned()
        })
    }

    /// /proc tells no number of references, and mappings and other processes have some, too.
    fn is_shared(&mut self, _fd: u64) -> bool {
        false
    }

    fn appends(&mut self, fd: u64, bytes: u64) -> bool {
        ends_beyond_file(self.task, fd as i32, bytes).unwrap_or_else(|| {
            *self.unread += 1;
            false
        })
    }

    fn has_loader(&mut self) -> bool {
        auxiliary_vector::has_loader(self.task).unwrap_or_else(|| {
            *self.unread += 1;
            false
        })
    }

    fn argument_bytes(&mut self) -> Option<u64> {
        let bytes = argument_area::bytes_of(self.task);
        *self.unread += u64::from(bytes.is_none());
        bytes
    }

    fn mappings(&mut self) -> Option<u64> {
        let mappings = mapping_count::of_task(self.task);
        *self.unread += u64::from(mappings.is_none());
        mappings
    }

    fn path(&mut self, address: u64) -> Option<Vec<u8>> {
        // Since Linux 6.11 no path at all is an empty one.
        if address == 0 {
            return Some(Vec::new());
        }
        let path = text_of_task(self.task, address, MAX_PATH_BYTES);
        *self.unread += u64::from(path.is_none());
        path
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        let word = word_of_task(self.task, address);
        *self.unread += u64::from(word.is_none());
        word
    }

    fn descriptors_in_sets(&mut self, args: [u64; 6]) -> Option<u64> {
        *self.unread += u64::from(set_bound(args) > MAX_SET_DESCRIPTORS);
        descriptors_in_sets(args, |address| self.word(address))
    }
}

impl FormCounter {
    /// A counter of the program that the process `root` will execute.
    pub(super) fn new(root: u32, program: &Program) -> Self {
        Self {
            root,
            ok_statuses: (0..=0xff).filter(|&status| program.accepts(status)).collect(),
            began: None,
            tasks: BTreeSet::new(),
            ended_early: BTreeSet::new(),
            begun: BTreeMap::new(),
            known: HashMap::new(),
            counts: HashMap::new(),
            totals: ProgramCalls::default(),
            unread: 0,
            end: None,
        }
    }

    /// A counter of a process that runs already, and of what it creates.
    pub(super) fn of_running(process: u32) -> Self {
        Self { began: Some(Instant::now()), ..Self::new(process, &Program::default()) }
    }

    /// Whether the program has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The tasks that were created and have not ended.
    pub(super) fn tasks(&self) -> impl Iterator<Item = u32> {
        self.tasks.iter().copied()
    }

    /// Records a stop.
    pub(super) fn record(&mut self, StoppedTask { task, stop }: StoppedTask) {
        match stop {
            ProgramStop::Entry { call, args, is_native } => self.enter(task, call, args, is_native),
            ProgramStop::Exit { value, is_error } => self.leave(task, value, is_error),
            ProgramStop::NewTask(made) => self.created(task, made),
            ProgramStop::Exec { former } => self.executed(task, former),
            ProgramStop::Signal(_) if self.began.is_some() => self.totals.signals += 1,
            ProgramStop::Ended(termination) => self.ended(task, termination),
            ProgramStop::Signal(_) | ProgramStop::GroupStop | ProgramStop::Other => {}
        }
    }

    fn enter(&mut self, task: u32, number: u64, args: [u64; 6], is_native: bool) {
        let is_start = task == self.root && number == libc::SYS_execve as u64 && is_native;
        if self.began.is_none() && !is_start {
            return;
        }
        let KnownCall { name, class } = match is_native {
            true => self.known_call(number),
            false => KnownCall { name: FOREIGN_CALL.to_owned(), class: class_of(FOREIGN_CALL) },
        };
        let mut view = TracedTask { task, unread: &mut self.unread };
        let call = BegunCall::new(&name, class, args, &mut view);
        if is_native && [libc::SYS_exit as u64, libc::SYS_exit_group as u64].contains(&number) {
            // They never return.
            let key = call.returned(0, false, error_name, &mut view).key;
            self.count(ReturnedCall { key, moved: 0 });
        } else {
            self.begun.insert(task, call);
        }
    }

    fn known_call(&mut self, number: u64) -> KnownCall {
        if let Some(known) = self.known.get(&number) {
            return known.clone();
        }
        let name = names::name_of(number);
        let class = class_of(&name);
        let call = KnownCall { name, class };
        if self.known.len() < MAX_KNOWN {
            self.known.insert(number, call.clone());
        }
        call
    }

    fn leave(&mut self, task: u32, value: i64, is_error: bool) {
        let Some(call) = self.begun.remove(&task) else { return };
        if self.began.is_none() {
            if is_error {
                // The library tries each folder of PATH.
                return;
            }
            self.began = Some(Instant::now());
        }
        let mut view = TracedTask { task, unread: &mut self.unread };
        let returned = call.returned(value, is_error, error_name, &mut view);
        self.count(returned);
    }

    fn count(&mut self, ReturnedCall { key, moved }: ReturnedCall) {
        let has_room = self.counts.len() < MAX_FORMS || self.counts.contains_key(&key);
        let key = match has_room {
            true => key,
            false => FormKey::of(OTHER_FORMS.to_owned()),
        };
        let sum = self.counts.entry(key).or_default();
        sum.calls += 1;
        sum.moved = sum.moved.saturating_add(moved);
    }

    fn created(&mut self, parent: u32, made: u32) {
        if !self.ended_early.remove(&made) {
            self.tasks.insert(made);
        }
        match self.begun.get(&parent) {
            Some(call) if call.is_of_thread() => self.totals.threads += 1,
            _ => self.totals.forks += 1,
        }
    }

    fn executed(&mut self, task: u32, former: u32) {
        self.totals.execs += 1;
        if former == task {
            return;
        }
        // The thread that has executed a program has the id of its process from now on.
        self.tasks.remove(&former);
        let interrupted = match self.begun.remove(&former) {
            Some(call) => self.begun.insert(task, call),
            None => None,
        };
        self.totals.unfinished += u64::from(interrupted.is_some());
    }

    fn ended(&mut self, task: u32, termination: Termination) {
        if !self.tasks.remove(&task) && task != self.root {
            self.ended_early.insert(task);
        }
        self.totals.exits += u64::from(self.began.is_some());
        self.totals.unfinished += u64::from(self.begun.remove(&task).is_some());
        if task == self.root {
            self.end = Some(termination);
            self.totals.real_ns = self.began.map_or(0, |it| it.elapsed().as_nanos() as u64);
        }
    }

    /// The event: the counts, or how the program ended.
    pub(super) fn into_event(self, id: u64) -> Event {
        let is_good = |status| self.began.is_some() && self.ok_statuses.contains(&status);
        let reason = match self.end {
            Some(Termination::Exited(status)) if is_good(status) => String::new(),
            Some(Termination::Exited(status)) => format!("exited with status {status}"),
            Some(Termination::Killed(by)) => format!("was killed by {}", signal::name(by)),
            None => "could not be traced".to_owned(),
        };
        if !reason.is_empty() {
            return failure(id, format!("the counted run {reason}"));
        }
        let killed = self.tasks.len() as u64;
        Event::FormsCounted { id, calls: Box::new(self.into_calls(killed)) }
    }

    /// The counts, of which so many tasks were killed.
    pub(super) fn into_calls(self, killed: u64) -> ProgramCalls {
        let until_now = self.began.map_or(0, |it| it.elapsed().as_nanos() as u64);
        let real_ns = if self.end.is_some() { self.totals.real_ns } else { until_now };
        let mut forms: Vec<FormCount> = self
            .counts
            .into_iter()
            .map(|(key, CallSum { calls, moved })| {
                let FormKey { form, bytes, descriptors, mappings, messages, depth } = key;
                FormCount {
                    form,
                    bytes,
                    descriptors,
                    mappings,
                    messages,
                    depth,
                    calls,
                    moved,
                    rare: None,
                }
            })
            .collect();
        forms.sort_by(|one, other| {
            let key =
                |it: &FormCount| (it.bytes, it.descriptors, it.mappings, it.messages, it.depth);
            one.form.cmp(&other.form).then(key(one).cmp(&key(other)))
        });
        ProgramCalls {
            by: "ptrace".to_owned(),
            forms,
            killed,
            unread: self.unread,
            real_ns,
            ..self.totals
        }
    }
}

#[cfg(test)]
mod tests;
