//! The session with a fake host: its answers to orders.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use oscost_model::clock::{Calibration, ClockKind, ClockSync, ClockVerdict};
use oscost_model::facts::Facts;
use oscost_model::monitor_report::MonitorReport;
use oscost_model::protocol::{CpuProbe, Event, Hello, Order, PROTOCOL, WorkerBuild};
use oscost_model::treatment::AttachedTreatment;
use oscost_model::watch::SystemActivity;
use oscost_model::worker::{BatchPlan, Mode, Task, WorkerSpec};

use super::batches::BatchGroups;
use super::counters::FakeCounters;
use super::scenario::{Scenario, merged_with_defaults};
use crate::files::input_file;
use crate::hosts::{HostError, Session, WorkerBinary};

/// A scenario is written by hand.
const MAX_SCENARIO_BYTES: u64 = 1 << 20;

/// The batch plan of every case.
const PLAN: BatchPlan = BatchPlan {
    mode: Mode::B,
    iterations: 500,
    unroll_factors: Vec::new(),
    groups: 21,
    batch_ns: 50_000.0,
    coarse_clock: false,
};

/// A session with a fake host.
pub struct FakeSession {
    pub(super) scenario: Scenario,
    pub(super) program: WorkerBinary,
    hello: Hello,
    watch: SystemActivity,
    watches: BTreeSet<u64>,
    pub(super) specs: BTreeMap<u64, WorkerSpec>,
    /// The groups of batches ordered so far, by toggled worker.
    pub(super) toggled_groups: BTreeMap<u64, Vec<BatchGroups>>,
    /// The attached treatments.
    pub(super) attached: Option<Attachment>,
    /// The report of the monitor, if one is attached.
    pub(super) monitor_report: Option<MonitorReport>,
    pub(super) events: VecDeque<Event>,
    /// The workers of each case that counted events so far.
    pub(super) counted: BTreeMap<String, u32>,
    pub(super) workers: u32,
    pub(super) now_ns: u64,
}

/// Treatments that are attached by a job.
#[derive(Clone, Copy)]
pub(super) struct Attachment {
    pub(super) job: u64,
    pub(super) added_ns: f64,
    pub(super) added_insn: f64,
}

impl FakeSession {
    /// Reads a scenario file (JSON).
    pub fn open(file: &str, program: &WorkerBinary) -> Result<Self, HostError> {
        let bad = |why: String| HostError::BadScenario { file: file.to_owned(), why };
        let text = input_file::read(Path::new(file), MAX_SCENARIO_BYTES);
        let text = text.map_err(|error| bad(error.to_string()))?;
        let scenario = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        Self::new(scenario, program).map_err(|error| bad(error.to_string()))
    }

