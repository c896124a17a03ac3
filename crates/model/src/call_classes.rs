//! What makes each call cheap or expensive, as data: the words of its form, its size, its path.
//!
//! Both counters of a program's calls read this one table: the tracer of the worker, and the
//! programs that the tool loads into the kernel.

/// The words of a form behind the name of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormWords {
    /// The error alone.
    Outcome,
    /// The kind of the descriptor in the first argument, and the error.
    Descriptor,
    /// The same, with `shared` before the kind if its file has other references, too.
    Close,
    /// The kind of the descriptor in the first argument, with `append` before that of a file beyond whose
    /// end so many bytes as the third argument would reach; the error.
    Write,
    /// `dynamic` if the program that was executed has a loader (ELF's interpreter); the error.
    Execute,
    /// What was opened: the error, `create`, `directory` or the kind of the new descriptor; the
    /// flags are this argument.
    Open(usize),
    /// The same, by the flags in the structure at this argument.
    OpenHow(usize),
    /// With an empty path (AT_EMPTY_PATH in this argument) `empty` and the kind of the descriptor;
    /// otherwise the error.
    Stat(usize),
    /// The name of the second argument, and the error.
    Request(&'static [(u64, &'static str)]),
    /// The address family in the first argument, and the error.
    Family,
    /// `anonymous` or `file`, and `fixed`.
    Map,
    /// `wait`, `wake` and so on; `waiter` behind `wake` if a task was woken, and EAGAIN behind `wait` if the
    /// call has not waited.
    Futex,
    /// `thread`, `vfork` or `process`, by the flags in the first argument.
    Clone,
    /// The same, by the flags in the structure at the first argument.
    Clone3,
}

/// Where the size of a call comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeOf {
    /// It has none.
    Nothing,
    /// Its result.
    Result,
    /// This argument.
    Argument(usize),
    /// This argument, which is a number of descriptors and not of bytes.
    Descriptors(usize),
    /// The descriptors that are in at least one of the three sets of select(2): its first argument
    /// bounds their numbers, and the next three are the addresses of the sets.
    DescriptorSets,
    /// Its result, which is a number of descriptors that are ready.
    ReadyDescriptors,
    /// Its result, which is a number of messages.
    Messages,
    /// The bytes of the arguments and the environment of the program that it has executed.
    ProgramArguments,
    /// The mappings of the memory that the process which it creates gets a copy of.
    Mappings,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallClass {
    /// The kernel's name.
    pub name: &'static str,
    /// The words of its form.
    pub words: FormWords,
    /// Its size.
    pub size: SizeOf,
    /// The argument that is its path.
    pub path: Option<usize>,
    /// The argument that is the descriptor of a file or directory which it reads, from memory or from
    /// a disk.
    pub reads: Option<usize>,
}

const fn call(name: &'static str, words: FormWords) -> CallClass {
    CallClass { name, words, size: SizeOf::Nothing, path: None, reads: None }
}

/// A call whose first argument is a descriptor.
const fn of_fd(name: &'static str) -> CallClass {
    call(name, FormWords::Descriptor)
}

/// A call whose path is this argument.
const fn of_path(name: &'static str, path: usize) -> CallClass {
    call(name, FormWords::Outcome).with_path(path)
}

/// A call on a descriptor whose result is a number of bytes.
const fn moves(name: &'static str) -> CallClass {
    of_fd(name).with_size(SizeOf::Result)
}

/// A call whose first argument is a descriptor that it reads: of a file it may wait for a disk.
const fn reads(name: &'static str) -> CallClass {
    CallClass { reads: Some(0), ..moves(name) }
}

/// A call on a range of memory whose length is this argument.
const fn of_range(name: &'static str, length: usize) -> CallClass {
    call(name, FormWords::Outcome).with_size(SizeOf::Argument(length))
}

/// A call on so many descriptors as this argument says.
const fn of_descriptors(name: &'static str, number: usize) -> CallClass {
    call(name, FormWords::Outcome).with_size(SizeOf::Descriptors(number))
}

