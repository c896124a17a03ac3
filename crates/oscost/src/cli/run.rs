//! `oscost run`

use std::time::{Duration, SystemTime};

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::journal::{Entry, PlannedRow, RunHeader};
use oscost_model::protocol::Hello;
use oscost_model::record::{Machine, Record, RowOutcome, Settings, Tool, WorkerProgram};
use oscost_model::target::Target;

use super::exports::{Exports, OfRun, Subject, Table};
use super::history;
use super::output::{Output, remark};
use super::peer::{self, Met};
use super::predict;
use super::programs::{self, Named, Programs};
use super::study;
use super::target::{Patience, arrive, side, treated};
use super::vm;
use super::{Done, UsageError};
use crate::estimate::Assembler;
use crate::hosts::{HostError, Interrupt, Session, WorkerBinary};
use crate::plan::ComparedTarget;
use crate::report;
use crate::report::progress::Progress;
use crate::report::table::Plots;
use crate::run::{
    LockError, LockHolder, MachineLock, Observer, Profile, Request, RunEnd, RunError,
    wait_for_release,
};
use crate::store::Store;
use crate::studies::Study;
use crate::studies::beside::beside;
use crate::{advice, plan, run};

/// Half-width that a default run aims at, in per cent: a difference of twice that is seen.
const PRECISION_PCT: f64 = 2.0;
/// The same for figures that are published.
const THOROUGH_PRECISION_PCT: f64 = 1.0;
/// A whole bill is to be read within about a minute.
const BUDGET_S: f64 = 60.0;
/// The breaks of curves get as long again.
const BUDGET_REFINED_S: f64 = 2.0 * BUDGET_S;
/// A row settles in some 0.3 to 1.2 s: with less, rows of a large study would end unsettled only
/// because there are many.
const ROW_OF_STUDY_S: f64 = 1.2;

/// What to measure, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost run                                   the price list
  oscost run syscall                           a family
  oscost run syscall/getppid:via=raw           one case
  oscost run 'procedure/call:args=*'           every point of an axis
  oscost run --quick                           six repetitions of everything
  oscost run syscall --precision 0.5           narrower intervals
  oscost run pipe --refine                     where exactly curves bend
  oscost run --json - | jq '.results[].case'   the record, for programs
  oscost run --csv run.csv                     a line for each figure
  oscost run --treat seccomp=docker syscall    the costs under a filter
  oscost run --at ssh:joe@db1                  the price list of another machine
  oscost run --at vm:6.12 syscall              instructions of another kernel
  oscost run workload/find                     a whole program: list workload
  oscost run -- gzip -kf9 FILE                 a program of yours
  oscost run --workload ./mine.toml            one that wants preparation
  oscost run socket --peer ssh:db1             from here to there and back
  oscost run socket --at ssh:db1 --peer local  the other way round
  oscost run --study cse221-2014               what was published, and what is now")]
pub(super) struct Arguments {
    /// A family, an id, a case, or a glob; without any: the price list.
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    #[command(flatten)]
    programs: Named,
    /// Measure a study again: its cases, by oscost's method and in the manner of the study.
    #[arg(
        long,
        value_name = "STUDY",
        conflicts_with_all = ["selectors", "command", "workload", "refine"]
    )]
    study: Option<String>,
    /// Six repetitions a row, however wide the intervals are.
    #[arg(long, conflicts_with_all = ["thorough", "precision"])]
    quick: bool,
    /// For figures that are published: repetitions fixed by a first phase, then measured afresh.
    #[arg(long)]
    thorough: bool,
    /// Then measure eight more sizes around each break of a curve; a thorough run does so too.
    #[arg(long, conflicts_with = "quick")]
    refine: bool,
    /// Stop when this many seconds are over; rows that are not narrow enough yet say so.
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    budget: Option<f64>,
    /// The half-width of the intervals to aim at, in per cent of the median.
    #[arg(long, value_name = "PCT", value_parser = positive)]
    precision: Option<f64>,
    /// What to do to all that is measured: see `oscost treat list`.
    #[arg(long, value_name = "TREATMENTS")]
    treat: Option<String>,
    /// Where to measure; treatments may stand before it: `seccomp=docker@ssh:db1`.
    #[arg(long, value_name = "REACH", default_value = "local")]
    at: String,
    /// Pin the workers to this CPU; without it, to the quietest.
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Where the other end of cases with two ends stands: another machine.
    #[arg(long, value_name = "REACH")]
    peer: Option<String>,
    /// Pin the other end to this CPU: `peer_cpu=other` means it.
    #[arg(long, value_name = "N")]
    peer_cpu: Option<u32>,
    /// Your own words, kept with the run.
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
    /// Where all randomness of the run comes from; without it, a fresh one.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Put every raw batch into the JSON record.
    #[arg(long)]
    samples: bool,
    #[command(flatten)]
    exports: Exports,
    /// Draw all curves; without it, they are drawn where they make two pictures at most.
    #[arg(long)]
    plot: bool,
    /// Draw none.
    #[arg(long, conflicts_with = "plot")]
    no_plot: bool,
    /// Keep nothing.
    #[arg(long)]
    no_store: bool,
    /// If another run has the machine, fail at once.
    #[arg(long)]
    no_wait: bool,
}

