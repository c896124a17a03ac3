//! Pages without a browser: the content of the file, whatever the record holds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use oscost_model::counters::{CPI, GHZ};
use oscost_model::curve::{Break, Curve, CurvePoint};
use oscost_model::record::{Comparison, Estimate, Metric, Prediction, Record};
use oscost_model::unit::Unit;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::report as html;
use super::script::STYLE;
use crate::estimate::comparison::threshold::Threshold;
use crate::estimate::comparison::{EarlierRuns, compare};
use crate::report::render::terminal;
use crate::report::view::comparison::ab;
use crate::report::view::comparison::compare::ComparisonContent as ComparedRuns;
use crate::report::view::document::heat_map::{HeatMap, HeatMapColumn, HeatMapRow};
use crate::report::view::document::{Block, Section, View};
use crate::report::view::page::{self, PageContent};
use crate::report::view::run;

#[path = "../../../../tests/common/large_run.rs"]
mod large_run;

/// Two rows at one target, one of them without a figure.
fn record() -> Record {
    let mut record: Record =
        serde_json::from_str(include_str!("../../../../tests/store/run-1.json")).unwrap();
    record.comparisons.clear();
    record
}

/// A few rows of three families, with curves.
fn several() -> Record {
    let of = [("pipe/copy", Unit::NsPerOp), ("file/read", Unit::BytesPerSecond)];
    large_run::run(&[&of[..], &[("process/fork", Unit::Seconds)]].concat(), 60, 3)
}

/// The same with its first rows compared, and a second target.
fn compared() -> Record {
    let mut record = several();
    for pair in record.results.chunks_exact_mut(2) {
        pair[1].case = pair[0].case.clone();
        pair[1].target.text = "seccomp=docker".to_owned();
    }
    let case = |at: u32| record.results[at as usize].case.clone();
    record.comparisons = (0..10u32).map(|at| comparison_of(case(2 * at), 2 * at)).collect();
    record
}

fn comparison_of(case: String, base: u32) -> Comparison {
    serde_json::from_value(serde_json::json!({
        "case": case, "metric": "primary", "base": base, "new": base + 1, "design": "pairs",
        "pairs": 12, "span_s": 90.0, "ratio": { "value": 1.5, "ci95": [1.25, 1.75] },
        "added": { "value": 40.0, "ci95": null, "unit": "ns/op" }, "p": 0.01, "q": 0.02,
        "verdict": "slower", "mde_pct": 2.5, "control": false, "flags": ["SHORT_SPAN"]
    }))
    .unwrap()
}

fn page(record: &Record) -> String {
    html(&page::run(&PageContent { record, study: None, catalog: None })).unwrap()
}

#[test]
fn a_counted_row_has_a_bar_and_its_text_and_others_have_no_column() {
    let mut record = several();
    assert!(!page(&record).contains("class=\"bar\""));
    assert!(!page(&record).contains("time on a CPU"));
    for (at, cpi, ghz) in [(0, 0.5, 3.0), (1, 1.0, 2.4), (2, f64::INFINITY, 3.0)] {
        let row = &mut record.results[at];
        assert!(row.estimate.is_some() && row.flags.iter().all(|flag| flag != "REFERENCE"));
        for (name, unit, median) in
            [(CPI, Unit::CyclesPerInstruction, cpi), (GHZ, Unit::Gigahertz, ghz)]
        {
            let estimate = Estimate { median, ..row.estimate.clone().unwrap() };
            row.metrics.insert(name.to_owned(), Metric { unit, better: unit.better(), estimate });
        }
    }
    let page = page(&record);
    assert_eq!(page.matches("<span class=\"bar\" aria-hidden=\"true\"").count(), 2);
    let text = "40 % instructions, 40 % cycles per instruction, 20 % clock";
    assert!(page.contains(&format!("title=\"{text}\"")));
    assert!(page.contains(&format!("<span class=\"unseen\">{text}</span>")));
    let parts = "<i class=\"work\" style=\"width:40.0%\"></i><i class=\"core\" \
                 style=\"width:40.0%\"></i><i class=\"clock\" style=\"width:20.0%\"></i>";
    assert!(page.contains(parts));
    assert!(page.contains("100 % instructions, 0 % cycles per instruction, 0 % clock"));
    assert!(page.contains("<li>time on a CPU: what an op"));
}

