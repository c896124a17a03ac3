//! Calls about a process and its children: groups, limits, waiting, tracing, /proc.

use std::rc::Rc;

use kernel::event::process_state::{ProcessState, wait_until_asleep};
use kernel::ipc::context_switch::PeerProcess;
use kernel::probe::attach::Tracee;
use kernel::process;
use kernel::process::proc_file::ProcFile;
use kernel::syscall::prepared::{self, GroupCall, LimitCall};

use super::super::prelude::*;
use super::limits::limit_or_error;

/// A child that sleeps; it dies with this process, and when dropped.
fn sleeping_child() -> Result<PeerProcess, Errno> {
    PeerProcess::start(None, || process::pause_forever())
}

pub(super) const WAIT_MANY: Bench = Bench {
    id: "process/wait-many",
    asks: "What does asking whether any child has exited cost, by the number of children?",
    op: "waitid(2) with P_ALL, WEXITED, WNOHANG and WNOWAIT, by the raw instruction, while \
         `children` children sleep: none has exited. Not included: creating the children, and \
         checking that all of them run.",
    expected: "150 ns with one child, 10 ns more for each further one",
    why: "The kernel walks the list of all children, under a lock that every fork and exit of the \
          machine takes, and looks at the state of each. A server that polls for ended children \
          among thousands pays for all that still run; a pidfd, or a signal with the number of \
          the child, pays for one.",
    calls: &[exactly("waitid", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "children",
        sets: "children that run",
        points: Points::Items("child", &Points::Numbers(&[1, 10, 100])),
        default_points: Points::Numbers(&[1, 100]),
    }],
    in_price_list: false,
    source: "waitid(2); do_wait in kernel/exit.c",
    build: |params| {
        let children: Result<Vec<PeerProcess>, Errno> =
            (0..params.number("children")).map(|_| sleeping_child()).collect();
        let children = match children {
            Err(error) => return limit_or_error(error),
            Ok(children) => children,
        };
        // A child that still starts would compete for the CPU.
        for child in &children {
            match wait_until_asleep(child) {
                Err(Errno::UNAVAILABLE) => return or_unavailable(Err(Errno::UNAVAILABLE)),
                asleep => asleep?,
            }
        }
        // The walk ends at the first child that has exited: a faster figure.
        let all_run = move |_: u64| children.iter().try_for_each(PeerProcess::check_running);
        Ok(Work::raw(prepared::waitid_any()).with_preparation(all_run))
    },
    ..Bench::DEFAULT
};

