use super::*;
use crate::report::view::document::chart::{Axis, ChartRow, Mark, Order, Point, RowGroup};

fn series(points: Vec<Point>) -> Series {
    Series { name: "light, less <than>".to_owned(), points, ..Series::default() }
}

fn of_rows(points: Vec<Point>, names: &[&str]) -> Chart {
    let row = |name: &&str| ChartRow {
        anchor: format!("r-{name}"),
        name: (*name).to_owned(),
        id: format!("id-{name}"),
    };
    let rows: Vec<ChartRow> = names.iter().map(row).collect();
    let turned = rows.iter().rev().cloned().collect();
    let groups = vec![
        RowGroup { first: 0, title: "First".to_owned() },
        RowGroup { first: 2, title: "Second".to_owned() },
    ];
    Chart {
        id: "one".to_owned(),
        caption: "caption".to_owned(),
        x: Axis { ends: Some([0.0, 2.0]), ..Axis::logarithmic("cost") },
        y: Vertical::Rows(vec![
            Order { name: "by family", rows, groups },
            Order { name: "by cost", rows: turned, groups: Vec::new() },
        ]),
        series: vec![series(points)],
        marks: Vec::new(),
        band: None,
    }
}

fn at(x: f64, y: f64) -> Point {
    Point { x, y, figure: format!("{x} ns"), ..Point::default() }
}

fn drawn(chart: &Chart) -> String {
    figure(chart, &Words::default())
}

#[test]
fn each_row_has_its_name_its_id_its_point_and_its_figure_under_its_title() {
    let text = drawn(&of_rows(vec![at(1.0, 0.0), at(10.0, 1.0), at(100.0, 2.0)], &["a", "b", "c"]));
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("<li><a ")).collect();
    for ((line, name), place) in lines.iter().zip(["a", "b", "c"]).zip(["0%", "50%", "100%"]) {
        let begin = format!("<li><a href=\"#r-{name}\">{name}<small>id-{name}</small></a>");
        assert!(line.starts_with(&begin), "{line}");
        assert!(line.contains(&format!("<use href=\"#y0\" x=\"{place}\"/>")), "{line}");
    }
    assert!(lines[1].contains("<text x=\"50%\">10 ns</text>"), "{}", lines[1]);
    assert!(lines[2].contains("class=\"e\" x=\"100%\""), "no room on the right: {}", lines[2]);
    let places = ["<h3>First</h3>", "#r-a", "#r-b", "<h3>Second</h3>", "#r-c"];
    let places = places.map(|it| text.find(it).unwrap());
    assert!(places.is_sorted(), "{text}");
    assert_eq!((text.matches("<ol>").count(), text.matches("</ol>").count()), (2, 2));
}

/// The place of the only figure of a chart: its class, and its position in per cent.
fn place_of_figure(text: &str) -> (&str, f64) {
    let (_, drawn) = text.split_once("<li><a ").unwrap();
    let (_, figure) = drawn.split_once("<text").unwrap();
    let (class, rest) = figure.split_once("x=\"").unwrap();
    (class.trim(), rest.split_once('%').unwrap().0.parse().unwrap())
}

/// A chart of one row over an axis from 0 to 100, with a floor and a point with an interval.
fn with_floor(floor: f64, point: f64, interval: [f64; 2]) -> Chart {
    let mut chart = of_rows(vec![Point { interval: Some(interval), ..at(point, 0.0) }], &["a"]);
    chart.x = Axis { ends: Some([0.0, 100.0]), ..Axis::linear("ns") };
    chart.series.insert(0, series(vec![Point { x: floor, ..Point::default() }]));
    chart
}

#[test]
fn a_figure_is_beside_its_own_point_and_not_beside_its_floor() {
    let place = |floor: f64, point: f64, interval: [f64; 2]| {
        let text = drawn(&with_floor(floor, point, interval));
        let (class, at) = place_of_figure(&text);
        (class.to_owned(), at)
    };
    assert_eq!(place(20.0, 90.0, [88.0, 92.0]), ("class=\"e\"".to_owned(), 88.0));
    assert_eq!(place(20.0, 40.0, [38.0, 42.0]), (String::new(), 42.0));
    // A floor above the figure, on whose right there is no room.
    assert_eq!(place(45.0, 40.0, [38.0, 42.0]), ("class=\"e\"".to_owned(), 38.0));
    // A floor just below a point at the edge, and an interval across the chart.
    assert_eq!(place(85.0, 90.0, [88.0, 92.0]), ("class=\"e a n\"".to_owned(), 92.0));
    assert_eq!(place(20.0, 50.0, [1.0, 99.0]), ("class=\"e a\"".to_owned(), 99.0));
    assert_eq!(place(12.0, 5.0, [4.0, 6.0]), ("class=\"a n\"".to_owned(), 4.0));
}

