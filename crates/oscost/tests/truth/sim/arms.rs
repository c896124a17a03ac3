//! Arms side by side on a simulated machine: fork twins, toggled workers and pairs of workers are
//! those of the real run, their costs are the known true ones.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use oscost::estimate::Assembler;
use oscost::hosts::{HostError, Session};
use oscost::plan::{ComparisonRows, ComparisonSet};
use oscost::run::{ComparisonPlan, PairCount, Profile, Request, RoundLimit, run};
use oscost_model::journal::{Design, Entry, PlannedRow};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Comparison, Record, TargetInfo};
use oscost_model::seed::Seed;
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment, TreatmentSet};
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Task, WorkerSpec};
use oscost_worker::engine::collect::{BatchJitter, SampleTag};
use oscost_worker::engine::simulator::{Execution, SimulatedMachine, Truth};

use super::{SimSession, SimulatedSubject, request, row};

/// The true properties of arms side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arms {
    /// Log standard deviation between the arms of a worker.
    pub(crate) pair_sd: f64,
    /// The added cost of the treated side, as a share.
    pub(crate) effect: f64,
    /// The added cost of the second arm, treated or not, as a share.
    pub(crate) bias: f64,
    /// All costs grow by this share per second.
    pub(crate) drift_per_s: f64,
    /// Whether the treated side runs with mitigated speculation.
    pub(crate) mitigated: bool,
    /// Whether the core runs at another rate in each worker, at half to all of its own.
    pub(crate) core_changes: bool,
}

/// The treatment with the true cost, applied to a process.
fn applied() -> TreatmentSet {
    TreatmentSet { applied: vec![AppliedTreatment::Sud], attached: vec![] }
}

/// The same, attached to the system.
fn attached() -> TreatmentSet {
    TreatmentSet { applied: vec![], attached: vec![AttachedTreatment::Ftrace] }
}

/// A session with a machine on which arms are measured side by side.
struct SideBySide {
    inner: SimSession,
    arms: Arms,
    is_attached: bool,
    /// The number of workers so far: two workers with the same seed are two processes.
    number: u64,
    workers: BTreeMap<u64, WaitingWorker>,
    attaching: Option<u64>,
    /// The ops of so many benchmarks, from the first one on, fail when they are timed.
    failing: usize,
    events: VecDeque<Event>,
}

/// A worker that waits for its next `go`.
struct WaitingWorker {
    spec: WorkerSpec,
    jitters: [BatchJitter; 2],
    rounds: [u32; 2],
    samples: Vec<Sample>,
}

impl SideBySide {
    /// The cost of an arm of a worker, as a factor.
    fn factor(&self, spec: &WorkerSpec, arm: u8, is_treated: bool) -> f64 {
        let between_sd = self.inner.subject(spec).truth.between_sd;
        let process = (between_sd * normal(spec.seed)).exp();
        let own =
            (self.arms.pair_sd * normal(spec.seed ^ self.number << 8 ^ (u64::from(arm) + 1))).exp();
        let effect = if is_treated { 1.0 + self.arms.effect } else { 1.0 };
        let bias = if arm == 1 { 1.0 + self.arms.bias } else { 1.0 };
        process * own * effect * bias
    }

    /// The clock of the core while a worker runs, as a factor of its own; two workers of a pair have
    /// the same seed, and the same clock.
    fn core_clock(&self, spec: &WorkerSpec) -> f64 {
        if self.arms.core_changes { 0.5 + 0.5 * Seed::new(spec.seed).unit() } else { 1.0 }
    }

    /// Times one group of an arm.
    fn group(
        &mut self,
        spec: &WorkerSpec,
        factor: f64,
        tag: SampleTag,
        jitter: &mut BatchJitter,
    ) -> Vec<Sample> {
        let Task::Measure(plan) = &spec.task else { panic!("only measuring has groups") };
        let subject = self.inner.subject(spec).clone();
        let clock = self.core_clock(spec);
        let truth = Truth {
            execution: Execution { clock, ..subject.truth.execution },
            op_ns: subject.truth.op_ns * factor,
            between_sd: 0.0,
            drift_per_s: self.arms.drift_per_s,
            ..subject.truth
        };
        let noise = Seed::new(self.inner.now_ns.to_bits()).child();
        let machine = SimulatedMachine::new(&truth, noise, self.inner.now_ns);
        let mut work = machine.work(subject.shape);
        let mut samples = Vec::new();
        let mut keep = |sample| samples.push(sample);
        machine.collector().time_group(&mut work, plan, jitter, tag, &mut keep).unwrap();
        self.inner.now_ns = machine.now_ns();
        samples
    }