pub(super) const SETPGID: Bench = Bench {
    id: "process/setpgid",
    asks: "What does moving a process to another group cost?",
    op: "setpgid(2) of a sleeping child to a group of its own, and setpgid(2) back to that of its \
         parent, by the raw instruction. Not included: creating the child.",
    expected: "500 ns for both: each detaches the child from one list and attaches it to another, \
               with interrupts off, under the lock of all tasks",
    why: "What a shell does for each job, twice: in the child and in the parent, since neither \
          knows which runs first.",
    calls: &[exactly("setpgid", 2)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    in_price_list: false,
    source: "setpgid(2); kernel/sys.c",
    build: |_| {
        let Some(group) = process::process_group(std::process::id()) else {
            return Ok(Work::unavailable(
                "the leader of the own process group is in another process namespace, so that no \
                 child can be moved back to it",
            ));
        };
        let child = match sleeping_child() {
            Err(error) => return limit_or_error(error),
            Ok(child) => child,
        };
        Ok(Work::raw_pair(prepared::setpgid_and_back(child.id(), group, child)))
    },
    ..Bench::DEFAULT
};

pub(super) const GETPGID: Bench = Bench {
    id: "process/getpgid",
    asks: "What does asking for the group or the session of a process cost?",
    op: "getpgid(2) or getsid(2), by the raw instruction: of the caller (0), or of a sleeping \
         child by its number. Not included: creating the child.",
    expected: "10 ns above a null system call for the caller, 25 ns more for a child",
    why: "The number of another process is looked up in a tree, the security modules are asked, \
          and the number of its group or session is translated for the caller's namespace.",
    calls: &[
        exactly("getpgid", 1).when(&[("call", "getpgid")]),
        exactly("getsid", 1).when(&[("call", "getsid")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "call",
            sets: "the call",
            points: Points::Words(&["getpgid", "getsid"]),
            default_points: Points::Words(&["getpgid", "getsid"]),
        },
        Axis {
            name: "of",
            sets: "whose id is asked for",
            points: Points::Words(&["self", "child"]),
            default_points: Points::Words(&["self", "child"]),
        },
    ],
    in_price_list: false,
    source: "getpgid(2), getsid(2); kernel/sys.c, kernel/pid.c",
    build: |params| {
        let call = match params.word("call") {
            "getsid" => GroupCall::Getsid,
            _ => GroupCall::Getpgid,
        };
        if params.word("of") == "self" {
            return Ok(Work::raw(prepared::group_id(call, 0, ())));
        }
        let child = match sleeping_child() {
            Err(error) => return limit_or_error(error),
            Ok(child) => child,
        };
        Ok(Work::raw(prepared::group_id(call, child.id(), child)))
    },
    ..Bench::DEFAULT
};

pub(super) const RLIMIT: Bench = Bench {
    id: "process/rlimit",
    asks: "What does reading or setting a resource limit cost?",
    op: "getrlimit(2), prlimit(2) that reads (`prlimit-get`), or prlimit(2) that sets the values \
         that are set already (`prlimit-set`), of RLIMIT_CORE of the caller, by the raw \
         instruction. Not included: nothing.",
    expected: "20 ns above a null system call to read, 60 ns to set",
    why: "Two words are copied, under a lock of the process; before it sets them the kernel asks \
          the security modules.",
    calls: &[
        exactly("getrlimit", 1).when(&[("via", "getrlimit")]),
        exactly("prlimit64", 1).when(&[("via", "prlimit-get")]),
        exactly("prlimit64", 1).when(&[("via", "prlimit-set")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "via",
        sets: "the call",
        points: Points::Words(&["getrlimit", "prlimit-get", "prlimit-set"]),
        default_points: Points::Words(&["getrlimit", "prlimit-get", "prlimit-set"]),
    }],
    in_price_list: false,
    source: "getrlimit(2); kernel/sys.c",
    build: |params| {
        let call = match params.word("via") {
            "prlimit-get" => LimitCall::PrlimitGet,
            "prlimit-set" => LimitCall::PrlimitSet,
            _ => LimitCall::Getrlimit,
        };
        prepared::core_limit(call).map(Work::raw)
    },
    ..Bench::DEFAULT
};

pub(super) const PTRACE_ATTACH: Bench = Bench {
    id: "process/ptrace-attach",
    asks: "What does attaching to a process, stopping it and detaching cost?",
    op: "ptrace(2) with PTRACE_SEIZE of a child that sleeps in pause(2), with PTRACE_INTERRUPT, \
         wait4(2) until it has stopped, and ptrace(2) with PTRACE_DETACH; all by the C library. \
         The child is woken to stop. Not included: its return to sleep, which is waited for before \
         the next op.",
    expected: "15 us: four calls, and a switch to the child and back",
    why: "A sampling debugger does this to every thread of a program for each sample. Only the \
          child itself can stop, so that it has to be woken and scheduled; the tracer is woken \
          from its wait4 when it has.",
    calls: &[exactly("ptrace", 3), exactly("wait4", 1)],
    floor: &[at_least(4, KERNEL_ENTRY)],
    in_price_list: false,
    switches: true,
    source: "ptrace(2); kernel/ptrace.c",
    build: |_| {
        let tracee = match Tracee::start() {
            Err(error) => return limit_or_error(error),
            Ok(tracee) => Rc::new(tracee),
        };
        let state = match ProcessState::open(tracee.id()) {
            Err(Errno::UNAVAILABLE) => return or_unavailable(Err(Errno::UNAVAILABLE)),
            state => state?,
        };
        match tracee.seize_stop_detach() {
            Err(error) if error.is_unavailable() => {
                return Ok(Work::unavailable(format!(
                    "ptrace(2) of an own child is refused ({error}): by Yama \
                     (kernel.yama.ptrace_scope above 1), or by a seccomp filter"
                )));
            }
            done => done?,
        }
        let to_sleep = Rc::clone(&tracee);
        let work = Work::single_shot(move || tracee.seize_stop_detach());
        Ok(work.with_preparation(move |_| to_sleep.wait_until(|| state.is_asleep())))
    },
    ..Bench::DEFAULT
};

pub(super) const PROC_READ: Bench = Bench {
    id: "process/proc-read",
    asks: "What does reading a file of /proc about the own process cost?",
    op: "openat(2) of the file below /proc/self, one read(2) of up to 4096 bytes, and close(2), by \
         the raw instruction: all of the file, except of a maps with more than some 40 mappings. \
         Not included: parsing it.",
    expected: "2 us for statm and cmdline, 5 for stat and status, 200 ns more for each mapping in \
               maps",
    why: "The text is made when it is read: numbers are formatted, and for maps a path is built \
          for each mapped file, while the lock of the address space is held. The way to it is \
          long too: /proc/self is a link to a directory that is looked up by its number, and the \
          right to read is checked at each open. A monitor that reads a file of a thousand \
          processes each second spends milliseconds on it.",
    calls: &[exactly("openat", 1), exactly("read", 1), exactly("close", 1)],
    floor: &[at_least(3, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "file",
        sets: "the file",
        points: Points::Words(&["stat", "statm", "status", "maps", "cmdline"]),
        default_points: Points::WithPriceList {
            points: &Points::Words(&["stat", "statm", "status", "maps", "cmdline"]),
            price_list: &Points::Words(&["stat"]),
        },
    }],
    needs: &[Need::readable("/proc/self/stat")],
    source: "proc(5); fs/proc/array.c, fs/proc/task_mmu.c",
    build: |params| {
        let mut file = ProcFile::new(match params.word("file") {
            "statm" => c"/proc/self/statm",
            "status" => c"/proc/self/status",
            "maps" => c"/proc/self/maps",
            "cmdline" => c"/proc/self/cmdline",
            _ => c"/proc/self/stat",
        });
        Ok(Work::with_loop(move || file.read().map(drop)))
    },
    ..Bench::DEFAULT
};
