//! The boundary between safe code and the kernel.
//!
//! What this room is for: raw instructions and system calls, descriptors, processes and mappings
//! that the rest of the worker uses. It is the only room with `unsafe`, and each block carries the
//! sentence that makes it sound. What it may not know: benchmarks, plans, events.
//!
//! One folder per family:
//!
//! | folder | holds |
//! | --- | --- |
//! | `arch` | what differs between processors: counters, the system-call instruction, assembly |
//! | `cpu` | code that stays in user mode: loops, calls, barriers, affinity, rseq, eviction |
//! | `syscall` | system calls by the raw instruction, prepared calls, the C library's wrappers |
//! | `memory` | mappings, page faults, memory blocks, what memory is available |
//! | `process` | processes, threads, signals, limits, resource usage, namespaces, keys |
//! | `file` | scratch files and directories, the page cache, mounts |
//! | `ipc` | pipes, queues, shared rings, wake-ups between two sides |
//! | `net` | sockets, authenticated listeners, the control stream between peers |
//! | `event` | poll, select, epoll, io_uring, sets of idle descriptors |
//! | `time` | clocks, timers, sleeps, the vDSO |
//! | `probe` | what observes or filters a process: ptrace, seccomp, BPF, audit, counters of events |
//! | `machine` | what one machine offers, its control groups, its lock, its first process |

#![expect(unsafe_code, reason = "this room is where the kernel and the processor are touched")]

mod arch;
pub mod cpu;
mod errno;
pub mod event;
pub mod file;
pub mod ipc;
pub mod machine;
pub mod memory;
pub mod net;
pub mod probe;
pub mod process;
pub mod syscall;
pub mod time;

pub use arch::counter;
pub use errno::{Errno, OpError, PEER_TIMEOUT};
