//! The choice of the CPU and the clock before measuring.

use std::time::Duration;

use oscost_model::clock::{Calibration, ClockKind, SyncedCalibration};
use oscost_model::counters::CountingPlan;
use oscost_model::journal::Entry;
use oscost_model::protocol::{CpuProbe, Hello};
use oscost_model::worker::{BatchPlan, Subject, Task, WorkerSpec};

use crate::run::error::RunError;
use crate::run::jobs::job::JobFailure;
use crate::run::jobs::workers::Workers;
use crate::run::request::Request;
use crate::run::state::Run;

/// The length of the spin that finds interruptions; it also lets the core frequency ramp up.
pub(crate) const SPIN: Duration = Duration::from_millis(200);
/// The number of probed CPUs: enough for a choice, few enough not to lower the turbo frequency.
const MAX_PROBED_CPUS: usize = 4;

/// The time limit of a pilot: six shots of an op that takes ten seconds.
const PILOT_TIMEOUT_MS: u64 = 60_000;
/// The time limit of a worker beyond five times its expected duration.
const WORKER_GRACE_MS: u64 = 5_000;

impl Run<'_> {
    /// Probes the CPUs, chooses the quietest, and calibrates the best usable clock there.
    pub(crate) fn survey_cpus(&mut self, request: &Request, machine: &str) -> Result<(), RunError> {
        let clocks = usable_clocks(self.workers.session().hello());
        let mut rejected_clocks: Vec<String> = self
            .workers
            .session()
            .hello()
            .clocks
            .iter()
            .filter_map(|verdict| {
                let reason = verdict.unusable_reason.as_ref()?;
                Some(format!("{}: {reason}", verdict.kind.text()))
            })
            .collect();
        let clock = clocks.first().copied().unwrap_or(ClockKind::Syscall);
        if let Some(cpu) = request.peer_cpu {
            // Checked now: a worker that cannot pin its peer would fail its case.
            if self.probe(&[cpu], clock)?.is_empty() {
                return Err(RunError::NoPeerCpu(format!("CPU {cpu}")));
            }
        }
        let hello = self.workers.session().hello();
        let cpus = probe_candidates(hello, request.requested_cpu, request.peer_cpu);
        let mut probe = self.probe(&cpus, clock)?;
        let pinned = !probe.is_empty();
        if !pinned && request.requested_cpu.is_none() {
            // A sandbox may refuse sched_setaffinity(2): workers then run on any CPU, and migrated
            // batches are rejected.
            probe = self.probe(&[], clock)?;
        }
        let quietest = quietest(&probe);
        let Some(quietest) = quietest else {
            let Some(cpu) = request.requested_cpu else {
                return Err(RunError::NoCpu("any CPU".to_owned()));
            };
            let allowed = self.workers.session().hello().facts.cpu.allowed_cpus.clone();
            return Err(RunError::UnavailableCpu { cpu, allowed: allowed.unwrap_or_default() });
        };
        let cpu = pinned.then_some(quietest.cpu);
        if let Some(peer_cpu) = request.peer_cpu.filter(|peer_cpu| Some(*peer_cpu) == cpu) {
            return Err(RunError::NoPeerCpu(format!("CPU {peer_cpu}, which the workers use")));
        }
        self.interruptions_per_s = quietest.interruptions_per_s();
        self.cpu = cpu;
        self.emit(Entry::CpuChosen { machine: machine.to_owned(), probe, cpu });
        for kind in clocks {
            match self.workers.calibrate(self.cpu, kind)? {
                Ok(SyncedCalibration { calibration, sync }) => {
                    self.clock = Some(calibration);
                    let machine = machine.to_owned();
                    self.emit(Entry::Calibrated { machine, calibration, sync, rejected_clocks });
                    return Ok(());
                }
                Err(failure) => {
                    rejected_clocks.push(format!("{}: {}", kind.text(), failure.reason))
                }
            }
        }
        Err(RunError::NoClock(rejected_clocks.join("; ")))
    }

    /// Probes the CPUs of the remote peer, and chooses the one that its servers are pinned to.
    pub(crate) fn survey_peer_cpus(
        &mut self,
        machine: &str,
        requested: Option<u32>,
    ) -> Result<(), RunError> {
        let Some(peer) = self.workers.peer_servers() else { return Ok(()) };
        let hello = peer.session.hello();
        let clock = usable_clocks(hello).first().copied().unwrap_or(ClockKind::Syscall);
        let cpus = probe_candidates(hello, requested, None);
        let mut peer_workers = Workers::new(&mut *peer.session);
        let no_cpu = |failure: JobFailure| RunError::NoCpu(failure.reason);
        let mut probe = peer_workers.probe(&cpus, clock, SPIN)?.map_err(no_cpu)?;
        let pinned = !probe.is_empty();
        if !pinned && requested.is_none() {
            probe = peer_workers.probe(&[], clock, SPIN)?.map_err(no_cpu)?;
        }
        if let (false, Some(cpu)) = (pinned, requested) {
            return Err(RunError::NoPeerCpu(format!("CPU {cpu} of the peer's machine")));
        }
        let cpu = quietest(&probe).filter(|_| pinned).map(|probe| probe.cpu);
        peer.cpu = cpu;
        self.emit(Entry::CpuChosen { machine: machine.to_owned(), probe, cpu });
        Ok(())
    }

    fn probe(&mut self, cpus: &[u32], clock: ClockKind) -> Result<Vec<CpuProbe>, RunError> {
        self.workers.probe(cpus, clock, SPIN)?.map_err(|failure| RunError::NoCpu(failure.reason))
    }

    /// Calibrates the same clock again: the long baseline between the two gives its rate.
    pub(crate) fn calibrate_again(&mut self, machine: &str) -> Result<(), RunError> {
        let Some(Calibration { kind, .. }) = self.clock else { return Ok(()) };
        if let Ok(SyncedCalibration { calibration, sync }) =
            self.workers.calibrate(self.cpu, kind)?
        {
            let (machine, rejected_clocks) = (machine.to_owned(), Vec::new());
            self.emit(Entry::Calibrated { machine, calibration, sync, rejected_clocks });
        }
        Ok(())
    }

    /// The specification of a worker of a row.
    pub(crate) fn worker_spec(&mut self, row: usize, task: Task) -> WorkerSpec {
        let expected_ms = match &task {
            Task::Measure(plan) => {
                let batches = plan.groups as f64 * plan.unroll_factors.len().max(1) as f64;
                (plan.batch_ns * batches / 1e6) as u64
            }
            // The cost of an op is not known yet: some take seconds.
            Task::Pilot { .. } => PILOT_TIMEOUT_MS / 5,
            // A server lasts as long as its worker; a program has its own limit.
            Task::Serve { .. }
            | Task::Run { .. }
            | Task::RunMarked { .. }
            | Task::TakeTurns { .. } => PILOT_TIMEOUT_MS / 5,
            Task::CountEvents(plan) => counting_ms(plan),
            // Instruction counts are planned in `instruction_count`; a program has its own limit.
            Task::Exact | Task::CountForms => 0,
            Task::Count { warm_ops, ops } => {
                let op_ns = |plan: &BatchPlan| plan.batch_ns / plan.iterations.max(1) as f64;
                let op_ns = self.rows[row].progress.plan().map_or(0.0, op_ns);
                // An op of a plan may be a pass of seconds, of which a part is counted.
                ((op_ns * (warm_ops + ops) as f64 / 1e6) as u64).min(PILOT_TIMEOUT_MS)
            }
        };
        let planned = &self.rows[row].planned;
        let setup_ms = planned.definition.setup_ms(&planned.case.point);
        let subject = Subject::Case(planned.case.clone());
        // The clock is calibrated before any row is measured.
        let clock = self.clock.unwrap_or(NO_CLOCK);
        let timeout_ms = WORKER_GRACE_MS + 5 * expected_ms + setup_ms;
        WorkerSpec {
            seed: self.order.worker_seed(),
            cpu: self.cpu,
            peer_cpu: self.peer_cpu,
            treatments: vec![self.rows[row].treatments.applied.clone()],
            ..WorkerSpec::new(subject, task, clock, timeout_ms)
        }
    }
}

