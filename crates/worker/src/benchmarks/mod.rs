//! The catalog: one file a family, one `const` record a benchmark.
//!
//! A new benchmark touches its family's file and nothing else; a new family adds its line to
//! [`FAMILIES`]. A plain list: ordered, greppable, with nothing that happens before `main`.

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

/// What every family's file begins with.
mod prelude {
    pub(super) use super::{clocks_apart, or_refused, unpinned};
    pub(super) use oscost_model::resource::Resource;

    pub(super) use crate::bench::{
        Axis, Bench, ExpectedCall, Family, Need, OpError, Params, Points, Shape, Work, WorkBody,
        at_least, exactly, once_per, other_calls, up_to,
    };
    pub(super) use crate::kernel::{self, Errno};

    /// What studies without optimisation timed, beside what compilers make of it today.
    pub(super) const CODE: Axis = Axis {
        name: "code",
        sets: "whether counter and arguments stay in registers, or go through memory as without \
               optimisation",
        points: Points::Words(&["optimised", "plain"]),
        default_points: Points::Implied("optimised"),
    };
}

/// The row that stands for one whose sides cannot be kept where they should be.
fn unpinned() -> Work {
    Work::unavailable(
        "each side must stay on its CPU, and nothing keeps it there: sched_setaffinity(2) is \
         refused here",
    )
}

/// The row that stands for one that would take a time on one CPU from a time on another, where
/// nobody vouches that the two tell the same time.
fn clocks_apart() -> Work {
    Work::unavailable(
        "times of two CPUs are compared by the processor's counter, and the kernel does not keep \
         the time by it here (clocksource): ask for peer_cpu=same",
    )
}

/// Its work; or, where something of the system's runs out or is not there, the row that says so.
fn or_refused(work: Result<Work, Errno>) -> Result<Work, Errno> {
    match work {
        Err(Errno::EAGAIN) => Ok(Work::unavailable(
            "no further process or thread may be made here: `ulimit -u` or a pids cgroup sets the \
             limit",
        )),
        Err(Errno::ENOMEM) => Ok(Work::unavailable(
            "no memory for the other side: `ulimit -v` or a memory cgroup sets the limit",
        )),
        Err(Errno::LACKING) => Ok(Work::unavailable(Errno::LACKING.to_string())),
        Err(Errno(libc::EAFNOSUPPORT)) => {
            Ok(Work::unavailable("this kernel, or a filter, has no sockets of that kind"))
        }
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

/// The benchmark of that id.
pub fn find(id: &str) -> Option<&'static Bench> {
    FAMILIES.iter().flat_map(|family| family.benches).find(|bench| bench.id == id)
}

/// The whole catalog as data.
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

/// Whether a case names each axis of its benchmark once, in order, at a value that it offers, but
/// for what goes unsaid.
pub fn is_complete(bench: &Bench, case: &Case) -> bool {
    bench.definition().is_complete(&case.point)
}

#[cfg(test)]
mod tests;
