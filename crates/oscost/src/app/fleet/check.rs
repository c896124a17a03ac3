//! `oscost fleet check`: is this node like the others of its class?
//!
//! A few cases are measured in some seconds. What seems slow is measured again by fresh workers, and
//! only what is found twice is called a finding.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use oscost_model::definition::{Catalog, Extent};
use oscost_model::record::{Conditions, Machine, Record, RowOutcome};
use oscost_model::target::Host;
use oscost_model::unit::Unit;
use oscost_model::untrusted_text::display_text;
use oscost_stats::interval::NORMAL_95;

use super::source::{FleetSource, LoadedFleet, load};
use crate::advice::classes::{difference, node_class};
use crate::advice::machine_facts::machine_facts;
use crate::app::error::UsageError;
use crate::app::interrupt::listen;
use crate::app::measurement::retention::{CompletedRun, Completion, Retention};
use crate::app::observer::Observer;
use crate::app::run::{self, run_until};
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::connect::{BusyPolicy, ConnectOptions, connect};
use crate::app::targets::resolve::resolve;
pub use crate::fleet::HealthVerdict as Verdict;
use crate::fleet::{
    Baseline, CaseBaseline, CheckCandidate, CheckedCase, CheckedFigure, GroupBaseline,
    HealthVerdict, NodeCheck, NodeHealth, UnmeasuredCase, UnusualFact, check_node, choose_cases,
};
use crate::hosts::{HostError, Interrupt, WorkerBinary};
use crate::plan;
use crate::run::EventCounting;

/// What six workers of a quick case take with its pilot and the counting of its calls, in seconds.
const SECONDS_PER_CASE: f64 = 0.45;
/// An op that takes longer makes batches longer than the minimum, in nanoseconds.
const MAX_QUICK_NS: f64 = 100_000.0;
/// The flag of a figure that cannot be told from 0: fleets have no such figures.
const BELOW_DETECTION: &str = "BELOW_DETECTION";

/// The longest list of cases that is told.
const MAX_LETTERS: usize = 400;

/// Which node to check, and against which fleet.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the node is called; without it, as its target.
    pub node: Option<String>,
    /// The fleet: its name in the store, its folder, or its data set.
    pub against: String,
    /// The target that reaches the node.
    pub at: String,
    /// The time of both measurements, in seconds.
    pub budget_s: f64,
    /// The CPU of the workers; without it, the least disturbed.
    pub cpu: Option<u32>,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

/// Checks a node.
pub fn check(request: &Request, observer: &dyn Observer) -> anyhow::Result<NodeHealth> {
    check_names_node(&request.at)?;
    let LoadedFleet { fleet, rejected } = load(&FleetSource::parse(&request.against))?;
    if let Some(first) = rejected.first() {
        let (count, file, why) = (rejected.len(), &first.file, &first.why);
        observer.note(&format!("records of the fleet not read: {count}, the first {file}: {why}"));
    }
    let worker = WorkerBinary::find()?;
    let interrupt = listen()?;
    let class = node_class(&machine_at(request, &worker, &interrupt, observer)?);
    let baseline = Baseline::of(&fleet);
    let health = NodeHealth {
        node: request.node.clone().unwrap_or_else(|| request.at.clone()),
        fleet: fleet.name.clone(),
        class: class.clone(),
        cpu: None,
        verdict: HealthVerdict::Healthy,
        check: None,
        unmeasured: Vec::new(),
        unusual: Vec::new(),
    };
    let Some(class) = class_like(&baseline, &class) else {
        let why = format!("{}; {}", unknown_class(&baseline), machine_of(request, &class));
        return Ok(not_judged(health, &why));
    };
    let others = of_other_revisions(class, &worker.catalog);
    if !others.is_empty() {
        let names = display_text(&others.join(", "), MAX_LETTERS);
        observer.note(&format!(
            "not compared, of another revision of their benchmarks in the fleet: {names}"
        ));
    }
    let max = (request.budget_s / 2.0 / SECONDS_PER_CASE) as usize;
    let cases = choose_cases(&candidates(class, &worker.catalog), max.max(1));
    if cases.is_empty() {
        let why = match others.is_empty() {
            true => "this oscost has no case that was measured on its class",
            false => "this oscost has other revisions of the cases that were measured on its class",
        };
        return Ok(not_judged(health, why));
    }
    let numa_turn = day_of(SystemTime::now());
    let measure =
        |cases: &[String]| Measurement::make(request, numa_turn, cases, &interrupt, observer);
    judge(health, Equals { baseline: &baseline, class }, &cases, &measure)
}