/// A call on the descriptors of three sets.
const fn of_sets(name: &'static str) -> CallClass {
    call(name, FormWords::Outcome).with_size(SizeOf::DescriptorSets)
}

/// A call on a descriptor whose result is a number of messages.
const fn passes(name: &'static str) -> CallClass {
    of_fd(name).with_size(SizeOf::Messages)
}

/// A call on a descriptor that returns how many others are ready.
const fn of_ready(name: &'static str) -> CallClass {
    of_fd(name).with_size(SizeOf::ReadyDescriptors)
}

impl CallClass {
    const fn with_path(self, path: usize) -> Self {
        Self { path: Some(path), ..self }
    }

    const fn with_size(self, size: SizeOf) -> Self {
        Self { size, ..self }
    }
}

/// fcntl(2) (linux/fcntl.h).
const FCNTL_COMMANDS: &[(u64, &str)] = &[
    (0, "F_DUPFD"),
    (1, "F_GETFD"),
    (2, "F_SETFD"),
    (3, "F_GETFL"),
    (4, "F_SETFL"),
    (5, "F_GETLK"),
    (6, "F_SETLK"),
    (7, "F_SETLKW"),
    (8, "F_SETOWN"),
    (9, "F_GETOWN"),
    (10, "F_SETSIG"),
    (36, "F_OFD_GETLK"),
    (37, "F_OFD_SETLK"),
    (38, "F_OFD_SETLKW"),
    (1_024, "F_SETLEASE"),
    (1_025, "F_GETLEASE"),
    (1_030, "F_DUPFD_CLOEXEC"),
    (1_031, "F_SETPIPE_SZ"),
    (1_032, "F_GETPIPE_SZ"),
    (1_033, "F_ADD_SEALS"),
    (1_034, "F_GET_SEALS"),
];

/// Common requests of ioctl(2), as strace(1) names them.
const IOCTL_REQUESTS: &[(u64, &str)] = &[
    (0x5401, "TCGETS"),
    (0x5402, "TCSETS"),
    (0x5403, "TCSETSW"),
    (0x540f, "TIOCGPGRP"),
    (0x5410, "TIOCSPGRP"),
    (0x5413, "TIOCGWINSZ"),
    (0x541b, "FIONREAD"),
    (0x5421, "FIONBIO"),
    (0x5451, "FIOCLEX"),
    (0x802c_542a, "TCGETS2"),
    (0x4004_9409, "BTRFS_IOC_CLONE or FICLONE"),
    (0xc020_660b, "FS_IOC_FIEMAP"),
];

