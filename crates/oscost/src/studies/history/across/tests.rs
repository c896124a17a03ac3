use super::*;
use crate::studies::history::lesson::Trend;
use crate::studies::parser;

const HEAD: &str = r#"
title = "Costs"
authors = ["A"]
source = "somewhere"
measured-on = "something"
protocol = { statistic = "none", original = "x", replication = "y" }
"#;

/// A machine of 1 GHz: half a round trip is printed, and a switch less what is subtracted.
const OLD: &str = r#"
[[table]]
name = "Table 1"
title = "Calls"
unit = "us"
row = [
  { name = "call", case = "procedure/call:args=0,chain=independent,code=plain", same-as = "procedure-call", published = ["0.01"] },
  { name = "getpid", case = "syscall/getpid:via=raw", same-as = "getpid", published = ["0.4"] },
  { name = "about", case = "syscall/getuid", same-as = "getpid", published = ["~0.4"] },
]

[[table]]
name = "Table 2"
title = "Trips"
unit = "us"
column = [{ name = "half", unit = "us", figure = "this / 2" }]
row = [{ name = "pipe", case = "switch/pipe:between=processes,peer_cpu=same", same-as = "pipe-round-trip", published = ["5-7"] }]

[[table]]
name = "Table 3"
title = "Switches"
unit = "us"
column = [{ name = "switch", unit = "us", figure = '(this - "alone") / 2' }]
row = [
  { name = "alone", case = "switch/ring:ring=1,footprint=0" },
  { name = "two", case = "switch/ring:ring=2,footprint=0", same-as = "context-switch", published = ["3"] },
]

[[table]]
name = "Table 4"
title = "Rates"
unit = "MB/s"
row = [{ name = "pipe", case = "pipe/throughput:by=pipe,size=65536,peer_cpu=same", same-as = "pipe-rate", published = ["50"] }]
"#;

fn old() -> Study {
    let head = "id = \"old\"\nyear = 2000\ncore-ghz = 1.0\n";
    parser::parse(format!("{head}{HEAD}{OLD}").as_bytes()).unwrap()
}

/// Two systems, of which the second stands for the study.
fn compared() -> Study {
    let head = "id = \"compared\"\nyear = 1996\nreference-system = \"Slow\"\n";
    let text = r#"
[[system]]
name = "Fast"
description = "of 1995"
year = 1995
core-ghz = 0.2

[[system]]
name = "Slow"
description = "of an unknown year"
core-ghz = 0.1

[[table]]
name = "Table 1"
title = "Calls"
unit = "us"
systems = ["Slow", "Fast"]
row = [
  { name = "getpid", case = "syscall/getpid:via=raw", same-as = "getpid", by-system = ["10", "2"] },
  { name = "load", case = "memory/latency:size=134217728,pages=4k", same-as = "memory-latency", by-system = ["0.5", "-"] },
]
"#;
    parser::parse(format!("{head}{HEAD}{text}").as_bytes()).unwrap()
}

fn here(figures: &[(&str, f64, Unit)]) -> MeasuredFigures {
    let figure = |(nth, (case, value, unit)): (usize, &(&str, f64, Unit))| {
        let figure = MeasuredFigure {
            value: *value,
            interval: Some([value * 0.9, value * 1.1]),
            unit: *unit,
            run: format!("run-{nth}"),
            started: format!("2026-01-{:02}T00:00:00Z", nth + 1),
            core_ghz: Some(4.0),
            counted_cycles: None,
        };
        ((*case).to_owned(), figure)
    };
    figures.iter().enumerate().map(figure).collect()
}

fn all_here() -> MeasuredFigures {
    here(&[
        ("procedure/call:args=0,chain=independent,code=plain", 2.0, Unit::NsPerOp),
        ("syscall/getpid:via=raw", 100.0, Unit::NsPerOp),
        ("switch/pipe:between=processes,peer_cpu=same", 4_000.0, Unit::NsPerOp),
        ("switch/ring:ring=1,footprint=0", 600.0, Unit::NsPerOp),
        ("switch/ring:ring=2,footprint=0", 3_000.0, Unit::NsPerOp),
        ("pipe/throughput:by=pipe,size=65536,peer_cpu=same", 2e9, Unit::BytesPerSecond),
        ("memory/latency:size=134217728,pages=4k", 100.0, Unit::NsPerOp),
    ])
}

fn of<'a, 'b>(across: &'b Across<'a>, key: &str) -> &'b ActFigures<'a> {
    across.acts.iter().find(|it| it.act.key == key).unwrap()
}