/// Whether curves are drawn, by the two flags for it.
pub(super) fn plots(all: bool, none: bool) -> Plots {
    match (all, none) {
        (true, _) => Plots::All,
        (_, true) => Plots::None,
        _ => Plots::WhereFew,
    }
}

/// A figure above zero that a person might mean.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

/// A label is one short line.
pub(super) fn label(text: &str) -> Result<String, String> {
    const LONGEST: usize = 1_024;
    if text.len() > LONGEST || text.chars().any(char::is_control) {
        return Err(format!("it must be one line of at most {LONGEST} bytes"));
    }
    Ok(text.to_owned())
}

impl Arguments {
    fn profile(&self) -> Profile {
        match (self.quick, self.thorough) {
            (true, _) => Profile::Quick,
            (_, true) => {
                let precision_pct = self.precision.unwrap_or(THOROUGH_PRECISION_PCT);
                Profile::Thorough { precision_pct }
            }
            _ => Profile::Default { precision_pct: self.precision.unwrap_or(PRECISION_PCT) },
        }
    }

    fn extent(&self) -> Extent {
        if self.thorough { Extent::Thorough } else { Extent::Default }
    }

    /// A thorough run takes the time that it needs; a study of many rows has as much a row as the
    /// bill, and as long as it says that it takes.
    fn budget_s(&self, rows: &[PlannedRow], study: Option<&Study>) -> Option<f64> {
        let asked = rows.iter().filter(|row| row.requested).count() as f64;
        let usual = match (study, self.refine) {
            (Some(study), _) => {
                let takes =
                    study.takes.map_or(0, |it| if self.quick { it.quick } else { it.seconds });
                BUDGET_S.max(ROW_OF_STUDY_S * asked).max(f64::from(takes))
            }
            (None, true) => BUDGET_REFINED_S,
            (None, false) => BUDGET_S,
        };
        self.budget.or((!self.thorough).then_some(usual))
    }

    fn plots(&self) -> Plots {
        plots(self.plot, self.no_plot)
    }

