//! Code that stays in user mode: loops and calls of known instructions, barriers for the compiler,
//! the CPU a task runs on, and what disturbs or empties that CPU's caches.

pub mod affinity;
pub mod black_box;
pub mod dependent_chain;
pub mod eviction;
pub mod getcpu;
pub mod getrandom;
pub mod increments;
pub mod instruction_loop;
pub mod instructions;
pub mod memory_walk;
pub mod procedure;
pub mod rseq;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod single_step;
pub mod stack_offset;
