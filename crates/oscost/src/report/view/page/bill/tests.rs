//! Pages of made-up bills.

use oscost_model::bill::{FAMILIES, WhatIf};
use oscost_model::program_calls::{FormTime, KernelTime, TimeBucket};
use serde_json::json;

use super::*;
use crate::report::html;
use crate::report::render::svg::svg;
use crate::report::view::bill::made_up::{self, find, priced, unpriced};
use crate::report::view::document::chart::{Chart, Point, Shape};

fn page(shown: &Bill) -> String {
    html(&bill(shown)).unwrap()
}

/// The names of a page's sections, in order.
fn sections(page: &str) -> Vec<&str> {
    page.split("<section id=\"").skip(1).filter_map(|it| it.split('"').next()).collect()
}

/// The markup of a chart.
fn chart<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<figure class=\"chart\" id=\"{id}\"")).unwrap();
    rest.split_once("</figure>").unwrap().0
}

/// Where each bar of a chart begins and ends.
fn bars(chart: &Chart) -> Vec<[f64; 2]> {
    let points = chart.series.iter().flat_map(|series| &series.points);
    points.map(|point| [point.start, point.x]).collect()
}

/// No two elements have the same id, and no coordinate is anything but a number.
fn is_sound(page: &str) {
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    assert!(!page.contains("NaN%") && !page.contains("inf%"));
}

#[test]
fn a_page_answers_first_and_has_its_parts_in_order() {
    let page = page(&find());
    assert_eq!(
        sections(&page),
        ["charged", "reconciliation", "doubts", "beyond", "items", "method", "words"]
    );
    let places = ["<h1>The bill of find</h1>", "find spent 100 ms", "Trust: good.", "<nav"];
    let places = places.map(|text| page.find(text).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("<summary>How it was counted and priced</summary>"));
    is_sound(&page);
}

