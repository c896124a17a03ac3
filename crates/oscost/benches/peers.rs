//! What oscost says of a call, against others who time the same call: `make bench`.
//!
//! The peers are a loop in C (`peers/loops.c`), compiled here, linked as the cell is, timed in
//! batches of the same length and read by the same estimator; and `perf bench`, where it is
//! installed and has the same act. Each pair takes turns on one CPU, in the order ABBA.
//!
//! Bar: the interval of the ratio, ours over the peer's, holds a value at or below 1.03.

#![expect(clippy::print_stdout, reason = "a program that is run by hand")]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use oscost::estimate::{Reading, cell_value};
use oscost::plan;
use oscost::reach::{CellProgram, Interrupt, LocalSession, Session};
use oscost::run::{Held, MachineLock};
use oscost::stats::interval::{Nominal, median_hs};
use oscost::stats::order;
use oscost_model::case::Case;
use oscost_model::cell::{BatchPlan, CellSpec, Sample, Subject, Task};
use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::definition::Catalog;
use oscost_model::protocol::{Event, Order};
use oscost_model::unit::Unit;

/// What may be added to a peer's figure: the noise of comparing two programs, each with a layout of
/// its own.
const MOST: f64 = 1.03;
/// Pairs of figures, one of ours and one of the peer's: an interval needs six.
const ALTERNATIONS: usize = 15;
/// Fresh processes behind each figure of a pair.
const PROCESSES: usize = 3;

/// A call that both sides make.
struct Act {
    /// What it is called in `loops.c`.
    name: &'static str,
    /// Its case here.
    case: &'static str,
    /// What the definition's op must say, or the two sides do not do the same.
    says: &'static [&'static str],
    /// Its name in `perf bench syscall`. (`getpgid`, which newer ones have, is asked by no case
    /// here; what `fork` and `execve` do is no call in a loop.)
    perf: Option<&'static str>,
}

const ACTS: &[Act] = &[
    Act { name: "getpid", case: "syscall/getpid:via=libc", says: &[], perf: None },
    Act { name: "getppid", case: "syscall/getppid:via=libc", says: &[], perf: Some("basic") },
    Act { name: "write", case: "syscall/write:via=libc", says: &["/dev/null", "byte"], perf: None },
    Act { name: "stat", case: "syscall/stat:via=libc", says: &["/dev/null"], perf: None },
    Act {
        name: "open-close",
        case: "syscall/open-close:via=libc",
        says: &["/dev/null"],
        perf: None,
    },
    Act {
        name: "clock-gettime",
        case: "timer/clock-gettime:clock=monotonic,via=libc",
        says: &["nanoseconds"],
        perf: None,
    },
];

