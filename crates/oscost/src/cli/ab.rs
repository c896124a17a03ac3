//! `oscost ab`

use std::time::Duration;

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::case::Case;
use oscost_model::definition::Extent;
use oscost_model::journal::Design;
use oscost_model::place::Place;
use oscost_model::protocol::Hello;
use oscost_model::record::{Comparison, Machine, Record, Settings};

use super::compare::{judge_gate, threshold};
use super::output::{Output, Target, remark};
use super::place::{Patience, arrive, side, treated};
use super::run::{self, Ended};
use super::{Done, UsageError};
use crate::plan::{Set, Sides};
use crate::reach::{CellProgram, Interrupt, Session};
use crate::report::{self, ab::Shown};
use crate::run::{Contest, PairCount, Profile, Request};
use crate::stats::interval::Nominal;
use crate::{advice, plan};

/// As many places as one command compares with a base.
const MOST_NEWS: usize = 12;

/// Beyond the fewest pairs, rounds go on for so long.
const ROUNDS_S: f64 = 75.0;
/// Fewer pairs than these are not worth a minute.
const FEWEST_PAIRS: u32 = 12;
/// Two cells one after the other are further apart than arms of one.
const FEWEST_OF_CELLS: u32 = 20;
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

Examples:
  oscost ab --base local --new seccomp=docker syscall/getppid process/fork-exit
  oscost ab --base local --new ptrace --new ebpf=empty syscall
  oscost ab --base local --new local 'syscall/*'      nothing: no alarm
  oscost ab --base seccomp=allow --new seccomp=./profile.json syscall
  oscost ab --base local --new cmd='nice -n 5' --gate --threshold 5 syscall
  oscost ab --base ssh:db1 --new sud@ssh:db1 syscall  both on another machine")]
pub(super) struct Arguments {
    /// The place to compare with.
    #[arg(long, value_name = "PLACE", default_value = "local")]
    base: String,
    /// A place to compare; several may be named.
    #[arg(long, value_name = "PLACE", required = true)]
    new: Vec<String>,
    /// A family, an id, a case, or a glob; without any: the bill.
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// As few pairs a row as a verdict takes, as fast as they come: effects that are plain to see.
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// Up to 120 pairs a row, spread over ten minutes.
    #[arg(long)]
    thorough: bool,
    /// Stop when this many seconds are over; rows that have too few pairs by then say so.
    #[arg(long, value_name = "SECONDS", value_parser = run::positive)]
    budget: Option<f64>,
    /// Pin the cells to this CPU; without it, to the quietest.
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
    /// How much slower is too much, in per cent.
    #[arg(long, value_name = "PCT", default_value = "5", value_parser = threshold)]
    threshold: f64,
    /// Exit with 1 when a case is surely slower, and by more than the threshold.
    #[arg(long)]
    gate: bool,
    /// Put every raw batch into the JSON record.
    #[arg(long)]
    samples: bool,
    /// Write the record as JSON to a file, or with `-` to standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
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

    /// How many pairs each row of these gets.
    fn pairs(&self, sets: &[Set]) -> PairCount {
        // One discovery among many rows takes more pairs than one alone; some pair may be lost.
        let rows = sets.iter().map(|set| set.news.len()).sum();
        let among = report::ab::pairs_for(rows) + SPARE_PAIRS;
        let in_cells = sets.iter().any(|set| set.design == Design::Pairs) && !self.quick;
        let among = if in_cells { among.max(FEWEST_OF_CELLS) } else { among };
        let count = |least: u32, most: u32, seconds: f64, spread: bool| PairCount {
            least: least.max(among),
            most,
            spread,
            within: Duration::from_secs_f64(seconds),
        };
        match (self.quick, self.thorough) {
            (true, _) => count(QUICK_PAIRS, QUICK_PAIRS, 0.0, false),
            (_, true) => count(FEWEST_PAIRS, MOST_THOROUGH, THOROUGH_S, true),
            _ => count(FEWEST_PAIRS, MOST_PAIRS, ROUNDS_S, true),
        }
    }
}