    /// A session with the host of a scenario.
    pub fn new(scenario: Scenario, program: &WorkerBinary) -> Result<Self, serde_json::Error> {
        let mut facts = Facts::default();
        facts.cpu.allowed_cpus = Some(vec![0, 1]);
        facts.counters = scenario.counters.as_ref().map(FakeCounters::facts).unwrap_or_default();
        let facts = merged_with_defaults(&facts, &scenario.facts)?;
        let watch = merged_with_defaults(&SystemActivity::default(), &scenario.watch)?;
        let verdict = |kind: ClockKind| ClockVerdict {
            kind,
            unusable_reason: scenario.unusable_clocks.get(kind.text()).cloned(),
        };
        let clocks = match scenario.clocks.is_empty() {
            true => [ClockKind::Tsc, ClockKind::Vdso, ClockKind::Syscall].map(verdict).to_vec(),
            false => scenario.clocks.clone(),
        };
        let hello = Hello {
            protocol: PROTOCOL,
            catalog_hash: program.catalog_hash.clone(),
            worker_hash: "fake".to_owned(),
            build: WorkerBuild {
                link: "fake".to_owned(),
                libc: "fake".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            clocks,
            facts,
            scratch_directory: None,
            ssh_endpoints: None,
            slurm_node: None,
        };
        Ok(Self {
            scenario,
            program: program.clone(),
            hello,
            watch,
            watches: BTreeSet::new(),
            specs: BTreeMap::new(),
            toggled_groups: BTreeMap::new(),
            attached: None,
            monitor_report: None,
            events: VecDeque::new(),
            counted: BTreeMap::new(),
            workers: 0,
            now_ns: 1_000_000_000,
        })
    }
}

impl Session for FakeSession {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let answer = match order {
            Order::Measure { id, spec } | Order::Count { id, spec } => {
                Some(self.start_job(*id, spec))
            }
            Order::Go { id, batches, arm }
                if self.specs.get(id).is_some_and(|spec| spec.toggled) =>
            {
                let groups =
                    BatchGroups { arm: *arm, groups: *batches, added_ns: self.attached_ns() };
                self.toggled_groups.entry(*id).or_default().push(groups);
                Some(Event::BatchesDone { id: *id })
            }
            Order::Attach { id, treatments, .. } => {
                Some(match self.scenario.attach_refusal(treatments) {
                    Some(missing) => Event::Skipped { id: *id, missing, arm: None },
                    None => {
                        let added_ns = self.scenario.added_ns(treatments);
                        let added_insn = self.scenario.added_insn(treatments);
                        self.attached = Some(Attachment { job: *id, added_ns, added_insn });
                        let has_monitor =
                            treatments.iter().any(|it| matches!(it, AttachedTreatment::Ph { .. }));
                        let state = self.scenario.monitor_profile.as_deref().unwrap_or("training");
                        self.monitor_report = has_monitor.then(|| MonitorReport {
                            // A large number, as if there were many other processes.
                            calls: u64::MAX >> 1,
                            profile_state: Some(state.to_owned()),
                            ..MonitorReport::default()
                        });
                        Event::Ready { id: *id, pid: 1, addr: None }
                    }
                })
            }
            Order::Stop { id } if self.attached.is_some_and(|attached| attached.job == *id) => {
                self.attached = None;
                let monitor_report = self.monitor_report.take().map(Box::new);
                Some(Event::Detached { id: *id, counted: None, monitor_report })
            }
            Order::Go { id, .. } => match self.specs.get(id).map(|spec| &spec.task) {
                Some(Task::Pilot { .. }) => Some(Event::Piloted { id: *id, plan: PLAN }),
                Some(Task::CountEvents(_)) => self.count_events(*id),
                _ => None,
            },
            Order::Stop { id } if self.watches.remove(id) => {
                Some(Event::Watched { id: *id, activity: Box::new(self.watch.clone()) })
            }
            Order::Stop { id } => self.end(*id),
            Order::Lock { id, .. } => Some(Event::Ready { id: *id, pid: 1, addr: None }),
            Order::Serve { id, .. } => {
                let missing = "a fake host cannot run the other end".to_owned();
                Some(Event::Skipped { id: *id, missing, arm: None })
            }
            Order::Probe { id, cpus, spin_ms, .. } => {
                let scripted = |cpu| self.scenario.probe.iter().find(|it| it.cpu == cpu).cloned();
                let probe = |&cpu: &u32| {
                    scripted(cpu).unwrap_or(CpuProbe {
                        cpu,
                        spin_ns: spin_ms * 1_000_000,
                        gaps_over_1us: 0,
                        gaps_over_5us: 0,
                        lost_ns: 0,
                        max_gap_ns: 0,
                        run_delay_ns: Some(0),
                        core_cycles_per_ns: None,
                    })
                };
                Some(Event::Probed { id: *id, cpus: cpus.iter().map(probe).collect() })
            }
            Order::CountProcess { id, .. } => {
                let missing = "a fake host has no processes".to_owned();
                Some(Event::Skipped { id: *id, missing, arm: None })
            }
            Order::Watch { id, .. } => {
                self.watches.insert(*id);
                Some(Event::Ready { id: *id, pid: 1, addr: None })
            }
            Order::Calibrate { id, clock, .. } => {
                let sync = ClockSync { ticks: self.now_ns, raw_ns: self.now_ns, width_ticks: 0 };
                let calibration = Calibration {
                    kind: *clock,
                    ticks_per_ns: 1.0,
                    quantum_ticks: 1.0,
                    inside_ticks: 0.0,
                    pair_ticks: 0.0,
                };
                Some(Event::Calibrated { id: *id, calibration, sync })
            }
        };
        self.events.extend(answer);
        Ok(())
    }

    fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        if self.scenario.interrupted_after_workers.is_some_and(|after| self.workers >= after) {
            return Err(HostError::Interrupted);
        }
        self.events.pop_front().ok_or(HostError::TimedOut(timeout))
    }
}
