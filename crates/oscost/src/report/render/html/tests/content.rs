//! What is in the page of a record.

use std::collections::BTreeSet;

use oscost_model::counters::{CPI, GHZ};
use oscost_model::record::{Estimate, Metric, Prediction, Record};
use oscost_model::unit::Unit;

use super::large_run;
use super::markup::{charts, ids_are_unique, points, sections, values};
use super::records::{compared, page, page_compared, record, several};
use crate::report::render::html::report as html;
use crate::report::view::document::{Answer, Block, Cell, Column, Section, Table, TableRow, View};

#[test]
fn the_same_record_is_the_same_bytes() {
    for record in [record(), several(), compared()] {
        assert!(page(&record) == page(&record));
    }
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

#[test]
fn a_page_begins_with_its_grade_which_leads_to_the_reasons() {
    let of = |trust: &str| {
        let answer = Answer { trust: Some(trust.to_owned()), ..Answer::default() };
        html(&View { answer: Some(answer), ..View::default() }).unwrap()
    };
    for (trust, grade) in [
        ("Trust: good in both runs.", "good"),
        ("Trust: fair: one row.", "fair"),
        ("Trust: poor.", "poor"),
    ] {
        let page = of(trust);
        let badge = format!("<p class=\"grade {grade}\"><a href=\"#trust\">Trust: {grade}</a></p>");
        let sentence = format!("<p class=\"answer\" id=\"trust\">{trust}</p>");
        let places = [badge, sentence].map(|part| page.find(&part));
        assert!(places[0].is_some() && places[0] < places[1], "{trust}: {places:?}");
    }
    assert!(!of("Trust: a history proves nothing.").contains("class=\"grade"));
}

#[test]
fn a_comparison_is_called_by_its_runs() {
    let labelled = |label: Option<&str>| {
        let label = label.map(str::to_owned);
        Record { label, id: "01a219f6-5d18-7".to_owned(), ..record() }
    };
    let [base, new, unnamed] = [Some("vm-6.1"), Some("vm-6.12"), None].map(labelled);
    let title = |base: &[Record], new: &[Record]| {
        let page = page_compared(base, new);
        page.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0.to_owned()
    };
    let [base, new] = [base, new].map(|it| [it]);
    assert_eq!(title(&base, &new), "vm-6.12 against vm-6.1");
    let several = [unnamed.clone(), unnamed.clone(), unnamed];
    assert_eq!(
        title(&several[..1], &several),
        "Run 01a219f6-5d18 and 2 more against run 01a219f6-5d18"
    );
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
    // The chart has the interval that the table has first.
    let drawn = |page: &str| {
        charts(page).values().map(|chart| chart.matches("<line x1=").count()).sum::<usize>()
    };
    record.results[1].estimate.as_mut().unwrap().ci95 = None;
    let with = drawn(&page(&record));
    record.results[1].estimate.as_mut().unwrap().between_run_ci95 = None;
    assert_eq!(drawn(&page(&record)), with - 1, "one interval less");
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
    let page = page(&record).replace("<wbr>", "");
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
fn rows_of_one_name_are_named_with_the_axis_in_which_they_differ() {
    let record = large_run::run(&[("syscall/getppid", Unit::NsPerOp)], 2, 0);
    let page = page(&record);
    let drawn = charts(&page);
    let costs = drawn["price-list-ns-op"];
    for size in ["64", "256"] {
        assert_eq!(costs.matches(&format!(", size={size}<small>")).count(), 1, "{costs}");
    }
    assert!(!costs.contains(", way="), "both have the same: {costs}");
    let one = large_run::run(&[("syscall/getppid", Unit::NsPerOp)], 1, 0);
    assert!(!super::records::page(&one).contains(", size=64<small>"));
}

#[test]
fn a_label_is_before_what_was_measured_and_commands_are_code() {
    let mut record = record();
    record.label = Some("nightly".to_owned());
    record.complete = false;
    let page = page(&record);
    let title = "nightly: What the operating system charges on this machine";
    assert!(page.contains(&format!("<h1>{title}</h1>")), "{page}");
    assert!(page.contains("Next: <code>oscost ") || page.contains("(<code>--budget</code>)"));
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

#[test]
fn a_column_without_a_title_has_no_heading_and_a_table_without_a_caption_no_label() {
    let table = |caption: &str| Table {
        caption: caption.to_owned(),
        columns: vec![Column::text("qz"), Column::text("")],
        rows: vec![TableRow::of(vec![Cell::text("one"), Cell::text("then")])],
        ..Table::default()
    };
    let blocks = ["", "Figures"].map(|caption| Block::Table(table(caption)));
    let page = html(&View::of(vec![Section::of("Tables", blocks)])).unwrap();
    let heads = "<th scope=\"col\" data-name=\"qz\">qz</th><td data-name=\"\"></td></tr></thead>";
    assert_eq!(page.matches(heads).count(), 2, "{page}");
    assert!(!page.contains("aria-label=\"\"") && !page.contains("role=\"region\""), "{page}");
    assert!(page.contains("role=\"group\" aria-label=\"Figures\">"), "{page}");
}
