//! `oscost doctor --self`: what of this machine's conditions limits oscost itself.

mod gather;

use std::path::Path;
use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::point::Point;
use oscost_model::target::Host;

use super::error::is_interrupted;
use super::observer::Observer;
use super::targets::connect::{BusyPolicy, ConnectOptions, Machine, connect};
use crate::advice::self_check::{
    CallTrial, Conditions, IO_URING, Judgement, PTRACE, USERFAULTFD, WorkerConditions, judge,
};
use crate::app::interrupt::listen;
use crate::hosts::{Interrupt, WorkerBinary};
use crate::run::count_calls;
use crate::store::Store;
use gather::{NamedFolders, gather};

/// The time limit of all trials. Each takes some milliseconds.
const TRIALS: Duration = Duration::from_secs(10);

/// Judges the conditions under which oscost works on this machine.
pub fn self_check(observer: &dyn Observer) -> anyhow::Result<Vec<Judgement>> {
    let interrupt = listen()?;
    let worker = match worker_conditions(&interrupt, observer) {
        Err(error) if is_interrupted(&error) => return Err(error),
        Err(error) => Err(format!("{error:#}")),
        Ok(worker) => Ok(worker),
    };
    let store = Store::default_path().and_then(|path| path.parent().map(Path::to_owned));
    let named = NamedFolders { store, temporary: std::env::temp_dir() };
    Ok(judge(&Conditions { worker, host: gather(Path::new("/"), &named) }))
}

/// What a session with a worker shows.
fn worker_conditions(
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> anyhow::Result<WorkerConditions> {
    let worker = WorkerBinary::find()?;
    // A traced worker would disturb another run, and is not worth waiting for it.
    let on_busy = BusyPolicy::Continue;
    let options = ConnectOptions { interrupt, on_busy, observer };
    let mut connection = connect(&Host::Local, &worker, options)?;
    let session = &mut *connection.session;
    let trials = match connection.machine {
        Machine::Busy(process) => Err(process),
        Machine::Ours => {
            let tried = trials();
            let cases: Vec<Case> = tried.iter().map(|(_, case)| case.clone()).collect();
            let counted = count_calls(session, &cases, TRIALS)?;
            let calls = tried.iter().map(|(call, _)| *call);
            let trials = calls
                .zip(counted)
                .map(|(call, counted)| CallTrial { call, refused: counted.outcome.err() });
            Ok(trials.collect())
        }
    };
    let hello = session.hello();
    Ok(WorkerConditions { facts: hello.facts.clone(), clocks: hello.clocks.clone(), trials })
}

/// The calls that are tried, each with a case that makes it. All are counted under ptrace(2), which
/// the first one tries alone.
fn trials() -> [(&'static str, Case); 3] {
    [
        (PTRACE, Case::new("syscall/getppid", Point::none().with("via", "raw"))),
        (IO_URING, Case::new("syscall/io-uring", Point::none().with("batch", 1_u64))),
        (USERFAULTFD, Case::new("fault/userfaultfd", Point::none().with("peer_cpu", "same"))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trial_is_a_case_of_the_catalog() {
        let catalog = oscost_worker::benchmarks::data();
        for (call, case) in trials() {
            let definition = catalog.get(&case.benchmark);
            let is_complete = definition.is_some_and(|it| it.is_complete(&case.point));
            assert!(is_complete, "{call}: {case}");
        }
    }
}
