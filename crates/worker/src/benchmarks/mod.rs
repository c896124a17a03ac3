//! The benchmark definitions: one file per family, one `const` record per benchmark.
//!
//! A new benchmark is added to its family's file and nowhere else; a new family also adds its line
//! to [`FAMILIES`]. It is a plain list: ordered, greppable, and nothing runs before `main`.

use crate::bench::{Bench, Catalog, Family, catalog};

mod bpf;
mod cgroup;
mod cpu;
mod descriptor;
mod directory;
pub mod event;
mod exchange;
mod fault;
mod file;
mod file_system;
mod helper;
mod io_uring;
mod lock;
mod memory;
mod mount;
mod namespace;
mod pieces;
mod pipe;
mod placement;
mod prelude;
mod procedure;
mod process;
mod random;
mod sched;
mod security;
mod signal;
mod socket;
mod switch;
mod sync;
mod syscall;
mod thread;
mod timer;
mod trace;

/// Every family, in the order of the price list.
pub const FAMILIES: &[Family] = &[
    timer::FAMILY,
    procedure::FAMILY,
    syscall::FAMILY,
    process::FAMILY,
    thread::FAMILY,
    switch::FAMILY,
    event::FAMILY,
    pipe::FAMILY,
    socket::FAMILY,
    fault::FAMILY,
    memory::FAMILY,
    file::FAMILY,
    bpf::FAMILY,
    cgroup::FAMILY,
    cpu::FAMILY,
    descriptor::FAMILY,
    directory::FAMILY,
    file_system::FAMILY,
    io_uring::FAMILY,
    lock::FAMILY,
    mount::FAMILY,
    namespace::FAMILY,
    random::FAMILY,
    sched::FAMILY,
    security::FAMILY,
    signal::FAMILY,
    sync::FAMILY,
    trace::FAMILY,
];

/// The benchmark with this id.
pub fn find(id: &str) -> Option<&'static Bench> {
    FAMILIES.iter().flat_map(|family| family.benches).find(|bench| bench.id == id)
}

/// All definitions as data.
pub fn data() -> Catalog {
    catalog(FAMILIES, timer::TIMERS)
}

#[cfg(test)]
mod tests;
