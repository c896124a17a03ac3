//! Applies one treatment to the calling process.

use std::os::fd::AsRawFd;

use oscost_model::treatment::AppliedTreatment;
use rustix::process::{getpriority_process, setpriority_process};

use super::cgroup;
use super::page::MonitorPage;
use super::refusal::{Refusal, refusal};
use crate::kernel::Errno;
use crate::kernel::probe::seccomp::{self, NotifyMode};
use crate::kernel::syscall::user_dispatch;

/// Treatments of one process.
#[derive(Clone, Copy, Debug)]
pub struct Treatments<'a> {
    /// The treatments, in the order in which they are applied.
    pub applied: &'a [AppliedTreatment],
    /// The CPU of the monitors: that of the measured process, since otherwise each of its calls
    /// would wake another CPU. `None` leaves the choice to the scheduler.
    pub cpu: Option<u32>,
    /// The arm of the job that the process belongs to.
    pub arm: u8,
}

/// Applies one treatment to the calling process.
pub(super) fn apply(
    applied: &AppliedTreatment,
    group: &str,
    page: &MonitorPage,
) -> Result<(), Refusal> {
    match applied {
        AppliedTreatment::Seccomp { program } => {
            match seccomp::install(program, NotifyMode::None) {
                Ok(_) => Ok(()),
                Err(Errno::EINVAL) if seccomp::is_supported() => Err(Refusal::Failed(format!(
                    "cannot install a seccomp filter: the kernel rejects its program of {} instructions",
                    program.len()
                ))),
                Err(error) => Err(seccomp_refusal(error, "SECCOMP_SET_MODE_FILTER")),
            }
        }
        AppliedTreatment::SeccompTrace => seccomp::install(&seccomp::TRACE_ALL, NotifyMode::None)
            .map(drop)
            .map_err(|error| seccomp_refusal(error, "SECCOMP_RET_TRACE")),
        AppliedTreatment::SeccompNotify => {
            let listener = seccomp::install(&seccomp::NOTIFY_ALL, NotifyMode::Listener)
                .map_err(|error| seccomp_refusal(error, "SECCOMP_RET_USER_NOTIF"))?;
            // No system call may be made before this line: it would wait for a monitor that does
            // not know the listener yet. The next one, which closes our own copy of the descriptor,
            // waits until the monitor has taken the listener.
            if let Some(listener) = listener {
                page.set_listener(listener.as_raw_fd());
            }
            Ok(())
        }
        // The tracer is already attached; a walk and the way of calls are part of the work; the other
        // two were applied when the program was started.
        AppliedTreatment::Ptrace
        | AppliedTreatment::Cool { .. }
        | AppliedTreatment::Call { .. }
        | AppliedTreatment::Env { .. }
        | AppliedTreatment::Wrapper { .. } => Ok(()),
        AppliedTreatment::Sud => user_dispatch::enable().map_err(|error| {
            refusal(error, "enable Syscall User Dispatch", "it needs Linux 5.11 on x86-64")
        }),
        AppliedTreatment::Nice { increment } => add_nice(*increment),
        AppliedTreatment::Cgroup { limits } => cgroup::enter(limits, group),
    }
}

fn seccomp_refusal(error: Errno, what: &str) -> Refusal {
    let hint = match error {
        Errno::EBUSY => "a process can have only one listener",
        _ => "it needs a kernel with CONFIG_SECCOMP_FILTER (a listener: Linux 5.5)",
    };
    refusal(error, &format!("install a seccomp filter ({what})"), hint)
}

fn add_nice(increment: i32) -> Result<(), Refusal> {
    let act = format!("change the nice value by {increment}");
    let root = "a lower nice value needs root or RLIMIT_NICE";
    let before = getpriority_process(None).map_err(|error| refusal(error.into(), &act, root))?;
    let nice_value = before.saturating_add(increment);
    if !(-20..=19).contains(&nice_value) {
        let reason = format!("cannot {act}: a nice value of {nice_value} is outside -20 to 19");
        return Err(Refusal::Failed(reason));
    }
    setpriority_process(None, nice_value).map_err(|error| refusal(error.into(), &act, root))
}
