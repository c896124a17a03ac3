//! `oscost ab`

use std::time::Duration;

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::journal::Design;
use oscost_model::program::FAMILY;
use oscost_model::protocol::Hello;
use oscost_model::record::{Comparison, Machine, Record, Settings};
use oscost_model::target::Target;

use super::compare::{judge_gate, threshold};
use super::exports::{Exports, OfRun, Subject, Table};
use super::output::{Output, remark};
use super::programs::{self, Named, Programs};
use super::run::{self, Ended};
use super::target::{Patience, arrive, side, treated};
use super::{Done, UsageError, predict, study, vm};
use crate::estimate::comparison::threshold::Threshold;
use crate::hosts::{Interrupt, Session, WorkerBinary};
use crate::plan::{ComparisonRows, ComparisonSet};
use crate::report::{self, ab::Shown};
use crate::run::{ComparisonPlan, PairCount, Profile, Request};
use crate::studies::{Study, lay};
use crate::{advice, plan};
use oscost_stats::interval::Nominal;

/// As many places as one command compares with a base.
const MOST_NEWS: usize = 12;

/// Beyond the fewest pairs, rounds go on for so long.
const ROUNDS_S: f64 = 75.0;
/// Fewer pairs than these are not worth a minute.
const FEWEST_PAIRS: u32 = 12;
/// Two workers one after the other are further apart than arms of one.
const FEWEST_OF_WORKERS: u32 = 20;
/// So many pairs may be lost.
const SPARE_PAIRS: u32 = 2;
/// More pairs than these tell little more: intervals narrow with their root.
const MOST_PAIRS: u32 = 40;
/// The same for figures that are published.
const MOST_THOROUGH: u32 = 120;
const THOROUGH_S: f64 = 600.0;
/// The fewest pairs that can have a verdict.
const QUICK_PAIRS: u32 = 8;

/// What to compare with what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A PLACE is treatments (`oscost treat list`), joined with `+`; `local` is none.
Both are measured side by side, in turns, pair after pair over a minute: what
drifts on the machine meets both alike. A control, in which nothing differs, is
measured beside them; if it shows an effect, no verdict is given.

A STUDY is a set of published measurements, and says what is compared with what:
ph-2000, or a file like studies/ph-2000.toml. Its tables are shown in its own
form, published beside measured.

Examples:
  oscost ab --base local --new seccomp=docker syscall/getppid process/fork-exit
  oscost ab --base local --new ptrace --new ebpf=empty syscall
  oscost ab --base local --new local 'syscall/*'      nothing: no alarm
  oscost ab --base seccomp=allow --new seccomp=./profile.json syscall
  oscost ab --base local --new cmd='nice -n 5' --gate --threshold 5 syscall
  sudo oscost ab --base local --new ph workload/find  what a whole program pays
  oscost ab --base local --new nice=5 -- make -C x    a program of yours
  oscost ab --base ssh:db1 --new sud@ssh:db1 syscall  both on another machine
  oscost ab --base vm:6.1 --new vm:6.12 syscall       two kernels, exactly
  sudo oscost ab --study ph-2000 --quick              what pH cost, then and now
  oscost ab --study ph-2000 --new ptrace              another monitor in its place")]
