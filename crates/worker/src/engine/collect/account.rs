//! What a worker's timed part took, and by what it was disturbed.

use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::worker::{Disturbance, Usage};

use super::super::clock::Clock;
use super::super::covariates::Covariates;
use super::super::probe::{core_cycles_per_ns, shows_core_rate};
use super::Collector;
use crate::kernel::process::usage::ThreadUsage;

/// How often a worker times each of the two chains that show the core's rate: 0.1 ms in all at 3 GHz.
const WORKER_RATE_TRIES: u32 = 5;

/// The counters at the beginning of the timed part.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    raw_ns: u64,
    preparation_ns: u64,
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    ops: u64,
    usage: Option<(ThreadUsage, ThreadUsage)>,
}

impl<C: Clock, V: Covariates> Collector<C, V> {
    /// Starts the account of a worker's timed part.
    pub fn open_account(&mut self) -> Account {
        Account {
            raw_ns: self.clock.raw_ns(),
            preparation_ns: self.preparation_ns,
            cpu_ns: self.covariates.read().cpu_ns.unwrap_or(0),
            run_delay_ns: self.covariates.run_delay_ns(),
            ops: self.ops,
            usage: self.covariates.usage().zip(self.preparation_usage),
        }
    }

    /// The time since the account was opened, without the time in which the thread was ready but
    /// did not run.
    pub(super) fn ran_ns(&mut self, opened: &Account) -> u64 {
        let prepared_ns = self.preparation_ns - opened.preparation_ns;
        let account = self.close_account(opened);
        (account.wall_ns + prepared_ns).saturating_sub(account.run_delay_ns.unwrap_or(0))
    }

    /// Ends the account.
    pub fn close_account(&mut self, opened: &Account) -> Disturbance {
        let delay = self.covariates.run_delay_ns();
        // Only CPU time: a preparation may sleep.
        let prepared = opened.usage.zip(self.preparation_usage);
        let prepared_ns = prepared.map_or(0, |((_, then), now)| {
            let charged = now.since(then);
            charged.user_ns + charged.system_ns
        });
        let cpu_ns = self.covariates.read().cpu_ns.unwrap_or(0).saturating_sub(opened.cpu_ns);
        Disturbance {
            wall_ns: (self.clock.raw_ns() - opened.raw_ns)
                .saturating_sub(self.preparation_ns - opened.preparation_ns),
            cpu_ns: cpu_ns.saturating_sub(prepared_ns),
            run_delay_ns: delay
                .zip(opened.run_delay_ns)
                .map(|(now, then)| now.saturating_sub(then)),
            steal_ticks: None,
            busy_ticks: None,
            throttled_periods: None,
            switches_uncounted: self.switches_unknown,
            usage: self.usage_since(opened),
            core_cycles_per_ns: None,
            file: None,
            channel: None,
        }
    }

    /// The account with the core's rate, which is measured now: after the last batch, so that it
    /// changes nothing for those that are timed. Counted instructions have no rate, and a clock of
    /// coarse steps shows none.
    pub fn with_core_rate(&mut self, account: Disturbance, clock: &Calibration) -> Disturbance {
        let core_cycles_per_ns = match clock.kind {
            ClockKind::Instructions => None,
            ClockKind::Tsc | ClockKind::Vdso | ClockKind::Syscall => {
                core_cycles_per_ns(&mut self.clock, clock.ticks_per_ns, WORKER_RATE_TRIES)
                    .filter(|&rate| shows_core_rate(clock.ns(clock.quantum_ticks), rate))
            }
        };
        Disturbance { core_cycles_per_ns, ..account }
    }

    /// The resource usage of the ops since the account was opened, without that of the
    /// preparations.
    fn usage_since(&mut self, opened: &Account) -> Option<Usage> {
        let ((then, preparation_then), (now, preparation)) =
            opened.usage.zip(self.covariates.usage().zip(self.preparation_usage))?;
        let charged = now.since(then).since(preparation.since(preparation_then));
        Some(Usage {
            ops: self.ops - opened.ops,
            user_ns: charged.user_ns,
            system_ns: charged.system_ns,
            minor_faults: charged.minor_faults,
            child_minor_faults: charged.child_minor_faults,
            major_faults: charged.major_faults,
            voluntary_switches: charged.voluntary_switches,
            involuntary_switches: charged.involuntary_switches,
        })
    }
}
