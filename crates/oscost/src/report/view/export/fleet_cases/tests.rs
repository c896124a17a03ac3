//! The lines of made-up nodes.

use oscost_model::unit::Unit;

use super::*;

fn figure(case: u32, median: f64) -> CaseFigure {
    CaseFigure { case, median, log_error: f32::NAN }
}

fn visit(node: usize, figures: Vec<CaseFigure>) -> NodeVisit {
    let (started_s, not_claimable, numa_node) = (0.0, None, None);
    NodeVisit { node, run: String::new(), started_s, not_claimable, numa_node, figures }
}

fn fleet() -> Fleet {
    let case = |case: &str| FleetCase {
        case: case.to_owned(),
        family: "fault".to_owned(),
        unit: Unit::NsPerOp,
        better: Better::Lower,
        rev: 1,
    };
    let node = |name: &str| FleetNode {
        name: name.to_owned(),
        class: "kernel 6.1".into(),
        facts: Vec::new(),
    };
    Fleet {
        name: "night".to_owned(),
        cases: vec![case("fault/cow"), case("fault/zero-fill")],
        nodes: vec![node("a"), node("b")],
        visits: vec![
            visit(0, vec![figure(0, 10.0), figure(1, 20.0)]),
            visit(0, vec![figure(0, 30.0)]),
            visit(1, vec![figure(1, 26.0)]),
        ],
        ..Fleet::default()
    }
}

fn finding(scope: FindingScope, ratio: f64) -> Finding {
    let ci95 = [ratio - 0.1, ratio + 0.1];
    let (adjustment, ratio_to_fleet) = (Some(Adjustment::Node), Some(1.4));
    Finding {
        node: 1,
        numa_node: None,
        scope,
        ratio,
        ci95,
        adjustment,
        not_claimable: None,
        ratio_to_fleet,
        q: 0.01,
        facts: Vec::new(),
    }
}

#[test]
fn every_case_of_every_node_has_a_line_with_its_figures_and_its_narrowest_finding() {
    let fleet = fleet();
    let analysis = FleetAnalysis {
        ratios: vec![1.0, 1.0, f32::NAN, 1.3],
        findings: vec![
            finding(FindingScope::Case(1), 1.3),
            finding(FindingScope::Family("fault".to_owned()), 1.2),
        ],
        ..FleetAnalysis::default()
    };
    let sheet = FleetSheet::of(&fleet, &analysis);
    let names: Vec<&str> = headings().map(|it| it.name).collect();
    let cell = |line: usize, name: &str| {
        let column = names.iter().position(|it| *it == name).unwrap();
        sheet.cell(line, column)
    };
    assert_eq!(sheet.line_count(), 4);
    assert_eq!([cell(0, "node"), cell(3, "node")], ["a", "b"].map(Value::from));
    assert_eq!(
        [cell(0, "visits"), cell(1, "visits"), cell(2, "visits")],
        [2u64, 1, 0].map(Value::from)
    );
    assert_eq!([cell(0, "median"), cell(2, "median")], [Value::Float(20.0), Value::Unknown]);
    assert_eq!([cell(0, "ratio"), cell(2, "ratio")], [Value::Float(1.0), Value::Unknown]);
    assert_eq!([cell(1, "finding"), cell(2, "finding")], [Value::Unknown, "family".into()]);
    assert_eq!([cell(3, "finding"), cell(3, "finding_ratio")], ["case".into(), Value::Float(1.3)]);
    assert_eq!(
        [cell(3, "finding_adjusted_for"), cell(3, "finding_ratio_to_fleet")],
        ["node".into(), Value::Float(1.4)]
    );
    assert_eq!(cell(0, "finding_adjusted_for"), Value::Unknown);
    assert_eq!([2, 3].map(|line| cell(line, "not_judged")), [Value::Unknown, Value::Unknown]);
    for (at, heading) in headings().enumerate() {
        let is_empty = (0..4).any(|line| sheet.cell(line, at) == Value::Unknown);
        assert!(heading.unknown.is_some() || !is_empty, "{}", heading.name);
    }
}

#[test]
fn a_figure_from_which_nothing_is_concluded_has_its_ratio_apart_and_the_reason() {
    let fleet = fleet();
    let analysis = FleetAnalysis {
        ratios: vec![1.0, 1.0, f32::NAN, f32::NAN],
        not_judged: vec![NotJudgedNode {
            node: 1,
            reason: "is very noisy",
            visits: 1,
            is_whole: true,
            ratios: vec![f32::NAN, 600.0],
            farthest: None,
        }],
        ..FleetAnalysis::default()
    };
    let sheet = FleetSheet::of(&fleet, &analysis);
    let at = |name: &str| headings().position(|it| it.name == name).unwrap();
    let cells = |line: usize| {
        ["ratio", "not_judged_ratio", "not_judged"].map(|name| sheet.cell(line, at(name)))
    };
    let unknown = || Value::Unknown;
    assert_eq!(cells(1), [Value::Float(1.0), unknown(), unknown()]);
    assert_eq!(cells(2), [unknown(), unknown(), unknown()]);
    assert_eq!(cells(3), [unknown(), Value::Float(600.0), "is very noisy".into()]);
}
