//! Arms side by side on a made-up machine: fork twins, toggled workers and pairs of workers come from
//! the real run, what they cost from the truth.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use oscost::estimate::Assembler;
use oscost::hosts::{HostError, Session};
use oscost::plan::{ComparisonRows, ComparisonSet};
use oscost::run::{ComparisonPlan, PairCount, run};
use oscost::run::{Profile, Request};
use oscost_model::journal::{Design, Entry, PlannedRow};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Comparison, TargetInfo};
use oscost_model::seed::Seed;
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment, TreatmentSet};
use oscost_model::worker::{BatchPlan, Sample, Task, WorkerSpec};
use oscost_worker::engine::collect::{BatchJitter, SampleTag};
use oscost_worker::engine::simulator::{SimulatedMachine, Truth};

use super::{SimSession, Subject0, request, row};

/// What is true of arms side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arms {
    /// Log standard deviation between the arms of a worker.
    pub(crate) pair_sd: f64,
    /// What is compared costs so much more.
    pub(crate) effect: f64,
    /// Whatever stands second costs so much more, treated or not.
    pub(crate) bias: f64,
    /// All costs grow by this share in a second.
    pub(crate) drift_per_s: f64,
    /// Whoever is treated may not speculate.
    pub(crate) forbids: bool,
}

/// The treatment that costs what the truth says, done to a process.
fn applied() -> TreatmentSet {
    TreatmentSet { applied: vec![AppliedTreatment::Sud], attached: vec![] }
}

/// The same, done to the system.
fn attached() -> TreatmentSet {
    TreatmentSet { applied: vec![], attached: vec![AttachedTreatment::Ftrace] }
}

/// A session with a machine on which arms can stand side by side.
struct SideBySide {
    inner: SimSession,
    arms: Arms,
    is_attached: bool,
    /// Two workers of one seed are two processes for all that.
    number: u64,
    workers: BTreeMap<u64, Waiting>,
    attaching: Option<u64>,
    events: VecDeque<Event>,
}

/// A worker that is toggled.
struct Waiting {
    spec: WorkerSpec,
    cuts: [BatchJitter; 2],
    rounds: [u32; 2],
    samples: Vec<Sample>,
}

impl SideBySide {
    /// What an arm of a worker costs, as a factor.
    fn factor(&self, spec: &WorkerSpec, arm: u8, is_treated: bool) -> f64 {
        let between_sd = self.inner.subject(spec).truth.between_sd;
        let process = (between_sd * normal(spec.seed)).exp();
        let own =
            (self.arms.pair_sd * normal(spec.seed ^ self.number << 8 ^ (u64::from(arm) + 1))).exp();
        let effect = if is_treated { 1.0 + self.arms.effect } else { 1.0 };
        let bias = if arm == 1 { 1.0 + self.arms.bias } else { 1.0 };
        process * own * effect * bias
    }

