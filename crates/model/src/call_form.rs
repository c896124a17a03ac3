//! The form of a call: from its arguments at its entry, and its result.

use crate::call_classes::{CallClass, FormWords, SizeOf};
use crate::call_flags::{
    AT_EMPTY_PATH, CLONE_THREAD, CLONE_VFORK, CLONE_VM, FUTEX_COMMAND_MASK, MAP_ANONYMOUS,
    MAP_FIXED, MAP_FIXED_NOREPLACE, O_CREAT, O_DIRECTORY, O_TMPFILE,
};
use crate::descriptor_kind::{FILE, UNKNOWN_KIND};
use crate::program_calls::size_class;

/// The name under which calls of a 32-bit program are counted: it has other numbers of calls.
pub const FOREIGN_CALL: &str = "32-bit-call";
/// The form of all calls beyond the maximum number of forms.
pub const OTHER_FORMS: &str = "other";

/// The word of a close whose file has other references, so that it does not release the file.
const SHARED_FILE: &str = "shared";

/// The word of a write that ends beyond the end of its file.
const APPEND: &str = "append";

/// The word of an execve(2) of a program with a loader.
const DYNAMIC: &str = "dynamic";

/// The word of a futex(2) that has woken a task: one that wakes nobody looks into a table alone.
const WAITER: &str = "waiter";
/// What such a call does (`futex_act`).
const WAKE: &str = "wake";
/// What one does that waits, unless its word has another value than it names.
const WAIT: &str = "wait";
/// Its error then (EAGAIN): it has not waited.
const HAS_CHANGED: i64 = 11;

/// The errors of a call that a signal has interrupted, and that is made again or ends with EINTR
/// (include/linux/errno.h): only a tracer sees them.
const RESTARTS: std::ops::RangeInclusive<i64> = 512..=516;
/// The word of such a call that was to create a task: it has created none.
const RESTART: &str = "RESTART";

/// The name of an error by its number: `ENOENT`.
pub type ErrorNames = fn(i32) -> String;

/// What is looked up about the task that makes a call.
pub trait TaskView {
    /// The kind of one of its descriptors.
    fn descriptor(&mut self, fd: u64) -> String;
    /// Whether the file of a descriptor has other references, too: duplicates of the descriptor,
    /// descriptors of other processes, mappings. False where that cannot be found out.
    fn is_shared(&mut self, fd: u64) -> bool;
    /// Whether so many bytes from the position of a descriptor on, or from the end of a file that is only
    /// appended to, end beyond the end of its regular file. False where that cannot be found out.
    fn appends(&mut self, fd: u64, bytes: u64) -> bool;
    /// Whether the program that it has just begun to execute has a loader, as one that is linked
    /// dynamically. False where that cannot be found out.
    fn has_loader(&mut self) -> bool;
    /// The bytes of the arguments and the environment of the program that it has just begun to
    /// execute; `None` where that cannot be found out.
    fn argument_bytes(&mut self) -> Option<u64>;
    /// The mappings of its memory; `None` where that cannot be found out.
    fn mappings(&mut self) -> Option<u64>;
    /// The path at an address; `None` if it cannot be read.
    fn path(&mut self, address: u64) -> Option<Vec<u8>>;
    /// The word at an address; `None` if it cannot be read.
    fn word(&mut self, address: u64) -> Option<u64>;
    /// The descriptors in the sets of a select(2) with these arguments; `None` if a set cannot be
    /// read.
    fn descriptors_in_sets(&mut self, args: [u64; 6]) -> Option<u64>;
}

/// The descriptors of a set of the C library (FD_SETSIZE): of a larger one, these are counted.
pub const MAX_SET_DESCRIPTORS: u64 = 1_024;
/// The descriptors in a word of a set.
const WORD_DESCRIPTORS: u64 = 64;

/// The number of a select(2) with these arguments below which its descriptors are.
pub fn set_bound(args: [u64; 6]) -> u64 {
    // The kernel takes an int, and refuses one below zero.
    u64::try_from(args[0] as i32).unwrap_or(0)
}

