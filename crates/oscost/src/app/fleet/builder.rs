//! A fleet from the records of its visits, one after the other in any order: none of them stays in
//! memory, and each text that visits share is there once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use oscost_model::fleet::FleetVisit;
use oscost_model::record::{Conditions, RowOutcome};

use super::usable_figure::usable_median;
use super::visit_record::{VisitRecord, VisitRow};
use crate::advice::classes::machine_class;
use crate::advice::machine_facts::machine_facts;
use crate::fleet::{
    CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, NodeVisit, OtherRevision, USE_OF_NODE,
    use_of_node,
};

/// The normal quantile of an interval of 95 %.
const Z95: f64 = 1.959_963_984_540_054;

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
        let facts = machine_facts(machine, conditions);
        let facts = facts.into_iter().map(|fact| FleetFact {
            name: fact.name,
            value: fact.value.map(|value| self.text(&value)),
        });
        let facts = facts.chain([use_fact]).collect();
        let mut figures: Vec<CaseFigure> = Vec::with_capacity(results.len());
        let mut seen = SeenCases::default();
        for row in results.into_iter().filter(|row| row.target.machine == machine.id) {
            let Some((median, log_error)) = figure(&row) else { continue };
            let case = self.number_of_row(row, &mut seen)?;
            figures.push(CaseFigure { case, median, log_error });
        }
        let class = self.text(&machine_class(machine));
        let not_claimable = conditions.and_then(Conditions::not_claimable_reason);
        self.add_visit(Visit { node, run: id, started_s, class, facts, not_claimable, figures })
    }

    /// Adds a visit; the error says why it is left out.
    pub(super) fn add_visit(&mut self, visit: Visit) -> Result<(), String> {
        let Visit { node, run, started_s, class, facts, not_claimable, figures } = visit;
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
        self.visits.push((node, NodeVisit { node: 0, run, started_s, not_claimable, figures }));
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

/// The order of cases.
fn key(case: &FleetCase) -> (&str, &'static str) {
    (&case.case, case.unit.text())
}

/// The newest revision of each case.
fn newest_revisions(cases: &[FleetCase]) -> HashMap<(&str, &'static str), u32> {
    let mut newest = HashMap::new();
    for case in cases {
        let rev = newest.entry(key(case)).or_insert(case.rev);
        *rev = case.rev.max(*rev);
    }
    newest
}

/// The cases of older revisions, with the numbers of figures that were left out.
fn other_revisions(
    cases: &[FleetCase],
    newest: &HashMap<(&str, &'static str), u32>,
    left_out: &[usize],
) -> Vec<OtherRevision> {
    let older = cases.iter().zip(left_out).filter_map(|(case, &figures)| {
        let newest = *newest.get(&key(case))?;
        let is_older = case.rev < newest && figures > 0;
        is_older.then(|| OtherRevision { case: case.case.clone(), rev: case.rev, newest, figures })
    });
    let mut older: Vec<OtherRevision> = older.collect();
    older.sort_by(|one, other| (&one.case, one.rev).cmp(&(&other.case, other.rev)));
    older
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
        true => ((high / low).ln() / 2.0 / Z95) as f32,
        false => f32::NAN,
    }
}

/// A time of a record in seconds since 1970.
fn seconds(text: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339(&text.replace("+00:00", "Z")).ok()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
}

#[cfg(test)]
pub(super) mod tests {
    use oscost_model::record::Record;

    use super::*;

    /// The record of one of two visits of `n1`, `n2`, ... with two cases, whose figures are these times
    /// some.
    pub(in crate::app::fleet) fn record(node: &str, visit: u32, factor: f64) -> Record {
        let text = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        let number: u32 = node.trim_start_matches('n').parse().unwrap();
        record.id = format!("0190a0b1-c2d3-7e4f-8a9b-{number:06}{visit:06}");
        record.started = format!("2026-11-{:02}T08:15:00Z", 21 + visit);
        record.comparisons.clear();
        record.fleet = Some(FleetVisit {
            fleet: "monday".to_owned(),
            plan: "0190a0b1-c2d3-7e4f-8a9b-000000000000".to_owned(),
            node: node.to_owned(),
            visit,
            task: 2 * (number - 1) + visit,
            exclusive: None,
        });
        let plain = record.results[0].clone();
        let row = |case: &str, cost: f64| {
            let mut row = plain.clone();
            (row.case, row.benchmark) = (case.to_owned(), case.to_owned());
            row.target.treatments.clear();
            row.metrics.clear();
            let estimate = row.estimate.as_mut().unwrap();
            estimate.median = cost * factor;
            estimate.ci95 = Some([0.99, 1.01].map(|end| end * cost * factor));
            row
        };
        record.results = vec![row("syscall/getppid", 80.0), row("pipe/round-trip", 5_000.0)];
        record
    }

    fn built(records: impl IntoIterator<Item = Record>) -> Fleet {
        let mut builder = FleetBuilder::default();
        for record in records {
            builder.add(record.into()).unwrap();
        }
        builder.finish("monday")
    }

    #[test]
    fn the_order_of_the_records_does_not_matter() {
        let mut records: Vec<Record> =
            [("n2", 0, 1.0), ("n1", 0, 1.1), ("n1", 1, 1.2), ("n2", 1, 0.9)]
                .map(|(node, visit, factor)| record(node, visit, factor))
                .into();
        let fleet = built(records.clone());
        records.reverse();
        assert_eq!(built(records), fleet);
        let cases: Vec<&str> = fleet.cases.iter().map(|it| it.case.as_str()).collect();
        assert_eq!(cases, ["pipe/round-trip", "syscall/getppid"]);
        assert_eq!(fleet.cases[0].family, "pipe");
        let visits: Vec<(usize, f64)> =
            fleet.visits.iter().map(|it| (it.node, it.figures[1].median)).collect();
        assert_eq!(visits, [(0, 80.0 * 1.1), (0, 80.0 * 1.2), (1, 80.0), (1, 80.0 * 0.9)]);
        let error = f64::from(fleet.visits[0].figures[0].log_error);
        assert!((error - (1.01f64 / 0.99).ln() / 2.0 / 1.96).abs() < 1e-6, "{error}");
    }

    #[test]
    fn facts_are_those_of_the_newest_visit_and_texts_are_shared() {
        let with_pages = |node: &str, visit, pages: &str| {
            let mut record = record(node, visit, 1.0);
            record.machines[0].memory.transparent_huge_pages = Some(pages.to_owned());
            record
        };
        let mut alone = with_pages("n2", 0, "never");
        alone.fleet.as_mut().unwrap().exclusive = Some(true);
        let used = built([alone]);
        let fact = used.nodes[0].facts.last().unwrap();
        assert_eq!((fact.name, fact.value.as_deref()), (USE_OF_NODE, Some("exclusive")));
        let fleet = built([
            with_pages("n1", 1, "never"),
            with_pages("n1", 0, "always"),
            with_pages("n2", 0, "never"),
        ]);
        let pages = |node: usize| {
            let facts = &fleet.nodes[node].facts;
            let fact = facts.iter().find(|it| it.name == "transparent huge pages").unwrap();
            fact.value.clone().unwrap()
        };
        assert_eq!(&*pages(0), "never");
        assert!(Arc::ptr_eq(&pages(0), &pages(1)));
        assert!(Arc::ptr_eq(&fleet.nodes[0].class, &fleet.nodes[1].class));
    }

    #[test]
    fn figures_without_a_logarithm_are_left_out_and_treatments_make_another_case() {
        let mut odd = record("n1", 0, 1.0);
        let plain = odd.results[0].clone();
        let mut add = |change: &dyn Fn(&mut oscost_model::record::Row)| {
            let mut row = plain.clone();
            change(&mut row);
            odd.results.push(row);
        };
        add(&|row| row.target.treatments = vec!["nice=5".to_owned()]);
        add(&|row| row.target.cpu = Some(3));
        add(&|row| row.target.cpu = Some(3));
        add(&|row| row.target.machine = "m7".to_owned());
        add(&|row| row.flags = vec!["BELOW_DETECTION".to_owned()]);
        add(&|row| row.outcome = RowOutcome::Failed);
        add(&|row| row.estimate.as_mut().unwrap().median = 0.0);
        let fleet = built([odd]);
        let cases: Vec<&str> = fleet.cases.iter().map(|it| it.case.as_str()).collect();
        let expected = [
            "pipe/round-trip",
            "syscall/getppid",
            "syscall/getppid on CPU 3",
            "syscall/getppid on CPU 3, 2",
            "syscall/getppid under nice=5",
        ];
        assert_eq!(cases, expected);
        assert_eq!(fleet.visits[0].figures.len(), 5);
        assert!(log_error([-1.0, 2.0]).is_nan() && log_error([1.0, f64::INFINITY]).is_nan());
    }

    #[test]
    fn figures_of_older_revisions_are_left_out_in_any_order() {
        let of_rev = |node: &str, visit: u32, rev: u32| {
            let mut record = record(node, visit, f64::from(rev));
            record.results[0].rev = rev;
            record
        };
        let mut records = vec![
            of_rev("n1", 0, 1),
            of_rev("n1", 1, 2),
            of_rev("n2", 0, 1),
            of_rev("n3", 1, 2),
            of_rev("n3", 0, 2),
        ];
        let fleet = built(records.clone());
        records.reverse();
        assert_eq!(built(records), fleet);
        let cases: Vec<(&str, u32)> =
            fleet.cases.iter().map(|it| (it.case.as_str(), it.rev)).collect();
        let unchanged = fleet.cases[0].rev;
        assert_eq!(cases, [("pipe/round-trip", unchanged), ("syscall/getppid", 2)]);
        let counts: Vec<usize> = fleet.visits.iter().map(|it| it.figures.len()).collect();
        assert_eq!(counts, [1, 2, 1, 2, 2], "the other case stays");
        let found = fleet.visits.iter().flat_map(|it| &it.figures).filter(|it| it.case == 1);
        assert!(found.clone().count() == 3 && found.clone().all(|it| it.median == 160.0));
        let case = "syscall/getppid".to_owned();
        assert_eq!(fleet.other_revisions, [OtherRevision { case, rev: 1, newest: 2, figures: 2 }]);
    }

    #[test]
    fn many_rows_of_one_case_are_as_many_cases_and_take_no_time_for_each_other() {
        const ROWS: usize = 20_000;
        let mut odd = record("n1", 0, 1.0);
        let mut row = odd.results[0].clone();
        row.target.cpu = Some(3);
        odd.results = vec![row; ROWS];
        let fleet = built([odd]);
        assert_eq!((fleet.cases.len(), fleet.visits[0].figures.len()), (ROWS, ROWS));
        let last = format!("syscall/getppid on CPU 3, {}", ROWS - 1);
        assert!(fleet.cases.iter().any(|it| it.case == last));
    }

    #[test]
    fn a_run_that_is_there_twice_counts_once_and_one_of_no_fleet_not_at_all() {
        let mut builder = FleetBuilder::default();
        builder.add(record("n1", 0, 1.0).into()).unwrap();
        let error = builder.add(record("n1", 0, 2.0).into()).unwrap_err();
        assert!(error.ends_with(" is there twice"), "{error}");
        let mut own = record("n2", 0, 1.0);
        own.fleet = None;
        let error = builder.add(own.into()).unwrap_err();
        assert_eq!(error, "it is no visit of a fleet's node");
        assert_eq!(builder.finish("monday").visits.len(), 1);
    }
}