pub(super) fn ab(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    if arguments.new.len() > MOST_NEWS {
        let text = format!("{} places: at most {MOST_NEWS} are compared", arguments.new.len());
        return Err(UsageError(text).into());
    }
    let base = treated(&arguments.base, None)?;
    let news =
        arguments.new.iter().map(|text| treated(text, None)).collect::<Result<Vec<_>, _>>()?;
    for (text, new) in arguments.new.iter().zip(&news) {
        one_machine(&arguments.base, &base, text, new)?;
    }
    let program = CellProgram::find()?;
    let asked = plan::select(&program.catalog, &arguments.selectors, Extent::Usual)?;
    // What cannot be read is said before anybody is waited for.
    for place in std::iter::once(&base).chain(&news) {
        side(place, Arch::named(std::env::consts::ARCH))?;
    }
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let patience = if arguments.no_wait { Patience::Fail } else { Patience::Wait };
    let done = arrive(&base.reach, &program, &interrupt, patience).and_then(|mut arrived| {
        let session = &mut *arrived.session;
        measure(arguments, &program, asked, (&base, &news), session, output)
    });
    match done {
        Err(error) if run::is_interrupt(&error) => Ok(Done::Interrupted),
        other => other,
    }
}

/// What differs between two machines is everything: no interleaving tells what of it counts.
fn one_machine(base_text: &str, base: &Place, text: &str, new: &Place) -> anyhow::Result<()> {
    if base.reach == new.reach {
        return Ok(());
    }
    Err(UsageError(format!(
        "cannot measure `{base_text}` and `{text}` side by side: they are two machines\n  hint: \
         `oscost run --at {}` and `oscost run --at {}`, then `oscost compare`",
        base.reach, new.reach
    ))
    .into())
}

/// Measures, keeps, shows.
fn measure(
    arguments: &Arguments,
    program: &CellProgram,
    asked: Vec<Case>,
    (base, news): (&Place, &[Place]),
    session: &mut dyn Session,
    output: &mut Output,
) -> anyhow::Result<Done> {
    let request = request(arguments, program, &asked, (base, news), session.hello())?;
    let kept = !arguments.no_store;
    let Ended { record, ended, keeper } =
        match run::listened(session, None, request, kept, arguments.samples)? {
            Some(ended) => ended,
            None => return Ok(Done::Interrupted),
        };
    let shown = show(arguments, &record, output);
    keeper.say_where();
    shown?;
    let done = run::how(ended?, &record);
    let gate = arguments.gate && done != Done::Interrupted;
    let gate = if gate { gated(arguments, &record) } else { Done::Well };
    Ok(if done == Done::Well { gate } else { done })
}

fn show(arguments: &Arguments, record: &Record, output: &mut Output) -> anyhow::Result<()> {
    let target = arguments.json.as_deref().map(Target::of);
    let written = match &target {
        Some(target) => target.write(&report::json::record(record)?, output),
        None => Ok(()),
    };
    if target != Some(Target::Stdout) {
        output.write(&report::ab::text(&Shown { record }))?;
    }
    written
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

fn request(
    arguments: &Arguments,
    program: &CellProgram,
    asked: &[Case],
    (base, news): (&Place, &[Place]),
    hello: &Hello,
) -> anyhow::Result<Request> {
    let arch = hello.facts.os.arch.as_deref().and_then(Arch::named);
    let (base, mut notes) = side(base, arch)?;
    let mut sides = Vec::new();
    for new in news {
        let (side, more) = side(new, arch)?;
        sides.push(side);
        notes.extend(more);
    }
    notes.dedup();
    for note in notes {
        remark(&format!("note: {note}"));
    }
    let news = sides;
    let Sides { rows, treated, sets } = plan::versus(&program.catalog, asked, &base, &news);
    let pairs = arguments.pairs(&sets);
    let settings = Settings {
        seed: arguments.seed.unwrap_or_else(run::fresh_seed),
        profile: arguments.profile().to_owned(),
        precision_pct: None,
        nominal: Nominal::FIXED.share(),
        budget_s: arguments.budget,
    };
    Ok(Request {
        started: run::started(arguments.label.clone(), hello, settings),
        machine: Machine::new("m0", hello.facts.clone(), advice::about(&hello.facts)),
        tracers: hello.facts.tracers.clone(),
        rows,
        timers: Vec::new(),
        profile: Profile::Quick,
        budget: arguments.budget.map(Duration::from_secs_f64),
        treated,
        contest: Some(Contest { sets, pairs }),
        refine: false,
        cpu: arguments.cpu,
        peer_cpu: arguments.peer_cpu,
    })
}