/// How many descriptors are in at least one of the sets of a select(2) with these arguments, which are
/// read word by word; `None` if a word cannot be read.
pub fn descriptors_in_sets(
    args: [u64; 6],
    mut word: impl FnMut(u64) -> Option<u64>,
) -> Option<u64> {
    let bound = set_bound(args).min(MAX_SET_DESCRIPTORS);
    let mut descriptors = 0;
    for begin in (0..bound).step_by(WORD_DESCRIPTORS as usize) {
        let mut of_any = 0;
        for set in args[1..4].iter().filter(|&&set| set != 0) {
            of_any |= word(set.wrapping_add(begin / 8))?;
        }
        let rest = bound - begin;
        let is_below_bound = if rest < WORD_DESCRIPTORS { (1_u64 << rest) - 1 } else { u64::MAX };
        descriptors += u64::from((of_any & is_below_bound).count_ones());
    }
    Some(descriptors)
}

/// The calls that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormKey {
    /// What makes the call cheap or expensive.
    pub form: String,
    /// The size class of a call about bytes.
    pub bytes: Option<u64>,
    /// That of a call about descriptors.
    pub descriptors: Option<u64>,
    /// That of a call that copies mappings.
    pub mappings: Option<u64>,
    /// That of a call about messages.
    pub messages: Option<u64>,
    /// The components of the path.
    pub depth: Option<u32>,
}

impl FormKey {
    /// Calls without a size and without a path.
    pub fn of(form: String) -> Self {
        let (bytes, descriptors, mappings, messages) = (None, None, None, None);
        Self { form, bytes, descriptors, mappings, messages, depth: None }
    }
}

/// A call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedCall {
    /// The calls that it is counted with.
    pub key: FormKey,
    /// The bytes, the descriptors, the mappings or the messages that it was about.
    pub moved: u64,
}

/// A call that a task is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunCall {
    /// Its form as far as its entry tells.
    form: String,
    end: FormEnd,
    size: SizeOf,
    /// Its size, if its entry tells that.
    entry_size: Option<u64>,
    depth: Option<u32>,
}

/// What its result adds to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormEnd {
    Nothing,
    Error,
    Created,
    Executed,
    Waited,
    Woken,
    Opened {
        flags: u64,
    },
    /// The flags could not be read, and are not known: a program in the kernel brings no page into
    /// memory that is absent, as the call itself does.
    OpenedSomehow,
}

impl BegunCall {
    /// A call with these arguments.
    pub fn new(name: &str, class: CallClass, args: [u64; 6], task: &mut dyn TaskView) -> Self {
        let path = class.path.and_then(|at| task.path(args[at]));
        let clone_flags = match class.words {
            FormWords::Clone => Some(args[0]),
            FormWords::Clone3 => task.word(args[0]),
            _ => None,
        };
        let (words, end) = words_of(class.words, args, path.as_deref(), clone_flags, task);
        let end = if ["fork", "vfork"].contains(&name) { FormEnd::Created } else { end };
        let entry_size = match class.size {
            SizeOf::Argument(at) | SizeOf::Descriptors(at) => Some(args[at]),
            SizeOf::DescriptorSets => task.descriptors_in_sets(args),
            SizeOf::Mappings if clone_flags.is_none_or(copies_memory) => task.mappings(),
            SizeOf::Mappings
            | SizeOf::Nothing
            | SizeOf::Result
            | SizeOf::ReadyDescriptors
            | SizeOf::Messages
            | SizeOf::ProgramArguments => None,
        };
        Self {
            form: joined(name, &words),
            end,
            size: class.size,
            entry_size,
            depth: path.as_deref().map(depth),
        }
    }

    /// Whether it creates a thread, if it creates a task.
    pub fn is_of_thread(&self) -> bool {
        self.form.ends_with(" thread")
    }