fn page_compared(base: &[Record], new: &[Record]) -> String {
    let compared = compare(base, new, &EarlierRuns::default());
    let shown = ComparedRuns { base, new, compared: &compared, threshold: Threshold::PerCent(5.0) };
    html(&page::comparison(&shown, None)).unwrap()
}

/// The names of a page's sections, in order.
fn sections(page: &str) -> Vec<&str> {
    page.split("<section id=\"").skip(1).filter_map(|it| it.split('"').next()).collect()
}

/// What is packed in a page.
fn unpacked(page: &str, id: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">"))?;
    let bytes = BASE64_STANDARD.decode(rest.split_once("</script>")?.0).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    Some(text)
}

fn data(page: &str) -> Value {
    serde_json::from_str(&unpacked(page, "data").unwrap()).unwrap()
}

/// The charts of a page by their ids.
fn charts(page: &str) -> BTreeMap<&str, &str> {
    let figures = page.split("<figure class=\"chart\" id=\"").skip(1);
    let figures = figures.filter_map(|rest| {
        let (id, rest) = rest.split_once('"')?;
        Some((id, rest.split_once("</figure>")?.0))
    });
    figures.collect()
}

/// The values of an attribute in markup.
fn values<'a>(markup: &'a str, attribute: &str) -> Vec<&'a str> {
    let rest = markup.split(&format!(" {attribute}=\"")).skip(1).collect::<Vec<_>>();
    rest.into_iter().filter_map(|rest| rest.split('"').next()).collect()
}

/// All coordinates of a chart are numbers: with anything else a browser draws nothing.
fn every_chart_is_of_numbers(page: &str) {
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    for (id, chart) in charts(page) {
        for attribute in ["x", "x1", "x2", "y", "y1", "y2", "width", "height"] {
            for value in values(chart, attribute) {
                assert!(is_number(value.trim_end_matches('%')), "{id}: {attribute}={value}");
            }
        }
        for path in values(chart, "d") {
            // A sign begins a number.
            let spaced = path.replace('-', " -");
            let numbers = spaced.split(|c: char| c.is_ascii_alphabetic() || c == ' ');
            let odd = numbers.filter(|it| !it.is_empty()).find(|it| !is_number(it));
            assert_eq!(odd, None, "{id}: {path}");
        }
    }
}

/// The points of a chart, without those of its legend.
fn points(chart: &str) -> usize {
    let drawn = chart.split_once("</ul>").map_or(chart, |(_, rest)| rest);
    drawn.matches("<use ").count()
}

