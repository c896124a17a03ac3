//! A job: the process that measures, fresh for each repetition.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;

use oscost_model::clock::ClockKind;
use oscost_model::protocol::{CpuProbe, Event, Order, PEER_UNREACHABLE_HINT};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{RemoteEnd, Subject, Task, WorkerSpec};

use super::measure::measure;
use super::{attach, needs, tracer, trial, watch};
use crate::bench::{Context, OpError, Params, Work};
use crate::benchmarks;
use crate::engine::clock::{Clock, Syscall, Tsc, Vdso};
use crate::engine::disturb::Kernel;
use crate::engine::{calibrate, count, exact, probe};
use crate::kernel::cpu::affinity;
use crate::kernel::net::token_listener::{Door, Far, Token};
use crate::kernel::process::signal;
use crate::kernel::time::stopwatch::Stopwatch;
use crate::kernel::time::vdso::ClockGettime;
use crate::kernel::{Errno, SILENCE, process};
use crate::treatments::system::Cpus;

/// Reads the job from standard input and does it; the answer goes to standard output.
pub fn run() -> Result<(), Errno> {
    // The supervisor was our parent when this began; if it has ended, so do we.
    process::die_with(process::named_parent())?;
    signal::unblock_all();
    process::forbid_core_files();
    let mut wire = Wire::open()?;
    let line = wire.line()?;
    let Some(order) = order_of(&line)? else { return Ok(()) };
    let id = order.id();
    let answer = match order {
        Order::Measure { spec, .. } | Order::Count { spec, .. }
            if matches!(spec.subject, Subject::Program(_)) =>
        {
            return trial::trial(id, &spec, &line).say(&mut wire);
        }
        Order::Measure { spec, .. } => return measure(id, &spec, &mut wire).say(&mut wire),
        Order::Count { spec, .. } => return tracer::count(id, &spec, &line).say(&mut wire),
        Order::Probe { cpus, spin_ms, clock, .. } => {
            Event::Probed { id, cpus: probe_all(&cpus, spin_ms, clock) }
        }
        Order::Serve { spec, .. } => served(id, &spec, &mut wire).unwrap_or_else(|answer| answer),
        Order::Watch { excluded_pids: except, .. } => watch::watch(id, &except, &mut wire),
        Order::Calibrate { cpu, clock, .. } => calibrated(id, cpu, clock),
        Order::Go { .. } | Order::Stop { .. } => failed(id, "an order came before its job"),
        Order::Attach { treatments, cpu, other_cpu, .. } => {
            let cpus = Cpus { measured: cpu, other: other_cpu };
            attach::attach(id, &treatments, cpus, &mut wire)
        }
        Order::Lock { .. } => failed(id, "keeping the machine is the supervisor's"),
    };
    wire.say(&answer)
}

/// The lines between a job and the supervisor.
pub(super) struct Wire {
    input: BufReader<File>,
    output: File,
}

impl Wire {
    /// Standard input and output.
    pub(super) fn open() -> Result<Self, Errno> {
        Ok(Self {
            input: BufReader::new(std::io::stdin().as_fd().try_clone_to_owned()?.into()),
            output: std::io::stdout().as_fd().try_clone_to_owned()?.into(),
        })
    }

    /// Between a process and its fork.
    pub(super) fn over(input: File, output: File) -> Self {
        Self { input: BufReader::new(input), output }
    }

    /// The next order; `None` when there will be no more.
    pub(super) fn order(&mut self) -> Result<Option<Order>, Errno> {
        order_of(&self.line()?)
    }

    /// The next line, as it is; an empty one when there will be no more.
    fn line(&mut self) -> Result<Vec<u8>, Errno> {
        let mut line = Vec::new();
        self.input.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Says one event.
    pub(super) fn say(&mut self, event: &Event) -> Result<(), Errno> {
        self.pass(serde_json::to_vec(event).map_err(|_| Errno::EINVAL)?)
    }

    /// Passes on what another has said, in one write.
    pub(super) fn pass(&mut self, mut line: Vec<u8>) -> Result<(), Errno> {
        line.push(b'\n');
        self.output.write_all(&line).map_err(Errno::from)
    }
}

/// The order of a line, which the supervisor has read before; none of an empty one.
fn order_of(line: &[u8]) -> Result<Option<Order>, Errno> {
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(line).map(Some).map_err(|_| Errno::EINVAL)
}

/// What a job comes to.
pub(super) enum Answer {
    /// This is to be said.
    Say(Event),
    /// Another process of the job's says this: a line to pass on.
    Pass(Vec<u8>),
    /// Another process of the job's has said it.
    Said,
}

impl Answer {
    fn say(self, wire: &mut Wire) -> Result<(), Errno> {
        match self {
            Answer::Say(event) => wire.say(&event),
            Answer::Pass(line) => wire.pass(line),
            Answer::Said => Ok(()),
        }
    }
}

impl From<Event> for Answer {
    fn from(event: Event) -> Self {
        Answer::Say(event)
    }
}

pub(super) fn failed(id: u64, why: impl Into<String>) -> Event {
    Event::Failed { id, at_op: None, reason: why.into(), errno: None, arm: None }
}

/// Why an op went wrong; that nobody answered for so long is an outcome of its own.
pub(super) fn failed_at(id: u64, error: OpError) -> Event {
    if error.errno == Errno::SILENT {
        let why = Some(format!("op {} of a batch: {}", error.op, error.errno));
        return Event::TimedOut { id, after_ms: SILENCE.as_millis() as u64, reason: why };
    }
    let (why, errno) = (error.errno.to_string(), Some(error.errno.0));
    Event::Failed { id, at_op: Some(error.op), reason: why, errno, arm: None }
}

/// What is done to an arm of a worker.
pub(super) fn applied_to(spec: &WorkerSpec, arm: u8) -> &[AppliedTreatment] {
    spec.treatments.get(usize::from(arm)).map_or(&[], Vec::as_slice)
}

/// Whose word it is where a system call is refused.
fn filtered(spec: &WorkerSpec, arm: u8) -> &'static str {
    match applied_to(spec, arm).iter().any(|one| matches!(one, AppliedTreatment::Seccomp { .. })) {
        true => "; the seccomp filter that it is treated with decides about system calls here",
        false => needs::filtered(),
    }
}