fn main() -> ExitCode {
    match compare() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Compares every act with every peer; whether all bars hold.
fn compare() -> anyhow::Result<bool> {
    let program = CellProgram::find()?;
    let interrupt = Interrupt::listen()?;
    let _machine = match MachineLock::take() {
        Ok(lock) => Some(lock),
        Err(Held::By(holder, _)) => bail!("process {} measures on this machine", holder.pid),
        Err(Held::Unavailable(_)) => None,
    };
    let mut ours = Ours::start(LocalSession::start(&program, &interrupt)?)?;
    let linked = ours.session.hello().build.link.clone();
    let peers = Peers { loops: compiled(&linked)?, cpu: ours.cpu };
    let perf = perf_version()?;
    println!(
        "CPU {}, clock {}; the cell and the loops in C are linked {linked}\n\
         a figure is the median of {PROCESSES} fresh processes, a ratio that of {ALTERNATIONS} \
         pairs, in ABBA\n",
        ours.cpu,
        ours.clock.kind.text()
    );
    let bar = format!("bar {MOST}");
    println!("{}", line("case, and peer", ["ours", "peer's", "ratio", "95 % interval", &bar]));
    let mut held = true;
    for act in ACTS {
        println!("{}", act.case);
        let (case, plan) = match planned(act, &program.catalog, &mut ours) {
            Ok(found) => found,
            Err(error) => {
                println!("  {error:#}");
                held = false;
                continue;
            }
        };
        let pairs = alternate(|| ours.figure(&case, &plan), || peers.loop_in_c(act.name, &plan));
        held &= told("a loop in C", pairs);
        match (act.perf, &perf) {
            (None, _) => {}
            (Some(name), Some(version)) => {
                let pairs = alternate(|| ours.figure(&case, &plan), || peers.perf_bench(name));
                held &= told(version, pairs);
            }
            (Some(name), None) => println!(
                "  perf bench syscall {name}: skipped: linux-perf is not installed\n    \
                 (apt-get install linux-perf)"
            ),
        }
    }
    if perf.is_some() {
        println!(
            "\nOf these acts perf bench has getppid(2) alone, as `syscall basic`. It is linked\n\
             dynamically, and a process says the mean of one batch of {PERF_CALLS} calls."
        );
    }
    println!("bars hold: {held}");
    Ok(held)
}

/// How the case of an act is to be timed, here and by its peer. An error when there is no such
/// case, or when it does something else.
fn planned(act: &Act, catalog: &Catalog, ours: &mut Ours<'_>) -> anyhow::Result<(Case, BatchPlan)> {
    let cases = plan::select(catalog, &[act.case.to_owned()]).context("missing")?;
    let [case] = &cases[..] else { bail!("missing: this names {} cases", cases.len()) };
    let definition = catalog.get(&case.benchmark).context("missing")?;
    for word in act.says {
        ensure!(
            definition.op.contains(word),
            "not the same act: the peer's has to do with `{word}`, and the op does not say so"
        );
    }
    Ok((case.clone(), ours.plan(case)?))
}

/// Pairs of figures, ours first: they take turns, and so does who begins, so that whatever drifts
/// falls to both alike.
fn alternate(
    mut ours: impl FnMut() -> anyhow::Result<f64>,
    mut peer: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<(f64, f64)>> {
    let mut pair = |turn: usize| -> anyhow::Result<(f64, f64)> {
        if turn.is_multiple_of(2) {
            let first = ours()?;
            return Ok((first, peer()?));
        }
        let first = peer()?;
        Ok((ours()?, first))
    };
    (0..ALTERNATIONS).map(&mut pair).collect()
}

/// Shows how ours compare with a peer; whether the bar holds.
fn told(peer: &str, pairs: anyhow::Result<Vec<(f64, f64)>>) -> bool {
    let pairs = match pairs {
        Ok(pairs) => pairs,
        Err(error) => {
            println!("  {peer}: failed: {error:#}");
            return false;
        }
    };
    let middle = |values: Vec<f64>| order::median(&order::sorted(&values)).unwrap_or(f64::NAN);
    let ratios = pairs.iter().map(|(ours, peer)| (ours / peer).ln()).collect::<Vec<_>>();
    let sorted = order::sorted(&ratios);
    let Some(interval) = median_hs(&sorted, Nominal::FIXED) else { return false };
    let (low, high) = (interval.lo.exp(), interval.hi.exp());
    let holds = low <= MOST;
    let figures = [
        format!("{:.2} ns", middle(pairs.iter().map(|pair| pair.0).collect())),
        format!("{:.2} ns", middle(pairs.iter().map(|pair| pair.1).collect())),
        format!("{:.3}", middle(ratios).exp()),
        format!("{low:.3} .. {high:.3}"),
        if holds { "holds" } else { "FAILS" }.to_owned(),
    ];
    println!("{}", line(&format!("  {peer}"), figures.each_ref().map(String::as_str)));
    holds
}

/// A line of the table, in 80 columns.
fn line(name: &str, cells: [&str; 5]) -> String {
    let [ours, peer, ratio, interval, bar] = cells;
    format!("{name:<24}{ours:>12}{peer:>12}{ratio:>7}{interval:>16} {bar:>8}")
}

/// The median over some fresh processes, each of which has one figure.
fn figure(mut process: impl FnMut() -> anyhow::Result<Option<f64>>) -> anyhow::Result<f64> {
    /// A process whose batches were disturbed has no figure, and another one is asked; where so
    /// many have none, the machine is no place for this.
    const MOST_TRIES: usize = 20 * PROCESSES;
    let mut figures = Vec::new();
    for _ in 0..MOST_TRIES {
        figures.extend(process()?);
        if figures.len() == PROCESSES {
            return order::median(&order::sorted(&figures)).context("there is no figure");
        }
    }
    bail!("of {MOST_TRIES} processes only {} were left in peace", figures.len());
}

/// What a process says by its batches, with the estimator of every run.
fn estimate(samples: &[Sample], plan: &BatchPlan, clock: &Calibration) -> Option<f64> {
    let how = Reading { plan, clock, unit: Unit::NsPerOp, switches: false };
    cell_value(samples, 0, how).value
}

/// Our side: a session with the cell.
struct Ours<'a> {
    session: LocalSession<'a>,
    cpu: u32,
    clock: Calibration,
    interruptions_per_s: f64,
    last_id: u64,
}

impl<'a> Ours<'a> {
    /// Finds a CPU and a clock, as a run does.
    fn start(session: LocalSession<'a>) -> anyhow::Result<Self> {
        let hello = session.hello();
        let cpus = hello.facts.cpu.allowed_cpus.as_ref();
        let cpu = cpus.and_then(|cpus| cpus.last().copied()).unwrap_or(0);
        let mut usable = hello.clocks.iter().filter(|clock| clock.unusable_because.is_none());
        let clock = usable.next().context("no clock can be used")?.kind;
        let unknown = Calibration {
            kind: clock,
            ticks_per_ns: 1.0,
            quantum_ticks: 1.0,
            inside_ticks: 0.0,
            pair_ticks: 0.0,
        };
        let mut ours = Self { session, cpu, clock: unknown, interruptions_per_s: 0.0, last_id: 0 };
        let id = ours.id();
        match ours.answer(&Order::Probe { id, cpus: vec![cpu], spin_ms: 200, clock })? {
            Event::Probed { cpus, .. } => {
                let probed = cpus.first().context("the CPU cannot be probed")?;
                ours.interruptions_per_s = probed.interruptions_per_s();
            }
            other => bail!("cannot probe CPU {cpu}: {other:?}"),
        }
        let id = ours.id();
        match ours.answer(&Order::Calibrate { id, cpu: Some(cpu), clock })? {
            Event::Calibrated { calibration, .. } => ours.clock = calibration,
            other => bail!("cannot calibrate the clock: {other:?}"),
        }
        Ok(ours)
    }

    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn answer(&mut self, order: &Order) -> anyhow::Result<Event> {
        self.session.send(order)?;
        Ok(self.session.next(Duration::from_secs(60))?)
    }

    /// Lets a cell do its task, as a run does.
    fn cell(&mut self, case: &Case, task: Task) -> anyhow::Result<Event> {
        let id = self.id();
        let batches = match &task {
            Task::Measure(plan) => plan.groups,
            _ => 1,
        };
        let stops = matches!(task, Task::Measure(_));
        let spec = CellSpec {
            subject: Subject::Case(case.clone()),
            seed: id,
            cpu: Some(self.cpu),
            clock: self.clock,
            arms: 1,
            workers: 1,
            task,
            timeout_ms: 30_000,
        };
        match self.answer(&Order::Measure { id, spec: Box::new(spec) })? {
            Event::Ready { .. } => {}
            other => bail!("cannot measure {case}: {other:?}"),
        }
        self.session.send(&Order::Go { id, batches })?;
        if stops {
            self.session.send(&Order::Stop { id })?;
        }
        Ok(self.session.next(Duration::from_secs(60))?)
    }

    fn plan(&mut self, case: &Case) -> anyhow::Result<BatchPlan> {
        let interruptions_per_s = self.interruptions_per_s;
        match self.cell(case, Task::Pilot { interruptions_per_s })? {
            Event::Piloted { plan, .. } => Ok(plan),
            other => bail!("the pilot of {case} found nothing: {other:?}"),
        }
    }

    fn figure(&mut self, case: &Case, plan: &BatchPlan) -> anyhow::Result<f64> {
        figure(|| match self.cell(case, Task::Measure(plan.clone()))? {
            Event::Sampled { samples, .. } => Ok(estimate(&samples, plan, &self.clock)),
            other => bail!("{case} was not measured: {other:?}"),
        })
    }
}

/// The others, on the same CPU.
struct Peers {
    loops: PathBuf,
    cpu: u32,
}

/// Half a millisecond: long against the microsecond in which perf counts, and most such batches
/// fall between two interruptions.
const PERF_CALLS: u32 = 4_000;

impl Peers {
    /// What the program of loops says to these words.
    fn asked(&self, words: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.loops).arg(self.cpu.to_string()).args(words).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {}: {}", output.status, error.trim());
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A loop in C, timed by the plan that ours has.
    fn loop_in_c(&self, act: &str, plan: &BatchPlan) -> anyhow::Result<f64> {
        // It reads a clock that counts nanoseconds.
        let clock = Calibration {
            kind: ClockKind::Vdso,
            ticks_per_ns: 1.0,
            quantum_ticks: 1.0,
            inside_ticks: 0.0,
            pair_ticks: 0.0,
        };
        let (turns, groups) = (plan.turns.to_string(), plan.groups.to_string());
        let copies: Vec<String> = plan.copies.iter().map(u32::to_string).collect();
        let mut words = vec![act, &turns, &groups];
        words.extend(copies.iter().map(String::as_str));
        figure(|| {
            let samples: Option<Vec<Sample>> =
                self.asked(&words)?.lines().map(|line| sample(line, plan.turns)).collect();
            Ok(estimate(&samples.context("the loop in C spoke nonsense")?, plan, &clock))
        })
    }

    /// What `perf bench` says of a call.
    fn perf_bench(&self, name: &str) -> anyhow::Result<f64> {
        let calls = PERF_CALLS.to_string();
        figure(|| {
            let words = ["--", "perf", "bench", "syscall", name, "-l", &calls];
            let said = self.asked(&words)?;
            let us = said.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
            let us: f64 = us.with_context(|| format!("no usecs/op in {said}"))?.trim().parse()?;
            Ok(Some(us * 1e3))
        })
    }
}

/// A batch of a loop in C: group, copies, nanoseconds, switches.
fn sample(line: &str, turns: u64) -> Option<Sample> {
    let mut words = line.split(' ');
    let round = words.next()?.parse().ok()?;
    let copies: u64 = words.next()?.parse().ok()?;
    let ticks = words.next()?.parse().ok()?;
    let involuntary_switches = words.next()?.parse().ok()?;
    Some(Sample { round, n: turns * copies, ticks, involuntary_switches, ..Sample::default() })
}

/// Compiles the loops, linked as the cell is.
fn compiled(linked: &str) -> anyhow::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/loops.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loops");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra"]);
    if linked == "static-pie" {
        compiler.arg("-static-pie");
    }
    let status = compiler.arg("-o").arg(&program).arg(&source).status();
    let status = status.context("cannot start `cc`")?;
    ensure!(status.success(), "cannot compile {} ({linked}): {status}", source.display());
    Ok(program)
}

/// The perf that is installed, if there is one.
fn perf_version() -> anyhow::Result<Option<String>> {
    match Command::new("perf").arg("--version").output() {
        Ok(output) if output.status.success() => {
            let words = String::from_utf8_lossy(&output.stdout);
            let version = words.split_whitespace().last().unwrap_or_default();
            Ok(Some(format!("perf bench {version}")))
        }
        // A script may stand in its place, and say that there is none for this kernel.
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("cannot start perf"),
    }
}