    /// The speculation control state of the arms.
    fn speculation(&self, spec: &WorkerSpec) -> Vec<Option<String>> {
        let word =
            |applied: &Vec<AppliedTreatment>| match self.arms.mitigated && !applied.is_empty() {
                true => "thread force mitigated",
                false => "thread vulnerable",
            };
        spec.treatments.iter().map(|applied| Some(word(applied).to_owned())).collect()
    }

    /// Whether the op of a worker fails.
    fn fails(&self, spec: &WorkerSpec) -> bool {
        self.inner.subject_index(spec) < self.failing
    }

    fn plan(spec: &WorkerSpec) -> &BatchPlan {
        let Task::Measure(plan) = &spec.task else { panic!("only measuring has a plan") };
        plan
    }

    /// Measures all arms of a worker, in an order that rotates from round to round.
    fn measure_arms(&mut self, spec: &WorkerSpec) -> Vec<Sample> {
        let treated =
            |arm: u8| spec.treatments.get(usize::from(arm)).is_some_and(|list| !list.is_empty());
        let mut jitters: Vec<BatchJitter> =
            (0..spec.arms).map(|_| BatchJitter::new(spec.seed)).collect();
        let mut samples = Vec::new();
        for round in 0..Self::plan(spec).groups {
            let mut order: Vec<u8> = (0..spec.arms).collect();
            let offset = round as usize % order.len();
            order.rotate_left(offset);
            for arm in order {
                let is_treated = treated(arm) || self.is_attached;
                let factor = self.factor(spec, arm, is_treated);
                let tag = SampleTag { arm, round, batch: 0 };
                samples.extend(self.group(spec, factor, tag, &mut jitters[usize::from(arm)]));
            }
        }
        samples
    }

    fn measure_groups(&mut self, id: u64, groups: u32, arm: u8) -> Event {
        let mut worker = self.workers.remove(&id).unwrap();
        let at = usize::from(arm);
        for _ in 0..groups {
            // Both sides are one process, so the factor is that of arm 0.
            let bias = if arm == 1 { 1.0 + self.arms.bias } else { 1.0 };
            let factor = self.factor(&worker.spec, 0, self.is_attached) * bias;
            let tag = SampleTag { arm, round: worker.rounds[at], batch: 0 };
            let spec = worker.spec.clone();
            let found = self.group(&spec, factor, tag, &mut worker.jitters[at]);
            worker.samples.extend(found);
            worker.rounds[at] += 1;
        }
        self.workers.insert(id, worker);
        Event::BatchesDone { id }
    }
}

impl Session for SideBySide {
    fn hello(&self) -> &Hello {
        self.inner.hello()
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let answer = match order {
            Order::Measure { id, spec } if matches!(spec.task, Task::Measure(_)) => {
                let jitters = [BatchJitter::new(spec.seed), BatchJitter::new(spec.seed)];
                let worker = WaitingWorker {
                    spec: (**spec).clone(),
                    jitters,
                    rounds: [0; 2],
                    samples: Vec::new(),
                };
                self.workers.insert(*id, worker);
                Some(Event::Ready { id: *id, pid: 1, addr: None })
            }
            Order::Go { id, batches, arm } if self.workers.contains_key(id) => {
                let toggled = self.workers[id].spec.toggled;
                toggled.then(|| self.measure_groups(*id, *batches, *arm))
            }
            Order::Stop { id } if self.workers.get(id).is_some_and(|it| self.fails(&it.spec)) => {
                self.workers.remove(id);
                let (at_op, reason) = (Some(0), "it broke".to_owned());
                Some(Event::Failed { id: *id, at_op, reason, errno: None, arm: None })
            }
            Order::Stop { id } if self.workers.contains_key(id) => {
                let worker = self.workers.remove(id).unwrap();
                self.inner.now_ns += 1e6;
                self.number += 1;
                let speculation = self.speculation(&worker.spec);
                let samples = match worker.spec.toggled {
                    true => worker.samples,
                    false => self.measure_arms(&worker.spec),
                };
                let core_cycles_per_ns = Some(Execution::QUIET.ghz * self.core_clock(&worker.spec));
                let disturbance =
                    Box::new(Disturbance { core_cycles_per_ns, ..Disturbance::default() });
                Some(Event::Sampled {
                    id: *id,
                    samples,
                    disturbance,
                    monitor_wakeups_per_op: vec![],
                    speculation,
                    plan: None,
                })
            }
            Order::Attach { id, treatments, .. } => {
                // For a control nothing is attached.
                (self.is_attached, self.attaching) = (!treatments.is_empty(), Some(*id));
                Some(Event::Ready { id: *id, pid: 1, addr: None })
            }
            Order::Stop { id } if self.attaching == Some(*id) => {
                (self.is_attached, self.attaching) = (false, None);
                Some(Event::Detached { id: *id, counted: None, monitor_report: None })
            }
            other => return self.inner.send(other),
        };
        self.events.extend(answer);
        Ok(())
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        match self.events.pop_front() {
            Some(event) => Ok(event),
            None => self.inner.next(patience),
        }
    }
}

