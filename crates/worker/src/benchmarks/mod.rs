//! The benchmark definitions: one file per family, one `const` record per benchmark.
//!
//! A new benchmark is added to its family's file and nowhere else; a new family also adds its line
//! to [`FAMILIES`]. It is a plain list: ordered, greppable, and nothing runs before `main`.

use oscost_model::case::Case;
use oscost_model::definition::Catalog;

use crate::bench::{Bench, Family, Timer, Work};
use crate::kernel::Errno;

pub mod event;
mod exchange;
mod fault;
mod file;
mod memory;
mod pipe;
mod procedure;
mod process;
mod socket;
mod switch;
mod syscall;
mod thread;
mod timer;

/// What the file of every family imports.
mod prelude {
    pub(super) use super::{incomparable_clocks, or_unavailable, unpinned_work};
    pub(super) use oscost_model::resource::Resource;

    pub(super) use crate::bench::{
        Axis, Bench, ExpectedCall, Family, Need, OpError, Params, Points, Shape, Work, WorkBody,
        at_least, exactly, once_per, other_calls, up_to,
    };
    pub(super) use crate::kernel::{self, Errno};

    /// Whether code is optimised, or unoptimised as in some studies.
    pub(super) const CODE: Axis = Axis {
        name: "code",
        sets: "whether counter and arguments stay in registers, or go through memory as in \
               unoptimised code",
        points: Points::Words(&["optimised", "plain"]),
        default_points: Points::Implied("optimised"),
    };
}

/// A skipped row whose processes cannot be pinned.
fn unpinned_work() -> Work {
    Work::unavailable(
        "each process must stay on its CPU, and sched_setaffinity(2) is not permitted here",
    )
}

/// A skipped row that would compare time stamps of two CPUs whose clocks are not known to agree.
fn incomparable_clocks() -> Work {
    Work::unavailable(
        "time stamps of two CPUs are compared by the cycle counter, and the kernel does not use it \
         as clocksource here: select peer_cpu=same",
    )
}

/// The work; or, if the system lacks a resource or a feature, a skipped row that says so.
fn or_unavailable(work: Result<Work, Errno>) -> Result<Work, Errno> {
    match work {
        Err(Errno::EAGAIN) => Ok(Work::unavailable(
            "no further process or thread can be created here: `ulimit -u` or a pids cgroup sets \
             the limit",
        )),
        Err(Errno::ENOMEM) => Ok(Work::unavailable(
            "no memory for the peer: `ulimit -v` or a memory cgroup sets the limit",
        )),
        Err(Errno::UNAVAILABLE) => Ok(Work::unavailable(Errno::UNAVAILABLE.to_string())),
        Err(Errno(libc::EAFNOSUPPORT)) => Ok(Work::unavailable(
            "this kernel has no sockets of this kind, or a filter blocks them",
        )),
        other => other,
    }
}

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
