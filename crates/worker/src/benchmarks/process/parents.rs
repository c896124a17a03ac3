//! Forks of a parent that has much of one thing, clones that share a part of it, and an exec with a
//! large environment.

use kernel::memory::many_mappings::ManyMappings;
use kernel::process;
use kernel::process::environment::Environment;
use kernel::process::inherited::{ExecAction, open_null_copies};
use kernel::process::shared_clone::{SharedPart, clone_and_exit};
use kernel::process::sleeping_threads::{SleepingThreads, fork_and_exit};
use kernel::process::spawn::{self, Program};

use super::super::prelude::*;
use super::limits::{limit_or_error, try_once};
use super::program::{Link, with_program};

/// The memory of a parent.
pub(super) const TOUCHED: Axis = Axis {
    name: "touched_mib",
    sets: "MiB of private memory that the parent has written before, in base pages",
    points: Points::Numbers(&[0, 8, 64]),
    default_points: Points::Numbers(&[0]),
};

/// The calls of an op that takes its own time stamps, where the clock is a system call.
pub(in crate::benchmarks) const CLOCK_CALLS: ExpectedCall = up_to("clock_gettime", 2);

/// What the C library does in the child before fork() returns there.
pub(super) const LIBC_CALLS: ExpectedCall = up_to("set_robust_list", 1);

/// The calls of a fork whose child exits and is reaped.
pub(super) const FORK_CALLS: &[ExpectedCall] =
    &[exactly("clone", 1), exactly("exit_group", 1), exactly("wait4", 1), LIBC_CALLS];

pub(super) const FORK_EXIT: &str = "process/fork-exit:touched_mib=0,peer_cpu=same";

