//! What is attached to the system: a job that attaches, holds until `stop`, and undoes.

use std::time::Duration;

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AttachedTreatment;

use super::failure::failure;
use super::wire::Wire;
use crate::kernel::file::location;
use crate::kernel::process::WaitTarget;
use crate::kernel::process::signal;
use crate::kernel::{Errno, process};
use crate::treatments::system::{AntagonistCpus, SETTLING_TIME, SystemTreatments};

/// Attaches, says `ready`, waits for `stop`, undoes. At the end of its input, too: its supervisor
/// may have been killed, and does not take this job along.
pub(super) fn attach(
    id: u64,
    treatments: &[AttachedTreatment],
    cpus: AntagonistCpus,
    wire: &mut Wire,
) -> Event {
    process::outlive_parent();
    // Whom a monitor's holder leaves behind comes to us then, and not to the supervisor, which ends
    // whoever is of no job. Without this it does, and nothing else is another.
    let _ = process::become_subreaper();
    let told = attach_until_stop(id, treatments, (cpus, &location::own_leftover_name()), wire);
    wait_until_settled();
    reap_orphans();
    told
}

/// The guard of a holder that was killed lets whom that had stopped go on, for a second, and ends.
fn reap_orphans() {
    const MOST_MS: u32 = 2_000;
    for _ in 0..MOST_MS {
        let orphans = process::children();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            // Reaps it where it has ended.
            let _ = process::wait(WaitTarget::Child(pid), false);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What was done or undone to the system reaches every CPU before anything is timed. It is waited
/// for likewise where nothing was to be done, in a control.
fn wait_until_settled() {
    std::thread::sleep(SETTLING_TIME);
}

/// The same in a process that nobody takes along; `name` is for what has one in the kernel.
pub(super) fn attach_until_stop(
    id: u64,
    treatments: &[AttachedTreatment],
    (cpus, name): (AntagonistCpus, &str),
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
    let heard = wire.send(&ready).and_then(|()| wire.next_order());
    match (heard, system.detach()) {
        (Ok(None | Some(Order::Stop { .. })), Ok((counted, seen))) => {
            Event::Detached { id, counted, monitor_report: seen.map(Box::new) }
        }
        (Ok(Some(_)), Ok(_)) => failure(id, "what is attached waits for `stop` and nothing else"),
        (Err(error), Ok(_)) => failure(id, format!("say ready, or read an order: {error}")),
        (_, Err(error)) => failure(id, error.to_string()),
    }
}