    /// The same call with its result.
    pub fn returned(
        self,
        value: i64,
        is_error: bool,
        error_name: ErrorNames,
        task: &mut dyn TaskView,
    ) -> ReturnedCall {
        let error = if is_error { name_of_error(value, error_name) } else { String::new() };
        let end = match self.end {
            FormEnd::Nothing => String::new(),
            FormEnd::Woken if value > 0 => WAITER.to_owned(),
            FormEnd::Waited if is_error && value == -HAS_CHANGED => error,
            FormEnd::Woken | FormEnd::Waited => String::new(),
            FormEnd::Created if is_error && is_restart(value) => RESTART.to_owned(),
            FormEnd::Error | FormEnd::Created => error,
            FormEnd::Opened { .. } | FormEnd::OpenedSomehow | FormEnd::Executed if is_error => {
                error
            }
            FormEnd::OpenedSomehow => UNKNOWN_KIND.to_owned(),
            FormEnd::Executed if task.has_loader() => DYNAMIC.to_owned(),
            FormEnd::Executed => String::new(),
            FormEnd::Opened { flags } if creates(flags) => {
                let kind = task.descriptor(value as u64);
                // A shell's `> /dev/null` creates nothing.
                let is_there = ["device", "tty", "pipe", "proc"].contains(&kind.as_str());
                if is_there { kind } else { "create".to_owned() }
            }
            FormEnd::Opened { flags } if flags & O_DIRECTORY != 0 => "directory".to_owned(),
            FormEnd::Opened { .. } => task.descriptor(value as u64),
        };
        let moved = match self.size {
            _ if is_error => None,
            SizeOf::Nothing => None,
            SizeOf::Result | SizeOf::ReadyDescriptors | SizeOf::Messages => {
                u64::try_from(value).ok()
            }
            SizeOf::ProgramArguments => task.argument_bytes(),
            SizeOf::Argument(_)
            | SizeOf::Descriptors(_)
            | SizeOf::DescriptorSets
            | SizeOf::Mappings => self.entry_size,
        };
        let form = joined(&self.form, &end);
        let class = moved.map(size_class);
        let key = FormKey { depth: self.depth, ..FormKey::of(form) };
        let key = match self.size {
            SizeOf::Descriptors(_) | SizeOf::DescriptorSets | SizeOf::ReadyDescriptors => {
                FormKey { descriptors: class, ..key }
            }
            SizeOf::Mappings => FormKey { mappings: class, ..key },
            SizeOf::Messages => FormKey { messages: class, ..key },
            SizeOf::Nothing | SizeOf::Result | SizeOf::Argument(_) | SizeOf::ProgramArguments => {
                FormKey { bytes: class, ..key }
            }
        };
        ReturnedCall { key, moved: moved.unwrap_or(0) }
    }
}