/// No two elements have the same id.
fn ids_are_unique(page: &str) {
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn the_same_record_is_the_same_bytes() {
    for record in [record(), several(), compared()] {
        assert!(page(&record) == page(&record));
    }
}

#[test]
fn a_page_of_two_thousand_rows_is_under_three_megabytes() {
    let names: Vec<String> = (0..140).map(|at| format!("family-{}/name-{at}", at / 12)).collect();
    let of: Vec<(&str, Unit)> = names.iter().map(|it| (it.as_str(), Unit::NsPerOp)).collect();
    let record = large_run::run(&of, 2_000, 2);
    let page = page(&record);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert_eq!(page.matches("<tr id=\"r").count(), 2_000);
    let measured = record.results.iter().filter(|row| row.estimate.is_some()).count();
    let prices = charts(&page)["price-list-ns-op"];
    assert_eq!(prices.matches("<li><a href=\"#r").count(), measured);
    every_chart_is_of_numbers(&page);
    ids_are_unique(&page);
}

#[test]
fn intervals_of_the_run_alone_are_in_the_table_once() {
    let mut record = several();
    for row in &mut record.results {
        row.estimate.iter_mut().for_each(|estimate| estimate.between_run_ci95 = None);
    }
    let alone = page(&record);
    assert!(!alone.contains("this run: low") && !alone.contains("between_run_ci95_low"));
    assert!(alone.contains("data-name=\"ci95_low\"") && alone.contains("of this run leave open"));
    let figure = record.results[1].estimate.as_mut().unwrap();
    figure.between_run_ci95 = Some([figure.median * 0.9, figure.median * 1.1]);
    let both = page(&record);
    for name in ["between_run_ci95_low", "ci95_low", "between_run_ci95_high", "ci95_high"] {
        assert_eq!(both.matches(&format!("data-name=\"{name}\"")).count(), 1, "{name}");
    }
    assert!(both.contains("this run: low") && !both.contains("of this run leave open"));
}

#[test]
fn a_page_of_one_run_is_under_400_kilobytes() {
    let catalog = oscost_worker::benchmarks::data();
    let listed = catalog.benchmarks.iter().filter(|it| it.in_price_list);
    let of: Vec<(&str, Unit)> = listed.map(|it| (it.id.as_str(), it.unit)).collect();
    let record = large_run::run(&of, of.len(), 60);
    let shown = PageContent { record: &record, study: None, catalog: Some(&catalog) };
    let page = html(&page::run(&shown)).unwrap();
    assert!(of.len() > 50 && page.len() < 400_000, "{} rows: {}", of.len(), page.len());
    every_chart_is_of_numbers(&page);
}

#[test]
fn costs_are_by_family_with_figures_and_what_is_no_cost_is_apart() {
    let of = [
        ("timer/resolution", Unit::NsPerOp),
        ("procedure/call", Unit::NsPerOp),
        ("syscall/getppid", Unit::NsPerOp),
        ("pipe/throughput", Unit::BytesPerSecond),
    ];
    let mut record = large_run::run(&of, 8, 0);
    for (at, name) in
        [(2, "procedure/call:args=0,chain=independent"), (4, "syscall/getppid:via=raw")]
    {
        record.results[at].case = name.to_owned();
    }
    let page = page(&record);
    let drawn = charts(&page);
    let costs = drawn["price-list-ns-op"];
    assert_eq!(costs.matches("<li><a href=\"#r").count(), 4);
    for title in ["<h3>Function calls</h3>", "<h3>System calls</h3>"] {
        assert!(costs.contains(title), "{costs}");
    }
    // Two acts to compare with, each a line with its name.
    assert_eq!(costs.matches("class=\"m\"").count(), 2);
    assert!(costs.contains(">function call<") && costs.contains(">system call<"));
    let row = &record.results[4];
    let shown = crate::report::figures::Style::of(row.estimate.as_ref().unwrap().median, row.unit);
    let figure = shown.with_unit(row.estimate.as_ref().unwrap().median);
    assert!(costs.contains(&format!(">{figure}</text>")), "{figure}: {costs}");
    for (id, case) in [("no-costs-ns-op-resolution", 0), ("no-costs-B-s", 6)] {
        assert!(drawn[id].contains(&record.results[case].case), "{id}");
        assert!(!costs.contains(&record.results[case].case), "{id}");
    }
}

#[test]
fn what_is_compared_is_drawn_once_and_its_difference_is_beside_it() {
    let record = compared();
    let page = page(&record);
    let drawn = charts(&page);
    let compared: Vec<String> = (0..10).map(|at| format!("#r{}\"", 2 * at + 1)).collect();
    for (id, chart) in &drawn {
        if id.starts_with("price-list") || id.starts_with("no-costs") {
            assert!(compared.iter().all(|row| !chart.contains(row)), "{id}");
        }
    }
    assert_eq!(drawn["forest-0"].matches(">x 1.50, +40.00 ns</text>").count(), 10);
    assert!(page.contains("10 figures of what the base was compared with are not drawn here"));
}

#[test]
fn each_printed_word_is_a_link_to_its_text_at_the_end() {
    let page = page(&several());
    let anchors: BTreeSet<&str> =
        values(&page, "href").into_iter().filter(|it| it.starts_with("#w-")).collect();
    assert!(anchors.len() > 15, "{anchors:?}");
    for anchor in &anchors {
        let target = format!("<div class=\"word\" id=\"{}\"", &anchor[1..]);
        assert_eq!(page.matches(&target).count(), 1, "{anchor}");
    }
    let explained = page.matches("<div class=\"word\"").count();
    assert_eq!(anchors.len(), explained, "only words that the page prints are explained");
    for word in ["heavy", "SKEWED", "ns-op", "per-op", "floor", "class"] {
        assert!(anchors.contains(format!("#w-{word}").as_str()), "{word}: {anchors:?}");
    }
    // The text of `oscost explain`.
    let means = crate::advice::words::find("SKEWED")[0].means;
    assert!(page.contains(&format!("<dt>means</dt><dd>{means}</dd>")), "{means}");
}

/// In time that is quadratic in the rows, this takes minutes.
#[test]
fn many_rows_of_one_benchmark_are_shown() {
    let mut record = large_run::run(&[("pipe/copy", Unit::NsPerOp)], 20_000, 0);
    record.results.iter_mut().for_each(|row| row.repetitions.truncate(2));
    let view = run::view(&record, run::Plots::WhereFew, run::CountedEvents::default());
    let text = terminal::report(&view);
    // Of seven sizes each; only the first hundred have a column.
    assert!(text.contains("2757 more curves: `curves` in the record"), "{}", &text[..5_000]);
    let lines = text.lines().count();
    assert!((18_000..22_000).contains(&lines), "{lines} lines\n{}", &text[..5_000]);
    assert_eq!(page(&record).matches("<tr id=\"r").count(), 20_000);

    record.comparisons =
        (0..10_000).map(|at| comparison_of(format!("pipe/copy:size={at}"), 2 * at)).collect();
    let text = terminal::report(&ab::view(&record));
    assert!(text.matches(" slower").count() >= 10_000, "{}", &text[..5_000]);
}

#[test]
fn the_policy_names_the_script_by_its_hash() {
    let page = page(&record());
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
    let policy = policy.split_once("\">").unwrap().0;
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    // Quotes in an attribute are escaped.
    assert!(policy.contains(&format!("&#39;sha256-{hash}&#39;")), "{policy}");
    assert_eq!(policy.matches("sha256-").count(), 1);
    assert!(!policy.contains("unsafe-eval") && policy.starts_with("default-src &#39;none&#39;"));
}

#[test]
fn a_heat_map_is_packed_and_its_script_is_a_part_of_the_one_that_the_policy_names() {
    let map = HeatMap {
        id: "map".to_owned(),
        caption: "Ratios <i>".to_owned(),
        row_noun: "node",
        column_noun: "case",
        columns: vec![HeatMapColumn { name: "fault/cow".to_owned(), group: "fault".to_owned() }],
        rows: vec![HeatMapRow {
            name: "</script><b>".to_owned(),
            class: String::new(),
            ratio: Some(f64::NAN),
            priority: 1,
        }],
        ratios: vec![1.0],
    };
    let view = View::of(vec![Section::of("Map", [Block::HeatMap(Box::new(map))])]);
    let page = html(&view.as_page("Fleet", "")).unwrap();
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(script.contains("drawHeatMaps") && script.contains("oscost-ready"));
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    assert!(page.contains(&format!("&#39;sha256-{hash}&#39;")));
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("Ratios &#60;i&#62;") || page.contains("Ratios &lt;i&gt;"));
    let packed = &data(&page)["maps"]["map"];
    assert_eq!(packed["rows"][0]["name"], "</script><b>");
    assert!(packed["rows"][0]["ratio"].is_null());
    assert_eq!(BASE64_STANDARD.decode(packed["cells"].as_str().unwrap()).unwrap(), [0, 128]);
    // A page without a map has neither.
    let plain = html(&View::of(Vec::new())).unwrap();
    assert!(!plain.contains("const drawHeatMaps") && data(&plain)["maps"].is_null());
}

