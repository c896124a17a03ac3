//! Checks of simulated nodes against a simulated fleet.

use std::cell::RefCell;
use std::sync::Arc;

use oscost_model::record::ReferenceCases;
use oscost_model::seed::Seed;

use super::*;
use crate::fleet::{CaseFigure, Fleet, FleetCase, FleetNode, NodeVisit};

const CLASS: &str = "arch x86_64, cpus 4";
const NODES: usize = 24;
const VISITS: usize = 3;
/// The cases of the fleet; a throughput last.
const CASES: [&str; 6] =
    ["fault/a", "pipe/a", "process/a", "syscall/a", "syscall/b", "socket/throughput"];

/// A normal deviate, by the sum of twelve uniform ones.
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
}

/// A fleet of equal nodes: figures vary by 3 % between visits and by 1 % between nodes.
fn fleet() -> Fleet {
    let mut seed = Seed::new(33);
    let case = |name: &&str| {
        let unit = if name.ends_with("throughput") { Unit::BytesPerSecond } else { Unit::NsPerOp };
        let family = name.split('/').next().unwrap().to_owned();
        FleetCase { case: (*name).to_owned(), family, unit, better: unit.better(), rev: 1 }
    };
    let mut visits = Vec::new();
    for node in 0..NODES {
        let own: Vec<f64> = CASES.iter().map(|_| 0.01 * normal(&mut seed)).collect();
        for visit in 0..VISITS {
            let mut figures = Vec::new();
            for (case, own) in own.iter().enumerate() {
                let log = own + 0.03 * normal(&mut seed);
                let median = usual(case) * log.exp();
                figures.push(CaseFigure { case: case as u32, median, log_error: 0.005 });
            }
            visits.push(NodeVisit {
                node,
                run: format!("{node}-{visit}"),
                started_s: (visit * 86_400 + node) as f64,
                not_claimable: None,
                numa_node: None,
                figures,
            });
        }
    }
    let node = |at: usize| FleetNode {
        name: format!("n{at:02}"),
        class: Arc::from(CLASS),
        facts: Vec::new(),
    };
    Fleet {
        name: "monday".to_owned(),
        cases: CASES.iter().map(case).collect(),
        nodes: (0..NODES).map(node).collect(),
        visits,
        ..Fleet::default()
    }
}

/// The figure of a case on a usual node.
fn usual(case: usize) -> f64 {
    if CASES[case].ends_with("throughput") { 3e9 } else { 100.0 * (case + 1) as f64 }
}

fn health() -> NodeHealth {
    NodeHealth {
        node: "n7".to_owned(),
        fleet: "monday".to_owned(),
        class: CLASS.to_owned(),
        cpu: None,
        verdict: HealthVerdict::Healthy,
        check: None,
        unmeasured: Vec::new(),
        unusual: Vec::new(),
    }
}

/// The measurement of these cases on a node whose costs are multiplied by these factors.
fn measurement(cases: &[String], factor: impl Fn(&str) -> f64) -> Measurement {
    let figures = cases.iter().map(|case| {
        let at = CASES.iter().position(|it| it == case).unwrap();
        let is_rate = CASES[at].ends_with("throughput");
        let factor = if is_rate { 1.0 / factor(case) } else { factor(case) };
        let (case, median) = (case.clone(), usual(at) * factor);
        CheckedFigure { case, median, log_error: Some(0.005) }
    });
    let figures = figures.collect();
    Measurement { figures, cpu: Some(3), unmeasured: Vec::new(), machine: None, conditions: None }
}

/// The check of a node whose costs have these factors in each of its measurements; and which cases
/// each measured.
fn checked(factors: &dyn Fn(usize, &str) -> f64) -> (NodeHealth, Vec<Vec<String>>) {
    let fleet = fleet();
    let baseline = Baseline::of(&fleet);
    let class = class_like(&baseline, CLASS).unwrap();
    let cases = CASES.map(str::to_owned);
    let measured: RefCell<Vec<Vec<String>>> = RefCell::default();
    let measure = |cases: &[String]| -> anyhow::Result<Measurement> {
        let number = measured.borrow().len();
        measured.borrow_mut().push(cases.to_vec());
        Ok(measurement(cases, |case| factors(number, case)))
    };
    let equals = Equals { baseline: &baseline, class };
    let judged = judge(health(), equals, &cases, &measure).unwrap();
    (judged, measured.into_inner())
}

#[test]
fn a_usual_node_is_healthy_after_one_measurement() {
    let (health, measured) = checked(&|_, _| 1.0);
    assert_eq!((health.verdict, measured.len()), (HealthVerdict::Healthy, 1));
    assert_eq!(health.cpu, Some(3));
    assert_eq!(health.check.unwrap().judged.len(), CASES.len());
}

