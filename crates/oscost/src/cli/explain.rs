//! `oscost explain`

use std::time::{Duration, Instant};

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::definition::{Definition, Extent};
use oscost_model::facts::Facts;
use oscost_model::journal::Entry;
use oscost_model::program::FAMILY;
use oscost_model::record::{Row, RowOutcome};
use oscost_model::target::Host;
use oscost_model::unit::Unit;

use super::output::Output;
use super::programs::Programs;
use super::run::is_interrupt;
use super::target::{Arrived, Machine, Patience, arrive, local, untreated};
use super::{Done, vm};
use crate::estimate::Assembler;
use crate::hosts::{Interrupt, Session, WorkerBinary};
use crate::plan;
use crate::report;
use crate::report::here::{Last, Shown};
use crate::report::treatments::Explained;
use crate::run::count_calls;
use crate::store::{Store, Stored};
use crate::treatments::{KINDS, Kind, Mechanism};

/// What counting may take: whoever asks for an explanation waits for it.
const COUNTING: Duration = Duration::from_secs(2);
/// What looking for the last figures may take, in time and in runs; but for the first few of them,
/// which are looked at in any case.
const LOOKING: Duration = Duration::from_secs(1);
const RUNS_LOOKED_AT: usize = 20;
const RUNS_IN_ANY_CASE: usize = 3;

/// What to explain.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A single benchmark is also looked at here and now: its system calls are counted, which takes a
moment and times nothing, and its last figure from this machine is shown.

Examples:
  oscost explain syscall/getppid
  oscost explain timer             every benchmark of a family, without looking
  oscost explain seccomp           a treatment (`oscost treat list`)")]
pub(super) struct Arguments {
    /// A benchmark, a family, or a treatment.
    #[arg(value_name = "BENCHMARK")]
    benchmark: String,
    /// Where to look.
    #[arg(long, value_name = "REACH", default_value = "local")]
    at: String,
}

pub(super) fn explain(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    if let Some(kind) = KINDS.iter().find(|kind| kind.name == arguments.benchmark) {
        output.write(&report::treatments::explain(&of_treatment(kind)))?;
        return Ok(Done::Well);
    }
    let host = untreated(&arguments.at, "what is explained is looked at without treatments")?;
    vm::check(&host)?;
    let program = WorkerBinary::find()?;
    let catalog = &Programs::known().beside(&program.catalog);
    let cases = plan::select(catalog, std::slice::from_ref(&arguments.benchmark), Extent::Default)?;
    let chosen: Vec<&Definition> = catalog
        .benchmarks
        .iter()
        .filter(|definition| cases.iter().any(|case| case.benchmark == definition.id))
        .collect();
    let texts: Vec<String> = chosen.iter().map(|it| report::catalog::explain(it)).collect();
    output.write(&texts.join("\n"))?;
    let named = arguments.benchmark.split(':').next().unwrap_or_default();
    if let [definition] = chosen[..]
        && definition.id == named
        && definition.family() != FAMILY
    {
        let beside = definition.compare_with.iter().filter_map(|case| Case::parse(case));
        let cases: Vec<Case> = cases.iter().cloned().chain(beside).collect();
        match look(&host, &arguments.at, &program, definition, &cases) {
            Err(error) if is_interrupt(&error) => return Ok(Done::Interrupted),
            told => output.write(&told?)?,
        }
    }
    Ok(Done::Well)
}

/// A treatment, for whoever asks what it costs.
fn of_treatment(kind: &Kind) -> Explained {
    let compared = match kind.mechanism {
        Mechanism::Applied => {
            "As fork twins: one process forks two, of which one is treated, and they are timed in \
             turns (docs/METHOD.md, section 12)."
        }
        Mechanism::Attached => {
            "Toggled: one process is timed while it is attached and while it is not, in turns \
             (docs/METHOD.md, section 12)."
        }
        Mechanism::Wraps => {
            "In pairs: two processes one after the other, in random order (docs/METHOD.md, section \
             12)."
        }
    };
    let &Kind { name, value, effect: does, needs, why, source, .. } = kind;
    Explained { name, value, does, needs, why, compared, source }
}

/// What the machine shows of some cases now; where it shows nothing, why. It is no error but that the
/// user wants to stop.
fn look(
    host: &Host,
    at: &str,
    program: &WorkerBinary,
    definition: &Definition,
    cases: &[Case],
) -> anyhow::Result<String> {
    let nothing = |why: String| report::here::nothing(&why);
    let busy = |by: &str| {
        let here = if matches!(host, Host::Ssh(_)) { "that" } else { "this" };
        let process = by.split(" (").next().unwrap_or_default();
        nothing(format!("{process} is measuring on {here} machine"))
    };
    let interrupt = match Interrupt::listen() {
        Ok(interrupt) => interrupt,
        Err(error) => return Ok(nothing(error.to_string())),
    };
    // To boot another machine beside a run would disturb it, whatever is counted there.
    if let (Host::Vm(_), (_, Machine::Held(by))) = (host, local(&interrupt, Patience::GoWithout)?) {
        return Ok(busy(&by));
    }
    Ok(match arrive(host, program, &interrupt, Patience::GoWithout) {
        // Counting beside a run would be one more thing that disturbs it.
        Ok(Arrived { machine: Machine::Held(by), .. }) => busy(&by),
        Ok(Arrived { mut session, .. }) => shown(&mut *session, at, definition, cases),
        Err(error) if is_interrupt(&error) => return Err(error),
        Err(error) => nothing(error.to_string()),
    })
}