#[test]
fn charts_and_figures_are_in_the_markup_and_a_page_without_charts_has_no_symbols() {
    let mut record = record();
    let full = page(&record);
    assert_eq!(full.matches("<script").count(), 2, "what is packed, and the script");
    assert!(full.contains("<g id=\"y0\">") && points(charts(&full)["price-list-ns-op"]) > 0);
    record.results.remove(0);
    let page = page(&record);
    assert!(charts(&page).is_empty() && !page.contains("<svg"), "{page}");
    assert!(page.len() < 100_000, "{}", page.len());
}

#[test]
fn a_section_without_content_is_left_out() {
    let full = record();
    let with = |change: &dyn Fn(&mut Record)| {
        let mut record = full.clone();
        change(&mut record);
        let page = page(&record);
        let named = sections(&page).into_iter().map(str::to_owned).collect::<Vec<_>>();
        for id in &named {
            assert!(page.contains(&format!("<li><a href=\"#{id}\">")), "{id}");
        }
        named
    };
    let usual = ["price-list", "not-measured", "machine", "families", "table", "remarks", "words"];
    assert_eq!(with(&|_| {}), usual);
    let without = |absent: &[&str]| {
        let left = usual.into_iter().filter(|it| !absent.contains(it));
        left.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with(&|it| drop(it.results.remove(1))), without(&["not-measured"]));
    assert_eq!(with(&|it| drop(it.results.remove(0))), without(&["price-list", "families"]));
    assert_eq!(
        with(&|it| it.results[0].repetitions.truncate(1)),
        without(&["families"]),
        "one repetition is not spread"
    );
    assert_eq!(with(&|it| it.results.clear()), ["machine", "words"]);
    let predicted = with(&|it| {
        it.settings.predictions = vec![Prediction {
            case: "syscall/getppid:via=raw".to_owned(),
            estimate: Some("<100 ns".to_owned()),
            hardware: None,
            software: None,
            below: None,
            made_at: "2026-11-20T00:00:00Z".to_owned(),
        }];
    });
    assert!(predicted.contains(&"predictions".to_owned()), "{predicted:?}");
    assert_eq!(sections(&page(&compared()))[0], "compared");
    let full = std::slice::from_ref(&full);
    assert_eq!(
        sections(&page_compared(full, full)),
        ["compared"],
        "it prints no word of the table"
    );
}