/// Pins the process and builds the work of its case for an arm; the error is the answer to give.
pub(super) fn build(id: u64, spec: &WorkerSpec, arm: u8) -> Result<Work, Event> {
    let Subject::Case(case) = &spec.subject else {
        return Err(failed(id, "a program has no ops that could be timed"));
    };
    if spec.workers != 1 {
        let why = format!("{} workers were asked for: this version has 1", spec.workers);
        return Err(failed(id, why));
    }
    let bench = benchmarks::find(&case.benchmark)
        .filter(|bench| benchmarks::is_complete(bench, case))
        .ok_or_else(|| failed(id, format!("`{case}` is no case of this worker's catalog")))?;
    let far = spec.remote_end.as_ref();
    let asked = (far.is_some(), spec.clock.kind);
    if let Some(missing) = needs::missing(&bench.definition(), &case.point, asked) {
        return Err(Event::Skipped { id, missing, arm: None });
    }
    // Pinned, the process sees its one CPU only, and so does whoever asks its tracer.
    let site = site(spec, affinity::allowed_to(0).unwrap_or_default());
    if let Some(cpu) = spec.cpu {
        affinity::pin(cpu).map_err(|error| failed(id, format!("pin to CPU {cpu}: {error}")))?;
    }
    let mut work = bench.work(&case.point, site).map_err(|error| {
        let why = format!("set up `{case}`: {error}{}", way_there(far, error));
        if error == Errno::SILENT {
            return Event::TimedOut { id, after_ms: SILENCE.as_millis() as u64, reason: Some(why) };
        }
        match error.is_lacking() {
            true => Event::Skipped { id, missing: why + filtered(spec, arm), arm: None },
            false => failed(id, why),
        }
    })?;
    if let Some(missing) = work.unavailable_reason() {
        return Err(Event::Skipped { id, missing: missing.to_owned(), arm: None });
    }
    // What a filter forbids often shows at the first op alone. Whatever else is wrong with it shows
    // again when it is timed, with the number of the op.
    match work.prepare(1).and_then(|()| work.run(1, 1)) {
        Err(OpError { errno: why, .. }) if why.is_lacking() => {
            let missing = format!("do `{case}` once: {why}{}", filtered(spec, arm));
            Err(Event::Skipped { id, missing, arm: None })
        }
        _ => Ok(work),
    }
}

/// What to do about another machine that cannot be reached; nothing of other errors.
fn way_there(far: Option<&RemoteEnd>, error: Errno) -> String {
    let unreachable =
        [libc::ETIMEDOUT, libc::ECONNREFUSED, libc::EHOSTUNREACH, libc::ENETUNREACH, libc::EACCES];
    match far {
        Some(RemoteEnd { addr, .. }) if unreachable.contains(&error.0) => {
            format!("; the peer listens at {addr}: {PEER_UNREACHABLE_HINT}")
        }
        _ => String::new(),
    }
}

/// Where the worker of this spec stands, which may run on these CPUs.
fn site(spec: &WorkerSpec, allowed: Vec<u32>) -> Context {
    let mine = |cpu: &u32| Some(*cpu) == spec.cpu;
    Context {
        cpu: spec.cpu,
        other_cpu: spec.peer_cpu.or_else(|| allowed.into_iter().rev().find(|cpu| !mine(cpu))),
        remote_peer: spec.remote_end.as_ref().and_then(|far| Far::parse(&far.addr, &far.token)),
        clock: match spec.clock.kind {
            ClockKind::Tsc | ClockKind::Instructions => Stopwatch::Tsc,
            ClockKind::Vdso => ClockGettime::find().map_or(Stopwatch::Syscall, Stopwatch::Vdso),
            ClockKind::Syscall => Stopwatch::Syscall,
        },
    }
}