fn shown(session: &mut dyn Session, at: &str, definition: &Definition, cases: &[Case]) -> String {
    let facts = session.hello().facts.clone();
    let counted = match count_calls(session, cases, COUNTING) {
        Ok(counted) => counted,
        Err(error) => return report::here::nothing(&error.to_string()),
    };
    let mut last = last_figures(cases, at, &facts);
    let shown: Vec<Shown> = counted
        .into_iter()
        .zip(&mut last)
        .map(|(counted, last)| {
            // Of what moves bytes the calls are those of a message.
            let each = match counted.case.benchmark == definition.id {
                true => definition.ops_per_message(&counted.case.point),
                false => 1,
            };
            let counted_of = |count: CallCount| count.grouped_by(each);
            Shown {
                counted: counted.outcome.map(counted_of),
                case: counted.case,
                last: last.take(),
            }
        })
        .collect();
    report::here::text(definition, &shown)
}

/// The last figure of each case from this machine, as far as the newest runs have one; before one
/// without an interval (of a run that was cut short) an older one that has it. A store that cannot
/// be read is no reason to explain nothing: there is no figure then.
fn last_figures(cases: &[Case], at: &str, facts: &Facts) -> Vec<Option<Last>> {
    let mut found: Vec<Option<Last>> = cases.iter().map(|_| None).collect();
    let until = Instant::now() + LOOKING;
    // A store that is not there yet is not made for this.
    let path = Store::default_path().filter(|path| path.exists());
    let Some(store) = path.and_then(|path| Store::open(&path).ok()) else { return found };
    let listed = store.list().unwrap_or_default();
    let own = listed.iter().filter(|run| !run.imported).take(RUNS_LOOKED_AT);
    for (number, listing) in own.enumerate() {
        let all_found = found.iter().all(|last| last.as_ref().is_some_and(is_sure));
        if all_found || (number >= RUNS_IN_ANY_CASE && Instant::now() >= until) {
            break;
        }
        let Ok(Stored::Journal(entries)) = store.load(&listing.id) else { continue };
        if is_of_interest(&entries, cases, at, facts) {
            look_through(&entries, cases, (at, facts), &mut found);
        }
    }
    found
}

/// Whether a run was at this place, on this machine, and about one of these cases.
fn is_of_interest(entries: &[Entry], cases: &[Case], at: &str, facts: &Facts) -> bool {
    let here = entries.iter().any(|entry| match entry {
        Entry::MachineDescribed { machine, .. } => machine.cpu.model_name == facts.cpu.model_name,
        _ => false,
    });
    let about = entries.iter().any(|entry| match entry {
        Entry::Planned { rows, .. } => {
            rows.iter().any(|row| row.target.text == at && cases.contains(&row.case))
        }
        _ => false,
    });
    here && about
}

fn look_through(
    entries: &[Entry],
    cases: &[Case],
    (at, facts): (&str, &Facts),
    found: &mut [Option<Last>],
) {
    let Some(record) = Assembler::read(entries).record(false) else { return };
    for (case, found) in cases.iter().zip(found) {
        // Of a run at several places the row of this one.
        let is_it = |row: &&Row| row.case == case.to_string() && row.target.text == at;
        let row = record.results.iter().find(is_it);
        let Some(row) = row.filter(|row| row.outcome == RowOutcome::Measured) else { continue };
        let machine = record.machines.iter().find(|it| it.id == row.target.machine);
        let release = machine.and_then(|machine| machine.os.release.clone());
        let other_kernel = release.filter(|release| Some(release) != facts.os.release.as_ref());
        let last = Last {
            row: row.clone(),
            started: record.started.clone(),
            quiet: record.conditions.first().and_then(|conditions| conditions.class.clone()),
            other_kernel,
        };
        if found.as_ref().is_none_or(|newer| !is_sure(newer) && is_sure(&last)) {
            *found = Some(last);
        }
    }
}

/// Whether a figure has an interval; one that was counted needs none.
fn is_sure(last: &Last) -> bool {
    last.row.unit == Unit::InstructionsPerOp
        || last.row.estimate.as_ref().is_some_and(|estimate| estimate.ci95.is_some())
}