/// Refuses a target of which each session may be another node: both measurements must be of one.
fn check_names_node(at: &str) -> anyhow::Result<()> {
    let Host::Slurm(options) = resolve(at, None)?.host else { return Ok(()) };
    match options.split(',').any(|option| option.starts_with("nodes=")) {
        true => Ok(()),
        false => {
            let at = at.escape_debug();
            let what = format!("cannot check `{at}`: each measurement may get another node");
            Err(UsageError::with_hint(&what, "`nodes=NAME` names one: `slurm:nodes=n7`").into())
        }
    }
}

/// The number of a day. Checks of each day measure on another NUMA node, both of one on the same.
fn day_of(time: SystemTime) -> u32 {
    const SECONDS_OF_A_DAY: u64 = 86_400;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs() / SECONDS_OF_A_DAY).unwrap_or_default()
}

/// What a node is compared with.
#[derive(Clone, Copy)]
struct Equals<'a> {
    baseline: &'a Baseline,
    class: &'a GroupBaseline,
}

impl Equals<'_> {
    fn judge(&self, first: &Measurement, again: Option<&Measurement>) -> NodeCheck {
        let again = again.map(|it| &it.figures[..]);
        let class = self.class.class.as_deref().unwrap_or_default();
        check_node(self.baseline, class, &first.figures, again)
    }
}

/// Judges a node by cases that `measure` measures, those that seem to differ twice.
fn judge(
    health: NodeHealth,
    equals: Equals<'_>,
    cases: &[String],
    measure: &dyn Fn(&[String]) -> anyhow::Result<Measurement>,
) -> anyhow::Result<NodeHealth> {
    let first = measure(cases)?;
    let health = NodeHealth {
        unusual: unusual_facts(equals.class, &first),
        unmeasured: first.unmeasured.clone(),
        cpu: first.cpu,
        ..health
    };
    if let Some(why) = first.not_claimable() {
        let farthest = farthest(equals.class, &first).unwrap_or_default();
        return Ok(not_judged(health, &format!("its measurement {why}{farthest}")));
    }
    let once = equals.judge(&first, None);
    if once.judged.is_empty() {
        let why = "none of its cases could be judged";
        return Ok(NodeHealth { check: Some(once), ..not_judged(health, why) });
    }
    if once.suspects.is_empty() {
        return Ok(NodeHealth { verdict: verdict(&once), check: Some(once), ..health });
    }
    let suspects: Vec<String> = once.suspects.iter().map(|it| it.case.clone()).collect();
    let again = measure(&suspects)?;
    if let Some(why) = again.not_claimable() {
        let why = format!("its second measurement {why}");
        return Ok(NodeHealth { check: Some(once), ..not_judged(health, &why) });
    }
    let twice = equals.judge(&first, Some(&again));
    let unmeasured = [health.unmeasured, again.unmeasured].concat();
    Ok(NodeHealth { verdict: verdict(&twice), check: Some(twice), unmeasured, ..health })
}

/// The case that is farthest from the class in a measurement that supports no claim. A node whose system
/// calls take 600 times as long is not healthy, and a check that may drain a node cannot tell by one
/// measurement that no disturbance did it.
fn farthest(class: &GroupBaseline, measured: &Measurement) -> Option<String> {
    let ratio = |it: &CheckedFigure| Some((it.case.clone(), class.ratio(&it.case, it.median)?));
    let size = |ratio: f64| ratio.ln().abs();
    let (case, ratio) = measured
        .figures
        .iter()
        .filter_map(ratio)
        .max_by(|(_, one), (_, other)| size(*one).total_cmp(&size(*other)))?;
    let (times, kind) = if ratio < 1.0 { (1.0 / ratio, "fast") } else { (ratio, "slow") };
    let times = if times < 10.0 { format!("{times:.2}") } else { format!("{times:.0}") };
    Some(format!(
        "; in it {case} is {times} times as {kind} as on the nodes of its class, from which nothing \
         is concluded"
    ))
}

