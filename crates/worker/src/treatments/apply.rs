//! Applies one treatment to the calling process.

use std::os::fd::AsRawFd;

use oscost_model::treatment::AppliedTreatment;

use super::cgroup;
use super::page::MonitorPage;
use super::refusal::{Refusal, refusal};
use crate::kernel::Errno;
use crate::kernel::probe::seccomp::{self, Hears};
use crate::kernel::process::nice;
use crate::kernel::syscall::user_dispatch;

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

/// Takes one treatment upon the calling process.
pub(super) fn apply(
    applied: &AppliedTreatment,
    group: &str,
    seen: &MonitorPage,
) -> Result<(), Refusal> {
    match applied {
        AppliedTreatment::Seccomp { program } => match seccomp::install(program, Hears::Nobody) {
            Ok(_) => Ok(()),
            Err(Errno::EINVAL) if seccomp::is_known() => Err(Refusal::Failed(format!(
                "cannot install a seccomp filter: the kernel finds fault with its program of {} \
                 instructions",
                program.len()
            ))),
            Err(error) => Err(seccomp_refusal(error, "SECCOMP_SET_MODE_FILTER")),
        },
        AppliedTreatment::SeccompTrace => seccomp::install(&seccomp::TRACE_ALL, Hears::Nobody)
            .map(drop)
            .map_err(|error| seccomp_refusal(error, "SECCOMP_RET_TRACE")),
        AppliedTreatment::SeccompNotify => {
            let listener = seccomp::install(&seccomp::ASK_ALL, Hears::Listener)
                .map_err(|error| seccomp_refusal(error, "SECCOMP_RET_USER_NOTIF"))?;
            // No call may be made before this: it would wait for who does not know of it. The next
            // one, which closes our own copy, waits until the monitor has taken the listener.
            if let Some(listener) = listener {
                seen.set_listener(listener.as_raw_fd());
            }
            Ok(())
        }
        // Its tracer has it already; and these two were done when its program was started.
        AppliedTreatment::Ptrace
        | AppliedTreatment::Env { .. }
        | AppliedTreatment::Wrapper { .. } => Ok(()),
        AppliedTreatment::Sud => user_dispatch::switch_on().map_err(|error| {
            refusal(error, "switch on Syscall User Dispatch", "it takes Linux 5.11 on x86-64")
        }),
        AppliedTreatment::Nice { increment } => add_nice(*increment),
        AppliedTreatment::Cgroup { limits } => cgroup::enter(limits, group),
    }
}

fn seccomp_refusal(error: Errno, what: &str) -> Refusal {
    let way_out = match error {
        Errno::EBUSY => "one listener is all that a process can have",
        _ => "it takes a kernel with CONFIG_SECCOMP_FILTER (a listener: Linux 5.5)",
    };
    refusal(error, &format!("install a seccomp filter ({what})"), way_out)
}

fn add_nice(by: i32) -> Result<(), Refusal> {
    let act = format!("be nicer by {by}");
    let root = "a lower nice value takes root, or RLIMIT_NICE";
    let before = nice::get().map_err(|error| refusal(error, &act, root))?;
    let wanted = before.saturating_add(by);
    if !(-20..=19).contains(&wanted) {
        let why = format!("cannot {act}: a nice value of {wanted} is beyond -20 to 19");
        return Err(Refusal::Failed(why));
    }
    nice::set(wanted).map_err(|error| refusal(error, &act, root))
}
