//! The form of a call: from its arguments at its entry, and its result.

use crate::call_classes::{CallClass, FormWords, SizeOf};
use crate::call_flags::{
    AT_EMPTY_PATH, CLONE_THREAD, CLONE_VFORK, FUTEX_COMMAND_MASK, MAP_ANONYMOUS, MAP_FIXED,
    MAP_FIXED_NOREPLACE, O_CREAT, O_DIRECTORY, O_TMPFILE,
};
use crate::program_calls::size_class;

/// The name under which calls of a 32-bit program are counted: it has other numbers of calls.
pub const FOREIGN_CALL: &str = "32-bit-call";
/// The form of all calls beyond the maximum number of forms.
pub const OTHER_FORMS: &str = "other";

/// The word of a close whose file has other references, so that it does not release the file.
const SHARED_FILE: &str = "shared";

/// The word of an execve(2) of a program with a loader.
const DYNAMIC: &str = "dynamic";

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
    /// Whether the program that it has just begun to execute has a loader, as one that is linked
    /// dynamically. False where that cannot be found out.
    fn has_loader(&mut self) -> bool;
    /// The path at an address; `None` if it cannot be read.
    fn path(&mut self, address: u64) -> Option<Vec<u8>>;
    /// The word at an address; `None` if it cannot be read.
    fn word(&mut self, address: u64) -> Option<u64>;
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
    /// The components of the path.
    pub depth: Option<u32>,
}

/// A call that has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedCall {
    /// The calls that it is counted with.
    pub key: FormKey,
    /// The bytes, or the descriptors, that it was about.
    pub moved: u64,
}

/// A call that a task is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunCall {
    /// Its form as far as its entry tells.
    form: String,
    end: FormEnd,
    size: SizeOf,
    argument_size: u64,
    depth: Option<u32>,
}

/// What its result adds to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormEnd {
    Nothing,
    Error,
    Created,
    Executed,
    Opened { flags: u64 },
}

impl BegunCall {
    /// A call with these arguments.
    pub fn new(name: &str, class: CallClass, args: [u64; 6], task: &mut dyn TaskView) -> Self {
        let path = class.path.and_then(|at| task.path(args[at]));
        let (words, end) = words_of(class.words, args, path.as_deref(), task);
        let end = if ["fork", "vfork"].contains(&name) { FormEnd::Created } else { end };
        let argument_size = match class.size {
            SizeOf::Argument(at) | SizeOf::Descriptors(at) => args[at],
            SizeOf::Nothing | SizeOf::Result => 0,
        };
        Self {
            form: joined(name, &words),
            end,
            size: class.size,
            argument_size,
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
            FormEnd::Created if is_error && is_restart(value) => RESTART.to_owned(),
            FormEnd::Error | FormEnd::Created => error,
            FormEnd::Opened { .. } | FormEnd::Executed if is_error => error,
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
            SizeOf::Result => u64::try_from(value).ok(),
            SizeOf::Argument(_) | SizeOf::Descriptors(_) => Some(self.argument_size),
        };
        let form = joined(&self.form, &end);
        let (bytes, descriptors) = match (self.size, moved.map(size_class)) {
            (SizeOf::Descriptors(_), class) => (None, class),
            (_, class) => (class, None),
        };
        let key = FormKey { form, bytes, descriptors, depth: self.depth };
        ReturnedCall { key, moved: moved.unwrap_or(0) }
    }
}