#[test]
fn what_is_slow_twice_is_a_finding_also_of_a_rate() {
    for slow in ["syscall/a", "socket/throughput"] {
        let (health, measured) = checked(&|_, case| if case == slow { 1.6 } else { 1.0 });
        assert_eq!(health.verdict, HealthVerdict::Slow, "{slow}");
        let found: Vec<String> =
            health.check.unwrap().findings.into_iter().map(|it| it.case).collect();
        assert_eq!(found, [slow]);
        assert_eq!(measured[1], [slow], "the suspects alone are measured again");
    }
}

#[test]
fn what_is_slow_once_is_no_finding_and_a_fast_node_is_healthy() {
    let (once, measured) = checked(&|number, case| match (number, case) {
        (0, "pipe/a") => 1.6,
        _ => 1.0,
    });
    assert_eq!((&once.verdict, measured.len()), (&HealthVerdict::Healthy, 2));
    assert!(once.check.unwrap().findings.is_empty());
    let (fast, _) = checked(&|_, case| if case == "pipe/a" { 0.6 } else { 1.0 });
    assert_eq!(fast.verdict, HealthVerdict::Healthy);
}

#[test]
fn a_node_of_slurm_is_checked_by_its_name() {
    for at in ["slurm:", "slurm:partition=debug", "slurm:constraint=nodes"] {
        let why = check_names_node(at).unwrap_err().to_string();
        assert!(why.contains("another node") && why.contains("nodes=NAME"), "{why}");
    }
    for at in ["slurm:nodes=n1", "slurm:partition=debug,nodes=n[7]", "local", "ssh:n1"] {
        check_names_node(at).unwrap();
    }
}

#[test]
fn days_go_on() {
    let day = |text: &str| day_of(humantime::parse_rfc3339(text).unwrap());
    assert_eq!(day("1970-01-02T00:00:00Z"), 1);
    assert_eq!(day("2026-11-27T00:00:01Z"), day("2026-11-26T23:59:59Z") + 1);
}

#[test]
fn a_node_whose_cases_cannot_be_judged_is_not_called_healthy() {
    let fleet = fleet();
    let baseline = Baseline::of(&fleet);
    let equals = Equals { baseline: &baseline, class: class_like(&baseline, CLASS).unwrap() };
    let cases = CASES.map(str::to_owned);
    let with_error = |log_error: Option<f64>| {
        let measure = |cases: &[String]| -> anyhow::Result<Measurement> {
            let mut made = measurement(cases, |_| 1.0);
            made.figures.iter_mut().for_each(|figure| figure.log_error = log_error);
            Ok(made)
        };
        let judged = judge(health(), equals, &cases, &measure).unwrap();
        let HealthVerdict::NotJudged(why) = judged.verdict else { panic!("{judged:?}") };
        why
    };
    assert!(with_error(Some(0.5)).contains("vary so much"));
    assert!(with_error(None).contains("none of its cases"));
}

/// The conditions of a very noisy measurement.
fn very_noisy() -> Conditions {
    Conditions {
        machine: "m0".to_owned(),
        class: Some("very-noisy".to_owned()),
        reference_cases: ReferenceCases { before: BTreeMap::new(), after: BTreeMap::new() },
        lambda_per_s: None,
        steal_pct: None,
        lost_pct: Some(99.0),
        tracers: Vec::new(),
        probe: Vec::new(),
        core: None,
        flags: Vec::new(),
    }
}

#[test]
fn a_very_noisy_node_is_neither_healthy_nor_slow_and_what_is_farthest_is_told() {
    let fleet = fleet();
    let baseline = Baseline::of(&fleet);
    let equals = Equals { baseline: &baseline, class: class_like(&baseline, CLASS).unwrap() };
    let cases = CASES.map(str::to_owned);
    let farthest: [(&str, f64, &str); 3] = [
        ("syscall/b", 612.0, "slow"),
        ("socket/throughput", 3.0, "slow"),
        ("syscall/a", 0.004, "fast"),
    ];
    for (other, factor, kind) in farthest {
        let measure = |cases: &[String]| -> anyhow::Result<Measurement> {
            let made = measurement(cases, |case| if case == other { factor } else { 1.0 });
            Ok(Measurement { conditions: Some(very_noisy()), ..made })
        };
        let judged = judge(health(), equals, &cases, &measure).unwrap();
        let HealthVerdict::NotJudged(why) = &judged.verdict else { panic!("{judged:?}") };
        let told = why.strip_prefix(&format!("its measurement is very noisy; in it {other} is "));
        let (times, words) = told.unwrap().split_once(' ').unwrap();
        // The middle of the class is known to about 1 %.
        let times: f64 = times.parse().unwrap();
        assert!((times / factor.max(1.0 / factor) - 1.0).abs() < 0.05, "{why}");
        assert!(words.starts_with(&format!("times as {kind} as on the nodes")), "{why}");
        assert!(words.ends_with("of its class, from which nothing is concluded"), "{why}");
        assert!(judged.check.is_none(), "no case has a judgement");
    }
}