    /// Refuses what means nothing where instructions are counted.
    fn counts_alone(&self) -> Result<(), UsageError> {
        let given = [
            ("--study", self.study.is_some()),
            ("--refine", self.refine),
            ("--budget", self.budget.is_some()),
            ("--precision", self.precision.is_some()),
            ("--cpu", self.cpu.is_some()),
            ("--peer", self.peer.is_some()),
            ("--peer-cpu", self.peer_cpu.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        vm::means_nothing(&given)
    }

    /// Shows what a run has brought.
    fn show(
        &self,
        Ended { record, ended, keeper }: Ended,
        study: Option<&Study>,
        output: &mut Output,
    ) -> anyhow::Result<Done> {
        let as_text = || text(&record, study, self.plots());
        let (samples, table) = (self.samples, Table::Rows);
        let run = OfRun { record: &record, samples, study, table };
        let shown = self.exports.show(&Subject::Run(run), as_text, output);
        keeper.say_where();
        shown?;
        Ok(how(ended?, &record))
    }

    /// A study has the sizes that it has.
    fn refines(&self) -> bool {
        self.study.is_none() && (self.refine || self.thorough)
    }
}

pub(super) fn run(arguments: Arguments, output: &mut Output) -> anyhow::Result<Done> {
    arguments.exports.look()?;
    let target = treated(&arguments.at, arguments.treat.as_deref())?;
    // What cannot be read is said before anybody is waited for.
    side(&target, Arch::from_uname(std::env::consts::ARCH))?;
    let host = &target.host;
    let program = WorkerBinary::find()?;
    let programs = Programs::of(&arguments.programs)?;
    let catalog = programs.beside(&program.catalog);
    let study = arguments.study.as_deref().map(study::of_one_target).transpose()?;
    let cases = match &study {
        // Read now: what is wrong with it is said before anybody is waited for.
        Some(study) => study::cases(&catalog, study)?,
        None => {
            plan::select(&catalog, &programs.selectors(&arguments.selectors), arguments.extent())?
        }
    };
    let asked = Asked { cases, catalog, programs, study };
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let patience = if arguments.no_wait { Patience::Fail } else { Patience::Wait };
    if let Some(wanted) = vm::counts(&target)? {
        arguments.counts_alone()?;
        let of = vm::Of { program: &program, catalog: &asked.catalog, programs: &asked.programs };
        let (label, profile) = (arguments.label.clone(), arguments.profile().text());
        let counted = vm::Counted { label, profile, targets: vec![(target, wanted)], pairs: false };
        let samples = arguments.samples || arguments.exports.wants_samples();
        let kept = (!arguments.no_store, samples);
        let ended = vm::count(of, asked.cases.clone(), counted, (&interrupt, patience), kept)?;
        return ended.map_or(Ok(Done::Interrupted), |it| arguments.show(it, None, output));
    }
    let peer = arguments.peer.as_deref().map(|text| peer::host(text, host)).transpose()?;
    let done = arrive(host, &program, &interrupt, patience).and_then(|mut arrived| {
        let at = (host, arrived.session.hello());
        let met = peer.map(|peer| Met::at(&peer, at, &program, &interrupt)).transpose()?;
        let arch = arrived.session.hello().facts.os.arch.as_deref().and_then(Arch::from_uname);
        let (side, notes) = side(&target, arch)?;
        for note in notes {
            remark(&format!("note: {note}"));
        }
        measure(&arguments, &program, (asked, &target, side), (&mut *arrived.session, met), output)
    });
    match done {
        Err(error) if is_interrupt(&error) => Ok(Done::Interrupted),
        other => other,
    }
}

/// Whether the user wanted to stop: the session tells, or the run that it was part of.
pub(super) fn is_interrupt(error: &anyhow::Error) -> bool {
    let host = error.downcast_ref::<HostError>();
    let run = error.downcast_ref::<RunError>();
    matches!(host, Some(HostError::Interrupted))
        || matches!(run, Some(RunError::Host(HostError::Interrupted)))
}

/// Who holds the machine, in words.
pub(super) fn who(holder: &LockHolder) -> String {
    let command = holder.command.as_deref().unwrap_or("a command that is not shown to us");
    format!("process {} ({command})", holder.pid)
}

/// One run per machine at a time: waits, and says for whom.
pub(super) fn take_machine(
    interrupt: &Interrupt,
    no_wait: bool,
) -> anyhow::Result<Option<MachineLock>> {
    loop {
        match MachineLock::acquire() {
            Ok(lock) => return Ok(Some(lock)),
            Err(LockError::Unavailable(error)) => {
                remark(&format!("note: cannot keep other runs off this machine: {error}"));
                return Ok(None);
            }
            Err(LockError::HeldBy(holder, stream)) => {
                let who = who(&holder);
                if no_wait {
                    anyhow::bail!("cannot measure: {who} is measuring on this machine");
                }
                remark(&format!("waiting for {who}, which is measuring on this machine"));
                wait_for_release(&stream, interrupt)?;
            }
        }
    }
}

/// What is to be measured.
struct Asked {
    cases: Vec<Case>,
    /// The worker's benchmarks, and programs.
    catalog: Catalog,
    programs: Programs,
    study: Option<Study>,
}

/// Measures, keeps, shows.
fn measure(
    arguments: &Arguments,
    program: &WorkerBinary,
    (mut asked, target, side): (Asked, &Target, ComparedTarget),
    (session, mut met): (&mut dyn Session, Option<Met<'_>>),
    output: &mut Output,
) -> anyhow::Result<Done> {
    let peer = met.as_mut().map(|met| met.peer(arguments.peer_cpu));
    let of_peer = peer.as_ref().map(|peer| peer.machine.id.clone());
    if of_peer.is_some() && asked.study.is_none() {
        asked.cases = peer::cases(program, asked.cases);
    }
    let (at, hello) = ((target, &side), session.hello());
    let request = request(arguments, program, &asked, at, of_peer.as_deref(), hello)?;
    let kept = !arguments.no_store;
    let samples = arguments.samples || arguments.exports.wants_samples();
    match listened(session, peer, request, kept, samples)? {
        Some(ended) => arguments.show(ended, asked.study.as_ref(), output),
        None => Ok(Done::Interrupted),
    }
}

/// A run that has ended, and what was measured until then.
pub(super) struct Ended {
    /// The record.
    pub(super) record: Record,
    /// How it ended.
    pub(super) ended: Result<RunEnd, RunError>,
    /// Where it is kept.
    pub(super) keeper: Keeper,
}

/// Runs a request, keeps it and shows how far it is; `None` when it was stopped before there was
/// anything to show.
pub(super) fn listened(
    session: &mut dyn Session,
    peer: Option<run::Peer<'_>>,
    request: Request,
    kept: bool,
    samples: bool,
) -> anyhow::Result<Option<Ended>> {
    let started = request.header.clone();
    let does = |all: &mut dyn Observer| run::run_with_peer(session, peer, request, all);
    listened_to(&started, (kept, samples), does)
}

/// The same of a run that is done by whom it concerns.
pub(super) fn listened_to(
    started: &RunHeader,
    (kept, samples): (bool, bool),
    does: impl FnOnce(&mut dyn Observer) -> Result<RunEnd, RunError>,
) -> anyhow::Result<Option<Ended>> {
    let mut all = Listeners {
        assembler: Assembler::default(),
        keeper: Keeper::open(!kept, started),
        progress: Progress::new(),
    };
    let ended = does(&mut all);
    let Listeners { assembler, mut keeper, progress } = all;
    drop(progress);
    // However it ended, what was measured is shown; the record is there from the first entry on.
    let record = assembler.record(samples).context("the run never began")?;
    if record.results.is_empty() {
        keeper.forget();
        return ended.map(|_| None).map_err(Into::into);
    }
    keeper.summarise(&record);
    Ok(Some(Ended { record, ended, keeper }))
}

/// How a command ended whose run ended so.
pub(super) fn how(finish: RunEnd, record: &Record) -> Done {
    match finish {
        RunEnd::Interrupted => Done::Interrupted,
        RunEnd::Done if any_failed(record) => Done::WithFailures,
        RunEnd::Done => Done::Well,
    }
}

/// How a run begins, now.
pub(super) fn started(label: Option<String>, hello: &Hello, settings: Settings) -> RunHeader {
    RunHeader {
        id: uuid::Uuid::now_v7().to_string(),
        started_at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
        label,
        command: std::env::args().collect(),
        tool: tool(hello),
        settings,
    }
}

/// All who listen to a run.
struct Listeners {
    assembler: Assembler,
    keeper: Keeper,
    progress: Progress,
}

impl Observer for Listeners {
    fn heard(&mut self, entry: &Entry) {
        self.assembler.apply(entry);
        self.keeper.keep(entry);
        self.progress.heard(entry);
    }

    fn additional_rows(&mut self) -> Vec<PlannedRow> {
        let curves = self.assembler.record(false).map(|record| record.curves);
        plan::refinement_rows(&self.assembler.planned(), &curves.unwrap_or_default())
    }
}

fn request(
    arguments: &Arguments,
    program: &WorkerBinary,
    asked: &Asked,
    (at, ComparedTarget { target, treatments: treated }): (&Target, &ComparedTarget),
    peer: Option<&str>,
    hello: &Hello,
) -> anyhow::Result<Request> {
    let profile = arguments.profile();
    let (mut rows, mut lacking) = match &asked.study {
        Some(study) => study::rows(&asked.catalog, study, target, peer)?,
        None => (plan::rows(&asked.catalog, asked.cases.clone(), target), Vec::new()),
    };
    if asked.study.is_none() && peer.is_some() {
        lacking = peer::apart(&mut rows);
    }
    lacking.extend(asked.programs.fill(&mut rows, &at.host, arguments.quick));
    if let Some(study) = asked.study.as_ref().filter(|_| !arguments.quick) {
        study::as_often_as(study, &mut rows);
    }
    let monitored = plan::has_monitor(treated);
    rows.iter_mut().for_each(|row| row.monitored = monitored);
    let budget_s = arguments.budget_s(&rows, asked.study.as_ref());
    let settings = Settings {
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        profile: profile.text().to_owned(),
        precision_pct: profile.precision_pct(),
        nominal: profile.nominal().share(),
        budget_s,
        study: arguments.study.clone(),
        predictions: predict::of(&rows),
    };
    Ok(Request {
        header: started(arguments.label.clone(), hello, settings),
        machine: Machine::new("m0", hello.facts.clone(), advice::machine_notes(&hello.facts)),
        tracers: hello.facts.tracers.clone(),
        timers: plan::survey_timers(&program.catalog, &asked.cases),
        treatments: vec![treated.clone(); rows.len()],
        budget: budget_s.map(Duration::from_secs_f64),
        rows,
        profile,
        comparison: None,
        refine: arguments.refines(),
        trials: programs::time(
            (arguments.quick, arguments.thorough),
            arguments.programs.calls,
            arguments.budget,
        ),
        unmeasurable: lacking,
        requested_cpu: arguments.cpu,
        // Where there is a peer's machine, it is that one's.
        peer_cpu: arguments.peer_cpu.filter(|_| peer.is_none()),
    })
}

/// A seed that nobody chose, in the 53 bits that every reader of JSON keeps.
pub(super) fn fresh_seed() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1 & ((1 << 53) - 1)
}

fn tool(hello: &Hello) -> Tool {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: known(env!("OSCOST_COMMIT")),
        rustc: known(env!("OSCOST_RUSTC")),
        worker: WorkerProgram {
            hash: hello.worker_hash.clone(),
            link: hello.build.link.clone(),
            libc: hello.build.libc.clone(),
            catalog: hello.catalog_hash.clone(),
        },
    }
}

/// A run as text, where nothing is compared: in the form of its study, if it has one.
pub(super) fn text(record: &Record, study: Option<&Study>, plots: Plots) -> String {
    match study.filter(|study| study.columns.is_none()) {
        Some(study) => report::beside::text(&beside(study, record), record, plots),
        None => report::table::table(record, plots),
    }
}

/// Whether a case that was asked for could not be measured although its place offers all it needs.
fn any_failed(record: &Record) -> bool {
    record.results.iter().filter(|row| report::table::is_asked(row)).any(|row| {
        matches!(row.outcome, RowOutcome::Failed | RowOutcome::TimedOut | RowOutcome::Unmeasurable)
    })
}

/// Keeps the journal in the store, as long as the store can; the run goes on without it.
pub(super) struct Keeper {
    store: Option<Store>,
    id: String,
}

impl Keeper {
    fn open(no_store: bool, started: &RunHeader) -> Self {
        let id = started.id.clone();
        if no_store {
            return Self { store: None, id };
        }
        let Some(path) = Store::default_path() else {
            remark("note: this run is not kept: neither XDG_DATA_HOME nor HOME names a folder");
            return Self { store: None, id };
        };
        let opened = Store::open(&path).and_then(|mut store| {
            store.begin(started)?;
            Ok(store)
        });
        match opened {
            Ok(store) => Self { store: Some(store), id },
            Err(error) => {
                remark(&format!("note: this run is not kept: {error}"));
                Self { store: None, id }
            }
        }
    }

    fn keep(&mut self, entry: &Entry) {
        if matches!(entry, Entry::Started(_)) {
            return; // The store began with it.
        }
        if let Some(store) = &mut self.store
            && let Err(error) = store.append(&self.id, entry)
        {
            remark(&format!("note: the rest of this run is not kept: {error}"));
            self.store = None;
        }
    }

    /// Keeps the figures of a run that has ended beside its journal.
    fn summarise(&mut self, record: &Record) {
        if let Some(store) = self.store.as_mut().filter(|_| record.ended.is_some()) {
            history::keep::keep(store, &self.id, record);
        }
    }

    /// A run in which not even the plan was made leaves nothing to keep.
    fn forget(&mut self) {
        if let Some(store) = &mut self.store
            && let Err(error) = store.delete(&self.id)
        {
            remark(&format!("note: {error}"));
        }
    }

    pub(super) fn say_where(&self) {
        if self.store.is_some() {
            remark(&format!("kept as {}: `oscost runs show last` shows it again", self.id));
        }
    }
}