/// The words of a form that an entry tells, and what the result adds.
fn words_of(
    words: FormWords,
    args: [u64; 6],
    path: Option<&[u8]>,
    task: &mut dyn TaskView,
) -> (String, FormEnd) {
    match words {
        FormWords::Outcome => (String::new(), FormEnd::Error),
        FormWords::Descriptor => (task.descriptor(args[0]), FormEnd::Error),
        FormWords::Close => {
            let shared = if task.is_shared(args[0]) { SHARED_FILE } else { "" };
            (joined(shared, &task.descriptor(args[0])), FormEnd::Error)
        }
        FormWords::Execute => (String::new(), FormEnd::Executed),
        FormWords::Open(flags) => (String::new(), FormEnd::Opened { flags: args[flags] }),
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
        FormWords::Futex => (futex_act(args[1]).to_owned(), FormEnd::Nothing),
        FormWords::Clone => (created(args[0]).to_owned(), FormEnd::Created),
        FormWords::Clone3 => {
            let flags = task.word(args[0]);
            (flags.map_or("process", created).to_owned(), FormEnd::Created)
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
        0 | 9 => "wait",
        1 | 5 | 10 => "wake",
        3 | 4 | 11 | 12 => "requeue",
        6 | 13 => "lock_pi",
        7 => "unlock_pi",
        _ => "?",
    }
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::call_classes::class_of;

    /// A task with descriptors 3, a file, 4, a pipe, and 5, a duplicate of another one; paths by
    /// address, and one word.
    struct MadeUpTask(BTreeMap<u64, &'static str>);

    impl TaskView for MadeUpTask {
        fn descriptor(&mut self, fd: u64) -> String {
            match fd {
                3 | 5 => "file",
                4 => "pipe",
                _ => "none",
            }
            .to_owned()
        }

        fn is_shared(&mut self, fd: u64) -> bool {
            fd == 5
        }

        fn has_loader(&mut self) -> bool {
            true
        }

        fn path(&mut self, address: u64) -> Option<Vec<u8>> {
            self.0.get(&address).map(|path| path.as_bytes().to_vec())
        }

        fn word(&mut self, address: u64) -> Option<u64> {
            (address == 1).then_some(CLONE_THREAD)
        }
    }

    fn error_name(number: i32) -> String {
        match number {
            2 => "ENOENT",
            9 => "EBADF",
            10 => "ECHILD",
            11 => "EAGAIN",
            25 => "ENOTTY",
            _ => "?",
        }
        .to_owned()
    }

    fn returned(name: &str, args: [u64; 6], value: i64) -> ReturnedCall {
        let mut task = MadeUpTask(BTreeMap::from([(1, ""), (2, "/usr/./lib//x"), (5, "x")]));
        let begun = BegunCall::new(name, class_of(name), args, &mut task);
        begun.returned(value, value < 0, error_name, &mut task)
    }

    fn form(name: &str, args: [u64; 6], value: i64) -> String {
        returned(name, args, value).key.form
    }

    #[test]
    fn a_form_has_the_words_of_the_script_that_counts_programs() {
        let create = O_CREAT | 1;
        let directory = O_DIRECTORY;
        let unnamed = O_TMPFILE | 2;
        let anonymous = MAP_ANONYMOUS | 2;
        let fixed = anonymous | MAP_FIXED;
        let vfork = 0x100 | CLONE_VFORK;
        for (name, args, value, expected) in [
            ("read", [4, 0, 9, 0, 0, 0], 9, "read pipe"),
            ("read", [4, 0, 9, 0, 0, 0], -11, "read pipe EAGAIN"),
            ("read", [4, 0, 9, 0, 0, 0], -512, "read pipe"),
            ("close", [9, 0, 0, 0, 0, 0], -9, "close none EBADF"),
            ("close", [3, 0, 0, 0, 0, 0], 0, "close file"),
            ("close", [5, 0, 0, 0, 0, 0], 0, "close shared file"),
            ("openat", [0, 2, 0, 0, 0, 0], 3, "openat file"),
            ("openat", [0, 2, create, 0, 0, 0], 3, "openat create"),
            ("openat", [0, 2, create, 0, 0, 0], 4, "openat pipe"),
            ("openat", [0, 2, unnamed, 0, 0, 0], 3, "openat create"),
            ("openat", [0, 2, directory, 0, 0, 0], 3, "openat directory"),
            ("openat", [0, 2, create, 0, 0, 0], -2, "openat ENOENT"),
            ("newfstatat", [3, 1, 0, 0x1000, 0, 0], 0, "newfstatat empty file"),
            ("newfstatat", [3, 2, 0, 0x1000, 0, 0], -2, "newfstatat ENOENT"),
            ("fcntl", [3, 1_030, 0, 0, 0, 0], 5, "fcntl F_DUPFD_CLOEXEC"),
            ("fcntl", [3, 2, 1, 0, 0, 0], -9, "fcntl F_SETFD EBADF"),
            ("ioctl", [1, 0x5401, 0, 0, 0, 0], -25, "ioctl TCGETS ENOTTY"),
            ("ioctl", [1, 0x1234, 0, 0, 0, 0], 0, "ioctl 0x1234"),
            ("mmap", [0, 8, 0, anonymous, 0, 0], 4_096, "mmap anonymous"),
            ("mmap", [0, 8, 0, fixed, 0, 0], 4_096, "mmap anonymous fixed"),
            ("mmap", [0, 8, 0, 2, 3, 0], 4_096, "mmap file"),
            ("futex", [0, 0x80 | 9, 0, 0, 0, 0], -110, "futex wait"),
            ("futex", [0, 0x81, 0, 0, 0, 0], 1, "futex wake"),
            ("clone", [0x11, 0, 0, 0, 0, 0], 7, "clone process"),
            ("clone", [vfork, 0, 0, 0, 0, 0], 7, "clone vfork"),
            ("clone3", [1, 88, 0, 0, 0, 0], 7, "clone3 thread"),
            ("clone", [0x11, 0, 0, 0, 0, 0], -513, "clone process RESTART"),
            ("clone3", [1, 88, 0, 0, 0, 0], -11, "clone3 thread EAGAIN"),
            ("fork", [0; 6], -513, "fork RESTART"),
            ("vfork", [0; 6], -11, "vfork EAGAIN"),
            ("fork", [0; 6], 7, "fork"),
            ("socket", [1, 0, 0, 0, 0, 0], 3, "socket AF_UNIX"),
            ("execve", [2, 0, 0, 0, 0, 0], -2, "execve ENOENT"),
            ("execve", [2, 0, 0, 0, 0, 0], 0, "execve dynamic"),
            ("getpid", [0; 6], 7, "getpid"),
            ("wait4", [0; 6], -10, "wait4 ECHILD"),
        ] {
            assert_eq!(form(name, args, value), expected);
        }
    }

    #[test]
    fn sizes_are_those_of_results_or_of_ranges_and_a_failed_call_has_none() {
        let of = |name: &str, args, value| {
            let returned = returned(name, args, value);
            (returned.key.bytes, returned.moved)
        };
        assert_eq!(of("write", [4, 0, 9_000, 0, 0, 0], 5_000), (Some(8_192), 5_000));
        assert_eq!(of("read", [3, 0, 9_000, 0, 0, 0], 0), (Some(0), 0));
        assert_eq!(of("read", [3, 0, 9_000, 0, 0, 0], -5), (None, 0));
        assert_eq!(of("munmap", [0, 65_536, 0, 0, 0, 0], 0), (Some(65_536), 65_536));
        assert_eq!(of("getpid", [0; 6], 7), (None, 0));
    }

    #[test]
    fn descriptors_are_no_bytes() {
        let of = |value| {
            let ReturnedCall { key, moved } = returned("poll", [1, 100, 0, 0, 0, 0], value);
            (key.form, key.bytes, key.descriptors, moved)
        };
        assert_eq!(of(1), ("poll".to_owned(), None, Some(128), 100));
        assert_eq!(of(-11), ("poll EAGAIN".to_owned(), None, None, 0));
    }

    #[test]
    fn the_depth_of_a_path_is_that_of_its_components() {
        let of = |path| returned("openat", [0, path, 0, 0, 0, 0], 3).key.depth;
        assert_eq!([of(2), of(5), of(1), of(9)], [Some(3), Some(1), Some(0), None]);
    }

    #[test]
    fn threads_are_told_from_processes() {
        let mut task = MadeUpTask(BTreeMap::new());
        let mut is_thread = |name: &str, flags| {
            let args = [flags, 0, 0, 0, 0, 0];
            BegunCall::new(name, class_of(name), args, &mut task).is_of_thread()
        };
        assert!(is_thread("clone", CLONE_THREAD) && is_thread("clone3", 1));
        assert!(!is_thread("clone", 0x11) && !is_thread("vfork", 0) && !is_thread("clone3", 2));
    }
}
