//! Treatments: what is done to a process before its work begins.
//!
//! What this room is for: a process takes upon itself what [`Applied`] names, and monitors stand
//! beside it where one of them takes that. What it may not know: benchmarks, clocks, events.

use std::os::fd::AsRawFd;

use oscost_model::treatment::AppliedTreatment;

use crate::kernel::Errno;
use crate::kernel::file::location;
use crate::kernel::probe::seccomp::{self, Hears};
use crate::kernel::process::Ended;
use crate::kernel::process::nice;
use crate::kernel::syscall::user_dispatch;

mod group;
mod monitors;
pub mod system;

pub use group::{remove as remove_group, remove_all_leavings, remove_leavings};
pub use monitors::{Running, Seen};

/// Why treatments could not be applied, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// This machine does not offer it, or not to this user; the words tell the way out.
    Lacking(String),
    /// It went wrong, or makes no sense.
    Failed(String),
}

/// Whom treatments are applied to.
#[derive(Clone, Copy, Debug)]
pub struct Treatments<'a> {
    /// What is done, in this order.
    pub applied: &'a [AppliedTreatment],
    /// The CPU of the monitors: that of the measured process, or each of its calls wakes another
    /// CPU. `None` leaves them where the scheduler puts them.
    pub cpu: Option<u32>,
    /// Which of several treated processes of one job it is.
    pub arm: u8,
}

impl Treatments<'_> {
    /// Starts `body` in a process of its own under these treatments, and comes back when they are
    /// all applied. What the process starts is treated as it is; it dies with the calling process,
    /// and is ended when the result is dropped. What `body` hands back is its exit status.
    ///
    /// The calling process must have one thread.
    pub fn start(&self, body: &mut dyn FnMut(&Seen) -> i32) -> Result<Running, Refused> {
        monitors::start(self, body)
    }
}

/// Runs `body` in a process of its own under `treatments`, and waits until it has ended; with a
/// monitor also all that it has started. See [`Treatments::start`].
pub fn within(
    treatments: &Treatments<'_>,
    body: &mut dyn FnMut(&Seen) -> i32,
) -> Result<Ended, Refused> {
    treatments.start(body)?.ended()
}

/// Applies treatments that have no monitor to the calling process, in their order. Whoever waits
/// for its end removes what [`Applied::Cgroup`] makes: see [`remove_groups`].
pub fn install(treatments: &Treatments<'_>) -> Result<(), Refused> {
    let name = location::group_name(treatments.arm);
    treatments.applied.iter().try_for_each(|applied| take(applied, &name, &Seen::nobody()))
}

/// Removes the control groups that [`install`] has made for an arm of this job.
pub fn remove_groups(treatments: &Treatments<'_>) {
    if treatments.applied.iter().any(|one| matches!(one, AppliedTreatment::Cgroup { .. })) {
        group::remove(&location::group_name(treatments.arm));
    }
}

/// Treatments by their names, as a place has them.
pub fn in_words(applied: &[AppliedTreatment]) -> String {
    let name = |one: &AppliedTreatment| match one {
        AppliedTreatment::Seccomp { .. } => "seccomp",
        AppliedTreatment::SeccompTrace => "seccomp-trace",
        AppliedTreatment::SeccompNotify => "seccomp-notify",
        AppliedTreatment::Ptrace => "ptrace",
        AppliedTreatment::Sud => "sud",
        AppliedTreatment::Nice { .. } => "nice",
        AppliedTreatment::Cgroup { .. } => "cgroup",
        AppliedTreatment::Env { .. } => "env",
        AppliedTreatment::Wrapper { .. } => "cmd",
    };
    applied.iter().map(name).collect::<Vec<_>>().join("+")
}

/// Takes one treatment upon the calling process.
fn take(applied: &AppliedTreatment, group: &str, seen: &Seen) -> Result<(), Refused> {
    match applied {
        AppliedTreatment::Seccomp { program } => match seccomp::install(program, Hears::Nobody) {
            Ok(_) => Ok(()),
            Err(Errno::EINVAL) if seccomp::is_known() => Err(Refused::Failed(format!(
                "cannot install a seccomp filter: the kernel finds fault with its program of {} \
                 instructions",
                program.len()
            ))),
            Err(error) => Err(no_filter(error, "SECCOMP_SET_MODE_FILTER")),
        },
        AppliedTreatment::SeccompTrace => seccomp::install(&seccomp::TRACE_ALL, Hears::Nobody)
            .map(drop)
            .map_err(|error| no_filter(error, "SECCOMP_RET_TRACE")),
        AppliedTreatment::SeccompNotify => {
            let listener = seccomp::install(&seccomp::ASK_ALL, Hears::Listener)
                .map_err(|error| no_filter(error, "SECCOMP_RET_USER_NOTIF"))?;
            // No call may be made before this: it would wait for who does not know of it. The next
            // one, which closes our own copy, waits until the monitor has taken the listener.
            if let Some(listener) = listener {
                seen.listener_is(listener.as_raw_fd());
            }
            Ok(())
        }
        // Its tracer has it already; and these two were done when its program was started.
        AppliedTreatment::Ptrace
        | AppliedTreatment::Env { .. }
        | AppliedTreatment::Wrapper { .. } => Ok(()),
        AppliedTreatment::Sud => user_dispatch::switch_on().map_err(|error| {
            refused(error, "switch on Syscall User Dispatch", "it takes Linux 5.11 on x86-64")
        }),
        AppliedTreatment::Nice { increment: by } => be_nicer(*by),
        AppliedTreatment::Cgroup { limits } => group::enter(limits, group),
    }
}

fn no_filter(error: Errno, what: &str) -> Refused {
    let way_out = match error {
        Errno::EBUSY => "one listener is all that a process can have",
        _ => "it takes a kernel with CONFIG_SECCOMP_FILTER (a listener: Linux 5.5)",
    };
    refused(error, &format!("install a seccomp filter ({what})"), way_out)
}

fn be_nicer(by: i32) -> Result<(), Refused> {
    let act = format!("be nicer by {by}");
    let root = "a lower nice value takes root, or RLIMIT_NICE";
    let before = nice::get().map_err(|error| refused(error, &act, root))?;
    let wanted = before.saturating_add(by);
    if !(-20..=19).contains(&wanted) {
        let why = format!("cannot {act}: a nice value of {wanted} is beyond -20 to 19");
        return Err(Refused::Failed(why));
    }
    nice::set(wanted).map_err(|error| refused(error, &act, root))
}

/// An error of the kernel's: what it says of the machine is no fault.
fn refused(error: Errno, act: &str, way_out: &str) -> Refused {
    let words = format!("cannot {act}: {error}; {way_out}");
    // EINVAL is what kernels say that do not know a feature.
    match error.is_lacking() || error == Errno::EINVAL {
        true => Refused::Lacking(words),
        false => Refused::Failed(words),
    }
}

#[cfg(test)]
mod tests;