/// The calls of which more than the name and the error matters. The forms are those of
/// scripts/program-calls.py, but that it does not tell whether a close is of a shared file, whether a
/// write extends a file, whether a program has a loader, whether a futex had a waiter or was waited
/// for, or what openat2(2) has opened.
pub const CLASSES: &[CallClass] = &[
    // Descriptors.
    call("close", FormWords::Close),
    of_fd("fstat"),
    of_fd("fstatfs"),
    of_fd("fchmod"),
    of_fd("fchown"),
    of_fd("fchdir"),
    of_fd("flock"),
    of_fd("dup"),
    of_fd("dup2"),
    of_fd("dup3"),
    of_fd("lseek"),
    of_fd("fsync"),
    of_fd("fdatasync"),
    of_fd("ftruncate"),
    of_fd("fallocate"),
    of_fd("fadvise64").with_size(SizeOf::Argument(2)),
    // How many descriptors are in the set of epoll_wait(2) is in the kernel, and does not matter.
    of_ready("epoll_wait"),
    of_ready("epoll_pwait"),
    of_ready("epoll_pwait2"),
    of_fd("epoll_ctl"),
    of_descriptors("poll", 1),
    of_descriptors("ppoll", 1),
    of_sets("select"),
    of_sets("pselect6"),
    call("fcntl", FormWords::Request(FCNTL_COMMANDS)),
    call("ioctl", FormWords::Request(IOCTL_REQUESTS)),
    // Bytes.
    reads("read"),
    call("write", FormWords::Write).with_size(SizeOf::Result),
    reads("readv"),
    moves("writev"),
    reads("pread64"),
    moves("pwrite64"),
    reads("preadv"),
    moves("pwritev"),
    reads("preadv2"),
    moves("pwritev2"),
    reads("getdents64"),
    moves("sendto"),
    moves("recvfrom"),
    moves("sendmsg"),
    moves("recvmsg"),
    reads("copy_file_range"),
    reads("splice"),
    // Its first descriptor is the one that it writes to.
    CallClass { reads: Some(1), ..moves("sendfile") },
    call("getrandom", FormWords::Outcome).with_size(SizeOf::Result),
    // Sockets. How many bytes the messages have is in their structures alone.
    passes("sendmmsg"),
    passes("recvmmsg"),
    of_fd("connect"),
    of_fd("accept"),
    of_fd("accept4"),
    of_fd("bind"),
    of_fd("listen"),
    of_fd("getsockname"),
    of_fd("getpeername"),
    of_fd("setsockopt"),
    of_fd("getsockopt"),
    of_fd("shutdown"),
    call("socket", FormWords::Family),
    call("socketpair", FormWords::Family),
    // Paths.
    call("open", FormWords::Open(1)).with_path(0),
    call("openat", FormWords::Open(2)).with_path(1),
    of_path("creat", 0),
    call("openat2", FormWords::OpenHow(2)).with_path(1),
    call("newfstatat", FormWords::Stat(3)).with_path(1),
    of_path("stat", 0),
    of_path("lstat", 0),
    call("statx", FormWords::Stat(2)).with_path(1),
    of_path("statfs", 0),
    of_path("access", 0),
    of_path("faccessat", 1),
    of_path("faccessat2", 1),
    of_path("readlink", 0),
    of_path("readlinkat", 1),
    of_path("unlink", 0),
    of_path("unlinkat", 1),
    of_path("mkdir", 0),
    of_path("mkdirat", 1),
    of_path("rmdir", 0),
    of_path("rename", 0),
    of_path("renameat", 1),
    of_path("renameat2", 1),
    of_path("chdir", 0),
    call("execve", FormWords::Execute).with_path(0).with_size(SizeOf::ProgramArguments),
    call("execveat", FormWords::Execute).with_path(1).with_size(SizeOf::ProgramArguments),
    of_path("getxattr", 0),
    of_path("lgetxattr", 0),
    // Memory.
    call("mmap", FormWords::Map).with_size(SizeOf::Argument(1)),
    of_range("munmap", 1),
    of_range("mprotect", 1),
    of_range("madvise", 1),
    of_range("mremap", 2),
    // Tasks.
    call("clone", FormWords::Clone).with_size(SizeOf::Mappings),
    call("clone3", FormWords::Clone3).with_size(SizeOf::Mappings),
    call("fork", FormWords::Outcome).with_size(SizeOf::Mappings),
    call("futex", FormWords::Futex),
];

/// The class of a call; of any other one the error alone matters.
pub fn class_of(name: &str) -> CallClass {
    let found = CLASSES.iter().find(|class| class.name == name);
    found.copied().unwrap_or(call("", FormWords::Outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_names::Arch;

    #[test]
    fn each_class_is_that_of_one_call_of_the_kernel() {
        for (at, class) in CLASSES.iter().enumerate() {
            assert!(CLASSES[..at].iter().all(|other| other.name != class.name), "{}", class.name);
            let is_call = Arch::X86_64.calls().any(|(_, name)| name == class.name);
            assert!(is_call, "`{}` is no call", class.name);
        }
    }

    #[test]
    fn commands_and_requests_are_named_once() {
        for names in [FCNTL_COMMANDS, IOCTL_REQUESTS] {
            for (at, (number, name)) in names.iter().enumerate() {
                let is_other = |(other, word): &(u64, &str)| other != number && word != name;
                assert!(names[..at].iter().all(is_other), "{name}");
            }
        }
    }
}