pub(super) const FORK_DESCRIPTORS: Bench = Bench {
    id: "process/fork-descriptors",
    asks: "What do a parent's open descriptors add to a fork?",
    op: "libc's fork(); _exit(2) at once in the child; waitpid(2) in the parent, which has `fds` \
         descriptors of /dev/null open besides its own, all of one open file. The child's exit \
         closes its copies. Not included: opening them.",
    expected: "1 us more for 100 descriptors and 10 us more for 1000: 5 ns for each that is \
               copied, and 5 ns for each that is closed",
    why: "fork copies the table of descriptors and takes a reference to the file of each; exit \
          drops them one by one. A table of more than 64 descriptors is allocated too. Programs \
          that hold many descriptors pay that for each child, also for one that calls execve(2), \
          where those with the flag close-on-exec are closed.",
    calls: FORK_CALLS,
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &[FORK_EXIT],
    axes: &[Axis {
        name: "fds",
        sets: "further open descriptors of the parent",
        points: Points::Items("descriptor", &Points::Numbers(&[0, 100, 1_000])),
        default_points: Points::Numbers(&[0, 100, 1_000]),
    }],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    switches: true,
    source: "fork(2); dup_fd in fs/file.c",
    build: |params| {
        if params.context.cpu.is_none() {
            return Ok(unpinned_work());
        }
        let copies = open_null_copies(params.number("fds"), ExecAction::Closed)?;
        try_once(Work::with_loop(move || {
            let _open = &copies;
            spawn::reap(process::fork(|| 0)?)
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const FORK_MAPPINGS: Bench = Bench {
    id: "process/fork-mappings",
    asks: "What do a parent's mappings add to a fork?",
    op: "libc's fork(); _exit(2) at once in the child; waitpid(2) in the parent, which has \
         `mappings` private anonymous mappings of one page besides its own, none of which was ever \
         touched: no page table is copied for them. The child's exit removes its copies. Not \
         included: mapping them.",
    expected: "200 ns for each mapping: 200 us more for 1000, 2 ms more for 10000",
    why: "fork copies the description of each mapping (vm_area_struct) and enters it into the \
          child's tree; exit removes it again. So a program of many small mappings (libraries, \
          stacks of threads, a garbage collector's pages) forks slowly even if it has little \
          memory.",
    calls: FORK_CALLS,
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &[FORK_EXIT],
    axes: &[Axis {
        name: "mappings",
        sets: "further mappings of the parent",
        points: Points::Items("mapping", &Points::Numbers(&[0, 1_000, 10_000])),
        default_points: Points::Numbers(&[0, 1_000, 10_000]),
    }],
    in_price_list: false,
    switches: true,
    source: "fork(2), mmap(2); dup_mmap in kernel/fork.c (mm/mmap.c)",
    build: |params| {
        if params.context.cpu.is_none() {
            return Ok(unpinned_work());
        }
        let mappings = match ManyMappings::new(params.number("mappings") as usize) {
            Err(Errno::ENOMEM) => {
                return Ok(Work::unavailable(
                    "the kernel allows fewer mappings: raise vm.max_map_count, or RLIMIT_AS \
                     (`ulimit -v`)",
                ));
            }
            mappings => mappings?,
        };
        try_once(Work::with_loop(move || {
            let _mapped = &mappings;
            spawn::reap(process::fork(|| 0)?)
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const FORK_THREADS: Bench = Bench {
    id: "process/fork-threads",
    asks: "What do a parent's other threads add to a fork?",
    op: "libc's fork(); _exit(2) at once in the child; waitpid(2) in the parent, which has \
         `threads` threads that sleep in futex(2), on stacks of 64 KiB. The child has the calling \
         thread alone. Not included: creating the threads.",
    expected: "1 us for each thread: 100 us more for 100",
    why: "No thread is copied, but what each has mapped: a stack and its guard page, of whose \
          pages one or two were written. In the child glibc's fork() then visits the list of the \
          other threads' stacks, to reuse them, and writes to each: a copy-on-write fault. Around \
          the fork it takes the locks of its streams and of its allocator, which it need not do \
          for a process of one thread.",
    calls: FORK_CALLS,
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &[FORK_EXIT],
    axes: &[Axis {
        name: "threads",
        sets: "further threads of the parent, all asleep",
        points: Points::Items("thread", &Points::Numbers(&[0, 10, 100])),
        default_points: Points::Numbers(&[0, 10, 100]),
    }],
    in_price_list: false,
    switches: true,
    source: "fork(2), pthread_create(3); glibc posix/fork.c and nptl/nptl-stack.c",
    build: |params| {
        if params.context.cpu.is_none() {
            return Ok(unpinned_work());
        }
        let threads = match SleepingThreads::start(params.number("threads")) {
            Err(error) => return limit_or_error(error),
            Ok(threads) => threads,
        };
        try_once(Work::with_loop(move || {
            let _asleep = &threads;
            spawn::reap(fork_and_exit()?)
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const CLONE_SHARED: Bench = Bench {
    id: "process/clone-shared",
    asks: "What does a child cost by what it shares with its parent instead of copying it?",
    op: "clone(2) with SIGCHLD and the flags that `shared` names, by the raw instruction: none; \
         CLONE_FS; CLONE_FILES; CLONE_VM; CLONE_VM and CLONE_SIGHAND; or all four. In the child \
         exit(2) at once, without touching memory; in the parent waitpid(2). Not included: \
         nothing. shared=vm is `process/clone-vm`.",
    expected: "40 us with nothing shared, 1 us less with the descriptors or the folders, 20 us \
               with the memory; the handlers make no difference",
    why: "Each flag replaces a copy by a reference: the table of descriptors, the working folder \
          and root, the table of 64 handlers, and, most of all, the description of the address \
          space with its page tables. A thread is a child that shares all of them.",
    calls: &[exactly("clone", 1), exactly("exit", 1), exactly("wait4", 1)],
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &[FORK_EXIT],
    axes: &[Axis {
        name: "shared",
        sets: "what the child shares",
        points: Points::Words(&["none", "fs", "files", "vm", "vm-sighand", "all"]),
        default_points: Points::Words(&["none", "fs", "files", "vm", "vm-sighand", "all"]),
    }],
    in_price_list: false,
    switches: true,
    source: "clone(2); copy_process in kernel/fork.c",
    build: |params| {
        let shared = match params.word("shared") {
            "fs" => SharedPart::Folders,
            "files" => SharedPart::Descriptors,
            "vm" => SharedPart::Memory,
            "vm-sighand" => SharedPart::MemoryAndHandlers,
            "all" => SharedPart::All,
            _ => SharedPart::Nothing,
        };
        try_once(Work::with_loop(move || spawn::reap(clone_and_exit(shared)?)))
    },
    ..Bench::DEFAULT
};

pub(super) const EXEC_ENVIRONMENT: Bench = Bench {
    id: "process/exec-environment",
    asks: "What does a large environment add to an exec?",
    op: "vfork and execve(2) of a minimal, statically linked program with an environment of \
         `bytes` bytes, in variables of 64 bytes, by the raw instruction; then waitpid(2). Not \
         included: writing the file, and building the environment. bytes=0 is \
         `process/vfork-exec`.",
    expected: "100 us without; 40 us more for 65536 bytes: a thousand strings, and 17 pages",
    why: "execve measures each string and copies it to the new stack, page by page, each of which \
          is allocated and freed; then it writes a pointer to each string. A shell that exports \
          much, or a build that passes all its settings this way, pays it for each program.",
    calls: &[
        exactly("clone", 1),
        exactly("execve", 1),
        exactly("exit_group", 1),
        exactly("wait4", 1),
    ],
    floor: &[at_least(4, NULL_CALL)],
    compare_with: &["process/vfork-exec"],
    axes: &[Axis {
        name: "bytes",
        sets: "size of the environment in bytes, without the pointers to its strings",
        points: Points::Numbers(&[0, 4_096, 65_536]),
        default_points: Points::Numbers(&[0, 4_096, 65_536]),
    }],
    in_price_list: false,
    switches: true,
    source: "execve(2), environ(7); copy_strings in fs/exec.c",
    build: |params| match params.number("bytes") {
        0 => with_program(Link::Static, |program| exec_with(program, 0)),
        4_096 => with_program(Link::Static, |program| exec_with(program, 4_096)),
        _ => with_program(Link::Static, |program| exec_with(program, 65_536)),
    },
    ..Bench::DEFAULT
};

/// Starts the program with an environment of this many bytes.
fn exec_with(program: Program, bytes: usize) -> Work {
    let environment = Environment::new(bytes);
    Work::with_loop(move || spawn::reap(program.vfork_exec_with(&environment)?))
}
