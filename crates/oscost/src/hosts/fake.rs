//! A fake host that answers from a scenario file: for tests of everything after the measurement.
//!
//! Its figures are invented, which shows in the record: the host is `fake:FILE`.

mod batches;
mod calls;
mod counters;
mod programs;
mod scenario;

pub use scenario::Scenario;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use super::{HostError, Session, WorkerBinary};
use crate::files::input_file;
use batches::{BatchGroup, BatchGroups};
use counters::{CountedOp, FakeCounters};
use oscost_model::calls::CallCount;
use oscost_model::clock::{Calibration, ClockKind, ClockSync, ClockVerdict};
use oscost_model::counters::TreeCounts;
use oscost_model::facts::Facts;
use oscost_model::monitor_report::MonitorReport;
use oscost_model::parameter::ParameterValues;
use oscost_model::program::{Program, TurnResult};
use oscost_model::protocol::{CpuProbe, Event, Hello, Order, PROTOCOL, TurnFailure, WorkerBuild};
use oscost_model::seed::Seed;
use oscost_model::treatment::AttachedTreatment;
use oscost_model::watch::SystemActivity;
use oscost_model::worker::{
    BatchPlan, Disturbance, Mode, Sample, Subject, Task, Usage, Windows, WorkerSpec,
};
use scenario::merged_with_defaults;

/// A scenario is written by hand.
const MAX_SCENARIO_BYTES: u64 = 1 << 20;

/// A session with a fake host.
pub struct FakeSession {
    scenario: Scenario,
    program: WorkerBinary,
    hello: Hello,
    watch: SystemActivity,
    watches: BTreeSet<u64>,
    specs: BTreeMap<u64, WorkerSpec>,
    /// The groups of batches ordered so far, by toggled worker.
    toggled_groups: BTreeMap<u64, Vec<BatchGroups>>,
    /// The attached treatments.
    attached: Option<Attachment>,
    /// The report of the monitor, if one is attached.
    monitor_report: Option<MonitorReport>,
    events: VecDeque<Event>,
    /// The workers of each case that counted events so far.
    counted: BTreeMap<String, u32>,
    workers: u32,
    now_ns: u64,
}

/// Treatments that are attached by a job.
#[derive(Clone, Copy)]
struct Attachment {
    job: u64,
    added_ns: f64,
    added_insn: f64,
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

    fn start_job(&mut self, id: u64, spec: &WorkerSpec) -> Event {
        let case = match &spec.subject {
            Subject::Case(case) => case,
            Subject::Program(program) => return self.run_program(id, spec, program),
            Subject::Programs(programs) => return self.take_turns(id, spec, programs),
        };
        let name = case.to_string();
        if let Some(missing) = self.scenario.skipped.get(&name) {
            return Event::Skipped { id, missing: missing.clone(), arm: None };
        }
        for (arm, list) in (0..).zip(&spec.treatments) {
            if let Some(missing) = self.scenario.refusal(list) {
                return Event::Skipped { id, missing, arm: Some(arm) };
            }
        }
        if let Some(why) = self.scenario.failed.get(&name) {
            return Event::Failed {
                id,
                at_op: Some(0),
                reason: why.clone(),
                errno: None,
                arm: None,
            };
        }
        if self.scenario.timed_out.contains(&name) {
            return Event::TimedOut { id, after_ms: spec.timeout_ms, reason: None };
        }
        if let (Task::Count { .. }, Some(why)) = (&spec.task, &self.scenario.counting_error) {
            return Event::Failed { id, at_op: None, reason: why.clone(), errno: None, arm: None };
        }
        if let Task::Count { ops, .. } = spec.task {
            if self.scenario.uncountable.contains(&name) {
                let why = "ptrace is refused: Operation not permitted".to_owned();
                return Event::Failed { id, at_op: None, reason: why, errno: None, arm: None };
            }
            let count = calls::call_count(&self.scenario, &self.program.catalog, case, ops);
            let count = CallCount { counted_pid: u32::try_from(id).ok(), ..count };
            if let (Some(report), Some(pid)) = (&mut self.monitor_report, count.counted_pid) {
                let calls: u64 = count.own.values().sum();
                let missed = self.scenario.missed_calls.get(&name).copied().unwrap_or(0);
                report.add_marked(pid, calls.saturating_sub(missed));
            }
            return Event::Counted { id, count: Box::new(count) };
        }
        self.specs.insert(id, spec.clone());
        Event::Ready { id, pid: 1, addr: None }
    }

