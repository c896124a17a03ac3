use super::*;
use crate::report::render::csv::table as csv;
use crate::report::render::{html, markdown, terminal};
use crate::report::view::study::across::costs::digits;
use crate::studies::history::across::{MeasuredFigure, MeasuredFigures, across, cases};
use crate::studies::{Study, built_in_names, find_built_in};

/// A machine of 4 GHz on which each case takes as many hundred nanoseconds as its place, or as many
/// hundred megabytes a second.
fn here(studies: &[Study]) -> MeasuredFigures {
    let figure = |(place, case): (usize, String)| {
        let is_rate = case.contains("throughput") || case.contains("bandwidth");
        let (unit, one) =
            if is_rate { (Unit::BytesPerSecond, 1e8) } else { (Unit::NsPerOp, 100.0) };
        let measured = MeasuredFigure {
            value: one * (1 + place) as f64,
            interval: None,
            unit,
            run: "run".to_owned(),
            started: "2026-05-04T03:02:01Z".to_owned(),
            core_ghz: Some(4.0),
            counted_cycles: None,
        };
        (case, measured)
    };
    cases(studies).into_iter().enumerate().map(figure).collect()
}

#[test]
fn every_figure_of_every_system_is_in_the_table_and_those_of_the_reference_on_the_screen() {
    let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
    let all = across(&studies, &here(&studies));
    let content =
        AcrossContent { across: &all, target: "local", machine: Some("a machine"), other_runs: 2 };
    let text = terminal::report(&view(&content));
    assert!(text.lines().all(|line| line.chars().count() <= 80 && line.is_ascii()), "{text}");
    assert!(text.contains("left out: 2 runs of other machines"), "{text}");
    for act in &all.acts {
        assert!(text.contains(act.act.definition.split(',').next().unwrap()), "{text}");
    }
    let lines = String::from_utf8(csv(&figures(&all)).unwrap()).unwrap();
    let count = all.acts.iter().map(|act| act.figures.len()).sum::<usize>();
    assert_eq!(lines.lines().count(), 1 + count);
    let fork = lines.lines().find(|line| line.contains("fork-exit,1995,lmbench-1996,Linux/i686"));
    let fork: Vec<&str> = fork.unwrap().split(',').collect();
    assert_eq!(fork[5..8], ["0.5 ms", "500000", "83500"], "{fork:?}");
    let lines_of = |system: &str| lines.matches(&format!(",{system},")).count();
    assert!(lines_of("Sun SC1000") > 10 && lines_of("UML") > 10);
    let page = html::report(&page(&content)).unwrap();
    assert!(all.acts.iter().all(|act| page.contains(&format!("id=\"act-{}\"", act.act.key))));
    assert!(markdown::page(&document(&content)).contains("| fork-exit "));
    let json: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    let acts = json["acts"].as_array().unwrap();
    assert_eq!((acts.len(), &json["missing"]), (all.acts.len(), &serde_json::json!([])));
}

#[test]
fn a_machine_without_runs_is_told_one_command() {
    let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
    let all = across(&studies, &MeasuredFigures::new());
    let content = AcrossContent { across: &all, target: "ssh:a", machine: None, other_runs: 0 };
    let text = terminal::report(&view(&content));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("here: no run at ssh:a has measured an act"), "{flat}");
    assert!(flat.contains("oscost run --at ssh:a timer/add syscall/getpid:via=raw"), "{flat}");
    assert!(!flat.contains("cheaper with the core"), "{flat}");
}

#[test]
fn numbers_have_three_digits_and_ranges_their_unit_once() {
    let content = [0.034, 9.994, 9.995, 99.96, 999.6, 1_234_567.0].map(digits);
    assert_eq!(content, ["0.03", "9.99", "10.0", "100", "1,000", "1,234,567"]);
    let text = |low: &str, high: &str| range([low.to_owned(), high.to_owned()]);
    assert_eq!(text("2 ns", "4 ns"), "2..4 ns");
    assert_eq!(text("450 ns", "24 us"), "450 ns..24 us");
}