#[test]
fn a_long_figure_above_its_point_ends_at_the_edge_if_it_would_cross_it() {
    let mut chart = with_floor(20.0, 52.0, [51.0, 53.0]);
    chart.series[1].points[0].figure = "x 1.113, +1275 insn (+11 %)".to_owned();
    assert_eq!(place_of_figure(&drawn(&chart)), ("class=\"e a n\"", 100.0));
    chart.series[1].points[0].interval = Some([29.0, 53.0]);
    assert_eq!(place_of_figure(&drawn(&chart)), ("class=\"a n\"", 29.0));
}

#[test]
fn a_long_figure_is_beside_its_point_where_a_wide_chart_has_room() {
    let mut chart = with_floor(20.0, 52.0, [51.0, 53.0]);
    chart.series[1].points[0].figure = "x 1.113, +1275 insn (+11 %)".to_owned();
    let text = drawn(&chart);
    assert!(text.contains("<text class=\"v\" x=\"53%\">x 1.113"), "{text}");
    assert!(text.contains("<svg class=\"two n\">"), "one line where it is wide: {text}");
    // A point at the edge, and a floor on its left: there is no room in a wide chart either.
    let mut chart = with_floor(85.0, 98.0, [97.0, 99.0]);
    chart.series[1].points[0].figure = "x 1.113, +1275 insn (+11 %)".to_owned();
    let text = drawn(&chart);
    assert!(text.contains("<svg class=\"two\">"), "{text}");
    assert_eq!(text.matches("x 1.113").count(), 1, "the same place in both: {text}");
}

#[test]
fn a_row_with_a_figure_above_its_point_has_two_lines() {
    let beside = drawn(&with_floor(20.0, 40.0, [38.0, 42.0]));
    assert!(beside.contains("</a><svg><g ") && !beside.contains("class=\"two\""), "{beside}");
    let above = drawn(&with_floor(94.0, 97.0, [96.0, 98.0]));
    assert!(above.contains("</a><svg class=\"two\"><g "), "{above}");
}

#[test]
fn other_orders_name_the_rows_of_the_first_by_number() {
    let text = drawn(&of_rows(vec![at(1.0, 0.0)], &["a", "b", "c"]));
    assert!(text.contains("aria-pressed=\"true\" data-rows=\"\">by family<"), "{text}");
    assert!(text.contains("aria-pressed=\"false\" data-rows=\"2 1 0\">by cost<"), "{text}");
    assert!(text.contains("aria-label=\"Order\" hidden>"), "without scripts nothing sorts");
}

#[test]
fn what_a_logarithmic_scale_cannot_show_is_left_out_or_cut_off_at_the_edge() {
    let interval = Some([0.0, 100.0]);
    let cut_off = Point { interval, ..at(10.0, 1.0) };
    let text = drawn(&of_rows(vec![at(0.0, 0.0), cut_off, at(f64::NAN, 2.0)], &["a", "b", "c"]));
    assert_eq!(text.matches("<use ").count(), 2, "the legend's and one point: {text}");
    assert!(text.contains("x1=\"-1%\" x2=\"100%\""), "{text}");
    assert!(!text.contains("NaN%") && !text.contains("inf%"), "{text}");
}

#[test]
fn dense_points_are_one_path_and_details_are_shown_on_demand() {
    let points = [100.0, 1.0, 10.0].map(|x| Point { x, ..Point::default() });
    let mut chart = of_rows(points.to_vec(), &["a"]);
    chart.series[0].shape = Shape::DenseSymbols;
    let text = drawn(&chart);
    assert!(text.contains("class=\"d c0\" d=\"M0 1h0m5000 0h0m4999 0h0\""), "{text}");
    // Nothing else is in the row: its picture is stretched as a whole.
    assert!(
        text.contains("</a><svg viewBox=\"0 0 9999 2\" preserveAspectRatio=\"none\">"),
        "{text}"
    );
    let details = vec!["<one>".to_owned(), "it's two".to_owned()];
    let mut chart = of_rows(vec![Point { details, ..at(1.0, 0.0) }], &["a"]);
    assert!(drawn(&chart).contains("<title>&lt;one&gt;\nit&#39;s two</title>"));
    chart.y = Vertical::Axis(Axis::linear("ns"));
    assert!(drawn(&chart).contains("<title>&lt;one&gt;\nit&#39;s two</title></use>"));
}

#[test]
fn a_box_is_one_path_from_its_lowest_to_its_highest_quantile() {
    let quantiles = [1.0, 10.0, 10.0, 10.0, 100.0];
    let mut chart = of_rows(vec![Point { quantiles, ..Point::default() }], &["a"]);
    chart.series[0].shape = Shape::Boxes;
    let text = drawn(&chart);
    let path = "M0 1H5000M5000 1H9999M5000 .4H5000V1.6H5000zM5000 .4V1.6";
    assert!(text.contains(&format!("<path class=\"q c0\" d=\"{path}\"/>")), "{text}");
    chart.series[0].points[0].quantiles[0] = 0.0;
    assert!(!drawn(&chart).contains("class=\"q c0\""), "a logarithmic scale has no 0");
}

