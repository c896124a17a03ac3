//! Commands on a simulated machine: warm-ups, turns, looks, counting and comparisons are those of
//! the real run; the times and the instructions of the programs are the known true ones.

use std::collections::VecDeque;
use std::time::Duration;

use oscost::estimate::Assembler;
use oscost::hosts::{HostError, Session};
use oscost::plan::ComparisonSet;
use oscost::run::{ComparisonPlan, PairCount, Profile, Request, TrialBudget, run};
use oscost_model::counters::{CounterEvent, CounterFacts, EventTotal, TreeCounts};
use oscost_model::journal::{Design, Entry, PlannedRow};
use oscost_model::program::{
    Program, ProgramResult, REAL, TreeUsage, TrialTime, TurnResult, Workload,
};
use oscost_model::protocol::{Event, Hello, Order, TurnFailure};
use oscost_model::record::Record;
use oscost_model::seed::Seed;
use oscost_model::unit::Unit;
use oscost_model::worker::{Subject, Task, WorkerSpec};
use oscost_worker::engine::simulator::Truth;

use super::{SimSession, SimulatedSubject, request, row};

/// The true properties of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramTruth {
    /// Its CPU time, two thirds of which are in user mode.
    pub(crate) cpu_ns: f64,
    /// The time in which it waits.
    pub(crate) wait_ns: f64,
    /// Both vary by this share between trials.
    pub(crate) sd: f64,
    /// Its instructions.
    pub(crate) instructions: f64,
    /// The clock tick that divides CPU time into both modes; `None` if it is divided exactly.
    pub(crate) tick_ns: Option<f64>,
    /// The number of the trial that fails, if one does.
    pub(crate) failing_trial: Option<u32>,
    /// What other programs do to its CPU time.
    pub(crate) load: Load,
}

/// What other programs do to the CPU time of trials, as logarithms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// A trial takes longer by this while the other thread of the core computes.
    pub(crate) of_sibling: f64,
    /// In this share of trials that thread begins to compute, or stops.
    pub(crate) turns: f64,
    /// Every second trial is preempted, and takes longer by this on average (exponential).
    pub(crate) of_preemption: f64,
    /// All trials become longer by this each second.
    pub(crate) drift_per_s: f64,
}

impl Load {
    /// Nothing else runs.
    pub(crate) const NONE: Self =
        Self { of_sibling: 0.0, turns: 0.0, of_preemption: 0.0, drift_per_s: 0.0 };
    /// Programs that compute take turns with it, and the core becomes slower.
    pub(crate) const BUSY: Self =
        Self { of_sibling: 0.3, turns: 0.05, of_preemption: 0.1, drift_per_s: 0.003 };
}

impl ProgramTruth {
    /// A program that computes for 10 ms.
    pub(crate) const BUSY: Self = Self {
        cpu_ns: 1e7,
        wait_ns: 0.0,
        sd: 0.000_5,
        instructions: 3e7,
        tick_ns: None,
        failing_trial: None,
        load: Load::NONE,
    };
}

/// The time of a run of commands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTime {
    pub(crate) trials: TrialTime,
    pub(crate) min_trials: u32,
    /// The limit of the whole run.
    pub(crate) limit: Option<Duration>,
}

impl RunTime {
    /// That of `oscost ab`.
    pub(crate) const USUAL: Self = Self {
        trials: TrialTime { first_look_s: 20.0, last_look_s: Some(61.0) },
        min_trials: 20,
        limit: None,
    };
}

/// A session with a machine that has these programs, named by their numbers.
struct ProgramSession {
    inner: SimSession,
    truths: Vec<ProgramTruth>,
    /// The trials of each program so far, without its warm-ups.
    trials: Vec<u32>,
    /// Whether the other thread of the core computes.
    is_sibling_busy: bool,
    now_ns: f64,
    random: Seed,
    events: VecDeque<Event>,
}

impl ProgramSession {
    fn number(program: &Program) -> usize {
        program.command[0].parse().unwrap()
    }

    /// How much of this CPU time is in user mode: two thirds, or what the ticks show.
    fn user_ns(&mut self, cpu_ns: f64, tick_ns: Option<f64>) -> f64 {
        const USER_SHARE: f64 = 2.0 / 3.0;
        let Some(tick_ns) = tick_ns else { return USER_SHARE * cpu_ns };
        let ticks = (cpu_ns / tick_ns + self.random.unit()) as u32;
        let of_user = (0..ticks).filter(|_| self.random.unit() < USER_SHARE).count();
        // Without a tick all of it is user time (cputime_adjust() in kernel/sched/cputime.c).
        if ticks == 0 { cpu_ns } else { cpu_ns * of_user as f64 / f64::from(ticks) }
    }