    /// Trials of programs in turns.
    fn take_turns(&mut self, id: u64, spec: &WorkerSpec, programs: &[Program]) -> Event {
        let Task::TakeTurns { order, values, in_group } = &spec.task else {
            let reason = "programs can only take turns".to_owned();
            return Event::Failed { id, at_op: None, reason, errno: None, arm: None };
        };
        let start_ns = self.now_ns;
        let mut trials = Vec::new();
        let no_values = ParameterValues::new();
        for (turn, &program) in order.iter().enumerate() {
            let values = values.get(turn / programs.len().max(1)).unwrap_or(&no_values);
            let spec = WorkerSpec {
                task: Task::Run { warm_up: false, counted: Vec::new() },
                treatments: vec![spec.treatments_of(program).to_vec()],
                seed: spec.seed.wrapping_add(turn as u64),
                ..spec.clone()
            };
            let run = &programs[usize::from(program)].with_values(values);
            match self.run_program(id, &spec, run) {
                Event::ProgramExited { result, .. } => {
                    let ended_ns = self.now_ns - start_ns;
                    trials.push(TurnResult { program, ended_ns, result: *result });
                }
                other => {
                    let failure = Some(TurnFailure { program, event: Box::new(other) });
                    return Event::TurnsTaken { id, trials, failure, group: None };
                }
            }
        }
        let group = in_group.then(|| Ok(programs::group_times(&trials)));
        Event::TurnsTaken { id, trials, failure: None, group }
    }

    /// A trial of a program.
    fn run_program(&mut self, id: u64, spec: &WorkerSpec, program: &Program) -> Event {
        let name = program.command.join(" ");
        if let Some(missing) = self.scenario.skipped.get(&name) {
            return Event::Skipped { id, missing: missing.clone(), arm: None };
        }
        if let Some(why) = self.scenario.failed.get(&name) {
            return Event::Failed { id, at_op: None, reason: why.clone(), errno: None, arm: None };
        }
        if self.scenario.timed_out.contains(&name) {
            let after_ms = 1_000 * u64::from(program.limits.seconds);
            return Event::TimedOut { id, after_ms, reason: None };
        }
        if let Some(missing) =
            self.scenario.refusal(spec.treatments.first().map_or(&[][..], Vec::as_slice))
        {
            return Event::Skipped { id, missing, arm: None };
        }
        if let Task::Count { .. } = spec.task {
            return Event::Counted { id, count: Box::new(calls::program_call_count()) };
        }
        if spec.task == Task::CountForms {
            return Event::FormsCounted { id, calls: Box::new(calls::program_calls()) };
        }
        let cost = self.scenario.costs_ns.get(&name).copied().unwrap_or(1e8);
        let mut seed = Seed::new(spec.seed);
        let cost = cost * (1.0 + 2.0 * self.scenario.between_sd * (seed.unit() - 0.5));
        let added = self.attached_ns()
            + spec.treatments.first().map_or(0.0, |list| self.scenario.added_ns(list));
        let added = 1_000.0 * added;
        let output = self.scenario.outputs.get(&name).cloned().unwrap_or_default();
        self.now_ns += (cost + added) as u64;
        self.workers += 1;
        let counts = self.tree_counts(&name, spec, cost + added);
        let result = programs::trial_result(cost, added, output, counts);
        Event::ProgramExited { id, result: Box::new(result) }
    }

    /// The nanoseconds that the attached treatments add to an op.
    fn attached_ns(&self) -> f64 {
        self.attached.map_or(0.0, |attached| attached.added_ns)
    }

    /// The groups of batches of a worker, in order.
    fn groups(&mut self, id: u64, spec: &WorkerSpec, groups: u32) -> Vec<BatchGroup> {
        let applied_ns = |arm: u8| {
            let treatments = spec.treatments.get(usize::from(arm));
            treatments.map_or(0.0, |list| self.scenario.added_ns(list))
        };
        let Some(toggled) = self.toggled_groups.get(&id) else {
            let attached_ns = self.attached_ns();
            let arms: Vec<(u8, f64)> =
                (0..spec.arms).map(|arm| (arm, attached_ns + applied_ns(arm))).collect();
            return batches::in_turns(&arms, groups);
        };
        let all = batches::as_ordered(toggled, applied_ns(0));
        self.toggled_groups.remove(&id);
        all
    }

    /// Instructions that the attached treatments add to an op, and those of a worker.
    fn added_insn(&self, spec: &WorkerSpec) -> f64 {
        let attached = self.attached.map_or(0.0, |attached| attached.added_insn);
        let applied = spec.treatments.first();
        attached + applied.map_or(0.0, |list| self.scenario.added_insn(list))
    }