#[test]
fn a_record_of_nothing_is_a_page() {
    let mut record = record();
    record.results.clear();
    record.machines.clear();
    record.conditions.clear();
    let page = page(&record);
    assert!(!page.contains("outcome: "), "the caption describes rows that do not exist");
    page_compared(&[record.clone()], &[record]);
    page_compared(&[], &[]);
}

/// Makes every figure of a record this one.
fn all_are(record: &mut Record, value: f64) {
    for row in &mut record.results {
        if let Some(estimate) = &mut row.estimate {
            estimate.median = value;
            estimate.ci95 = Some([-value, value]);
            estimate.sd = Some(value);
            estimate.repetitions = u32::MAX;
            estimate.samples = u64::MAX;
        }
        if let Some(floor) = &mut row.floor {
            floor.value = Some(value);
        }
        for (at, it) in (0..).zip(&mut row.repetitions) {
            it.value = Some(if at % 2 == 0 { value } else { 1.0 });
            it.lost_pct = Some(value);
            it.round = u32::MAX;
            for (at, sample) in it.samples.iter_mut().flatten().enumerate() {
                sample.n = [0, 1, u64::MAX][at % 3];
                sample.ticks = [i64::MIN, 0, i64::MAX][(at / 3) % 3];
            }
        }
    }
    for curve in &mut record.curves {
        for (at, point) in curve.points.iter_mut().enumerate() {
            point.value = [0, 1, 64, u64::MAX][at % 4];
            point.figure = Some(value);
            point.ci95 = Some([-value, value]);
        }
        for it in curve.breaks.iter_mut().flatten() {
            it.position = if value < 1.0 { 0 } else { u64::MAX };
        }
        if let Some(scaling) = &mut curve.scaling {
            scaling.fixed_cost.value = value;
            scaling.marginal_cost.iter_mut().for_each(|b| b.value = value);
        }
    }
    for (at, it) in record.comparisons.iter_mut().enumerate() {
        it.ratio.value = if at == 0 { 0.0 } else { value };
        it.ratio.ci95 = (at % 2 == 0).then_some([value, value * 1.5]).filter(|_| at < 6);
        it.added.value = value;
        it.q = value;
    }
    for conditions in &mut record.conditions {
        for reference_case in conditions.reference_cases.before.values_mut() {
            *reference_case = value;
        }
        conditions.reference_cases.after = conditions.reference_cases.before.clone();
    }
}

