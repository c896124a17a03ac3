//! The benchmark definitions: one file per family, one `const` record per benchmark.
//!
//! A new benchmark is added to its family's file and nowhere else; a new family also adds its line
//! to [`FAMILIES`]. It is a plain list: ordered, greppable, and nothing runs before `main`.

use oscost_model::case::Case;
use oscost_model::definition::Catalog;

use crate::bench::{Bench, Family, Timer};

pub mod event;
mod exchange;
mod fault;
mod file;
mod memory;
mod pipe;
mod placement;
mod prelude;
mod procedure;
mod process;
mod socket;
mod switch;
mod syscall;
mod thread;
mod timer;

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
];

/// The benchmark with this id.
pub fn find(id: &str) -> Option<&'static Bench> {
    FAMILIES.iter().flat_map(|family| family.benches).find(|bench| bench.id == id)
}

/// All definitions as data.
pub fn data() -> Catalog {
    Catalog {
        families: FAMILIES
            .iter()
            .map(|family| oscost_model::definition::Family {
                name: family.name.to_owned(),
                about: family.about.to_owned(),
            })
            .collect(),
        benchmarks: FAMILIES
            .iter()
            .flat_map(|family| family.benches)
            .map(Bench::definition)
            .collect(),
        timers: timer::TIMERS.iter().map(Timer::data).collect(),
    }
}

/// Whether a case names each axis of its benchmark once, in order, at a value that the axis offers;
/// axes with an implied value may be left out.
pub fn is_complete(bench: &Bench, case: &Case) -> bool {
    bench.definition().is_complete(&case.point)
}

#[cfg(test)]
mod tests;