/// Is the other end of a case for a worker on another machine, until that one ends.
fn served(id: u64, spec: &WorkerSpec, wire: &mut Wire) -> Result<Event, Event> {
    let Subject::Case(case) = &spec.subject else {
        return Err(failed(id, "a program serves nobody"));
    };
    let Task::Serve { bind, token } = &spec.task else {
        return Err(failed(id, "its task is not to serve"));
    };
    let (Ok(bind), Some(token)) = (bind.parse(), Token::parse(token)) else {
        return Err(failed(id, "an address or a token cannot be read"));
    };
    let bench =
        benchmarks::find(&case.benchmark).filter(|bench| benchmarks::is_complete(bench, case));
    let Some((bench, serve)) = bench.and_then(|bench| Some((bench, bench.serve?))) else {
        return Err(failed(id, format!("`{case}` has no end that could stand elsewhere")));
    };
    let site = site(spec, affinity::allowed_to(0).unwrap_or_default());
    if let Some(cpu) = spec.cpu {
        affinity::pin(cpu).map_err(|error| failed(id, format!("pin to CPU {cpu}: {error}")))?;
    }
    let mut door = Door::open(bind, token)
        .map_err(|error| failed(id, format!("listen at {bind}: {error}")))?;
    let addr = Some(door.far().addr.to_string());
    wire.say(&Event::Ready { id, pid: std::process::id(), addr })
        .map_err(|error| failed(id, format!("say ready: {error}")))?;
    let point = bench.definition().with_implied(&case.point);
    serve(Params::new(&point, site), &mut door)
        .map_err(|error| failed(id, format!("serve `{case}`: {error}")))?;
    Ok(Event::Served { id, unauthorised_connections: door.close() })
}

/// Runs the counted copy of a case, under a tracer.
pub(super) fn counted(id: u64, spec: &WorkerSpec) -> Result<(), Event> {
    let Task::Count { warm_ops, ops } = spec.task else {
        return Err(failed(id, "its task is not to count"));
    };
    let mut work = build(id, spec, 0)?;
    count::counted(&mut work, warm_ops, ops).map_err(|error| failed_at(id, error))
}

/// Spins on every CPU at once, one thread each; a CPU that cannot be had is left out. Without CPUs
/// it spins wherever the scheduler has put it.
fn probe_all(cpus: &[u32], spin_ms: u64, clock: ClockKind) -> Vec<CpuProbe> {
    let look = |cpu: u32| match clock {
        ClockKind::Tsc => probe_one(&mut Tsc, cpu, spin_ms),
        ClockKind::Vdso => probe_one(&mut Vdso::find().ok()?, cpu, spin_ms),
        _ => probe_one(&mut Syscall, cpu, spin_ms),
    };
    if cpus.is_empty() {
        return look(affinity::current_cpu().max(0) as u32).into_iter().collect();
    }
    let spin = |cpu: u32| {
        affinity::pin(cpu).ok()?;
        look(cpu)
    };
    std::thread::scope(|scope| {
        let started = |&cpu: &u32| {
            std::thread::Builder::new().spawn_scoped(scope, move || spin(cpu)).map_err(|_| cpu)
        };
        let started: Vec<_> = cpus.iter().map(started).collect();
        let probes = started.into_iter().filter_map(|started| match started {
            Ok(thread) => thread.join().ok().flatten(),
            // No room for threads (RLIMIT_NPROC): one after the other.
            Err(cpu) => spin(cpu),
        });
        probes.collect()
    })
}

fn probe_one<C: Clock>(clock: &mut C, cpu: u32, spin_ms: u64) -> Option<CpuProbe> {
    let mut covariates = Kernel::of_this_thread();
    let first = calibrate::sync(clock);
    while clock.raw_ns() - first.raw_ns < 2_000_000 {}
    let rate = first.ticks_per_ns(&calibrate::sync(clock))?;
    let seen = probe::gaps(clock, &mut covariates, cpu, spin_ms * 1_000_000, rate);
    let core_cycles_per_ns = probe::core_cycles_per_ns(clock, rate);
    Some(CpuProbe { core_cycles_per_ns, ..seen })
}

fn calibrated(id: u64, cpu: Option<u32>, kind: ClockKind) -> Event {
    if let Some(cpu) = cpu
        && let Err(error) = affinity::pin(cpu)
    {
        return failed(id, format!("pin to CPU {cpu}: {error}"));
    }
    let found = match kind {
        ClockKind::Tsc => calibrate::calibrate(&mut Tsc),
        ClockKind::Vdso => Vdso::find().ok().and_then(|mut vdso| calibrate::calibrate(&mut vdso)),
        ClockKind::Syscall => calibrate::calibrate(&mut Syscall),
        ClockKind::Instructions if !exact::counts_instructions(&mut Tsc) => {
            return failed(id, "what the counter counts here are no instructions");
        }
        ClockKind::Instructions => {
            let found = calibrate::calibrate(&mut Tsc);
            found.map(|(found, sync)| (exact::counting(found), sync))
        }
    };
    match found {
        Some((calibration, sync)) => Event::Calibrated { id, calibration, sync },
        None => failed(id, format!("the {} clock stands still", kind.text())),
    }
}