/// A chart of bars over an axis from 0 to 10.
fn of_bars(points: Vec<Point>, names: &[&str]) -> Chart {
    let mut chart = of_rows(points, names);
    chart.x = Axis { ends: Some([0.0, 10.0]), ..Axis::linear("ms") };
    chart.series[0].shape = Shape::Bars;
    chart
}

#[test]
fn a_bar_begins_at_its_start_and_ends_at_its_value_on_either_side() {
    let from = |start: f64, point: Point| Point { start, ..point };
    let points = vec![from(0.0, at(5.0, 0.0)), from(5.0, at(2.0, 1.0)), from(0.0, at(0.0, 2.0))];
    let text = drawn(&of_bars(points, &["a", "b", "c"]));
    for (left, width) in [("0%", "50%"), ("20%", "30%"), ("0%", "0%")] {
        let bar = format!("<rect class=\"f\" x=\"{left}\" y=\"-6\" width=\"{width}\"");
        assert_eq!(text.matches(&bar).count(), 1, "{bar}: {text}");
    }
    // A figure is beside the end that is farther to the right.
    assert!(text.contains("<text x=\"50%\">5 ns</text>"), "{text}");
    assert!(text.contains("<text x=\"50%\">2 ns</text>"), "{text}");
}

#[test]
fn an_open_bar_is_an_outline_and_an_interval_is_a_thin_line() {
    let point = Point { interval: Some([4.0, 6.0]), ..at(5.0, 0.0) };
    let mut chart = of_bars(vec![point, at(f64::NAN, 1.0)], &["a", "b"]);
    chart.series[0].shape = Shape::OpenBars;
    let text = drawn(&chart);
    assert_eq!(text.matches("<rect class=\"q\"").count(), 2, "the legend's and one bar: {text}");
    assert!(text.contains("<line class=\"h\" x1=\"40%\" x2=\"60%\"/>"), "{text}");
    assert!(!text.contains("NaN%") && !text.contains("<use "), "{text}");
}

#[test]
fn intervals_of_a_plane_are_one_path() {
    let point = |x: f64| Point { interval: Some([2.5, 5.0]), ..at(x, 5.0) };
    let mut chart = of_rows(vec![point(1.0), point(100.0)], &[]);
    chart.y = Vertical::Axis(Axis { ends: Some([0.0, 10.0]), ..Axis::linear("ns") });
    let text = drawn(&chart);
    assert!(text.contains("<path class=\"w c0\" d=\"M0 7499V5000M9999 7499V5000\"/>"), "{text}");
}

#[test]
fn a_plane_has_a_line_in_steps_and_points_in_per_cent() {
    let mut chart = of_rows(vec![at(1.0, 0.0), at(100.0, 10.0)], &[]);
    chart.series[0].shape = Shape::ConnectedSymbols(Symbol::Circle);
    chart.y = Vertical::Axis(Axis { ends: Some([0.0, 10.0]), ..Axis::linear("ns") });
    let text = drawn(&chart);
    assert!(text.contains("d=\"M0 9999l9999-9999\""), "{text}");
    assert!(text.contains("x=\"0%\" y=\"100%\"") && text.contains("x=\"100%\" y=\"0%\""), "{text}");
    assert!(text.contains("role=\"img\" aria-labelledby=\"one-caption\""), "{text}");
}

#[test]
fn names_of_marks_that_would_touch_are_in_lanes_of_their_own() {
    let mut chart = of_rows(vec![at(1.0, 0.0)], &["a"]);
    let mark = |x: f64, text: &str| Mark { x, text: text.to_owned() };
    chart.marks = vec![mark(1.0, "one"), mark(1.1, "near <it>"), mark(30.0, "far")];
    let text = drawn(&chart);
    let height = |name: &str| {
        let (before, _) = text.split_once(&format!(">{name}</text>")).unwrap();
        before.rsplit_once("y=\"").unwrap().1.split('"').next().unwrap().to_owned()
    };
    assert_eq!(height("one"), height("far"));
    assert_ne!(height("one"), height("near &lt;it&gt;"));
    assert_eq!(text.matches("class=\"m\"").count(), 3);
}

#[test]
fn all_symbols_have_ids_of_their_own() {
    let text = symbols();
    for number in 0..parts::SYMBOLS.len() {
        assert_eq!(text.matches(&format!("id=\"y{number}\"")).count(), 1);
    }
    let ids: std::collections::BTreeSet<String> =
        parts::SYMBOLS.iter().map(|kind| mark_id(*kind)).collect();
    assert_eq!(ids.len(), parts::SYMBOLS.len());
}