/// How long the batches of a counting worker take.
fn counting_ms(plan: &CountingPlan) -> u64 {
    /// Over ticks long ops are counted for up to four times the time that is given, after others that
    /// take 0.3 of theirs.
    const LONGEST: f64 = 4.0 * 1.3;
    let batches = &plan.batches;
    let factors = batches.unroll_factors.len().max(1) as f64;
    let groups = batches.groups as f64 * plan.sets.len().max(1) as f64;
    let over_ticks_ns = LONGEST * plan.deferred_work_ns.unwrap_or(0.0);
    ((batches.batch_ns * groups * factors + over_ticks_ns) / 1e6) as u64
}

/// The CPUs to probe: the requested one, or the last few available ones without that of a peer.
fn probe_candidates(hello: &Hello, requested: Option<u32>, peer_cpu: Option<u32>) -> Vec<u32> {
    if let Some(cpu) = requested {
        return vec![cpu];
    }
    let allowed = hello.facts.cpu.allowed_cpus.clone().filter(|cpus| !cpus.is_empty());
    let mut allowed = allowed.unwrap_or(vec![0]);
    if allowed.len() > 1 {
        allowed.retain(|&cpu| Some(cpu) != peer_cpu);
    }
    allowed[allowed.len().saturating_sub(MAX_PROBED_CPUS)..].to_vec()
}

/// The usable clocks, best first.
pub(crate) fn usable_clocks(hello: &Hello) -> Vec<ClockKind> {
    let usable = hello.clocks.iter().filter(|verdict| verdict.unusable_reason.is_none());
    usable.map(|verdict| verdict.kind).collect()
}

/// The CPU to measure on: the last one, since the first serves most interrupts, unless another is
/// clearly quieter. Two CPUs of one machine may differ by 3 % (other guests, other interrupts):
/// runs that alternate between them would differ by as much.
pub(super) fn quietest(probe: &[CpuProbe]) -> Option<&CpuProbe> {
    const CLEARLY_PCT: f64 = 2.0;
    let last = probe.last()?;
    let best = probe.iter().min_by(|one, other| one.lost_pct().total_cmp(&other.lost_pct()))?;
    Some(if last.lost_pct() - best.lost_pct() > CLEARLY_PCT { best } else { last })
}

/// A placeholder until a clock is calibrated, and where nothing is timed.
pub(crate) const NO_CLOCK: Calibration = Calibration {
    kind: ClockKind::Syscall,
    ticks_per_ns: 1.0,
    quantum_ticks: 1.0,
    inside_ticks: 0.0,
    pair_ticks: 0.0,
};

#[cfg(test)]
mod tests {
    use oscost_model::worker::Mode;

    use super::*;
    use crate::run::rows::test_pilot::pilot;

    #[test]
    fn a_worker_that_counts_over_ticks_has_the_time_for_it() {
        let of = |deferred_work_ns: Option<f64>| {
            let batches = BatchPlan { groups: 5, batch_ns: 2e6, ..pilot(Mode::B, 4) };
            let (sets, inherits, read_by) = (vec![Vec::new(); 2], false, None);
            counting_ms(&CountingPlan { batches, sets, inherits, read_by, deferred_work_ns })
        };
        assert_eq!([None, Some(60e6)].map(of), [20, 332]);
    }
}