pub(super) struct Arguments {
    /// The place to compare with; without it, the study's, or `local`.
    #[arg(long, value_name = "PLACE")]
    base: Option<String>,
    /// A place to compare; several may be named.
    #[arg(long, value_name = "PLACE", required_unless_present = "study")]
    new: Vec<String>,
    /// A family, an id, a case, or a glob; without any: the price list.
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    #[command(flatten)]
    programs: Named,
    /// Measure a study again: its cases at its places, unless `--base` and `--new` name others.
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["selectors", "command", "workload"])]
    study: Option<String>,
    /// As few pairs a row as a verdict takes, as fast as they come: effects that are plain to see.
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// Up to 120 pairs a row, spread over ten minutes.
    #[arg(long)]
    thorough: bool,
    /// Stop when this many seconds are over; rows that have too few pairs by then say so.
    #[arg(long, value_name = "SECONDS", value_parser = run::positive)]
    budget: Option<f64>,
    /// Pin the workers to this CPU; without it, to the quietest.
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Pin second processes of cases with two ends to this CPU where they are to have another.
    #[arg(long, value_name = "N")]
    peer_cpu: Option<u32>,
    /// Your own words, kept with the run.
    #[arg(long, value_name = "TEXT", value_parser = run::label)]
    label: Option<String>,
    /// Where all randomness of the run comes from; without it, a fresh one.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How much slower is too much: in per cent, or as 10insn in instructions.
    #[arg(long, value_name = "PCT", default_value = "5", value_parser = threshold)]
    threshold: Threshold,
    /// Exit with 1 when a case is surely slower, and by more than the threshold.
    #[arg(long)]
    gate: bool,
    /// Put every raw batch into the JSON record.
    #[arg(long)]
    samples: bool,
    #[command(flatten)]
    exports: Exports,
    /// What a line of CSV and Parquet is.
    #[arg(long, value_name = "TABLE", default_value = "comparisons")]
    table: Table,
    /// Keep nothing.
    #[arg(long)]
    no_store: bool,
    /// If another run has the machine, fail at once.
    #[arg(long)]
    no_wait: bool,
}