/// The words of a form that an entry tells, and what the result adds. The flags of a clone(2) are
/// `None` where they cannot be read.
fn words_of(
    words: FormWords,
    args: [u64; 6],
    path: Option<&[u8]>,
    clone_flags: Option<u64>,
    task: &mut dyn TaskView,
) -> (String, FormEnd) {
    match words {
        FormWords::Outcome => (String::new(), FormEnd::Error),
        FormWords::Descriptor => (task.descriptor(args[0]), FormEnd::Error),
        FormWords::Close => {
            let shared = if task.is_shared(args[0]) { SHARED_FILE } else { "" };
            (joined(shared, &task.descriptor(args[0])), FormEnd::Error)
        }
        FormWords::Write => {
            let kind = task.descriptor(args[0]);
            let append = if kind == FILE && task.appends(args[0], args[2]) { APPEND } else { "" };
            (joined(append, &kind), FormEnd::Error)
        }
        FormWords::Execute => (String::new(), FormEnd::Executed),
        FormWords::Open(flags) => (String::new(), FormEnd::Opened { flags: args[flags] }),
        FormWords::OpenHow(at) => {
            let end = task.word(args[at]).map(|flags| FormEnd::Opened { flags });
            (String::new(), end.unwrap_or(FormEnd::OpenedSomehow))
        }
        FormWords::Stat(flags) => match path {
            Some([]) if args[flags] & AT_EMPTY_PATH != 0 => {
                (joined("empty", &task.descriptor(args[0])), FormEnd::Nothing)
            }
            _ => (String::new(), FormEnd::Error),
        },
        FormWords::Request(names) => {
            // The kernel reads 32 bits.
            let command = u64::from(args[1] as u32);
            let name = names.iter().find(|(number, _)| *number == command);
            let name = name.map_or_else(|| format!("{command:#x}"), |(_, name)| (*name).to_owned());
            (name, FormEnd::Error)
        }
        FormWords::Family => (family(args[0] as i32), FormEnd::Error),
        FormWords::Map => {
            let what = if args[3] & MAP_ANONYMOUS != 0 { "anonymous" } else { "file" };
            let is_fixed = args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE) != 0;
            let fixed = if is_fixed { "fixed" } else { "" };
            (joined(what, fixed), FormEnd::Error)
        }
        FormWords::Futex => {
            let act = futex_act(args[1]);
            let end = match act {
                WAKE => FormEnd::Woken,
                WAIT => FormEnd::Waited,
                _ => FormEnd::Nothing,
            };
            (act.to_owned(), end)
        }
        FormWords::Clone | FormWords::Clone3 => {
            (clone_flags.map_or("process", created).to_owned(), FormEnd::Created)
        }
    }
}

/// Whether open(2) with these flags may create a file.
fn creates(flags: u64) -> bool {
    flags & O_CREAT != 0 || flags & O_TMPFILE == O_TMPFILE
}

/// Words with a blank between them.
fn joined(begin: &str, end: &str) -> String {
    match (begin, end) {
        (begin, "") => begin.to_owned(),
        ("", end) => end.to_owned(),
        (begin, end) => [begin, end].join(" "),
    }
}

/// The components of a path.
fn depth(path: &[u8]) -> u32 {
    let components = path.split(|&byte| byte == b'/');
    components.filter(|it| !it.is_empty() && *it != b".").count() as u32
}

/// The name of an error, as in errno(3); empty of a call that is made again.
fn name_of_error(value: i64, error_name: ErrorNames) -> String {
    match i32::try_from(value.saturating_neg()) {
        _ if is_restart(value) => String::new(),
        Ok(number) => error_name(number),
        Err(_) => "UnknownErrno".to_owned(),
    }
}

fn is_restart(value: i64) -> bool {
    RESTARTS.contains(&value.saturating_neg())
}

/// The name of an address family (linux/socket.h).
fn family(number: i32) -> String {
    match number {
        1 => "AF_UNIX".to_owned(),
        2 => "AF_INET".to_owned(),
        10 => "AF_INET6".to_owned(),
        16 => "AF_NETLINK".to_owned(),
        17 => "AF_PACKET".to_owned(),
        other => other.to_string(),
    }
}

/// What futex(2) does, by its operation (linux/futex.h).
fn futex_act(operation: u64) -> &'static str {
    match operation & FUTEX_COMMAND_MASK {
        0 | 9 => WAIT,
        1 | 5 | 10 => WAKE,
        3 | 4 | 11 | 12 => "requeue",
        6 | 13 => "lock_pi",
        7 => "unlock_pi",
        _ => "?",
    }
}

/// Whether clone(2) with these flags copies the memory of its caller for a process that the caller
/// does not wait for.
fn copies_memory(flags: u64) -> bool {
    flags & (CLONE_VM | CLONE_VFORK) == 0
}

/// What clone(2) creates.
fn created(flags: u64) -> &'static str {
    if flags & CLONE_THREAD != 0 {
        "thread"
    } else if flags & CLONE_VFORK != 0 {
        "vfork"
    } else {
        "process"
    }
}

#[cfg(test)]
mod tests;
