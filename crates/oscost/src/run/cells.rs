//! One job at a time: orders out, the answer back.

use std::time::Duration;

use oscost_model::calls::CallCount;
use oscost_model::cell::{BatchPlan, CellSpec, Disturbance, Sample, Task};
use oscost_model::clock::{Calibration, ClockKind, ClockSync};
use oscost_model::protocol::{CpuProbe, Event, Order};
use oscost_model::record::RowOutcome;
use oscost_model::watch::Watch;

use crate::reach::{ReachError, Session};

/// The supervisor keeps the time of its jobs; if it is silent for so long beyond, it hangs itself.
const BEYOND: Duration = Duration::from_secs(10);

/// A job that brought nothing.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// `skipped`, `failed`, `timed-out` or `unmeasurable`.
    pub(super) outcome: RowOutcome,
    /// Why.
    pub(super) reason: String,
    /// Another cell would end the same way.
    pub(super) is_final: bool,
}

/// What a job brings: an answer, or why there is none. A broken session is another matter.
type Answer<T> = Result<Result<T, Ended>, ReachError>;

/// What a probe saw, and what went on beside it, or why that is not known.
pub(super) type Watched = (Vec<CpuProbe>, Result<Watch, String>);

/// The jobs of a session.
pub(super) struct Cells<'a> {
    session: &'a mut dyn Session,
    last_id: u64,
}

impl<'a> Cells<'a> {
    pub(super) fn new(session: &'a mut dyn Session) -> Self {
        Self { session, last_id: 0 }
    }

    pub(super) fn session(&self) -> &dyn Session {
        self.session
    }

    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The next event of job `id`. What an earlier job still had to say is past caring for.
    fn next(&mut self, id: u64, patience: Duration) -> Result<Event, ReachError> {
        loop {
            let event = self.session.next(patience)?;
            if event.id() == Some(id) {
                return Ok(event);
            }
        }
    }

    /// Starts a cell, lets it time `groups` groups, and hands back its last event.
    fn converse(&mut self, spec: CellSpec, groups: u32) -> Result<Event, ReachError> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + BEYOND;
        let stops = matches!(spec.task, Task::Measure(_));
        self.session.send(&Order::Measure { id, spec: Box::new(spec) })?;
        match self.next(id, patience)? {
            Event::Ready { .. } => {}
            other => return Ok(other),
        }
        self.session.send(&Order::Go { id, batches: groups })?;
        if stops {
            self.session.send(&Order::Stop { id })?;
        }
        self.next(id, patience)
    }

    /// Runs a case's pilot.
    pub(super) fn pilot(&mut self, spec: CellSpec) -> Answer<BatchPlan> {
        Ok(match self.converse(spec, 1)? {
            Event::Piloted { plan, .. } => Ok(plan),
            other => Err(ended(other)),
        })
    }

    /// Measures a case once.
    pub(super) fn measure(&mut self, spec: CellSpec) -> Answer<(Vec<Sample>, Disturbance)> {
        let groups = match &spec.task {
            Task::Measure(plan) => plan.groups,
            _ => 1,
        };
        Ok(match self.converse(spec, groups)? {
            Event::Sampled { samples, disturbance, .. } => Ok((samples, *disturbance)),
            other => Err(ended(other)),
        })
    }

    /// Counts a case's calls.
    pub(super) fn count(&mut self, spec: CellSpec) -> Answer<CallCount> {
        let id = self.id();
        let patience = Duration::from_millis(spec.timeout_ms) + BEYOND;
        self.session.send(&Order::Count { id, spec: Box::new(spec) })?;
        Ok(match self.next(id, patience)? {
            Event::Counted { count, .. } => Ok(*count),
            other => Err(ended(other)),
        })
    }

    /// Spins on these CPUs.
    pub(super) fn probe(
        &mut self,
        cpus: &[u32],
        clock: ClockKind,
        spin: Duration,
    ) -> Answer<Vec<CpuProbe>> {
        let id = self.id();
        let spin_ms = spin.as_millis() as u64;
        self.session.send(&Order::Probe { id, cpus: cpus.to_vec(), spin_ms, clock })?;
        Ok(match self.next(id, spin + 2 * BEYOND)? {
            Event::Probed { cpus, .. } => Ok(cpus),
            other => Err(ended(other)),
        })
    }

    /// Spins on these CPUs between two looks at who else uses the machine. `except` are processes
    /// of the tool's own there. The watch goes to sleep before the spin begins and wakes after it
    /// has ended, so that neither sees the other.
    pub(super) fn watched_probe(
        &mut self,
        cpus: &[u32],
        clock: ClockKind,
        spin: Duration,
        except: &[u32],
    ) -> Answer<Watched> {
        let id = self.id();
        self.session.send(&Order::Watch { id, except: except.to_vec() })?;
        match self.next(id, BEYOND)? {
            Event::Ready { .. } => {}
            // It says what it saw at once, or why it cannot look: the probe is worth having alone.
            other => return Ok(self.probe(cpus, clock, spin)?.map(|probe| (probe, seen(other)))),
        }
        let probe = self.probe(cpus, clock, spin)?;
        self.session.send(&Order::Stop { id })?;
        let watch = seen(self.next(id, BEYOND)?);
        Ok(probe.map(|probe| (probe, watch)))
    }

    /// Learns a clock.
    pub(super) fn calibrate(
        &mut self,
        cpu: Option<u32>,
        clock: ClockKind,
    ) -> Answer<(Calibration, ClockSync)> {
        let id = self.id();
        self.session.send(&Order::Calibrate { id, cpu, clock })?;
        Ok(match self.next(id, 2 * BEYOND)? {
            Event::Calibrated { calibration, sync, .. } => Ok((calibration, sync)),
            other => Err(ended(other)),
        })
    }
}

/// What a watch brings.
fn seen(event: Event) -> Result<Watch, String> {
    match event {
        Event::Watched { watch, .. } => Ok(*watch),
        other => Err(ended(other).reason),
    }
}

/// What an event that is no answer comes to.
fn ended(event: Event) -> Ended {
    let (outcome, reason, is_final) = match event {
        Event::Skipped { missing, .. } => (RowOutcome::Skipped, missing, true),
        Event::TimedOut { after_ms, why, .. } => {
            let ended = || format!("the cell was ended after {after_ms} ms");
            (RowOutcome::TimedOut, why.unwrap_or_else(ended), false)
        }
        Event::Failed { at_op: Some(op), why, .. } => {
            (RowOutcome::Failed, format!("op {op} of a batch: {why}"), true)
        }
        Event::Failed { why, .. } => (RowOutcome::Failed, why, false),
        other => {
            let why = format!("the cell gave no answer to what it was asked: {other:?}");
            (RowOutcome::Failed, why, false)
        }
    };
    Ended { outcome, reason, is_final }
}
