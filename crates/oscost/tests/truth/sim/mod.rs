//! A simulated machine behind the session of a run: calibration, pilot, warm-up, batches,
//! rejection, rounds, stopping and estimates are the real ones.

#![expect(dead_code, reason = "each test program uses its own part of this")]

pub(crate) mod arms;
pub(crate) mod checks;
pub(crate) mod programs;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use oscost::estimate::Assembler;
use oscost::hosts::{HostError, Session};
use oscost::run::{EventCounting, Profile, Request, TrialBudget, run};
use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind, ClockSync, ClockVerdict};
use oscost_model::counters::{
    CountedSet, CounterEvent, CounterFacts, CounterProbe, CounterRead, CountingPlan, EventCounts,
};
use oscost_model::definition::Definition;
use oscost_model::facts::Facts;
use oscost_model::journal::{CaseVariation, Entry, PlannedRow, RunHeader};
use oscost_model::point::Point;
use oscost_model::protocol::{CpuProbe, Event, Hello, Order, PROTOCOL, WorkerBuild};
use oscost_model::record::{Record, Row, Settings, TargetInfo, Tool, WorkerProgram};
use oscost_model::study_method::StudyMethod;
use oscost_model::unit::Unit;
use oscost_model::worker::{Sample, Subject, Task, WorkerSpec};
use oscost_worker::bench::Shape;
use oscost_worker::engine::calibrate;
use oscost_worker::engine::clock_check::counter_problem;
use oscost_worker::engine::collect::{BatchJitter, SampleTag};
use oscost_worker::engine::events::refusal::open_error;
use oscost_worker::engine::pilot::pilot;
use oscost_worker::engine::simulator::counters::SimCounters;
use oscost_worker::engine::simulator::{CounterDefect, SimulatedMachine, Truth};
use oscost_worker::kernel::probe::perf::OpenError;

/// A benchmark of the simulated machine.
#[derive(Clone)]
pub(crate) struct SimulatedSubject {
    pub(crate) truth: Truth,
    pub(crate) shape: Shape,
    pub(crate) unit: Unit,
}

impl SimulatedSubject {
    pub(crate) fn op(truth: Truth) -> Self {
        Self { truth, shape: Shape::Repeat, unit: Unit::NsPerOp }
    }
}

/// A session with the simulated machine.
pub(crate) struct SimSession {
    subjects: Vec<SimulatedSubject>,
    hello: Hello,
    now_ns: f64,
    calibration: Option<(ClockKind, Calibration)>,
    /// How many workers can still count events.
    countings_left: u32,
    running: BTreeMap<u64, WorkerSpec>,
    events: VecDeque<Event>,
}

impl SimSession {
    pub(crate) fn new(subjects: Vec<SimulatedSubject>) -> Self {
        let mut facts = Facts::default();
        facts.cpu.allowed_cpus = Some(vec![0]);
        let hello = Hello {
            protocol: PROTOCOL,
            catalog_hash: "sim".into(),
            worker_hash: "sim".into(),
            build: WorkerBuild { link: "sim".into(), libc: "sim".into(), version: "0".into() },
            clocks: vec![ClockVerdict { kind: ClockKind::Tsc, unusable_reason: None }],
            facts,
            scratch_directory: None,
            ssh_endpoints: None,
            slurm_node: None,
        };
        Self::with(hello, subjects)
    }

    /// A machine whose supervisor has checked its clocks like a real one: the counter may be
    /// faulty, and the kernel may use another clocksource; the other clocks are good or missing.
    pub(crate) fn with_checked_clocks(
        subjects: Vec<SimulatedSubject>,
        clocksource: &str,
        vdso: Option<&str>,
    ) -> Self {
        let machine = SimulatedMachine::new(&subjects[0].truth, 1, 1e9);
        let tsc = counter_problem(&mut machine.clock(), Some(clocksource));
        let verdict = |(kind, why)| ClockVerdict { kind, unusable_reason: why };
        let mut session = Self::new(subjects);
        session.hello.clocks = [
            (ClockKind::Tsc, tsc),
            (ClockKind::Vdso, vdso.map(str::to_owned)),
            (ClockKind::Syscall, None),
        ]
        .map(verdict)
        .to_vec();
        session
    }

    /// A machine whose counters another program takes after so many workers have counted.
    pub(crate) fn with_counters(subjects: Vec<SimulatedSubject>, workers: u32) -> Self {
        let probe = |event| CounterProbe { event, refused: None };
        let mut session = Self::new(subjects);
        session.hello.facts.counters = CounterFacts {
            simultaneous: Some(6),
            read_by: Some(CounterRead::Read),
            events: CounterEvent::ALL.map(probe).to_vec(),
            ..CounterFacts::default()
        };
        session.countings_left = workers;
        session
    }

