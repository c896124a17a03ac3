//! `oscost explain`: what a benchmark measures, with its calls counted here and its last figure;
//! treatments and studies; and the last run, for examples of other words.

use std::time::{Duration, Instant};

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Definition, Extent};
use oscost_model::facts::Facts;
use oscost_model::journal::Entry;
use oscost_model::program::FAMILY;
use oscost_model::raw_call::CALL;
use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::target::{Host, Target};
use oscost_model::unit::Unit;

pub use crate::treatments::{Kind, Mechanism};

use super::error::is_interrupted;
use super::observer::Observer;
use super::results::records::load;
use super::results::user_data::existing_store;
use super::selection::programs::Programs;
use super::targets::connect::{
    BusyPolicy, ConnectOptions, Connection, Machine, connect, reserve_this_machine,
};
use super::targets::resolve::host_alone;
use super::targets::vm::check;
use crate::estimate::Assembler;
use crate::hosts::{Interrupt, Session, WorkerBinary};
use crate::plan::{self, SelectorError};
use crate::run::count_calls;
use crate::store::{Store, StoredRun};
use crate::studies::{Study, built_in_names, find_built_in};
use crate::treatments::KINDS;

/// The time for counting: the user waits for the explanation.
const COUNTING: Duration = Duration::from_secs(2);
/// The time for finding the last figures, and how many runs are read; the first few are read in any
/// case.
const READING: Duration = Duration::from_secs(1);
const MAX_RUNS_READ: usize = 20;
const MIN_RUNS_READ: usize = 3;

/// What to explain, and where its calls are counted.
#[derive(Clone, Debug)]
pub struct Request {
    /// A benchmark, a family, a case, a treatment, a study, or a word.
    pub name: String,
    /// The host.
    pub at: String,
}

/// What a name means besides the words of reports.
#[derive(Default)]
pub struct Explanation {
    /// Treatments: one by its name, or those of a target with their values, `nice=5+sud@local`.
    pub treatments: Vec<&'static Kind>,
    /// Benchmarks.
    pub benchmarks: Option<Benchmarks>,
    /// A study.
    pub study: Option<Study>,
    /// All that can be measured; `None` of a treatment's name, for which no worker is asked.
    pub catalog: Option<Catalog>,
    /// What is wrong with the name as a selector; `None` if it names a benchmark, and if it looks
    /// like no selector.
    pub refusal: Option<anyhow::Error>,
}

/// Benchmarks to explain.
pub struct Benchmarks {
    /// Their definitions.
    pub definitions: Vec<Definition>,
    /// Which of their cases are counted here.
    observed: Option<CountingTarget>,
}

/// A single benchmark, whose calls are counted.
struct CountingTarget {
    worker: WorkerBinary,
    host: Host,
    at: String,
    definition: Definition,
    cases: Vec<Case>,
}

/// What was observed of a benchmark on this machine.
pub struct ObservedBenchmark {
    /// The benchmark.
    pub definition: Definition,
    /// Its cases, or why nothing was counted.
    pub cases: Result<Vec<ObservedCase>, String>,
}

/// What was observed of a case on this machine.
pub struct ObservedCase {
    /// The case.
    pub case: Case,
    /// The calls that it made, or why they were not counted.
    pub counted: Result<CallCount, String>,
    /// Its last figure from this machine.
    pub last: Option<LastFigure>,
}

/// A figure that was measured before.
#[derive(Clone, Debug)]
pub struct LastFigure {
    /// Its row.
    pub row: Row,
    /// When its run began, RFC 3339.
    pub started: String,
    /// The class of the run: how noisy the machine was.
    pub class: Option<String>,
    /// The release of the kernel, if it was another one.
    pub other_kernel: Option<String>,
}

/// Finds what a name means.
pub fn explain(request: &Request) -> anyhow::Result<Explanation> {
    let name = request.name.as_str();
    let kind = KINDS.iter().find(|kind| kind.name == name);
    // Benchmarks and axes have the name of this one, too.
    if let Some(kind) = kind.filter(|kind| kind.name != CALL) {
        return Ok(Explanation { treatments: vec![kind], ..Explanation::default() });
    }
    let host = host_alone(&request.at, "benchmarks are explained without treatments")?;
    check(&host)?;
    let worker = WorkerBinary::find()?;
    let catalog = Programs::bundled().definitions(&worker.catalog);
    let selected = plan::select(&catalog, std::slice::from_ref(&request.name), Extent::Default);
    let mut found = Explanation {
        treatments: kind.map_or_else(|| treatments(name), |kind| vec![kind]),
        study: find_built_in(name),
        ..Explanation::default()
    };
    match selected {
        Ok(cases) => {
            let at = CountedAt { worker, host, at: request.at.clone() };
            found.benchmarks = Some(benchmarks(at, &catalog, &cases, name));
        }
        // Which of them is meant is the reader's choice: none is counted here.
        Err(SelectorError::AmbiguousNames { all }) => {
            let is_named =
                |definition: &&Definition| all.iter().any(|it| it.ids.contains(&definition.id));
            let definitions = catalog.benchmarks.iter().filter(is_named).cloned().collect();
            found.benchmarks = Some(Benchmarks { definitions, observed: None });
        }
        Err(SelectorError::UnknownName { .. }) => {}
        Err(error) => found.refusal = Some(error.into()),
    }
    found.catalog = Some(catalog);
    Ok(found)
}

