//! A fleet from the records of its visits, one after the other in any order: none of them stays in
//! memory, and each text that visits share is there once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use oscost_model::fleet::FleetVisit;
use oscost_model::record::{Conditions, Machine, RowOutcome};
use oscost_stats::interval::NORMAL_95;

use super::revisions::{key, newest_revisions, other_revisions};
use super::usable_figure::usable_median;
use super::visit_record::{VisitRecord, VisitRow};
use crate::advice::classes::node_class;
use crate::advice::machine_facts::machine_facts;
use crate::fleet::{
    CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, LOST_TIME, NodeVisit, STOLEN_TIME,
    USE_OF_NODE, share_of_time, use_of_node,
};

/// More cases than a thousand price lists have: memory for records of strangers is bounded by it.
const MAX_CASES: usize = 100_000;

/// The figures of a visit, as any source has them.
pub(super) struct Visit {
    pub(super) node: String,
    pub(super) run: String,
    pub(super) started_s: f64,
    pub(super) class: Arc<str>,
    pub(super) facts: Vec<FleetFact>,
    pub(super) not_claimable: Option<&'static str>,
    pub(super) numa_node: Option<u32>,
    /// By the numbers that the builder gave to the cases.
    pub(super) figures: Vec<CaseFigure>,
}

/// Puts a fleet together.
#[derive(Default)]
pub(super) struct FleetBuilder {
    cases: Vec<FleetCase>,
    numbers: HashMap<CaseKey, u32>,
    texts: HashSet<Arc<str>>,
    nodes: BTreeMap<String, Node>,
    visits: Vec<(String, NodeVisit)>,
    runs: HashSet<String>,
}

/// What makes a case one. Revisions are told apart at the end, when the newest one is known.
#[derive(PartialEq, Eq, Hash)]
struct CaseKey {
    case: String,
    unit: &'static str,
    rev: u32,
}

/// The cases of a visit so far.
#[derive(Default)]
struct SeenCases {
    numbers: HashSet<u32>,
    /// How many rows a case has, of those that have several.
    rows: HashMap<u32, u32>,
}

/// A node, by its newest visit.
struct Node {
    newest_s: f64,
    newest_run: String,
    class: Arc<str>,
    facts: Vec<FleetFact>,
}