    fn with(hello: Hello, subjects: Vec<SimulatedSubject>) -> Self {
        Self {
            subjects,
            hello,
            now_ns: 1e9,
            calibration: None,
            countings_left: 0,
            running: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    fn subject_index(&self, spec: &WorkerSpec) -> usize {
        let Subject::Case(case) = &spec.subject else { panic!("a program") };
        case.benchmark.trim_start_matches("sim/op-").parse().unwrap()
    }

    fn subject(&self, spec: &WorkerSpec) -> &SimulatedSubject {
        &self.subjects[self.subject_index(spec)]
    }

    /// A new process, one millisecond after the last one.
    fn process(&mut self, spec: &WorkerSpec) -> (SimulatedMachine, Shape) {
        self.process_with(spec, None)
    }

    /// The same on a machine with a defect of its counters.
    fn process_with(
        &mut self,
        spec: &WorkerSpec,
        defect: Option<CounterDefect>,
    ) -> (SimulatedMachine, Shape) {
        self.now_ns += 1e6;
        let subject = self.subject(spec).clone();
        let mut truth = truth_for_clock(spec.clock.kind, &subject.truth);
        truth.execution.defect = defect.or(truth.execution.defect);
        (SimulatedMachine::new(&truth, spec.seed, self.now_ns), subject.shape)
    }

    fn go(&mut self, id: u64) -> Option<Event> {
        let spec = self.running.get(&id)?.clone();
        if let Task::CountEvents(plan) = &spec.task {
            return Some(self.count_events(id, &spec, plan));
        }
        let Task::Pilot { interruptions_per_s } = spec.task else { return None };
        let (machine, shape) = self.process(&spec);
        let mut work = machine.work(shape);
        let plan = pilot(&mut machine.collector(), &mut work, &spec.clock, interruptions_per_s);
        self.now_ns = machine.now_ns();
        Some(Event::Piloted { id, plan: plan.unwrap() })
    }

    /// Counts events of all sets, as a worker does.
    fn count_events(&mut self, id: u64, spec: &WorkerSpec, plan: &CountingPlan) -> Event {
        let defect = (self.countings_left == 0).then_some(CounterDefect::Taken);
        self.countings_left = self.countings_left.saturating_sub(1);
        let (machine, shape) = self.process_with(spec, defect);
        let mut work = machine.work(shape);
        let mut collector = machine.collector();
        collector.warm_up_to_count(&mut work, &plan.batches).unwrap();
        let opened = collector.open_account();
        let mut jitter = BatchJitter::new(spec.seed);
        let mut sets = Vec::new();
        for events in &plan.sets {
            sets.push(match SimCounters::open(&machine, events) {
                Ok(mut counters) => {
                    let (plan, deferred) = (&plan.batches, plan.deferred_work_ns);
                    collector
                        .count_set(&mut work, plan, deferred, &mut jitter, 0, &mut counters)
                        .unwrap()
                }
                Err(OpenError { event, errno }) => CountedSet {
                    events: events.clone(),
                    void: Some(format!(
                        "cannot count {}: {}",
                        event.perf_name(),
                        open_error(errno)
                    )),
                    ..CountedSet::default()
                },
            });
        }
        let disturbance = Box::new(collector.close_account(&opened));
        self.now_ns = machine.now_ns();
        let counts = EventCounts {
            read_by: CounterRead::Read,
            inherited: plan.inherits,
            times_itself: false,
            kernel: true,
            sets,
            disturbance,
        };
        Event::EventsCounted { id, counts: Box::new(counts) }
    }

    fn stop(&mut self, id: u64) -> Event {
        let spec = self.running.remove(&id).unwrap();
        let Task::Measure(plan) = &spec.task else { panic!("stopped a job that does not measure") };
        let (machine, shape) = self.process(&spec);
        let mut work = machine.work(shape);
        let mut collector = machine.collector();
        collector.warm_up(&mut work, plan).unwrap();
        let opened = collector.open_account();
        let mut cut = BatchJitter::new(spec.seed);
        let mut samples: Vec<Sample> = Vec::new();
        for round in 0..plan.groups {
            let tag = SampleTag { arm: 0, round, batch: samples.len() as u32 };
            let mut keep = |sample| samples.push(sample);
            match spec.windows_of_group(round, plan.groups) {
                None => collector.time_group(&mut work, plan, &mut cut, tag, &mut keep),
                Some(windows) => {
                    collector.time_windows(&mut work, plan, windows, &mut cut, tag, &mut keep)
                }
            }
            .unwrap();
        }
        let account = collector.close_account(&opened);
        // Its time is no part of what is simulated.
        self.now_ns = machine.now_ns();
        let disturbance = Box::new(collector.with_core_rate(account, &spec.clock));
        Event::Sampled {
            id,
            samples,
            disturbance,
            monitor_wakeups_per_op: vec![],
            speculation: vec![],
            plan: None,
        }
    }

    /// The calibration of the clock by the worker's code; computed once, unless the clock is
    /// faulty.
    fn calibrate(&mut self, kind: ClockKind) -> (Calibration, ClockSync) {
        let truth = truth_for_clock(kind, &self.subjects[0].truth);
        let machine = SimulatedMachine::new(&truth, 1, self.now_ns);
        let mut clock = machine.clock();
        let is_healthy = truth.pathology.is_none();
        let answer = match self.calibration.filter(|(of, _)| is_healthy && *of == kind) {
            Some((_, known)) => (known, calibrate::sync(&mut clock)),
            None => {
                let clock = calibrate::calibrate(&mut clock).unwrap();
                (Calibration { kind, ..clock.calibration }, clock.sync)
            }
        };
        self.calibration = Some((kind, answer.0));
        self.now_ns = machine.now_ns();
        answer
    }

    fn probe(&self, spin_ms: u64) -> CpuProbe {
        let truth = &self.subjects[0].truth;
        let hits = truth.preemptions_per_s * spin_ms as f64 / 1e3;
        CpuProbe {
            cpu: 0,
            spin_ns: spin_ms * 1_000_000,
            gaps_over_1us: hits as u64,
            gaps_over_5us: hits as u64,
            lost_ns: (hits * truth.preemption_ns) as u64,
            max_gap_ns: truth.preemption_ns as u64,
            run_delay_ns: None,
            core_cycles_per_ns: None,
        }
    }
}

impl Session for SimSession {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let answer = match order {
            Order::Measure { id, spec } => {
                self.running.insert(*id, (**spec).clone());
                Some(Event::Ready { id: *id, pid: 1, addr: None })
            }
            Order::Lock { id, .. } | Order::Attach { id, .. } => {
                Some(Event::Ready { id: *id, pid: 1, addr: None })
            }
            Order::Go { id, .. } => self.go(*id),
            Order::Stop { id } => Some(self.stop(*id)),
            Order::Count { id, .. } => {
                let count = CallCount { ops: 23, by: "sim".into(), ..CallCount::default() };
                Some(Event::Counted { id: *id, count: Box::new(count) })
            }
            Order::CountProcess { id, .. } => {
                Some(Event::FormsCounted { id: *id, calls: Box::default() })
            }
            Order::Probe { id, spin_ms, .. } => {
                Some(Event::Probed { id: *id, cpus: vec![self.probe(*spin_ms)] })
            }
            Order::Serve { id, .. } => Some(Event::Served { id: *id, unauthorised_connections: 0 }),
            Order::Watch { id, .. } => Some(Event::Watched { id: *id, activity: Box::default() }),
            Order::Calibrate { id, clock, .. } => {
                let (calibration, sync) = self.calibrate(*clock);
                Some(Event::Calibrated { id: *id, calibration, sync })
            }
        };
        self.events.extend(answer);
        Ok(())
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.events.pop_front().ok_or(HostError::TimedOut(patience))
    }
}

/// The machine as a clock shows it: only the counter can be faulty.
fn truth_for_clock(kind: ClockKind, truth: &Truth) -> Truth {
    match kind {
        ClockKind::Tsc => truth.clone(),
        _ => Truth { pathology: None, ..truth.clone() },
    }
}

fn definition(index: usize, unit: Unit) -> Definition {
    Definition {
        id: format!("sim/op-{index}"),
        asks: "What is the true value?".into(),
        op: String::new(),
        expected: String::new(),
        unit,
        explanation: String::new(),
        calls: vec![],
        floor: vec![],
        compare_with: vec![],
        axes: vec![],
        needs: vec![],
        in_price_list: true,
        switches: false,
        major_faults: false,
        bytes_axis: String::new(),
        peer_may_be_remote: false,
        setup_us: Point::none(),
        rev: 1,
        source: String::new(),
    }
}

fn target() -> TargetInfo {
    TargetInfo {
        text: "sim".into(),
        host: "sim".into(),
        treatments: vec![],
        machine: "m0".into(),
        cpu: None,
        peer: None,
    }
}

/// The row of a benchmark of the simulated machine.
fn row(index: usize, subject: &SimulatedSubject) -> PlannedRow {
    PlannedRow {
        case: Case::new(format!("sim/op-{index}"), Point::none()),
        definition: definition(index, subject.unit),
        target: target(),
        requested: true,
        is_reference: false,
        is_refinement: false,
        monitored: false,
        workload: None,
        study_method: None,
    }
}

/// A request without rows.
fn request(profile: Profile, seed: u64) -> Request {
    let worker = WorkerProgram {
        hash: String::new(),
        link: String::new(),
        libc: String::new(),
        catalog: String::new(),
    };
    Request {
        treatments: Vec::new(),
        comparison: None,
        header: RunHeader {
            id: "sim".into(),
            started_at: String::new(),
            label: None,
            command: vec![],
            tool: Tool { version: String::new(), commit: None, rustc: None, worker },
            settings: Settings {
                seed,
                profile: profile.text().into(),
                precision_pct: profile.precision_pct(),
                nominal: profile.nominal().share(),
                budget_s: None,
                study: None,
                predictions: Vec::new(),
            },
        },
        machine: oscost_model::record::Machine::new("m0", Facts::default(), vec![]),
        tracers: vec![],
        rows: vec![],
        timers: vec![],
        profile,
        budget: None,
        refine: false,
        trials: TrialBudget::default(),
        skipped: Vec::new(),
        event_counting: EventCounting::default(),
        requested_cpu: None,
        peer_cpu: None,
    }
}

/// The record of a whole run on the simulated machine.
pub(crate) fn measure(subjects: &[SimulatedSubject], profile: Profile, seed: u64) -> Record {
    measure_in(SimSession::new(subjects.to_vec()), profile, seed)
}

/// The record of a quick run with what earlier runs show of the variation of its rows.
pub(crate) fn measure_with_variation(
    subjects: &[SimulatedSubject],
    known: impl Fn(&[Row]) -> Vec<CaseVariation>,
    seed: u64,
) -> Record {
    let mut session = SimSession::new(subjects.to_vec());
    let rows = subjects.iter().enumerate().map(|(index, subject)| row(index, subject)).collect();
    let request = Request { rows, ..request(Profile::Quick, seed) };
    let mut assembler = Assembler::default();
    run(&mut session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    let cases = known(&assembler.record(false).unwrap().results);
    assembler.apply(&Entry::VariationKnown { cases });
    assembler.record(false).unwrap()
}

/// The record of one subject that is also measured by the method of a study.
pub(crate) fn measure_with_study_method(
    subject: &SimulatedSubject,
    study_method: Option<StudyMethod>,
    seed: u64,
) -> Record {
    measure_with_study_method_in(
        &mut SimSession::new(vec![subject.clone()]),
        subject,
        study_method,
        seed,
    )
}

/// The same in any session.
pub(crate) fn measure_with_study_method_in(
    session: &mut dyn Session,
    subject: &SimulatedSubject,
    study_method: Option<StudyMethod>,
    seed: u64,
) -> Record {
    let rows = vec![PlannedRow { study_method, ..row(0, subject) }];
    let request = Request { rows, ..request(Profile::Quick, seed) };
    let mut assembler = Assembler::default();
    run(session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    assembler.record(false).unwrap()
}

/// The same in a given session.
pub(crate) fn measure_in(session: SimSession, profile: Profile, seed: u64) -> Record {
    measure_and_count_in(session, profile, seed, EventCounting::default())
}

/// The same with events counted in these rounds.
pub(crate) fn measure_and_count_in(
    mut session: SimSession,
    profile: Profile,
    seed: u64,
    event_counting: EventCounting,
) -> Record {
    let subjects = session.subjects.clone();
    let rows = subjects.iter().enumerate().map(|(index, subject)| row(index, subject)).collect();
    let mut request = Request { rows, event_counting, ..request(profile, seed) };
    request.machine.counters = session.hello.facts.counters.clone();
    let mut assembler = Assembler::default();
    run(&mut session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    assembler.record(false).unwrap()
}

/// The only row of a run of one subject.
pub(crate) fn measure_one(subject: &SimulatedSubject, profile: Profile, seed: u64) -> Row {
    measure(std::slice::from_ref(subject), profile, seed).results.remove(0)
}
