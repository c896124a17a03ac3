use super::*;
use crate::report::view::document::chart::{Mark, Order, Tick};

fn curve(points: &[[f64; 2]]) -> Chart {
    let point = |[x, y]: &[f64; 2]| Point { x: *x, y: *y, ..Point::default() };
    let series = Series {
        name: "here <&> \"there\"".to_owned(),
        shape: Shape::ConnectedSymbols(Symbol::Circle),
        points: points.iter().map(point).collect(),
        ..Series::default()
    };
    Chart {
        id: "one".to_owned(),
        caption: "cost < size".to_owned(),
        x: Axis::logarithmic("size"),
        y: Vertical::Axis(Axis::logarithmic("cost")),
        series: vec![series],
        marks: vec![Mark { x: 10.0, text: "ten".to_owned() }],
        band: None,
    }
}

/// The numbers of the circles' centres, in order.
fn centres(text: &str) -> Vec<[f64; 2]> {
    let number = |text: &str, key: &str| -> f64 {
        let (_, rest) = text.split_once(&format!("{key}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let circles = text.lines().filter(|line| line.starts_with("<circle"));
    circles.map(|line| [number(line, "cx"), number(line, "cy")]).collect()
}

#[test]
fn a_logarithmic_scale_has_equal_steps_for_equal_ratios_and_up_is_more() {
    let picture = svg(&curve(&[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]));
    // The first circle is the legend's.
    let centres = centres(&picture);
    let [first, second, third] = centres[1..] else { panic!("{centres:?}") };
    assert!((second[0] - first[0] - (third[0] - second[0])).abs() < 0.2, "{centres:?}");
    assert!((first[1] - second[1] - (second[1] - third[1])).abs() < 0.2, "{centres:?}");
    assert!(first[0] < second[0] && first[1] > second[1], "{centres:?}");
}

#[test]
fn values_that_a_scale_cannot_show_are_left_out_and_others_stay() {
    let picture = svg(&curve(&[[0.0, 2.0], [10.0, f64::NAN], [100.0, 200.0], [1_000.0, -1.0]]));
    assert_eq!(centres(&picture).len(), 2, "the legend's and one point: {picture}");
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
}

#[test]
fn text_is_escaped_and_nothing_is_loaded() {
    let picture = svg(&curve(&[[1.0, 2.0], [10.0, 20.0]]));
    assert!(picture.contains("<title>cost &lt; size</title>"), "{picture}");
    assert!(picture.contains("here &lt;&amp;&gt; &quot;there&quot;"), "{picture}");
    for word in ["href", "<script", "url(", "@import"] {
        assert!(!picture.contains(word), "{picture}");
    }
    assert_eq!(picture.matches("http").count(), 1, "the name of the format only");
}

#[test]
fn a_chart_of_rows_has_a_line_for_each_and_ranges_are_drawn() {
    let point = |row: f64, interval| Point { x: 10.0 + row, y: row, interval, ..Point::default() };
    let rows = ["one", "two", "three"].map(str::to_owned).to_vec();
    let mut chart = curve(&[]);
    chart.y = Vertical::Rows(vec![Order::of_rows("as published", vec![String::new(); 3], rows)]);
    chart.series[0].points =
        vec![point(0.0, None), point(1.0, Some([5.0, 50.0])), point(2.0, None)];
    let picture = svg(&chart);
    let centres = centres(&picture);
    assert_eq!(centres[2][1] - centres[1][1], ROW_HEIGHT);
    assert_eq!(picture.matches("stroke-opacity=\".35\"").count(), 1, "{picture}");
    assert!(["one", "two", "three"].iter().all(|row| picture.contains(&format!(">{row}<"))));
}

#[test]
fn bars_are_of_rows_and_the_axis_has_room_for_their_starts() {
    let bar = |row: f64, start: f64, x: f64| Point { start, x, y: row, ..Point::default() };
    let mut chart = curve(&[]);
    chart.x = Axis::linear("ms");
    chart.marks.clear();
    let rows = ["one", "two"].map(str::to_owned).to_vec();
    chart.y = Vertical::Rows(vec![Order::of_rows("by amount", vec![String::new(); 2], rows)]);
    chart.series[0].shape = Shape::Bars;
    chart.series[0].points = vec![bar(0.0, 0.0, 4.0), bar(1.0, 4.0, 3.0)];
    let picture = svg(&chart);
    // The first square is the legend's.
    assert_eq!(picture.matches("<path fill=\"currentColor\"").count(), 3, "{picture}");
    assert!(picture.contains(">0<") && picture.contains(">4<"), "{picture}");
    chart.y = Vertical::Axis(Axis::linear("ns"));
    assert_eq!(svg(&chart).matches("<path fill=\"currentColor\"").count(), 1);
}

#[test]
fn a_linear_axis_has_round_names() {
    let mut chart = curve(&[[0.0, 0.0], [7.0, 0.35]]);
    chart.x = Axis::linear("arguments");
    chart.y = Vertical::Axis(Axis::linear("ns"));
    chart.marks.clear();
    let picture = svg(&chart);
    for name in [">0<", ">7<", ">0.1<", ">0.3<"] {
        assert!(picture.contains(name), "{name}: {picture}");
    }
}

#[test]
fn equal_charts_are_equal_bytes_and_an_empty_one_is_a_picture() {
    let chart = curve(&[[1.0, 2.0], [10.0, 20.0]]);
    assert_eq!(svg(&chart), svg(&chart.clone()));
    assert!(svg(&curve(&[])).ends_with("</svg>\n"));
}

#[test]
fn names_of_an_axis_do_not_cover_each_other_and_a_long_title_is_not_cut() {
    let mut chart = curve(&[[1.0, 2.0], [100.0, 200.0]]);
    chart.marks.clear();
    let tick = |value: f64| Tick { value, name: format!("{value} kilobytes") };
    chart.x.ticks = vec![tick(1.0), tick(90.0), tick(100.0)];
    chart.y = Vertical::Axis(Axis::logarithmic("nanoseconds, cycles and procedure calls"));
    let picture = svg(&chart);
    assert!(picture.contains(">1 kilobytes<") && picture.contains(">90 kilobytes<"), "{picture}");
    assert!(!picture.contains(">100 kilobytes<"), "{picture}");
    let title = picture.lines().find(|line| line.contains("procedure calls")).unwrap();
    assert!(title.contains("x=\"12\"") && title.contains("\"start\""), "{title}");
}