#[test]
fn a_case_that_seemed_slower_and_is_not_measured_again_leaves_the_node_unjudged() {
    let fleet = fleet();
    let baseline = Baseline::of(&fleet);
    let equals = Equals { baseline: &baseline, class: class_like(&baseline, CLASS).unwrap() };
    let cases = CASES.map(str::to_owned);
    let judged = |factor: f64| {
        let measure = |cases: &[String]| -> anyhow::Result<Measurement> {
            if cases.len() == CASES.len() {
                let factor = |case: &str| if case == "pipe/a" { factor } else { 1.0 };
                return Ok(measurement(cases, factor));
            }
            let mut made = measurement(&[], |_| 1.0);
            let unmeasured = |case: &String| UnmeasuredCase {
                case: case.clone(),
                why: "it timed out".to_owned(),
            };
            made.unmeasured = cases.iter().map(unmeasured).collect();
            Ok(made)
        };
        judge(health(), equals, &cases, &measure).unwrap()
    };
    let slower = judged(1.6);
    let HealthVerdict::NotJudged(why) = &slower.verdict else { panic!("{slower:?}") };
    assert_eq!(why, "a case seemed slower and could not be measured again");
    assert_eq!(slower.unmeasured.len(), 1);
    assert_eq!(slower.unmeasured[0].why, "it timed out");
    let faster = judged(0.6);
    assert_eq!(faster.verdict, HealthVerdict::Healthy);
    assert_eq!(faster.unmeasured.len(), 1);
}

#[test]
fn a_class_is_found_by_what_is_known_and_another_one_is_not_judged() {
    let fleet = fleet();
    let baseline = Baseline::of(&fleet);
    let is_known = |class: &str| class_like(&baseline, class).is_some();
    assert!(is_known(CLASS));
    assert!(is_known("arch x86_64, cpus 4, hypervisor kvm"), "the fleet could not read it");
    assert!(!is_known("arch x86_64, cpus 8") && !is_known(""));
    let why = unknown_class(&baseline);
    assert!(why.ends_with(&format!("but of `{CLASS}`")), "{why}");
}

#[test]
fn figures_that_cannot_be_told_from_zero_are_told_as_such() {
    let record = include_str!("../../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(record).unwrap();
    record.results.truncate(1);
    record.results.push(record.results[0].clone());
    for (row, case) in record.results.iter_mut().zip(["a/a", "a/b"]) {
        row.target.cpu = Some(7);
        (row.case, row.outcome) = (case.to_owned(), RowOutcome::Measured);
        row.flags.clear();
    }
    record.results[1].flags.push(BELOW_DETECTION.to_owned());
    let cases = ["a/a", "a/b"].map(str::to_owned);
    let measured = Measurement::of(record, &cases);
    assert_eq!((measured.figures.len(), measured.cpu), (1, Some(7)));
    assert_eq!(measured.figures[0].case, "a/a");
    assert_eq!(measured.unmeasured.len(), 1);
    assert!(measured.unmeasured[0].why.contains("told from 0"));
}

#[test]
fn candidates_are_cases_of_this_worker_and_the_short_ones_are_quick() {
    let mut fleet = fleet();
    let names =
        ["syscall/getppid:via=raw", "no/such", "syscall/getppid:via=libc", "x under nice=5"];
    for (case, name) in fleet.cases.iter_mut().zip(names) {
        case.case = name.to_owned();
    }
    fleet.visits.iter_mut().for_each(|visit| visit.figures[0].median *= 1e6);
    let baseline = Baseline::of(&fleet);
    let class = class_like(&baseline, CLASS).unwrap();
    let mut found = candidates(class, &oscost_worker::benchmarks::data());
    found.sort_by(|one, other| one.case.cmp(&other.case));
    let [quick, slow] = &found[..] else { panic!("{found:?}") };
    assert_eq!((quick.case.as_str(), quick.is_quick), ("syscall/getppid:via=libc", true));
    assert_eq!((slow.case.as_str(), slow.is_quick), ("syscall/getppid:via=raw", false));
    assert_eq!(slow.family, "syscall");
}
