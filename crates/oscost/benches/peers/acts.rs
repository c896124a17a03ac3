//! The acts that both sides do.

use super::others::{Tool, With};

/// An act, here and in C.
pub(super) struct Act {
    /// Its case here.
    pub(super) case: &'static str,
    /// What the definition's op must say, or the two sides do not do the same.
    pub(super) says: &'static [&'static str],
    /// What it is called in `loops.c`, and what it needs there.
    pub(super) in_c: (&'static str, With),
    /// Who else has the same act.
    pub(super) tools: &'static [Tool],
}

/// A call by its libc name, in a loop.
const fn call(case: &'static str, in_c: &'static str, says: &'static [&'static str]) -> Act {
    Act { case, says, in_c: (in_c, With::Nothing), tools: &[] }
}

/// The C library's memcpy of one block.
const fn copy(case: &'static str, bytes: u64) -> Act {
    Act { case, says: &["memcpy"], in_c: ("copy", With::Bytes(bytes)), tools: &[] }
}

pub(super) const ACTS: &[Act] = &[
    call("syscall/getpid:via=libc", "getpid", &[]),
    Act {
        // `getpgid`, which newer ones have, is asked by no case here.
        tools: &[Tool::PerfSyscall],
        ..call("syscall/getppid:via=libc", "getppid", &[])
    },
    call("syscall/write:via=libc", "write", &["/dev/null", "byte"]),
    call("syscall/stat:via=libc", "stat", &["/dev/null"]),
    call("syscall/open-close:via=libc", "open-close", &["/dev/null"]),
    call("timer/clock-gettime:clock=monotonic,via=libc", "clock-gettime", &["nanoseconds"]),
    Act {
        in_c: ("fork-exit", With::Memory),
        ..call("process/fork-exit:touched_mib=0,peer_cpu=same", "", &["_exit", "waitpid"])
    },
    Act {
        case: "process/fork-exec:link=static",
        says: &["execve", "waitpid"],
        in_c: ("fork-exec", With::Program),
        tools: &[],
    },
    call("thread/create-join:via=libc,peer_cpu=same", "create-join", &["pthread_join"]),
    Act {
        case: "switch/pipe:between=processes,peer_cpu=same",
        says: &["a byte", "pipe"],
        in_c: ("pipe", With::SameCpu),
        tools: &[Tool::PerfPipe],
    },
    Act {
        case: "switch/pipe:between=processes,peer_cpu=other",
        says: &["a byte", "pipe"],
        in_c: ("pipe", With::OtherCpu),
        tools: &[],
    },
    call(
        "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending",
        "zero-fill",
        &["8 MiB", "one byte written"],
    ),
    copy("memory/copy:size=64,by=library", 64),
    copy("memory/copy:size=1024,by=library", 1 << 10),
    copy("memory/copy:size=4096,by=library", 4 << 10),
    copy("memory/copy:size=65536,by=library", 64 << 10),
    Act {
        tools: &[Tool::PerfMemcpy("1MB")],
        ..copy("memory/copy:size=1048576,by=library", 1 << 20)
    },
    copy("memory/copy:size=16777216,by=library", 16 << 20),
    Act {
        case: "file/read:via=read,size=65536,cache=warm,file_mib=8",
        says: &["read"],
        in_c: ("read", With::Folder),
        tools: &[Tool::Fio],
    },
];