impl Arguments {
    fn profile(&self) -> &'static str {
        match (self.quick, self.thorough) {
            (true, _) => "quick",
            (_, true) => "thorough",
            _ => "default",
        }
    }

    /// Whether the run is kept, and whether raw batches are wanted of it.
    fn kept(&self) -> (bool, bool) {
        (!self.no_store, self.samples || self.exports.wants_samples())
    }

    /// Refuses what means nothing where instructions are counted.
    fn counts_alone(&self) -> Result<(), UsageError> {
        let given = [
            ("--study", self.study.is_some()),
            ("--budget", self.budget.is_some()),
            ("--cpu", self.cpu.is_some()),
            ("--peer-cpu", self.peer_cpu.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        vm::means_nothing(&given)
    }

    /// Shows what was compared, and judges it where there is a gate.
    fn show(
        &self,
        Ended { record, ended, keeper }: Ended,
        study: Option<&Study>,
        output: &mut Output,
    ) -> anyhow::Result<Done> {
        let as_text = || text(&record, study);
        let (samples, table) = (self.samples, self.table);
        let run = OfRun { record: &record, samples, study, table };
        let shown = self.exports.show(&Subject::Run(run), as_text, output);
        keeper.say_where();
        shown?;
        let done = run::how(ended?, &record);
        let gate = self.gate && done != Done::Interrupted;
        let gate = if gate { gated(self, &record) } else { Done::Well };
        Ok(if done == Done::Well { gate } else { done })
    }

    /// How many pairs each row of these gets; those of a study as many as it had runs, at least.
    fn pairs(&self, sets: &[ComparisonSet], study: Option<&Study>) -> PairCount {
        // One discovery among many rows takes more pairs than one alone; some pair may be lost.
        let rows = sets.iter().map(|set| set.news.len()).sum();
        let among = report::ab::min_pairs_for_discovery(rows) + SPARE_PAIRS;
        let in_workers = sets.iter().any(|set| set.design == Design::Pairs) && !self.quick;
        let among = if in_workers { among.max(FEWEST_OF_WORKERS) } else { among };
        let runs = study.map_or(0, |study| study.protocol.runs as u32 + SPARE_PAIRS);
        let count = |least: u32, most: u32, seconds: f64, spread: bool| PairCount {
            min: least.max(among).max(runs),
            max: most.max(runs),
            spread,
            time_budget: Duration::from_secs_f64(seconds),
        };
        match (self.quick, self.thorough) {
            (true, _) => count(QUICK_PAIRS, QUICK_PAIRS, 0.0, false),
            (_, true) => count(FEWEST_PAIRS, MOST_THOROUGH, THOROUGH_S, true),
            _ => count(FEWEST_PAIRS, MOST_PAIRS, ROUNDS_S, true),
        }
    }
}

/// What is compared with what, of which cases, and for which study.
struct Asked {
    base: Target,
    news: Vec<Target>,
    cases: Vec<Case>,
    /// The worker's benchmarks, and programs.
    catalog: Catalog,
    programs: Programs,
    study: Option<Study>,
}

pub(super) fn ab(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    arguments.exports.look()?;
    let study = arguments.study.as_deref().map(study::find).transpose()?;
    let columns = study.as_ref().and_then(|study| study.columns.as_ref());
    let of_study = |at: usize| columns.map(|columns| columns[at].target.as_str());
    let base_text = arguments.base.as_deref().or(of_study(0)).unwrap_or("local");
    let mut texts: Vec<&str> = arguments.new.iter().map(String::as_str).collect();
    if texts.is_empty() {
        texts.extend(of_study(1));
    }
    if let (Some(study), true) = (&study, texts.is_empty()) {
        return Err(UsageError(format!(
            "study {} compares nothing: `oscost run --study {}` measures it\n  hint: `--new PLACE` \
             compares its cases there with those at `{base_text}`",
            study.id,
            arguments.study.as_deref().unwrap_or_default()
        ))
        .into());
    }
    let most = if columns.is_some() { 1 } else { MOST_NEWS };
    if texts.len() > most {
        let text = format!(
            "{} places: at most {most} {}",
            texts.len(),
            match columns {
                Some(_) => "stands in the second column of a study",
                None => "are compared",
            }
        );
        return Err(UsageError(text).into());
    }
    let base = treated(base_text, None)?;
    let news = texts.iter().map(|text| treated(text, None)).collect::<Result<Vec<_>, _>>()?;
    let counted = counted(arguments, std::iter::once(&base).chain(&news))?;
    for (text, new) in texts.iter().zip(&news).filter(|_| counted.is_none()) {
        one_machine(base_text, &base, text, new)?;
    }
    let program = WorkerBinary::find()?;
    let programs = Programs::of(&arguments.programs)?;
    let catalog = programs.beside(&program.catalog);
    let selectors = programs.selectors(&arguments.selectors);
    let cases = match &study {
        Some(study) => study::cases(&catalog, study)?,
        None => plan::select(&catalog, &selectors, Extent::Default)?,
    };
    // What cannot be read is said before anybody is waited for.
    for target in std::iter::once(&base).chain(&news) {
        side(target, Arch::from_uname(std::env::consts::ARCH))?;
    }
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let patience = if arguments.no_wait { Patience::Fail } else { Patience::Wait };
    if let Some(counted) = counted {
        let of = vm::Of { program: &program, catalog: &catalog, programs: &programs };
        let ended = vm::count(of, cases, counted, (&interrupt, patience), arguments.kept())?;
        return ended.map_or(Ok(Done::Interrupted), |it| arguments.show(it, None, output));
    }
    let done = arrive(&base.host, &program, &interrupt, patience).and_then(|mut arrived| {
        let session = &mut *arrived.session;
        let asked = Asked { base: base.clone(), news, cases, catalog, programs, study };
        measure(arguments, &asked, session, output)
    });
    match done {
        Err(error) if run::is_interrupt(&error) => Ok(Done::Interrupted),
        other => other,
    }
}

/// The machines that these places are, where instructions are counted at all of them.
fn counted<'a>(
    arguments: &Arguments,
    targets: impl Iterator<Item = &'a Target>,
) -> Result<Option<vm::Counted>, UsageError> {
    let mut machines = Vec::new();
    let mut others = Vec::new();
    for target in targets {
        match vm::counts(target)? {
            Some(wanted) => machines.push((target.clone(), wanted)),
            None => others.push(target),
        }
    }
    match (machines.first(), others.first()) {
        (None, _) => Ok(None),
        (Some((machine, _)), Some(other)) => Err(UsageError(format!(
            "cannot compare `{machine}` with `{other}`: instructions are counted at the one, and \
             time is measured at the other"
        ))),
        (Some(_), None) => {
            arguments.counts_alone()?;
            let (label, profile) = (arguments.label.clone(), arguments.profile());
            Ok(Some(vm::Counted { label, profile, targets: machines, pairs: true }))
        }
    }
}