/// A node that is faster than its equals is no reason to stop it. One of which nothing could have been
/// found is not healthy, nor is one that seemed slower and was not measured again.
fn verdict(check: &NodeCheck) -> HealthVerdict {
    let is_measured_again =
        |case: &CheckedCase| !check.not_judged.iter().any(|it| it.case == case.case);
    if check.findings.iter().any(|it| it.ratio > 1.0) {
        HealthVerdict::Slow
    } else if check.suspects.iter().any(|it| it.ratio > 1.0 && !is_measured_again(it)) {
        let why = "a case seemed slower and could not be measured again";
        HealthVerdict::NotJudged(why.to_owned())
    } else if !check.judged.iter().any(|it| it.finds_doubled_cost) {
        let why = "its cases vary so much that twice the cost would not be found in any";
        HealthVerdict::NotJudged(why.to_owned())
    } else {
        HealthVerdict::Healthy
    }
}

fn not_judged(health: NodeHealth, why: &str) -> NodeHealth {
    NodeHealth { verdict: HealthVerdict::NotJudged(why.to_owned()), ..health }
}

/// The machine that the node is, before anything is measured.
fn machine_at(
    request: &Request,
    worker: &WorkerBinary,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> anyhow::Result<Machine> {
    let target = resolve(&request.at, None)?;
    let options = ConnectOptions { interrupt, on_busy: request.on_busy, observer };
    let connection = connect(&target.host, worker, options)?;
    Ok(Machine::new("m0", connection.session.hello().facts.clone(), Vec::new()))
}

/// The class of the baseline that this one is; a fact that could not be read on one side matches
/// anything, as long as only one class matches.
fn class_like<'a>(baseline: &'a Baseline, class: &str) -> Option<&'a GroupBaseline> {
    if class.is_empty() {
        return None;
    }
    let exact = baseline.classes.iter().find(|it| it.class.as_deref() == Some(class));
    let is_like = |it: &&GroupBaseline| {
        it.class.as_deref().is_some_and(|known| difference(known, class).is_none())
    };
    let mut like = baseline.classes.iter().filter(is_like);
    let only = like.next().filter(|_| like.next().is_none());
    exact.or(only)
}

fn unknown_class(baseline: &Baseline) -> String {
    let known = baseline.classes.iter().filter_map(|it| it.class.as_deref());
    let known: Vec<String> = known.map(|class| format!("`{class}`")).collect();
    match known.is_empty() {
        true => "the fleet has no class with four nodes or more".to_owned(),
        false => {
            format!("the fleet has no four nodes of its class, but of {}", known.join(" and of "))
        }
    }
}

/// Of which class the machine is that was asked, which need not be the node that was meant.
fn machine_of(request: &Request, class: &str) -> String {
    let class = if class.is_empty() { "unknown" } else { class };
    match &request.node {
        Some(node) if request.at == "local" => format!(
            "the class of this machine is `{class}`: if it is not {node}, check there, or by `--at`"
        ),
        _ => format!("the class of the machine at {} is `{class}`", request.at),
    }
}

/// The cases of a class that this worker can measure.
fn candidates(class: &GroupBaseline, catalog: &Catalog) -> Vec<CheckCandidate> {
    let candidate = |it: &CaseBaseline| CheckCandidate {
        case: it.case.clone(),
        family: it.case.split('/').next().unwrap_or_default().to_owned(),
        is_quick: it.unit == Unit::NsPerOp && it.centre.exp() <= MAX_QUICK_NS,
        between_visits: it.between_visits,
    };
    let is_comparable = |it: &&CaseBaseline| revision(catalog, &it.case) == Some(it.rev);
    class.cases.iter().filter(is_comparable).map(candidate).collect()
}

/// The cases of a class whose benchmarks this worker has in another revision.
fn of_other_revisions(class: &GroupBaseline, catalog: &Catalog) -> Vec<String> {
    let is_other =
        |it: &&CaseBaseline| revision(catalog, &it.case).is_some_and(|rev| rev != it.rev);
    class.cases.iter().filter(is_other).map(|it| it.case.clone()).collect()
}