/// A standard normal number of this seed.
fn normal(seed: u64) -> f64 {
    let mut seed = Seed::new(seed);
    let radius = (-2.0 * (1.0 - seed.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * seed.unit()).cos()
}

/// How long the rounds of a run may go on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundEnd {
    pub(crate) limit: Option<RoundLimit>,
    /// So many benchmarks, from the first one on, fail; if there are any, only they were asked for.
    pub(crate) failing: usize,
}

/// The comparisons of a run with this many rows, each compared with itself under a treatment.
pub(crate) fn compare(
    rows: usize,
    design: Design,
    arms: Arms,
    pairs: u32,
    seed: u64,
) -> Vec<Comparison> {
    compare_until(RoundEnd::default(), rows, design, arms, pairs, seed).comparisons
}

/// The record of such a run.
pub(crate) fn compare_until(
    end: RoundEnd,
    rows: usize,
    design: Design,
    arms: Arms,
    pairs: u32,
    seed: u64,
) -> Record {
    let subject = SimulatedSubject::op(Truth::QUIET);
    let session = SimSession::new(vec![subject.clone(); rows]);
    let target = |text: &str| TargetInfo { text: text.into(), ..super::target() };
    let of_target = |text: &str| -> Vec<PlannedRow> {
        let row = |index| PlannedRow {
            target: target(text),
            requested: end.failing == 0 || index < end.failing,
            ..row(index, &subject)
        };
        (0..rows).map(row).collect()
    };
    let treated = match design {
        Design::Toggle => attached(),
        Design::Twins | Design::Pairs | Design::Boots => applied(),
    };
    let sets = (0..rows).map(|row| ComparisonSet { design, base: row, news: vec![row + rows] });
    let ComparisonRows { rows, treatments: treated, sets } = ComparisonRows {
        rows: [of_target("local"), of_target("treated")].concat(),
        treatments: [vec![TreatmentSet::default(); rows], vec![treated; rows]].concat(),
        sets: sets.collect(),
    };
    let pairs = PairCount {
        min: pairs,
        max: pairs,
        spread: false,
        time_budget: Duration::ZERO,
        limit: end.limit,
    };
    let comparison = Some(ComparisonPlan { sets, pairs, measure_lone_bases: false });
    let request =
        Request { rows, treatments: treated, comparison, ..request(Profile::Quick, seed) };
    let mut session = SideBySide {
        inner: session,
        arms,
        is_attached: false,
        number: 0,
        workers: BTreeMap::new(),
        attaching: None,
        failing: end.failing,
        events: VecDeque::new(),
    };
    let mut assembler = Assembler::default();
    run(&mut session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    let record = assembler.record(false).unwrap();
    if record.comparisons.iter().any(|it| !it.control) {
        // A reader of estimates alone knows as well that the comparisons are void.
        let has_flag = |it: &Comparison| it.flags.iter().any(|flag| flag == "VOID");
        let estimates = assembler.estimates(false).unwrap();
        let is_void = record.comparisons.iter().any(has_flag);
        assert_eq!(assembler.has_violated_control(&estimates), is_void);
    }
    record
}