#[test]
fn each_item_has_a_bar_with_its_count_its_price_and_its_share_under_its_family() {
    let page = page(&find());
    let drawn = chart(&page, "chart-items");
    // Those of the legend, and one for each item that is not small.
    assert_eq!(drawn.matches("<rect class=\"f\"").count(), 2 + 3);
    assert!(drawn.contains("<a href=\"#i0\">close file<small>68,725 x 800 ns</small></a>"));
    assert!(drawn.contains(">55.0 ms, 55 %</text>"), "{drawn}");
    let places = ["<h3>files: 75.0 ms, 75 %</h3>", "#i0", "#i1", "<h3>memory: 12.0 ms", "#i2"];
    let places = places.map(|text| drawn.find(text).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert!(drawn.contains("The table alone has 1 item below 0.05 %"), "{drawn}");
    assert!(page.contains("<tr id=\"i3\"") && !drawn.contains("#i3"), "brk is in the table alone");
    for family in ["files", "memory"] {
        assert!(drawn.contains(&format!("<a href=\"#w-{family}\">{family}</a>")), "{drawn}");
    }
    let found = item_chart::chart(&find()).unwrap();
    assert_eq!(bars(&found), [[0.0, 54.98], [0.0, 20.0], [0.0, 12.0]]);
}

#[test]
fn a_waterfall_leads_from_the_families_over_the_difference_to_what_was_measured() {
    let found = waterfall::chart(&find()).unwrap();
    let rounded: Vec<[f64; 2]> =
        bars(&found).into_iter().map(|ends| ends.map(|end| end.round())).collect();
    // Files, memory, all charged, the difference, the measured time.
    assert_eq!(rounded, [[0.0, 75.0], [75.0, 87.0], [0.0, 87.0], [87.0, 100.0], [0.0, 100.0]]);
    let shapes: Vec<Shape> = found.series.iter().map(|series| series.shape).collect();
    assert_eq!(shapes.iter().filter(|shape| **shape == Shape::OpenBars).count(), 1);
    assert_eq!(shapes[3], Shape::OpenBars);
}

#[test]
fn cool_prices_are_outlines_beyond_bars_a_shaded_range_and_a_column() {
    let cool = made_up::cooled(find(), 1.2);
    let items = item_chart::chart(&cool).unwrap();
    let outlines = items.series.last().unwrap();
    assert_eq!(outlines.shape, Shape::OpenBars);
    let ends = outlines.points.iter().map(|point| [point.start, point.x].map(f64::round));
    assert_eq!(ends.collect::<Vec<_>>(), [[55.0, 66.0], [20.0, 24.0], [12.0, 14.0]]);
    let found = waterfall::chart(&cool).unwrap();
    let rounded: Vec<[f64; 2]> =
        bars(&found).into_iter().map(|ends| ends.map(f64::round)).collect();
    // After both sums the difference from either one to the measured time.
    let sums_and_differences = [[0.0, 87.0], [0.0, 104.0], [87.0, 100.0], [104.0, 100.0]];
    assert_eq!(rounded[2..6], sums_and_differences);
    assert_eq!(found.band.map(|ends| ends.map(f64::round)), Some([87.0, 104.0]));
    let drawn_page = page(&cool);
    assert!(chart(&drawn_page, "chart-reconciliation").contains("<rect class=\"b\""));
    for text in ["data-name=\"cool_amount_ns\"", "cool amount: cool=1M"] {
        assert!(drawn_page.contains(text), "{text}");
    }
    assert!(!page(&find()).contains("cool_amount_ns"), "there is no empty column");
    is_sound(&drawn_page);
}

#[test]
fn the_range_says_how_much_of_it_is_estimated() {
    let mut cool = made_up::cooled(find(), 1.2);
    cool.items[0].cool_source = Some("the ratio of 3 other calls, 1.20".to_owned());
    let caption = waterfall::chart(&cool).unwrap().caption;
    let words =
        " With cool caches: 1 of 4 amounts are estimates, by the ratio of other calls, 63 %";
    assert!(caption.contains(words), "{caption}");
}

#[test]
fn a_negative_difference_leads_back() {
    let over = made_up::bill(vec![priced("brk", "memory", 1_000.0, 3_000.0)], 2e6);
    let found = waterfall::chart(&over).unwrap();
    assert_eq!(bars(&found), [[0.0, 3.0], [0.0, 3.0], [3.0, 2.0], [0.0, 2.0]]);
    let page = page(&over);
    assert!(chart(&page, "chart-reconciliation").contains(">-1.00 ms, -50 %</text>"), "{page}");
}

#[test]
fn bills_without_calls_without_prices_and_without_time_are_pages() {
    let mut uncounted = find();
    (uncounted.counted, uncounted.charged, uncounted.difference) = (None, None, None);
    let page_of_none = page(&uncounted);
    assert!(!sections(&page_of_none).contains(&"reconciliation"));
    assert!(page_of_none.contains("Trust: poor: its calls were not counted: nothing is charged."));
    let of_unpriced = page(&made_up::bill(vec![unpriced("ioctl", 9.0)], 1e6));
    assert!(!sections(&of_unpriced).contains(&"charged"));
    assert!(of_unpriced.contains("no case prices it"));
    for items in [vec![priced("nanosleep", "waiting", 3.0, 0.0)], Vec::new()] {
        is_sound(&page(&made_up::bill(items, 0.0)));
    }
}

#[test]
fn one_item_and_two_hundred_are_drawn() {
    for count in [1, 200] {
        let item = |at: usize| {
            priced(&format!("call-{at}"), FAMILIES[at % FAMILIES.len()], 1.0, 4_000.0 + at as f64)
        };
        let page = page(&made_up::bill((0..count).map(item).collect(), 1e6));
        assert_eq!(chart(&page, "chart-items").matches("<li><a href=\"#i").count(), count);
        assert_eq!(page.matches("<tr id=\"i").count(), count);
        assert!(page.len() < 400_000, "{} bytes", page.len());
        is_sound(&page);
    }
}

#[test]
fn texts_from_outside_are_no_markup_and_long_ones_are_cut() {
    let tag = "<script>alert(1)</script>\u{1b}[31m";
    let long = "x".repeat(10_000);
    let items = vec![priced(tag, "\"><img src=x>", 9.0, 9e4), priced(&long, "files", 9.0, 9e4)];
    let mut shown = made_up::bill(items, 1e6);
    shown.program = vec![format!("/bin/{tag}"), "'\"&".to_owned()];
    shown.items[0].doubt = Some(tag.to_owned());
    shown.cautions = vec![tag.to_owned()];
    shown.tool.version = tag.to_owned();
    let page = page(&shown);
    for markup in ["<script>alert", "<img", "\u{1b}", long.as_str()] {
        assert!(!page.contains(markup), "{markup:.20}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"), "it is shown as text");
    let picture = svg(&item_chart::chart(&shown).unwrap());
    assert!(!picture.contains("<script>") && !picture.contains("<img") && picture.len() < 20_000);
}

/// A prediction, and what was measured.
fn change(treatment: &str, predicted_ns: f64, measured_ns: Option<f64>) -> WhatIf {
    let amount = |ns: f64| json!({"ns": ns, "ci95": [ns - 1e5, ns + 1e5]});
    let run = json!({"id": "0194", "started": "2026-11-26T12:00:03Z"});
    let measured = measured_ns.map(|ns| {
        json!({
            "run": run, "pairs": 20, "system_ns": amount(ns), "system_figure": "median",
            "real_ns": null
        })
    });
    let change = json!({
        "treatments": [treatment], "predicted_at": "2026-11-26T12:00:02Z", "runs": [run],
        "predicted_system_ns": amount(predicted_ns), "predicted_real_ns": amount(predicted_ns),
        "estimated_ns": amount(0.0), "unpriced_calls": 0.0, "items": [], "doubt": null,
        "measured": measured, "not_measured": null, "judged_by": "system", "ratio": null,
        "judged": null
    });
    serde_json::from_value(change).unwrap()
}

#[test]
fn what_a_change_would_add_is_predicted_beside_measured() {
    let mut shown = find();
    shown.what_if = vec![change("seccomp=docker", 3e6, Some(4e6)), change("<ph>", -1e6, None)];
    let found = added_time::chart(&shown.what_if).unwrap();
    let [predicted, measured] = &found.series[..] else { panic!("{:?}", found.series) };
    let ends = |points: &[Point]| points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>();
    assert_eq!(ends(&predicted.points), [(3.0, 0.0), (-1.0, 2.0)]);
    assert_eq!(ends(&measured.points), [(4.0, 1.0)]);
    assert_eq!((predicted.shape, measured.shape), (Shape::OpenBars, Shape::Bars));
    let drawn_page = page(&shown);
    let drawn = chart(&drawn_page, "chart-what-if");
    assert!(drawn.contains("<h3>seccomp=docker</h3>") && drawn.contains("<h3>&lt;ph&gt;</h3>"));
    assert!(drawn.contains(">3.00 ms [2.90 .. 3.10]</text>"), "{drawn}");
    assert!(sections(&drawn_page).contains(&"change-1"));
    assert!(drawn_page.contains("under seccomp=docker it would spend 3.00 ms"), "as in a terminal");
    is_sound(&drawn_page);
    shown.what_if[0].judged_by = "real".to_owned();
    assert!(page(&shown).contains("<h3>seccomp=docker, real time</h3>"));
    assert!(!sections(&page(&find())).contains(&"change-1"));
}

#[test]
fn a_change_that_may_be_nothing_is_said_to_be_so_and_has_no_ratio() {
    let said = |predicted_ns: f64, measured_ns: f64| {
        let mut shown = find();
        let of_ratio =
            WhatIf { ratio: Some(0.75), ..change("ph", predicted_ns, Some(measured_ns)) };
        shown.what_if = vec![of_ratio];
        page(&shown)
    };
    let known = said(-1e6, 4e6);
    assert!(known.contains("it would spend 1.00 ms [0.90 .. 1.10] less in the kernel (-1.0 %)"));
    assert!(known.contains("the prediction is 0.75 times that"), "{known}");
    let open = said(5e4, 5e4);
    assert!(open.contains("it would spend 50.0 us [-50.0 .. 150] more in the kernel"), "{open}");
    assert!(open.contains(", which may be nothing") && !open.contains("times that"), "{open}");
}

#[test]
fn an_increase_that_is_known_badly_says_for_how_long_a_check_would_tell_it() {
    let said = |check_to_judge_s| {
        let mut shown = find();
        shown.what_if = vec![WhatIf { check_to_judge_s, ..change("ph", 3e6, Some(4e6)) }];
        page(&shown)
    };
    let wide = said(Some(125.0));
    let sentence = "ph: a check of about 3 minutes would judge the prediction: \
                    <code>--check-seconds 180</code>";
    assert!(wide.contains(sentence), "{wide}");
    let others = [said(None), said(Some(1e6))];
    assert!(others.iter().all(|page| !page.contains("--check-seconds")), "known, and never to be");
}

#[test]
fn a_measured_increase_says_which_time_it_is_and_each_has_its_interval() {
    let mut of_cpu = change("ph", 3e6, Some(4e6));
    of_cpu.judged_by = "cpu".to_owned();
    let amount = oscost_model::bill::Amount { ns: 5e6, ci95: Some([4.9e6, 5.1e6]) };
    of_cpu.measured.iter_mut().for_each(|it| it.cpu_ns = Some(amount.clone()));
    let mut shown = find();
    shown.what_if = vec![of_cpu];
    let text = page(&shown);
    let sentence = "measured in 20 pairs: +4.00 ms [3.90 .. 4.10] of system time (by the median), \
                    +5.00 ms [4.90 .. 5.10] of CPU time";
    assert!(text.contains(sentence), "{text}");
    let figure = "5.00 ms [4.90 .. 5.10] of CPU time";
    assert_eq!(text.matches(figure).count(), 2, "in its cell, too: {text}");
}

#[test]
fn the_table_has_each_price_with_its_interval() {
    assert!(page(&find()).contains("800 ns [720 .. 880]"));
}

#[test]
fn times_in_the_kernel_are_columns_where_they_were_measured() {
    let mut shown = find();
    assert!(!page(&shown).contains("on_cpu_ns"), "there is no empty column");
    let time = KernelTime { calls: 10, on_cpu_ns: 3_000_000, off_cpu_ns: 0 };
    shown.items[0].in_kernel = Some(time);
    let form = shown.items[0].name.clone();
    let on_cpu_histogram = vec![TimeBucket { below_ns: Some(512), calls: 10 }];
    let timed = FormTime { form, time, on_cpu_histogram, ..FormTime::default() };
    shown.counted.as_mut().unwrap().calls.in_kernel = vec![timed];
    let page = page(&shown);
    let remark = "half of its calls were on the CPU for less than 512 ns";
    for text in ["data-name=\"on_cpu_ns\"", "data-name=\"off_cpu_ns\"", "3.00 ms", remark] {
        assert!(page.contains(text), "{text}");
    }
    is_sound(&page);
}