/// The kinds of the treatments of a target, each once; none of what is no target.
fn treatments(text: &str) -> Vec<&'static Kind> {
    let Ok(target) = Target::parse(text) else { return Vec::new() };
    let is_named = |kind: &&Kind| target.treatments.iter().any(|it| it.name == kind.name);
    KINDS.iter().filter(is_named).collect()
}

/// Where calls are counted.
struct CountedAt {
    worker: WorkerBinary,
    host: Host,
    at: String,
}

/// The benchmarks of these cases, with those of a single one to be counted.
fn benchmarks(
    CountedAt { worker, host, at }: CountedAt,
    catalog: &Catalog,
    cases: &[Case],
    name: &str,
) -> Benchmarks {
    let is_selected =
        |definition: &&Definition| cases.iter().any(|case| case.benchmark == definition.id);
    let definitions: Vec<Definition> =
        catalog.benchmarks.iter().filter(is_selected).cloned().collect();
    let id = name.split(':').next().unwrap_or_default();
    let observed = match &definitions[..] {
        [definition] if is_id(id, definition) && definition.family() != FAMILY => {
            let floors = definition.compare_with.iter().filter_map(|case| Case::parse(case));
            let cases = cases.iter().cloned().chain(floors).collect();
            Some(CountingTarget { worker, host, at, definition: definition.clone(), cases })
        }
        _ => None,
    };
    Benchmarks { definitions, observed }
}

/// The names that are not in the catalog: treatments and studies.
pub fn other_names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name).chain(built_in_names())
}

/// The last run that the user has asked for, if there is one: it has examples of words.
pub fn last_run() -> anyhow::Result<Option<Record>> {
    let Some(store) = existing_store()? else { return Ok(None) };
    match store.list()?.iter().find(|run| !run.is_of_bill()) {
        Some(newest) => Ok(Some(load(&store, &newest.id, false)?)),
        None => Ok(None),
    }
}

/// Whether a name is the id of a benchmark, or its last part.
fn is_id(name: &str, definition: &Definition) -> bool {
    let last_part = definition.id.split_once('/').map(|(_, part)| part);
    name == definition.id || Some(name) == last_part
}

/// Counts the calls of a single benchmark, and finds its last figures; `None` for several. Only an
/// interruption by the user is an error: where nothing can be counted the reason is returned.
pub fn observe(
    benchmarks: Benchmarks,
    observer: &dyn Observer,
) -> anyhow::Result<Option<ObservedBenchmark>> {
    let Some(observed) = benchmarks.observed else { return Ok(None) };
    let cases = cases_here(&observed, observer)?;
    Ok(Some(ObservedBenchmark { definition: observed.definition, cases }))
}

