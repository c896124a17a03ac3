//! The wall between safe code and the kernel.
//!
//! What this room is for: the bare instructions, raw system calls, descriptors, processes and
//! mappings that the rest of the worker uses; it is the only room with `unsafe`, each block under the
//! sentence that makes it true. What it may not know: benchmarks, plans, events.

#![expect(unsafe_code, reason = "this room is where the kernel and the processor are touched")]

pub mod affinity;
mod arch;
pub mod audit;
pub mod because;
pub mod blocks;
pub mod bpf;
pub mod cached;
pub mod call;
pub mod call_names;
pub mod chain;
pub mod channels;
pub mod clock;
pub mod control;
pub mod dispatch;
pub mod door;
pub mod doors;
pub mod elf;
mod errno;
pub mod event;
pub mod evict;
pub mod fault;
pub mod file;
pub mod files;
pub mod first;
pub mod folder;
pub mod getcpu;
pub mod helper;
pub mod io_uring;
pub mod kernel_thread;
#[cfg(target_feature = "crt-static")]
mod lean;
pub mod library;
pub mod limits;
pub mod machine_lock;
pub mod many;
pub mod memory;
pub mod monitor;
pub mod nice;
pub mod ntp;
pub mod offers;
pub mod opaque;
pub mod place;
pub mod poll;
pub mod procedure;
pub mod process;
pub mod region;
pub mod rseq;
pub mod seccomp;
pub mod shared_ring;
pub mod signal;
pub mod slots;
pub mod socket;
pub mod spawn;
pub mod stack;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod step;
pub mod steps;
pub mod stopwatch;
pub mod switch;
pub mod syscall;
pub mod thread;
pub mod timeouts;
pub mod timers;
pub mod touched;
pub mod trace;
pub mod usage;
pub mod userfault;
pub mod vdso;
pub mod waits;

pub use arch::counter;
pub use errno::{Errno, SILENCE};