impl FleetBuilder {
    /// Adds the visit of a record; the error says why it is left out.
    pub(super) fn add(&mut self, record: VisitRecord) -> Result<(), String> {
        let VisitRecord { id, started, fleet, machines, conditions, results } = record;
        let FleetVisit { node, exclusive, .. } = fleet.ok_or("it is no visit of a fleet's node")?;
        let started_s = seconds(&started).ok_or("its start is no time")?;
        let machine = machines.first().ok_or("it describes no machine")?;
        let conditions = conditions.iter().find(|it| it.machine == machine.id);
        let value = exclusive.map(|is_exclusive| self.text(use_of_node(is_exclusive)));
        let use_fact = FleetFact { name: USE_OF_NODE, value };
        let mut of_time = |name: &'static str, pct: Option<f64>| {
            let value = pct.map(|pct| self.text(share_of_time(pct)));
            FleetFact { name, value }
        };
        let stolen_fact = of_time(STOLEN_TIME, conditions.and_then(|it| it.steal_pct));
        let lost_fact = of_time(LOST_TIME, conditions.and_then(|it| it.lost_pct));
        let facts = machine_facts(machine, conditions);
        let facts = facts.into_iter().map(|fact| FleetFact {
            name: fact.name,
            value: fact.value.map(|value| self.text(&value)),
        });
        let facts = facts.chain([stolen_fact, lost_fact, use_fact]).collect();
        let numa_node = numa_node(machine, &results);
        let mut figures: Vec<CaseFigure> = Vec::with_capacity(results.len());
        let mut seen = SeenCases::default();
        for row in results.into_iter().filter(|row| row.target.machine == machine.id) {
            let Some((median, log_error)) = figure(&row) else { continue };
            let case = self.number_of_row(row, &mut seen)?;
            figures.push(CaseFigure { case, median, log_error });
        }
        let class = self.text(&node_class(machine));
        let not_claimable = conditions.and_then(Conditions::not_claimable_reason);
        let run = id;
        self.add_visit(Visit {
            node,
            run,
            started_s,
            class,
            facts,
            not_claimable,
            numa_node,
            figures,
        })
    }

    /// Adds a visit; the error says why it is left out.
    pub(super) fn add_visit(&mut self, visit: Visit) -> Result<(), String> {
        let Visit { node, run, started_s, class, facts, not_claimable, numa_node, figures } = visit;
        if !self.runs.insert(run.clone()) {
            return Err(format!("run {run} is there twice"));
        }
        let is_newer = self.nodes.get(&node).is_none_or(|known| {
            (known.newest_s, known.newest_run.as_str()) < (started_s, run.as_str())
        });
        if is_newer {
            let newest_run = run.clone();
            self.nodes.insert(node.clone(), Node { newest_s: started_s, newest_run, class, facts });
        }
        let visit = NodeVisit { node: 0, run, started_s, not_claimable, numa_node, figures };
        self.visits.push((node, visit));
        Ok(())
    }

    /// The text that all that have it share.
    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = Arc::from(text);
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// The number of a case.
    pub(super) fn case(&mut self, case: FleetCase) -> Result<u32, String> {
        let key = CaseKey { case: case.case.clone(), unit: case.unit.text(), rev: case.rev };
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let number = self.cases.len();
        if number == MAX_CASES {
            return Err(format!("the fleet has more than {MAX_CASES} cases with it"));
        }
        self.numbers.insert(key, number as u32);
        self.cases.push(case);
        Ok(number as u32)
    }

    /// The number of a row's case. A second row of it in one visit was measured on another CPU, and
    /// is a case of its own.
    fn number_of_row(&mut self, row: VisitRow, seen: &mut SeenCases) -> Result<u32, String> {
        let family = row.benchmark.split('/').next().unwrap_or_default().to_owned();
        let mut name = row.case;
        if !row.target.treatments.is_empty() {
            name = format!("{name} under {}", row.target.treatments.join("+"));
        }
        let (unit, better, rev) = (row.unit, row.better, row.rev);
        let case = |case: String| FleetCase { case, family: family.clone(), unit, better, rev };
        let first = self.case(case(name.clone()))?;
        if seen.numbers.insert(first) {
            return Ok(first);
        }
        let cpu = row.target.cpu.map_or("another CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        let second = self.case(case(format!("{name} on {cpu}")))?;
        let mut number = second;
        while !seen.numbers.insert(number) {
            let rows = seen.rows.entry(second).or_insert(1);
            *rows += 1;
            number = self.case(case(format!("{name} on {cpu}, {rows}")))?;
        }
        Ok(number)
    }

    /// The fleet, with the figures of the newest revision of each benchmark.
    pub(super) fn finish(self, name: &str) -> Fleet {
        let Self { cases: numbered, nodes, mut visits, .. } = self;
        let newest = newest_revisions(&numbered);
        let is_newest = |case: &FleetCase| newest.get(&key(case)) == Some(&case.rev);
        let mut order: Vec<usize> =
            (0..numbered.len()).filter(|&at| is_newest(&numbered[at])).collect();
        order.sort_by(|&one, &other| key(&numbered[one]).cmp(&key(&numbered[other])));
        let mut places: Vec<Option<u32>> = vec![None; numbered.len()];
        for (place, &number) in order.iter().enumerate() {
            places[number] = Some(place as u32);
        }
        let mut left_out = vec![0; numbered.len()];
        visits.sort_by(|(node, visit), (other_node, other)| {
            node.cmp(other_node)
                .then(visit.started_s.total_cmp(&other.started_s))
                .then_with(|| visit.run.cmp(&other.run))
        });
        let indices: HashMap<&str, usize> =
            nodes.keys().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let visits = visits.into_iter().map(|(node, mut visit)| {
            visit.node = indices.get(node.as_str()).copied().unwrap_or_default();
            visit.figures.retain_mut(|figure| {
                let number = figure.case as usize;
                match places[number] {
                    Some(place) => figure.case = place,
                    None => left_out[number] += 1,
                }
                places[number].is_some()
            });
            visit.figures.sort_by_key(|figure| figure.case);
            visit.figures.shrink_to_fit();
            visit
        });
        let visits = visits.collect();
        let other_revisions = other_revisions(&numbered, &newest, &left_out);
        let cases = order.iter().map(|&number| numbered[number].clone()).collect();
        let nodes = nodes
            .into_iter()
            .map(|(name, Node { class, facts, .. })| FleetNode { name, class, facts })
            .collect();
        Fleet { name: name.to_owned(), cases, nodes, visits, other_revisions }
    }
}

/// The NUMA node that a visit measured, of a machine with several: that of the CPUs of all its rows.
fn numa_node(machine: &Machine, rows: &[VisitRow]) -> Option<u32> {
    let nodes = machine.memory.numa_cpus.as_ref()?;
    if nodes.iter().filter(|cpus| !cpus.is_empty()).count() < 2 {
        return None;
    }
    let rows = rows.iter().filter(|row| row.target.machine == machine.id);
    let node_of = |cpu: u32| nodes.iter().position(|cpus| cpus.contains(&cpu));
    let mut measured = rows.filter_map(|row| row.target.cpu).map(node_of);
    let first = measured.next()??;
    measured.all(|it| it == Some(first)).then_some(first as u32)
}

/// The figure of a row, and the standard error of its logarithm; `None` of a row that has none, or
/// whose figure is not above 0: it was not measured, cannot be told from 0, or is a yes or a no.
fn figure(row: &VisitRow) -> Option<(f64, f32)> {
    let estimate = row.estimate.as_ref().filter(|_| row.outcome == RowOutcome::Measured)?;
    let median = usable_median(row.unit, &row.flags, estimate.median)?;
    Some((median, estimate.ci95.map_or(f32::NAN, log_error)))
}

/// The standard error of a figure's logarithm, by its interval; NaN of an interval that contains 0.
fn log_error([low, high]: [f64; 2]) -> f32 {
    match low > 0.0 && high >= low && high.is_finite() {
        true => ((high / low).ln() / 2.0 / NORMAL_95) as f32,
        false => f32::NAN,
    }
}

/// A time of a record in seconds since 1970.
fn seconds(text: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339(&text.replace("+00:00", "Z")).ok()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
}

#[cfg(test)]
pub(super) mod tests;
