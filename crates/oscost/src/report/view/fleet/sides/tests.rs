//! Reports of made-up comparisons.

use oscost_model::unit::Unit;

use super::*;
use crate::fleet::UnreadRecords;

fn comparison(case: &str, ratio: Option<f64>, verdict: SideVerdict) -> SideComparison {
    let unit = if case.ends_with("throughput") { Unit::BytesPerSecond } else { Unit::NsPerOp };
    SideComparison {
        case: case.to_owned(),
        unit,
        better: unit.better(),
        ratio,
        ci95: ratio.map(|ratio| [ratio - 0.02, ratio + 0.02]),
        p: 0.01,
        q: if ratio.is_some() { 0.02 } else { 1.0 },
        verdict,
        nodes: if ratio.is_some() { 8 } else { 0 },
    }
}

fn compared(comparisons: Vec<SideComparison>) -> ComparedSides {
    ComparedSides {
        fleet: "monday".to_owned(),
        treatments: "nice=5".to_owned(),
        nodes_of_both: 0,
        nodes_of_base: 4,
        nodes_of_new: 1,
        comparisons,
        excluded: vec![ExcludedRun {
            run: "0190".to_owned(),
            node: "n3".to_owned(),
            why: "is very noisy",
        }],
        other_revisions: Vec::new(),
        unread: Some(UnreadRecords {
            count: 2,
            first: "7.json".to_owned(),
            why: "it is empty".to_owned(),
        }),
    }
}

fn lead(of: &ComparedSides) -> String {
    view(of).lead.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_answer_names_what_changed_most_and_a_smaller_rate_is_slower() {
    let of = compared(vec![
        comparison("syscall/a", Some(1.2), SideVerdict::Larger),
        comparison("socket/throughput", Some(0.5), SideVerdict::Smaller),
        comparison("pipe/a", Some(0.9), SideVerdict::Smaller),
        comparison("fault/a", Some(1.0), SideVerdict::Equivalent),
        comparison("file/a", None, SideVerdict::Inconclusive),
    ]);
    let expected = "nice=5: of 4 cases, 2 cases are slower, most of all socket/throughput: 0.50 \
                    times (0.48 to 0.52); 1 case is faster, most of all pipe/a: 0.90 times (0.88 \
                    to 0.92); 1 case could not be compared\nfleet monday: 4 nodes without, 1 node \
                    with; 2 slower, 1 faster, 1 equivalent";
    assert_eq!(lead(&of), expected);
    let titles: Vec<String> = view(&of).sections.into_iter().map(|it| it.title).collect();
    let expected =
        ["Cases", "Runs from which nothing is concluded", "Records that could not be read"];
    assert_eq!(titles, expected);
}

#[test]
fn nothing_found_and_nothing_compared_are_told_apart() {
    let equal = compared(vec![comparison("pipe/a", Some(1.0), SideVerdict::Equivalent)]);
    assert!(lead(&equal).starts_with("nice=5: no difference was found in 1 case"));
    let some = compared(vec![
        comparison("pipe/a", Some(1.0), SideVerdict::Equivalent),
        comparison("pipe/b", None, SideVerdict::Inconclusive),
        comparison("pipe/c", None, SideVerdict::Inconclusive),
    ]);
    let expected = "nice=5: no difference was found in 1 case; 2 cases could not be compared\n";
    assert!(lead(&some).starts_with(expected), "{}", lead(&some));
    let alone = compared(vec![comparison("pipe/a", None, SideVerdict::Inconclusive)]);
    assert!(lead(&alone).starts_with("nice=5: no case was measured on both sides by enough nodes"));
}

#[test]
fn what_is_unknown_is_a_dash_and_null() {
    let of = compared(vec![comparison("pipe/a", None, SideVerdict::Inconclusive)]);
    let table = table(&of);
    let texts: Vec<&str> = table.rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(texts[..4], ["pipe/a", "-", "-", "-"]);
    assert!(table.notes[0].contains("corrected for the number of cases"));
    let document: serde_json::Value = serde_json::from_str(&json(&of).unwrap()).unwrap();
    assert!(document["cases"][0]["ratio"].is_null() && document["cases"][0]["ci95"].is_null());
    assert_eq!(document["unread_records"], 2);
    assert_eq!(document["excluded"][0]["node"], "n3");
}
