//! Treatments of the whole system: a job that attaches them, waits for `stop`, and undoes them.

use std::time::Duration;

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AttachedTreatment;

use super::protocol::failure::failure;
use super::protocol::wire::Wire;
use crate::kernel::file::location;
use crate::kernel::process::WaitTarget;
use crate::kernel::process::signal;
use crate::kernel::{Errno, process};
use crate::treatments::system::{AntagonistCpus, SETTLING_TIME, SystemTreatments};

/// Attaches, sends `ready`, waits for `stop`, undoes. It also undoes at the end of its input: it
/// outlives a supervisor that was killed.
pub(super) fn attach(
    id: u64,
    treatments: &[AttachedTreatment],
    cpus: AntagonistCpus,
    wire: &mut Wire,
) -> Event {
    process::outlive_parent();
    // Orphans of a monitor process are then reparented to this job and not to the supervisor, which
    // kills processes that belong to no job. Best effort.
    let _ = process::become_subreaper();
    let answer = attach_until_stop(id, treatments, cpus, &location::own_leftover_name(), wire);
    wait_until_settled();
    reap_orphans();
    answer
}

/// If a monitor process was killed, its cleanup process resumes what it had stopped, within a
/// second, and exits.
fn reap_orphans() {
    const MAX_WAIT_MS: u32 = 2_000;
    for _ in 0..MAX_WAIT_MS {
        let orphans = process::children();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            // Reaps it if it has exited.
            let _ = process::wait(WaitTarget::Child(pid), false);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a change has reached every CPU. A control without changes waits likewise.
fn wait_until_settled() {
    std::thread::sleep(SETTLING_TIME);
}

/// Attaches, sends `ready`, waits for `stop` or the end of input, undoes. `name` is for treatments
/// that have one in the kernel.
pub(super) fn attach_until_stop(
    id: u64,
    treatments: &[AttachedTreatment],
    cpus: AntagonistCpus,
    name: &str,
    wire: &mut Wire,
) -> Event {
    signal::ignore_terminal_signals();
    let refused = |error: Errno| match error.is_unavailable() {
        true => Event::Skipped { id, missing: error.to_string(), arm: None },
        false => failure(id, error.to_string()),
    };
    let system = match SystemTreatments::attach(treatments, cpus, name) {
        Ok(system) => system,
        Err(error) => return refused(error),
    };
    wait_until_settled();
    let ready = Event::Ready { id, pid: std::process::id(), addr: None };
    let order = wire.send(&ready).and_then(|()| wire.next_order());
    match (order, system.detach()) {
        (Ok(None | Some(Order::Stop { .. })), Ok(report)) => Event::Detached {
            id,
            counted: report.call_count,
            monitor_report: report.monitor.map(Box::new),
        },
        (Ok(Some(_)), Ok(_)) => failure(id, "an attached treatment accepts no order but `stop`"),
        (Err(error), Ok(_)) => failure(id, format!("send `ready` or read an order: {error}")),
        (_, Err(error)) => failure(id, error.to_string()),
    }
}
