//! The calls of one process that both sides measure: a case, and a loop of `calls.c`, which was
//! written from the text of the op.
//!
//! Of a benchmark with a directory, the row on tmpfs is compared where a disk's journal or its
//! flushes would spread both figures.

mod descriptor;
mod directory;
mod file;
mod forms;
mod memory;
mod process;
mod sched;
mod signal;
mod socket;
mod sync;

use super::acts::Act;

pub(super) const CALL_ACTS: [&[Act]; 9] = [
    descriptor::ACTS,
    directory::ACTS,
    file::ACTS,
    sync::ACTS,
    signal::ACTS,
    sched::ACTS,
    memory::ACTS,
    process::ACTS,
    socket::ACTS,
];