/// What differs between two machines is everything: no interleaving tells what of it counts.
fn one_machine(base_text: &str, base: &Target, text: &str, new: &Target) -> anyhow::Result<()> {
    if base.host == new.host {
        return Ok(());
    }
    Err(UsageError(format!(
        "cannot measure `{base_text}` and `{text}` side by side: they are two machines\n  hint: \
         `oscost run --at {}` and `oscost run --at {}`, then `oscost compare`",
        base.host, new.host
    ))
    .into())
}

/// Measures, keeps, shows.
fn measure(
    arguments: &Arguments,
    asked: &Asked,
    session: &mut dyn Session,
    output: &mut Output,
) -> anyhow::Result<Done> {
    let request = request(arguments, asked, session.hello())?;
    let (kept, samples) = arguments.kept();
    match run::listened(session, None, request, kept, samples)? {
        Some(ended) => arguments.show(ended, asked.study.as_ref(), output),
        None => Ok(Done::Interrupted),
    }
}

/// A run whose places were measured side by side as text: in the form of its study, if that
/// compares.
pub(super) fn text(record: &Record, study: Option<&Study>) -> String {
    match study.and_then(|study| lay::lay(study, record)) {
        Some(laid) => report::study::text(&laid, record),
        None => report::ab::text(&Shown { record }),
    }
}

fn gated(arguments: &Arguments, record: &Record) -> Done {
    if record.comparisons.iter().any(|it| it.flags.iter().any(|flag| flag == "VOID")) {
        remark("gate: failed: the control shows an effect where nothing differs: measure again");
        return Done::WithFailures;
    }
    let asked = |it: &&Comparison| {
        !it.control && report::table::is_asked(&record.results[it.base as usize])
    };
    let rows: Vec<Comparison> = record.comparisons.iter().filter(asked).cloned().collect();
    judge_gate(&record.results, &rows, arguments.threshold)
}

fn request(arguments: &Arguments, asked: &Asked, hello: &Hello) -> anyhow::Result<Request> {
    let arch = hello.facts.os.arch.as_deref().and_then(Arch::from_uname);
    let (base, mut notes) = side(&asked.base, arch)?;
    let mut sides = Vec::new();
    for new in &asked.news {
        let (side, more) = side(new, arch)?;
        sides.push(side);
        notes.extend(more);
    }
    notes.dedup();
    for note in notes {
        remark(&format!("note: {note}"));
    }
    let news = sides;
    let ComparisonRows { mut rows, treatments: treated, sets } =
        plan::comparison_rows(&asked.catalog, &asked.cases, &base, &news);
    let lacking = asked.programs.fill(&mut rows, &asked.base.host, arguments.quick);
    if let Some(study) = asked.study.as_ref().filter(|_| !arguments.quick) {
        study::as_often_as(study, &mut rows);
    }
    let programs = asked
        .cases
        .iter()
        .all(|case| case.benchmark.split_once('/').is_some_and(|(family, _)| family == FAMILY));
    let compares = asked.study.as_ref().filter(|study| study.columns.is_some());
    let pairs = arguments.pairs(&sets, compares);
    // What programs pay is seen in their trials: the reference cases beside them are there for the record.
    let pairs = if programs { PairCount { max: pairs.min, spread: false, ..pairs } } else { pairs };
    let settings = Settings {
        seed: arguments.seed.unwrap_or_else(run::fresh_seed),
        profile: arguments.profile().to_owned(),
        precision_pct: None,
        nominal: Nominal::FIXED.share(),
        budget_s: arguments.budget,
        study: arguments.study.clone(),
        predictions: predict::of(&rows),
    };
    Ok(Request {
        header: run::started(arguments.label.clone(), hello, settings),
        machine: Machine::new("m0", hello.facts.clone(), advice::machine_notes(&hello.facts)),
        tracers: hello.facts.tracers.clone(),
        rows,
        timers: Vec::new(),
        profile: Profile::Quick,
        budget: arguments.budget.map(Duration::from_secs_f64),
        treatments: treated,
        comparison: Some(ComparisonPlan { sets, pairs, measure_lone_bases: compares.is_some() }),
        refine: false,
        trials: programs::time(
            (arguments.quick, arguments.thorough),
            arguments.programs.calls,
            arguments.budget,
        ),
        unmeasurable: lacking,
        requested_cpu: arguments.cpu,
        peer_cpu: arguments.peer_cpu,
    })
}