fn cases_here(
    observed: &CountingTarget,
    observer: &dyn Observer,
) -> anyhow::Result<Result<Vec<ObservedCase>, String>> {
    let CountingTarget { host, worker, .. } = observed;
    let busy = |by: &str| {
        let is_other = matches!(host, Host::Ssh(_) | Host::Slurm(_));
        let machine = if is_other { "that machine" } else { "this machine" };
        let process = by.split(" (").next().unwrap_or_default();
        format!("{process} is measuring on {machine}")
    };
    let interrupt = match Interrupt::listen() {
        Ok(interrupt) => interrupt,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let options = ConnectOptions { interrupt: &interrupt, on_busy: BusyPolicy::Continue, observer };
    // Booting a machine would disturb another run.
    if let Host::Vm(_) = host
        && let Machine::Busy(by) = reserve_this_machine(options)?.machine
    {
        return Ok(Err(busy(&by)));
    }
    match connect(host, worker, options) {
        // Counting would disturb the other run.
        Ok(Connection { machine: Machine::Busy(by), .. }) => Ok(Err(busy(&by))),
        Ok(Connection { mut session, .. }) => Ok(count(&mut *session, observed)),
        Err(error) if is_interrupted(&error) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn count(
    session: &mut dyn Session,
    observed: &CountingTarget,
) -> Result<Vec<ObservedCase>, String> {
    let CountingTarget { definition, cases, at, .. } = observed;
    let facts = session.hello().facts.clone();
    let counted = count_calls(session, cases, COUNTING).map_err(|error| error.to_string())?;
    let last = last_figures(cases, at, &facts);
    let here = counted.into_iter().zip(last).map(|(counted, last)| {
        // A benchmark that moves bytes is counted per message.
        let ops = match counted.case.benchmark == definition.id {
            true => definition.ops_per_message(&counted.case.point),
            false => 1,
        };
        let per_op = |count: CallCount| count.grouped_by(ops);
        ObservedCase { counted: counted.outcome.map(per_op), case: counted.case, last }
    });
    Ok(here.collect())
}

/// The last figure of each case from this machine, as far as the newest runs have one; an older
/// figure with an interval is preferred to a newer one without (of a run that was cut short). If
/// the store cannot be read, the explanation is shown without figures.
fn last_figures(cases: &[Case], at: &str, facts: &Facts) -> Vec<Option<LastFigure>> {
    let mut found: Vec<Option<LastFigure>> = cases.iter().map(|_| None).collect();
    let until = Instant::now() + READING;
    let path = Store::default_path().filter(|path| path.exists());
    let Some(store) = path.and_then(|path| Store::open_to_read(&path).ok()) else { return found };
    let listed = store.list().unwrap_or_default();
    let own = listed.iter().filter(|run| !run.imported).take(MAX_RUNS_READ);
    for (number, listing) in own.enumerate() {
        let all_found = found.iter().all(|last| last.as_ref().is_some_and(has_interval));
        if all_found || (number >= MIN_RUNS_READ && Instant::now() >= until) {
            break;
        }
        let Ok(StoredRun::Journal(entries)) = store.load(&listing.id) else { continue };
        if is_relevant(&entries, cases, at, facts) {
            take_figures(&entries, cases, Subject { at, facts }, &mut found);
        }
    }
    found
}

/// The target and the machine of the figures to find.
struct Subject<'a> {
    at: &'a str,
    facts: &'a Facts,
}

/// Whether a run measured one of these cases at this target on this machine.
fn is_relevant(entries: &[Entry], cases: &[Case], at: &str, facts: &Facts) -> bool {
    let same_machine = entries.iter().any(|entry| match entry {
        Entry::MachineDescribed { machine, .. } => machine.cpu.model_name == facts.cpu.model_name,
        Entry::Pruned { record: Some(record), .. } => {
            record.machines.iter().any(|it| it.cpu.model_name == facts.cpu.model_name)
        }
        _ => false,
    });
    let same_case = entries.iter().any(|entry| match entry {
        Entry::Planned { rows, .. } => {
            rows.iter().any(|row| row.target.text == at && cases.contains(&row.case))
        }
        Entry::Pruned { record: Some(record), .. } => record.results.iter().any(|row| {
            row.target.text == at && Case::parse(&row.case).is_some_and(|it| cases.contains(&it))
        }),
        _ => false,
    });
    same_machine && same_case
}

/// Adds the figures of a run for cases that have none yet, or none with an interval.
fn take_figures(
    entries: &[Entry],
    cases: &[Case],
    Subject { at, facts }: Subject<'_>,
    found: &mut [Option<LastFigure>],
) {
    let Some(record) = Assembler::read(entries).record(false) else { return };
    for (case, found) in cases.iter().zip(found) {
        // A run of several targets has a row for each.
        let is_it = |row: &&Row| row.case == case.to_string() && row.target.text == at;
        let row = record.results.iter().find(is_it);
        let Some(row) = row.filter(|row| row.outcome == RowOutcome::Measured) else { continue };
        let machine = record.machines.iter().find(|it| it.id == row.target.machine);
        let release = machine.and_then(|machine| machine.os.release.clone());
        let other_kernel = release.filter(|release| Some(release) != facts.os.release.as_ref());
        let last = LastFigure {
            row: row.clone(),
            started: record.started.clone(),
            class: record.conditions.first().and_then(|conditions| conditions.class.clone()),
            other_kernel,
        };
        if found.as_ref().is_none_or(|newer| !has_interval(newer) && has_interval(&last)) {
            *found = Some(last);
        }
    }
}

/// Whether a figure has an interval; a counted figure needs none.
fn has_interval(last: &LastFigure) -> bool {
    last.row.unit == Unit::InstructionsPerOp
        || last.row.estimate.as_ref().is_some_and(|estimate| estimate.ci95.is_some())
}
