//! Jobs on the machine itself: a running process is watched, CPUs are probed, clocks are calibrated.

use std::time::Duration;

use oscost_model::clock::{ClockKind, SyncedCalibration};
use oscost_model::protocol::{CpuProbe, Event, Order};
use oscost_model::watch::SystemActivity;

use super::Workers;
use crate::hosts::{HostError, Interrupt};
use crate::run::jobs::job::{JobResult, SUPERVISOR_GRACE, job_failure};
use crate::run::jobs::process_watch::{ProcessWatch, WatchedCalls};

/// A probe of CPUs, and the activity of the system during it.
pub(crate) struct WatchedProbe {
    pub(crate) cpus: Vec<CpuProbe>,
    /// The activity, or why it is unknown.
    pub(crate) activity: Result<SystemActivity, String>,
}

impl Workers<'_> {
    /// Counts the calls of a running process by form; `on_ready` is called when it is traced.
    pub(crate) fn count_process(
        &mut self,
        watch: ProcessWatch,
        interrupt: &Interrupt,
        on_ready: impl FnOnce(),
    ) -> JobResult<WatchedCalls> {
        let id = self.id();
        let ProcessWatch { pid, duration, children } = watch;
        let for_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.session.send(&Order::CountProcess { id, pid, for_ms, children })?;
        match self.next(id, SUPERVISOR_GRACE)? {
            Event::Ready { .. } => on_ready(),
            other => return Ok(Err(job_failure(other))),
        }
        let (ended, interrupted) = match self.next(id, duration + 2 * SUPERVISOR_GRACE) {
            Err(HostError::Interrupted) => (self.end_watch(id, interrupt)?, true),
            ended => (ended?, false),
        };
        Ok(match ended {
            Event::FormsCounted { calls, .. } => Ok(WatchedCalls { calls: *calls, interrupted }),
            other => Err(job_failure(other)),
        })
    }

    /// Ends a watch that the user has interrupted; returns its last event. Some programs send a signal to
    /// a process and to its group, one after the other.
    fn end_watch(&mut self, id: u64, interrupt: &Interrupt) -> Result<Event, HostError> {
        loop {
            interrupt.take();
            match self.session.send(&Order::Stop { id }) {
                Err(HostError::Interrupted) => {}
                sent => break sent?,
            }
        }
        loop {
            match self.next(id, 2 * SUPERVISOR_GRACE) {
                Err(HostError::Interrupted) => interrupt.take(),
                ended => return ended,
            }
        }
    }

    /// Probes these CPUs with a spin loop.
    pub(crate) fn probe(
        &mut self,
        cpus: &[u32],
        clock: ClockKind,
        spin: Duration,
    ) -> JobResult<Vec<CpuProbe>> {
        let id = self.id();
        let spin_ms = spin.as_millis() as u64;
        self.session.send(&Order::Probe { id, cpus: cpus.to_vec(), spin_ms, clock })?;
        Ok(match self.next(id, spin + 2 * SUPERVISOR_GRACE)? {
            Event::Probed { cpus, .. } => Ok(cpus),
            other => Err(job_failure(other)),
        })
    }

    /// Probes these CPUs between two readings of the system's activity. `excluded_pids` are the
    /// tool's own processes. The activity watcher sleeps while the probe spins, so that neither observes the
    /// other.
    pub(crate) fn watched_probe(
        &mut self,
        cpus: &[u32],
        clock: ClockKind,
        spin: Duration,
        excluded_pids: &[u32],
    ) -> JobResult<WatchedProbe> {
        let id = self.id();
        self.session.send(&Order::Watch { id, excluded_pids: excluded_pids.to_vec() })?;
        match self.next(id, SUPERVISOR_GRACE)? {
            Event::Ready { .. } => {}
            // It reports at once, or why it cannot observe: the probe is useful alone.
            other => {
                let activity = activity_of(other);
                let probe = self.probe(cpus, clock, spin)?;
                return Ok(probe.map(|cpus| WatchedProbe { cpus, activity }));
            }
        }
        let probe = self.probe(cpus, clock, spin)?;
        self.session.send(&Order::Stop { id })?;
        let activity = activity_of(self.next(id, SUPERVISOR_GRACE)?);
        Ok(probe.map(|cpus| WatchedProbe { cpus, activity }))
    }

    /// Calibrates a clock.
    pub(crate) fn calibrate(
        &mut self,
        cpu: Option<u32>,
        clock: ClockKind,
    ) -> JobResult<SyncedCalibration> {
        let id = self.id();
        self.session.send(&Order::Calibrate { id, cpu, clock })?;
        Ok(match self.next(id, 2 * SUPERVISOR_GRACE)? {
            Event::Calibrated { calibration, sync, .. } => {
                Ok(SyncedCalibration { calibration, sync })
            }
            other => Err(job_failure(other)),
        })
    }
}

/// The activity in an event.
fn activity_of(event: Event) -> Result<SystemActivity, String> {
    match event {
        Event::Watched { activity, .. } => Ok(*activity),
        other => Err(job_failure(other).reason),
    }
}