/// The revision of a case in a catalog; `None` if it does not have the case.
fn revision(catalog: &Catalog, case: &str) -> Option<u32> {
    let found = plan::select(catalog, &[case.to_owned()], Extent::Default).ok()?;
    let [only] = &found[..] else { return None };
    let definition = catalog.get(&only.benchmark).filter(|_| only.to_string() == case)?;
    Some(definition.rev)
}

/// What one run found on the node.
struct Measurement {
    figures: Vec<CheckedFigure>,
    cpu: Option<u32>,
    unmeasured: Vec<UnmeasuredCase>,
    machine: Option<Machine>,
    conditions: Option<Conditions>,
}

impl Measurement {
    /// Measures cases on the node, with fresh workers.
    fn make(
        request: &Request,
        numa_turn: u32,
        cases: &[String],
        interrupt: &Interrupt,
        observer: &dyn Observer,
    ) -> anyhow::Result<Self> {
        let run_request = run::Request {
            selectors: cases.to_vec(),
            programs: ProgramRequest::default(),
            study: None,
            effort: Effort::Quick,
            precision_pct: None,
            refine: false,
            budget_s: Some(request.budget_s / 2.0),
            treatments: None,
            at: request.at.clone(),
            event_counting: EventCounting::InNoRound,
            cpu: request.cpu,
            numa_turn: Some(numa_turn),
            peer: None,
            peer_cpu: None,
            label: None,
            seed: None,
            retention: Retention { keep: false, raw_samples: false },
            on_busy: request.on_busy,
        };
        let CompletedRun { record, ended, .. } = run_until(interrupt, &run_request, observer)?;
        match ended? {
            Completion::Interrupted => Err(HostError::Interrupted.into()),
            Completion::Complete | Completion::WithFailures => Ok(Self::of(record, cases)),
        }
    }

    fn of(record: Record, cases: &[String]) -> Self {
        let Record { results, mut machines, mut conditions, .. } = record;
        let (mut figures, mut unmeasured) = (Vec::new(), Vec::new());
        let cpus: BTreeSet<u32> = results.iter().filter_map(|row| row.target.cpu).collect();
        let cpu = cpus.first().copied().filter(|_| cpus.len() == 1);
        for row in results.iter().filter(|row| cases.contains(&row.case)) {
            let case = row.case.clone();
            let is_above = !row.flags.iter().any(|flag| flag == BELOW_DETECTION);
            let estimate = row.estimate.as_ref().filter(|it| is_above && it.median > 0.0);
            match estimate.filter(|_| row.outcome == RowOutcome::Measured) {
                Some(it) => figures.push(CheckedFigure {
                    case,
                    median: it.median,
                    log_error: it.ci95.and_then(log_error),
                }),
                None => {
                    let why = row.reason.clone();
                    let why = why.unwrap_or_else(|| "it cannot be told from 0".to_owned());
                    unmeasured.push(UnmeasuredCase { case, why });
                }
            }
        }
        let (machine, conditions) = (machines.pop(), conditions.pop());
        Self { figures, cpu, unmeasured, machine, conditions }
    }

    fn not_claimable(&self) -> Option<&'static str> {
        self.conditions.as_ref().and_then(Conditions::not_claimable_reason)
    }
}

/// The standard error of the logarithm of a figure with this interval.
fn log_error([low, high]: [f64; 2]) -> Option<f64> {
    (low > 0.0).then(|| (high / low).ln() / (2.0 * NORMAL_95))
}

/// The facts that most nodes of the class have otherwise.
fn unusual_facts(class: &GroupBaseline, measured: &Measurement) -> Vec<UnusualFact> {
    let Some(machine) = &measured.machine else { return Vec::new() };
    let usual: BTreeMap<&str, &str> = class.facts.iter().map(|it| (it.name, &*it.value)).collect();
    let facts = machine_facts(machine, measured.conditions.as_ref());
    let unusual = facts.into_iter().filter_map(|fact| {
        let (own, usual) = (fact.value?, usual.get(fact.name)?);
        (own != *usual).then(|| UnusualFact { name: fact.name, own, usual: (*usual).to_owned() })
    });
    unusual.collect()
}

#[cfg(test)]
mod tests;