#[test]
fn an_act_costs_time_cycles_and_multiples_then_and_here() {
    let studies = [old(), compared()];
    let all = across(&studies, &all_here());
    let getpid = of(&all, "getpid");
    let [fast, slow, single] = &getpid.figures[..] else { panic!("{getpid:?}") };
    assert_eq!([fast.year, slow.year, single.year], [1995, 1996, 2000]);
    assert_eq!((fast.system, fast.is_reference), (Some("Fast"), false));
    assert_eq!((slow.system, slow.is_reference), (Some("Slow"), true));
    assert_eq!((single.system, single.is_reference), (None, true));
    assert_eq!(single.published, "0.4 us");
    let ends = |value: f64| Some([value; 2]);
    let then = single.then;
    assert_eq!((then.value, then.cycles, then.calls), ([400.0; 2], ends(400.0), ends(40.0)));
    assert_eq!((then.loads, slow.then.loads, fast.then.loads), (None, ends(20.0), None));
    let now = single.here.as_ref().unwrap();
    let cost = now.cost;
    assert_eq!((cost.value, cost.cycles, cost.calls), ([100.0; 2], ends(400.0), ends(50.0)));
    assert_eq!((cost.loads, now.interval), (ends(1.0), Some([90.0, 110.00000000000001])));
    assert_eq!((now.started.as_str(), &now.runs), ("2026-01-02T00:00:00Z", &vec!["run-1".into()]));
    // The systems that do not stand for their study do not count: 1000 / 400 and 400 / 400.
    let in_cycles = getpid.lesson.in_cycles.unwrap();
    assert_eq!((in_cycles.count, in_cycles.oldest, in_cycles.min), (2, 2.5, 1.0));
    assert_eq!(
        (getpid.lesson.trend, getpid.lesson.in_loads.unwrap().oldest),
        (Trend::WithCore, 20.0)
    );
}

#[test]
fn counted_cycles_stand_for_those_at_a_frequency_where_all_parts_of_a_time_were_counted() {
    let studies = [old()];
    let mut figures = all_here();
    let mut count = |case: &str, cycles: f64| {
        figures.get_mut(case).unwrap().counted_cycles = Some(cycles);
    };
    count("syscall/getpid:via=raw", 300.0);
    count("switch/pipe:between=processes,peer_cpu=same", 9_000.0);
    count("switch/ring:ring=2,footprint=0", 9_000.0);
    count("pipe/throughput:by=pipe,size=65536,peer_cpu=same", 7.0);
    let cycles = |figures: &MeasuredFigures, key: &str| {
        let all = across(&studies, figures);
        let here = of(&all, key).figures[0].here.clone().unwrap();
        (here.cost.cycles.unwrap(), here.cycles_by)
    };
    assert_eq!(cycles(&figures, "getpid"), ([300.0; 2], CyclesBy::Counter));
    assert_eq!(cycles(&figures, "pipe-round-trip"), ([9_000.0; 2], CyclesBy::Counter));
    // What is subtracted was not counted, and the counted cycles of a rate are not per byte.
    assert_eq!(cycles(&figures, "context-switch"), ([4_800.0; 2], CyclesBy::Frequency));
    assert_eq!(cycles(&figures, "pipe-rate"), ([0.5; 2], CyclesBy::Frequency));
    figures.get_mut("switch/ring:ring=1,footprint=0").unwrap().counted_cycles = Some(1_000.0);
    assert_eq!(cycles(&figures, "context-switch"), ([4_000.0; 2], CyclesBy::Counter));
    // The lesson is by what was counted: 400 cycles then.
    let all = across(&studies, &figures);
    let in_cycles = of(&all, "getpid").lesson.in_cycles.unwrap();
    assert!((in_cycles.oldest - 4.0 / 3.0).abs() < 1e-12, "{in_cycles:?}");
}

#[test]
fn a_column_is_taken_back_to_the_row_or_computed_here_as_well() {
    let studies = [old()];
    let all = across(&studies, &all_here());
    let pipe = &of(&all, "pipe-round-trip").figures[0];
    assert_eq!(pipe.then.value, [10_000.0, 14_000.0]);
    assert_eq!(pipe.here.as_ref().unwrap().cost.value, [4_000.0; 2]);
    let switch = &of(&all, "context-switch").figures[0];
    let now = switch.here.as_ref().unwrap();
    assert_eq!((switch.then.value, now.cost.value), ([3_000.0; 2], [1_200.0; 2]));
    assert_eq!((now.interval, now.runs.len()), (None, 2));
    let rate = of(&all, "pipe-rate");
    assert_eq!(rate.figures[0].then.cycles, Some([0.05; 2]));
    assert_eq!((rate.figures[0].then.calls, rate.lesson.in_time.unwrap().oldest), (None, 40.0));
    assert_eq!(
        (rate.lesson.in_cycles.unwrap().oldest, rate.lesson.trend),
        (10.0, Trend::FewerCycles)
    );
}

#[test]
fn what_is_not_measured_is_missing_and_what_is_below_zero_is_no_cost() {
    let studies = [old()];
    let none = across(&studies, &MeasuredFigures::new());
    assert_eq!(none.missing, cases(&studies));
    // The row with an approximate figure is no act's; the row that a column refers to is needed.
    assert!(none.missing.contains(&"switch/ring:ring=1,footprint=0".to_owned()));
    assert_eq!(of(&none, "getpid").figures.len(), 1);
    assert_eq!(of(&none, "getpid").lesson.trend, Trend::Unknown);
    let mut wrong = all_here();
    wrong.get_mut("switch/ring:ring=1,footprint=0").unwrap().value = 3_500.0;
    wrong.get_mut("syscall/getpid:via=raw").unwrap().unit = Unit::BytesPerSecond;
    let all = across(&studies, &wrong);
    assert_eq!(of(&all, "context-switch").figures[0].here, None);
    assert_eq!(of(&all, "getpid").figures[0].here, None);
}