    /// Times one group of an arm.
    fn group(
        &mut self,
        spec: &WorkerSpec,
        factor: f64,
        tag: SampleTag,
        cut: &mut BatchJitter,
    ) -> Vec<Sample> {
        let Task::Measure(plan) = &spec.task else { panic!("only measuring has groups") };
        let subject = self.inner.subject(spec).clone();
        let truth = Truth {
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
        machine.collector().time_group(&mut work, plan, cut, tag, &mut keep).unwrap();
        self.inner.now_ns = machine.now_ns();
        samples
    }

    /// What the arms' status would say.
    fn speculation(&self, spec: &WorkerSpec) -> Vec<Option<String>> {
        let word = |applied: &Vec<AppliedTreatment>| match self.arms.forbids && !applied.is_empty()
        {
            true => "thread force mitigated",
            false => "thread vulnerable",
        };
        spec.treatments.iter().map(|applied| Some(word(applied).to_owned())).collect()
    }

    fn plan(spec: &WorkerSpec) -> &BatchPlan {
        let Task::Measure(plan) = &spec.task else { panic!("only measuring has a plan") };
        plan
    }

    /// A worker with all its arms, in turns that change from round to round.
    fn whole(&mut self, spec: &WorkerSpec) -> Vec<Sample> {
        let treated =
            |arm: u8| spec.treatments.get(usize::from(arm)).is_some_and(|list| !list.is_empty());
        let mut cuts: Vec<BatchJitter> =
            (0..spec.arms).map(|_| BatchJitter::new(spec.seed)).collect();
        let mut samples = Vec::new();
        for round in 0..Self::plan(spec).groups {
            let mut order: Vec<u8> = (0..spec.arms).collect();
            let turn = round as usize % order.len();
            order.rotate_left(turn);
            for arm in order {
                let is_treated = treated(arm) || self.is_attached;
                let factor = self.factor(spec, arm, is_treated);
                let tag = SampleTag { arm, round, batch: 0 };
                samples.extend(self.group(spec, factor, tag, &mut cuts[usize::from(arm)]));
            }
        }
        samples
    }

    fn turn(&mut self, id: u64, groups: u32, arm: u8) -> Event {
        let mut waiting = self.workers.remove(&id).unwrap();
        let at = usize::from(arm);
        for _ in 0..groups {
            // One process: it has no arms of its own.
            let bias = if arm == 1 { 1.0 + self.arms.bias } else { 1.0 };
            let factor = self.factor(&waiting.spec, 0, self.is_attached) * bias;
            let tag = SampleTag { arm, round: waiting.rounds[at], batch: 0 };
            let spec = waiting.spec.clone();
            let found = self.group(&spec, factor, tag, &mut waiting.cuts[at]);
            waiting.samples.extend(found);
            waiting.rounds[at] += 1;
        }
        self.workers.insert(id, waiting);
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
                let cuts = [BatchJitter::new(spec.seed), BatchJitter::new(spec.seed)];
                let waiting =
                    Waiting { spec: (**spec).clone(), cuts, rounds: [0; 2], samples: Vec::new() };
                self.workers.insert(*id, waiting);
                Some(Event::Ready { id: *id, pid: 1, addr: None })
            }
            Order::Go { id, batches, arm } if self.workers.contains_key(id) => {
                let toggled = self.workers[id].spec.toggled;
                toggled.then(|| self.turn(*id, *batches, *arm))
            }
            Order::Stop { id } if self.workers.contains_key(id) => {
                let waiting = self.workers.remove(id).unwrap();
                self.inner.now_ns += 1e6;
                self.number += 1;
                let speculation = self.speculation(&waiting.spec);
                let samples = match waiting.spec.toggled {
                    true => waiting.samples,
                    false => self.whole(&waiting.spec),
                };
                let disturbance = Box::default();
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
                // Of a control nothing is attached.
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

/// So many rows, each compared with itself under a treatment; what the run says of them.
pub(crate) fn compare(
    rows: usize,
    design: Design,
    arms: Arms,
    pairs: u32,
    seed: u64,
) -> Vec<Comparison> {
    let subject = Subject0::op(Truth::QUIET);
    let session = SimSession::new(vec![subject.clone(); rows]);
    let target = |text: &str| TargetInfo { text: text.into(), ..super::target() };
    let of_target = |text: &str| -> Vec<PlannedRow> {
        (0..rows).map(|index| PlannedRow { target: target(text), ..row(index, &subject) }).collect()
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
    let pairs = PairCount { min: pairs, max: pairs, spread: false, time_budget: Duration::ZERO };
    let contest = Some(ComparisonPlan { sets, pairs, measure_lone_bases: false });
    let request =
        Request { rows, treatments: treated, comparison: contest, ..request(Profile::Quick, seed) };
    let mut session = SideBySide {
        inner: session,
        arms,
        is_attached: false,
        number: 0,
        workers: BTreeMap::new(),
        attaching: None,
        events: VecDeque::new(),
    };
    let mut assembler = Assembler::default();
    run(&mut session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    assembler.record(false).unwrap().comparisons
}