    /// The events that a worker counted.
    fn count_events(&mut self, id: u64) -> Option<Event> {
        let spec = self.specs.remove(&id)?;
        let (Subject::Case(case), Task::CountEvents(plan)) = (&spec.subject, &spec.task) else {
            return None;
        };
        let counters = self.scenario.counters.as_ref()?;
        let name = case.to_string();
        let applied = spec.treatments.first();
        let added = applied.map_or(0.0, |list| self.scenario.added_ns(list)) + self.attached_ns();
        let cost = self.scenario.costs_ns.get(&name).copied().unwrap_or(100.0);
        let op = CountedOp {
            op: counters.op(&name),
            cost_ns: cost + added,
            added_insn: self.added_insn(&spec),
        };
        let counts = counters.counts(&name, op, plan, &mut Seed::new(spec.seed));
        let before = self.counted.entry(name).or_default();
        let counts = counters.openable_counts(counts, *before);
        *before += 1;
        Some(Event::EventsCounted { id, counts: Box::new(counts) })
    }

    /// The events of a program's process tree, if they are to be counted.
    fn tree_counts(&self, name: &str, spec: &WorkerSpec, cost_ns: f64) -> Option<TreeCounts> {
        let Task::Run { counted, .. } = &spec.task else { return None };
        let counters = self.scenario.counters.as_ref().filter(|_| !counted.is_empty())?;
        let (op, added_insn) = (counters.op(name), self.added_insn(spec));
        Some(counters.tree(name, CountedOp { op, cost_ns, added_insn }, counted))
    }

    fn end(&mut self, id: u64) -> Option<Event> {
        let spec = self.specs.remove(&id)?;
        let Subject::Case(case) = &spec.subject else { return None };
        let Task::Measure(plan) = &spec.task else { return None };
        let name = case.to_string();
        let mut seed = Seed::new(spec.seed);
        let cost = self.scenario.costs_ns.get(&name).copied().unwrap_or(100.0);
        // The sum of twelve uniform deviates approximates a normal deviate.
        let deviation = (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
        let cost = cost * (self.scenario.between_sd * deviation).exp();
        let preempted = u32::from(self.scenario.preempted.contains(&name));
        let mut samples: Vec<Sample> = Vec::new();
        for BatchGroup { arm, round, added_ns } in self.groups(id, &spec, plan.groups) {
            let second = self.scenario.second_arm_factor.filter(|_| arm > 0).unwrap_or(1.0);
            let noise = 1.0 + 0.01 * (seed.unit() - 0.5);
            let window_ticks = ((cost + added_ns) * second * plan.iterations as f64 * noise) as i64;
            let windows = spec.windows_of_group(round, plan.groups).map(|count| Windows {
                count,
                smallest_ops: plan.iterations,
                smallest_ticks: window_ticks,
            });
            let count = windows.map_or(1, |it| it.count);
            let ticks = window_ticks * count as i64;
            self.now_ns += ticks as u64;
            samples.push(Sample {
                arm,
                round,
                batch: samples.len() as u32,
                n: plan.iterations * count,
                ticks,
                cpu_ns: Some(ticks as u64),
                involuntary_switches: preempted,
                windows,
                ..Sample::default()
            });
        }
        let wall_ns = samples.iter().map(|sample| sample.ticks as u64).sum();
        let run_delay_ns = Some((self.scenario.lost_pct / 100.0 * wall_ns as f64) as u64);
        let ops = samples.iter().map(|sample| sample.n).sum();
        let blocks = self.scenario.blocking.contains(&name);
        let voluntary_switches = if blocks { ops } else { 0 };
        let usage = Usage { ops, user_ns: wall_ns, voluntary_switches, ..Usage::default() };
        let disturbance = Disturbance {
            wall_ns,
            cpu_ns: wall_ns,
            run_delay_ns,
            usage: Some(usage),
            channel: self.scenario.channels.get(&name).copied(),
            ..Default::default()
        };
        self.workers += 1;
        if self.scenario.detached_after_workers == Some(self.workers) {
            self.events.extend(self.attached.take().map(|attached| Event::Failed {
                id: attached.job,
                at_op: None,
                reason: "the scenario detached it".to_owned(),
                errno: None,
                arm: None,
            }));
        }
        Some(Event::Sampled {
            id,
            samples,
            disturbance: Box::new(disturbance),
            monitor_wakeups_per_op: Vec::new(),
            speculation: Vec::new(),
            plan: None,
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

/// The batch plan of every case.
const PLAN: BatchPlan = BatchPlan {
    mode: Mode::B,
    iterations: 500,
    unroll_factors: Vec::new(),
    groups: 21,
    batch_ns: 50_000.0,
    coarse_clock: false,
};