    /// A deviate of mean 0 and standard deviation 1: the sum of twelve uniform ones.
    fn deviate(&mut self) -> f64 {
        (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0
    }

    /// How much longer a trial takes with this load, as a logarithm.
    fn slowed(&mut self, load: Load) -> f64 {
        let mut slower = load.drift_per_s * 1e-9 * self.now_ns;
        if load.turns > 0.0 && self.random.unit() < load.turns {
            self.is_sibling_busy = !self.is_sibling_busy;
        }
        if self.is_sibling_busy {
            slower += load.of_sibling;
        }
        if load.of_preemption > 0.0 && self.random.unit() < 0.5 {
            slower -= load.of_preemption * (1.0 - self.random.unit()).ln();
        }
        slower
    }

    fn run_once(&mut self, program: usize, counted: &[CounterEvent]) -> ProgramResult {
        let truth = self.truths[program];
        let slowed = self.slowed(truth.load);
        let factor = (truth.sd * self.deviate() + slowed).exp();
        let (cpu_ns, wait_ns) = (truth.cpu_ns * factor, truth.wait_ns * factor);
        let user_ns = self.user_ns(cpu_ns, truth.tick_ns);
        self.now_ns += cpu_ns + wait_ns;
        let usage = TreeUsage {
            user_ns: user_ns as u64,
            system_ns: (cpu_ns - user_ns) as u64,
            peak_bytes: 2 << 20,
            minor_faults: 60,
            // That of its exit, and one for its wait.
            voluntary_switches: if wait_ns > 0.0 { 2 } else { 1 },
            ..TreeUsage::default()
        };
        let instructions = truth.instructions * (1.0 + 1e-6 * self.deviate());
        let total = |event: CounterEvent| EventTotal {
            event,
            count: match event {
                CounterEvent::InstructionsUser => instructions as u64,
                CounterEvent::InstructionsKernel => 100_000,
                _ => cpu_ns as u64,
            },
        };
        let counts = (!counted.is_empty()).then(|| TreeCounts {
            counts: counted.iter().copied().map(total).collect(),
            kernel: true,
            ..TreeCounts::default()
        });
        ProgramResult { real_ns: (cpu_ns + wait_ns) as u64, usage, counts, ..Default::default() }
    }

    fn take_turns(&mut self, id: u64, spec: &WorkerSpec, programs: &[Program]) -> Event {
        let Task::TakeTurns { order, .. } = &spec.task else { panic!("no turns: {:?}", spec.task) };
        let start_ns = self.now_ns;
        let mut trials = Vec::new();
        for &program in order {
            let number = Self::number(&programs[usize::from(program)]);
            self.trials[number] += 1;
            if self.truths[number].failing_trial == Some(self.trials[number] - 1) {
                let reason = "it broke".to_owned();
                let event = Event::Failed { id, at_op: None, reason, errno: None, arm: None };
                let failure = Some(TurnFailure { program, event: Box::new(event) });
                return Event::TurnsTaken { id, trials, failure, group: None };
            }
            let result = self.run_once(number, &[]);
            let ended_ns = (self.now_ns - start_ns) as u64;
            trials.push(TurnResult { program, ended_ns, result });
        }
        Event::TurnsTaken { id, trials, failure: None, group: None }
    }
}

impl Session for ProgramSession {
    fn hello(&self) -> &Hello {
        self.inner.hello()
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let Order::Measure { id, spec } = order else { return self.inner.send(order) };
        let answer = match &spec.subject {
            Subject::Case(_) => return self.inner.send(order),
            Subject::Programs(programs) => self.take_turns(*id, spec, programs),
            Subject::Program(program) => {
                let Task::Run { counted, .. } = &spec.task else { panic!("{:?}", spec.task) };
                let result = self.run_once(Self::number(program), counted);
                Event::ProgramExited { id: *id, result: Box::new(result) }
            }
        };
        self.events.push_back(answer);
        Ok(())
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        match self.events.pop_front() {
            Some(event) => Ok(event),
            None => self.inner.next(patience),
        }
    }
}

/// The row of a command.
fn command(number: usize, time: RunTime) -> PlannedRow {
    let workload = Workload {
        program: Program {
            command: vec![number.to_string()],
            working_directory: Some("/".to_owned()),
            ..Program::default()
        },
        file: None,
        one_cpu: false,
        trials: 20_000,
        min_trials: time.min_trials,
        time: Some(time.trials),
        figures: Vec::new(),
        primary: REAL.to_owned(),
        sampled: Vec::new(),
    };
    let subject = SimulatedSubject { unit: Unit::Seconds, ..SimulatedSubject::op(Truth::QUIET) };
    PlannedRow { workload: Some(Box::new(workload)), ..row(number, &subject) }
}

/// The record of a run that compares the first of these programs with the others, or measures the
/// only one; `counters` says whether instructions can be counted.
pub(crate) fn run_commands(
    truths: &[ProgramTruth],
    time: RunTime,
    counters: bool,
    seed: u64,
) -> Record {
    let subject = SimulatedSubject::op(Truth::QUIET);
    let inner = match counters {
        true => SimSession::with_counters(vec![subject], u32::MAX),
        false => SimSession::new(vec![subject]),
    };
    let facts: CounterFacts = inner.hello.facts.counters.clone();
    let mut session = ProgramSession {
        inner,
        truths: truths.to_vec(),
        trials: vec![0; truths.len()],
        is_sibling_busy: false,
        now_ns: 1e9,
        random: Seed::new(seed),
        events: VecDeque::new(),
    };
    let pairs =
        PairCount { min: 8, max: 8, spread: false, time_budget: Duration::ZERO, limit: None };
    let set = ComparisonSet { design: Design::Pairs, base: 0, news: (1..truths.len()).collect() };
    let comparison = ComparisonPlan { sets: vec![set], pairs, measure_lone_bases: false };
    let mut request = Request {
        rows: (0..truths.len()).map(|number| command(number, time)).collect(),
        comparison: (truths.len() > 1).then_some(comparison),
        trials: TrialBudget { run_limit: time.limit, ..TrialBudget::default() },
        ..request(Profile::Quick, seed)
    };
    request.machine.counters = facts;
    // The default of a run is not that of a quick one, which counts no events of programs.
    request.header.settings.profile = "default".to_owned();
    let mut assembler = Assembler::default();
    run(&mut session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    assembler.record(false).unwrap()
}
