//! The specification of a worker; the plan and the samples of its batches are in [`crate::batch`].

use serde::{Deserialize, Serialize};

pub use crate::batch::{
    BatchPlan, COUNTED_WARM_UP_NS, Disturbance, Mode, Sample, Usage, WARM_UP_NS, Windows,
};
use crate::case::Case;
use crate::clock::Calibration;
use crate::counters::{CounterEvent, CountingPlan};
use crate::parameter::ParameterValues;
use crate::program::Program;
use crate::treatment::AppliedTreatment;

/// The specification of a worker. Workers do not tune themselves: the pilot's plan is part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// The subject.
    pub subject: Subject,
    /// The seed of all its randomness: jitter, environment and stack padding.
    pub seed: u64,
    /// The CPU to pin it to; `None` leaves the choice to the scheduler.
    pub cpu: Option<u32>,
    /// Its clock, calibrated once for the whole run.
    pub clock: Calibration,
    /// The number of arms: 1, or 2 to 3 fork twins.
    pub arms: u8,
    /// The treatments applied to each arm before its work is built; none for arms beyond the list.
    #[serde(default)]
    pub treatments: Vec<Vec<AppliedTreatment>>,
    /// Whether a treatment of its system is toggled during its lifetime: each `go` then names its
    /// arm, and is answered with `batches-done`.
    #[serde(default)]
    pub toggled: bool,
    /// Whether the work is done in a process forked from the worker even without applied
    /// treatments, so that it is comparable with a worker that has some.
    #[serde(default)]
    pub forked: bool,
    /// How many workers share the work; 1 for now.
    pub workers: u16,
    /// The peer of a two-ended case, if it runs on another machine.
    #[serde(default)]
    pub remote_end: Option<RemoteEnd>,
    /// The CPU of its peer, if that runs on another CPU; `None` for the last allowed one.
    #[serde(default)]
    pub peer_cpu: Option<u32>,
    /// What it does with its subject.
    pub task: Task,
    /// The windows to time in all, spread over the groups of its plan, each of which gives one
    /// sample; `None` for one batch per sample. Only for plans without unrolling.
    #[serde(default)]
    pub windows: Option<u64>,
    /// The time limit in milliseconds, after which the supervisor kills it and reports `timed-out`.
    pub timeout_ms: u64,
}

impl WorkerSpec {
    /// A worker with one untreated arm, on any CPU; its seed is 0.
    pub fn new(subject: Subject, task: Task, clock: Calibration, timeout_ms: u64) -> Self {
        Self {
            subject,
            seed: 0,
            cpu: None,
            clock,
            arms: 1,
            treatments: Vec::new(),
            toggled: false,
            forked: false,
            workers: 1,
            remote_end: None,
            peer_cpu: None,
            task,
            windows: None,
            timeout_ms,
        }
    }

    /// The windows of a group of its plan, which has so many groups: as many as of any other, or
    /// one more. `None` if a group is timed as its plan says.
    pub fn windows_of_group(&self, group: u32, groups: u32) -> Option<u64> {
        let windows = u128::from(self.windows?);
        let until = |group: u32| windows * u128::from(group) / u128::from(groups.max(1));
        Some((until(group.saturating_add(1)) - until(group)) as u64)
    }

    /// The treatments of an arm.
    pub fn treatments_of(&self, arm: u8) -> &[AppliedTreatment] {
        self.treatments.get(usize::from(arm)).map_or(&[], Vec::as_slice)
    }
}

/// The peer of a case on another machine: a worker that serves it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteEnd {
    /// Its listening address and port.
    pub addr: String,
    /// The token for connecting to it: 128 random bits in hexadecimal, for this case and worker
    /// only.
    pub token: String,
}

/// What a worker measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A benchmark at a point.
    Case(Case),
    /// A program; its task is [`Task::Run`].
    Program(Box<Program>),
    /// Programs that take turns; their task is [`Task::TakeTurns`]. The treatments of each are those
    /// of the arm of its number.
    Programs(Vec<Program>),
}

/// What a worker does with its subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Finds mode, ops per batch and batch length for all later workers.
    Pilot {
        /// Interruptions longer than 5 us per second, as measured by the probe.
        interruptions_per_s: f64,
    },
    /// Times batches by the pilot's plan.
    Measure(BatchPlan),
    /// Counts the instructions of ops by a plan of its own, which is returned with the samples:
    /// there is no noise to adapt to, and a pilot's plan could not be passed on, since all orders
    /// are given before the machine is booted.
    Exact,
    /// Runs some untimed ops, so that a tracer can count their calls.
    Count {
        /// Ops before the counted ones.
        warm_ops: u64,
        /// Counted ops.
        ops: u64,
    },
    /// Runs a program once under a tracer, which counts what its process tree does, by form.
    CountForms,
    /// Runs a program once after a mark (see [`crate::mark`]): a counter of calls in the kernel
    /// knows by it which process is about to start the program.
    RunMarked {
        /// What the mark has besides its number, so that no other process makes the same.
        token: u64,
    },
    /// Runs a program once.
    Run {
        /// Whether it is an untimed warm-up: then its whole output is captured.
        warm_up: bool,
        /// The events that are counted over its process tree; none in a timed trial.
        #[serde(default)]
        counted: Vec<CounterEvent>,
    },
    /// Runs programs in this order, by their numbers, once each time.
    TakeTurns {
        /// The numbers.
        order: Vec<u8>,
        /// The values of sampled parameters in each round, which is one turn of each program; empty
        /// without such parameters.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<ParameterValues>,
        /// Whether they run in a control group that sums up their CPU time: each enters it before it
        /// executes its program, so that their real time is not that of a trial.
        #[serde(default)]
        in_group: bool,
    },
    /// Counts events of ops in batches that are no repetitions of the row.
    CountEvents(CountingPlan),
    /// Serves as the peer of a worker on another machine until that one exits.
    Serve {
        /// The address to listen at, on an ephemeral port.
        bind: String,
        /// The token that a connection must present.
        token: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Calibration, ClockKind};
    use crate::point::Point;

    const CLOCK: Calibration = Calibration {
        kind: ClockKind::Tsc,
        ticks_per_ns: 1.0,
        quantum_ticks: 1.0,
        inside_ticks: 0.0,
        pair_ticks: 0.0,
    };

    #[test]
    fn windows_are_spread_evenly_over_groups_and_none_is_left_out() {
        let case = Case::new("syscall/getpid", Point::none());
        let spec = WorkerSpec::new(Subject::Case(case), Task::Exact, CLOCK, 1);
        assert_eq!(spec.windows_of_group(0, 5), None);
        for (windows, groups) in [(10, 3), (1_000_000, 7), (2, 5), (0, 1), (5, 5)] {
            let spec = WorkerSpec { windows: Some(windows), ..spec.clone() };
            let all: Vec<u64> =
                (0..groups).map(|group| spec.windows_of_group(group, groups).unwrap()).collect();
            assert_eq!(all.iter().sum::<u64>(), windows);
            let spread = all.iter().max().unwrap() - all.iter().min().unwrap();
            assert!(spread <= 1, "{windows} over {groups}: {all:?}");
        }
    }
}
