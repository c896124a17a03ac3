//! A session with the worker.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use oscost::estimate::{SampleContext, worker_value};
use oscost::hosts::{LocalSession, Session};
use oscost_model::case::Case;
use oscost_model::clock::Calibration;
use oscost_model::counters::{CounterFacts, CountingPlan, EventCounts};
use oscost_model::protocol::{Event, Order};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Sample, Subject, Task, WorkerSpec};

/// The figure of a process from its batches, with the estimator that every run uses.
pub(super) fn estimate(
    samples: &[Sample],
    plan: &BatchPlan,
    clock: &Calibration,
    switches: bool,
) -> Option<f64> {
    let context = SampleContext { plan, clock, unit: Unit::NsPerOp, switches, major_faults: false };
    worker_value(samples, 0, context).value
}

/// The memory of a process whose page tables fork(2) copies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Its mappings, without those that it keeps from forks.
    pub(super) mappings: usize,
    /// Pages of private memory that it has written.
    pub(super) pages: usize,
    /// Its page tables, also those of pages that a fork does not copy.
    pub(super) page_table_kib: usize,
}

impl Memory {
    fn of(pid: u32) -> anyhow::Result<Self> {
        let smaps = fs::read_to_string(format!("/proc/{pid}/smaps"))?;
        // The last mapping belongs to no process, and no fork copies it (x86).
        let of_process = smaps.split("[vsyscall]").next().unwrap_or_default();
        let kib = |line: &str| -> Option<usize> {
            line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB")?.parse().ok()
        };
        let is_copied = |line: &&str| {
            line.strip_prefix("VmFlags:")
                .is_some_and(|flags| flags.split_whitespace().all(|flag| flag != "dc"))
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let page_tables = status.lines().find_map(|line| {
            line.strip_prefix("VmPTE:")?.trim().strip_suffix(" kB")?.trim().parse().ok()
        });
        Ok(Self {
            mappings: of_process.lines().filter(is_copied).count(),
            pages: smaps.lines().filter_map(kib).sum::<usize>() / 4,
            page_table_kib: page_tables.context("no VmPTE in /proc/PID/status")?,
        })
    }
}

/// A session with the worker.
pub(super) struct WorkerSession<'a> {
    session: LocalSession<'a>,
    /// The CPU that both sides run on.
    pub(super) cpu: u32,
    /// Another one, for the other end of a pipe.
    pub(super) other_cpu: Option<u32>,
    /// The calibration of its clock.
    pub(super) clock: Calibration,
    /// The memory of a worker after its batches; read once.
    memory: Option<Memory>,
    interruptions_per_s: f64,
    last_id: u64,
}

impl<'a> WorkerSession<'a> {
    /// Finds a CPU and a clock, as a run does.
    pub(super) fn start(session: LocalSession<'a>) -> anyhow::Result<Self> {
        let hello = session.hello();
        let cpus = hello.facts.cpu.allowed_cpus.as_ref();
        let cpu = cpus.and_then(|cpus| cpus.last().copied()).unwrap_or(0);
        let other_cpu = cpus.and_then(|cpus| cpus.iter().copied().find(|&other| other != cpu));
        let mut usable = hello.clocks.iter().filter(|clock| clock.unusable_reason.is_none());
        let clock = usable.next().context("no clock can be used")?.kind;
        let unknown = Calibration {
            kind: clock,
            ticks_per_ns: 1.0,
            quantum_ticks: 1.0,
            inside_ticks: 0.0,
            pair_ticks: 0.0,
        };
        let mut worker = Self {
            session,
            cpu,
            other_cpu,
            clock: unknown,
            memory: None,
            interruptions_per_s: 0.0,
            last_id: 0,
        };
        let id = worker.id();
        match worker.answer(&Order::Probe { id, cpus: vec![cpu], spin_ms: 200, clock })? {
            Event::Probed { cpus, .. } => {
                let probed = cpus.first().context("the CPU cannot be probed")?;
                worker.interruptions_per_s = probed.interruptions_per_s();
            }
            other => bail!("cannot probe CPU {cpu}: {other:?}"),
        }
        let id = worker.id();
        match worker.answer(&Order::Calibrate { id, cpu: Some(cpu), clock })? {
            Event::Calibrated { calibration, .. } => worker.clock = calibration,
            other => bail!("cannot calibrate the clock: {other:?}"),
        }
        Ok(worker)
    }

    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn answer(&mut self, order: &Order) -> anyhow::Result<Event> {
        self.session.send(order)?;
        Ok(self.session.next(Duration::from_secs(60))?)
    }

    /// Makes a worker do its task, as a run does.
    fn worker(&mut self, case: &Case, task: Task) -> anyhow::Result<Event> {
        let id = self.id();
        let batches = match &task {
            Task::Measure(plan) => plan.groups,
            _ => 1,
        };
        let stops = matches!(task, Task::Measure(_));
        let subject = Subject::Case(case.clone());
        let spec = WorkerSpec {
            seed: id,
            cpu: Some(self.cpu),
            ..WorkerSpec::new(subject, task, self.clock, 30_000)
        };
        let pid = match self.answer(&Order::Measure { id, spec: Box::new(spec) })? {
            Event::Ready { pid, .. } => pid,
            other => bail!("cannot measure {case}: {other:?}"),
        };
        self.session.send(&Order::Go { id, batches, arm: 0 })?;
        if stops {
            if self.memory.is_none() {
                // Long enough for its batches; then the worker waits for further orders.
                thread::sleep(Duration::from_millis(500));
                self.memory = Some(Memory::of(pid)?);
            }
            self.session.send(&Order::Stop { id })?;
        }
        Ok(self.session.next(Duration::from_secs(60))?)
    }

    pub(super) fn plan(&mut self, case: &Case) -> anyhow::Result<BatchPlan> {
        let interruptions_per_s = self.interruptions_per_s;
        match self.worker(case, Task::Pilot { interruptions_per_s })? {
            Event::Piloted { plan, .. } => Ok(plan),
            other => bail!("the pilot of {case} found nothing: {other:?}"),
        }
    }

    /// The memory of a worker that has run its batches; any case will do.
    pub(super) fn memory(&mut self) -> anyhow::Result<Memory> {
        let case = Case::parse("syscall/getppid:via=raw").context("no case")?;
        let plan = self.plan(&case)?;
        self.value(&case, &plan, false)?;
        self.memory.context("no worker's memory was read")
    }

    /// How the worker is linked.
    pub(super) fn linked(&self) -> String {
        self.session.hello().build.link.clone()
    }

    /// The counters of its machine.
    pub(super) fn counters(&self) -> &CounterFacts {
        &self.session.hello().facts.counters
    }

    /// The counts of a fresh process for a case.
    pub(super) fn counts(
        &mut self,
        case: &Case,
        plan: CountingPlan,
    ) -> anyhow::Result<EventCounts> {
        match self.worker(case, Task::CountEvents(plan))? {
            Event::EventsCounted { counts, .. } => Ok(*counts),
            other => bail!("the events of {case} were not counted: {other:?}"),
        }
    }

    /// The figure of a fresh process for a case.
    pub(super) fn value(
        &mut self,
        case: &Case,
        plan: &BatchPlan,
        switches: bool,
    ) -> anyhow::Result<Option<f64>> {
        match self.worker(case, Task::Measure(plan.clone()))? {
            Event::Sampled { samples, .. } => Ok(estimate(&samples, plan, &self.clock, switches)),
            other => bail!("{case} was not measured: {other:?}"),
        }
    }
}