#[test]
fn extreme_figures_make_a_page() {
    let extremes = [0.0, -0.0, -1.0, 5e-324, 1e-300, 1e300, f64::MAX, -f64::MAX, 1e15];
    for value in extremes {
        for mut record in [record(), several(), compared()] {
            all_are(&mut record, value);
            let text = page(&record);
            every_chart_is_of_numbers(&text);
            ids_are_unique(&text);
            every_chart_is_of_numbers(&page_compared(&[record.clone()], &[record]));
        }
    }
}

#[test]
fn a_ratio_that_a_logarithmic_scale_cannot_show_is_in_the_table_only() {
    let mut record = compared();
    for it in &mut record.comparisons {
        it.ratio.value = 0.0;
        it.ratio.ci95 = None;
    }
    let text = page(&record);
    assert!(!charts(&text).contains_key("forest-0"));
    assert!(text.contains("10 ratios cannot be drawn on a logarithmic scale"));
    assert_eq!(text.matches("<tr id=\"c0-").count(), 10);
    record.comparisons[3].ratio.value = 2.0;
    record.comparisons[3].verdict = "of another version".to_owned();
    let text = page(&record);
    let drawn = charts(&text)["forest-0"];
    assert_eq!(points(drawn), 1, "an unknown verdict is shown, too");
    assert!(drawn.contains("another verdict</li>") && drawn.contains(">x 2.000, "), "{drawn}");
    assert!(text.contains("9 ratios cannot be drawn"));
}

#[test]
fn a_curve_is_drawn_where_it_can_be() {
    let mut record = several();
    let point = |value: u64, figure: f64| CurvePoint {
        value,
        case: "pipe/copy:size=0".to_owned(),
        figure: Some(figure),
        ci95: None,
    };
    let bends = |at: u64| Break {
        position: at,
        interval: [0, 1],
        constants: Vec::new(),
        refinement_values: Vec::new(),
    };
    let of = |points: Vec<CurvePoint>| Curve {
        points,
        breaks: Some(vec![bends(0), bends(64)]),
        scaling: None,
        ..record.curves[0].clone()
    };
    let some = of(vec![point(0, 5.0), point(64, 7.0), point(128, -1.0)]);
    let none = of(vec![point(0, 5.0), point(64, 0.0)]);
    record.curves = vec![some];
    let text = page(&record);
    let chart = charts(&text)["curve-0"];
    assert_eq!(points(chart), 1);
    assert_eq!(chart.matches("class=\"m\"").count(), 1, "a logarithmic scale has no 0");
    record.curves = vec![none];
    assert!(!charts(&page(&record)).contains_key("curve-0"));
}

#[test]
fn families_with_similar_names_have_a_chart_each() {
    let of = [("a b/x", Unit::NsPerOp), ("a_b/x", Unit::NsPerOp), ("-/x", Unit::NsPerOp)];
    let mut record = large_run::run(&of, 6, 2);
    let machine = record.machines[0].clone();
    record.machines.push(machine);
    let text = page(&record);
    ids_are_unique(&text);
    let drawn = charts(&text);
    assert_eq!(drawn.keys().filter(|id| id.starts_with("spread-")).count(), 3);
}

/// A record with a text in every place where text from outside may be.
fn marked(text: &str) -> Record {
    let mut record = compared();
    let own = || text.to_owned();
    record.label = Some(own());
    record.command = vec![own()];
    record.tool.version = own();
    record.tool.worker.libc = own();
    record.settings.profile = own();
    record.settings.study = Some(own());
    let machine = &mut record.machines[0];
    machine.cpu.model_name = Some(own());
    machine.os.release = Some(own());
    machine.mitigations.insert(own(), "Vulnerable".to_owned());
    machine.virtualization = Some(own());
    machine.advice = vec![own()];
    let conditions = &mut record.conditions[0];
    conditions.tracers = vec![own()];
    conditions.flags = vec![own()];
    conditions.class = Some(own());
    conditions.reference_cases.before.insert(own(), 1.0);
    for row in &mut record.results {
        row.expected = own();
        row.class = Some(own());
        row.reason = Some(own());
        row.flags.push(own());
        row.target.peer = Some(own());
        if let Some(floor) = &mut row.floor {
            floor.of = vec![own()];
        }
    }
    for curve in &mut record.curves {
        curve.sentences = vec![own()];
        curve.item = own();
        curve.peer = Some(own());
        for it in curve.breaks.iter_mut().flatten() {
            it.constants = vec![own()];
        }
    }
    for it in &mut record.comparisons {
        it.verdict = own();
        it.design = own();
        it.flags = vec![own()];
    }
    record
}

/// The contrast of two colours, by the Web Content Accessibility Guidelines.
fn contrast(one: &str, other: &str) -> f64 {
    let light = |colour: &str| {
        let part = |at: usize| {
            let level = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let level = f64::from(level) / 255.0;
            if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
        };
        0.05 + 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (one, other) = (light(one), light(other));
    one.max(other) / one.min(other)
}

#[test]
fn text_and_charts_have_enough_contrast_in_light_and_dark() {
    let themes = STYLE.split(":root").skip(1).filter(|it| it.contains("--paper: "));
    let mut grounds = BTreeSet::new();
    for theme in themes {
        let colour = |name: &str| {
            let rest = theme.split_once(&format!("--{name}: ")).unwrap().1;
            rest.split_once(';').unwrap().0
        };
        grounds.insert(colour("paper"));
        for ground in ["paper", "band"].map(colour) {
            for ink in ["ink", "soft", "link", "bad", "good", "plain"] {
                let found = contrast(colour(ink), ground);
                assert!(found >= 4.5, "{ink} on {ground}: {found}");
            }
        }
        for drawn in (0..8).map(|number| colour(&format!("c{number}"))) {
            let found = contrast(drawn, colour("paper"));
            assert!(found >= 3.0, "{drawn} on {}: {found}", colour("paper"));
        }
        // Nothing is pressed on paper.
        if !theme.contains("#000000") {
            let found = contrast(colour("edge"), colour("band"));
            assert!(found >= 3.0, "{found}");
        }
    }
    assert_eq!(grounds.len(), 2);
}

fn explanation(text: &str) -> Section {
    Section::of("title", [Block::Preformatted(text.to_owned())])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_text_becomes_a_part_of_the_page(
        text in "(\\PC|[<>&\"'/=`% ]|<script|</script>|<img |<!--|]]>|javascript:){0,12}"
    ) {
        // The first letter keeps it from being empty, or a word that we know.
        let theirs = page(&marked(&format!("t{text}")));
        let plain = page(&marked("t"));
        for mark in ['<', '>', '"', '\''] {
            let count = |page: &str| page.matches(mark).count();
            prop_assert_eq!(count(&theirs), count(&plain), "{}", mark);
        }
        prop_assert_eq!(theirs.matches("<script").count(), 2);
        prop_assert_eq!(theirs.matches("<img").count(), 0);
    }

    #[test]
    fn packed_data_is_unpacked_unchanged(texts in proptest::collection::vec("\\PC{0,40}", 1..8)) {
        let explanations: BTreeMap<String, Vec<Section>> = texts
            .iter()
            .map(|text| (format!("family/{text}"), vec![explanation(text)]))
            .collect();
        let expected: BTreeMap<String, String> = explanations
            .iter()
            .map(|(id, sections)| (id.clone(), terminal::sections(sections, terminal::ScreenFormat::PLAIN)))
            .collect();
        let page = View { explanations, ..View::default() };
        let page = html(&page).unwrap();
        prop_assert_eq!(&data(&page)["explained"], &serde_json::to_value(&expected).unwrap());
    }
}
