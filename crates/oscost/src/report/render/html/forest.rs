//! A forest plot: ratios with their intervals and verdicts, the largest on top.

use plotly::common::{MarkerSymbol, Mode};
use plotly::layout::{HoverMode, Shape};

use crate::report::view::chart::{
    Along, Chart, GREY, MOST_NAMES, Order, Plot, Points, axis, layout, lines_axis, safe, titled,
    told, upright,
};
use crate::report::view::document::{ForestLine, ForestPlot};

/// The verdicts, each with its colour and its symbol.
const VERDICTS: [(&str, &str, MarkerSymbol); 4] = [
    ("slower", "#c0392b", MarkerSymbol::TriangleRight),
    ("faster", "#17997a", MarkerSymbol::TriangleLeft),
    ("equivalent", "#2f7fd1", MarkerSymbol::Circle),
    ("inconclusive", GREY, MarkerSymbol::CircleOpen),
];

/// A verdict that this version does not know.
const OTHER: (&str, &str, MarkerSymbol) = ("another verdict", GREY, MarkerSymbol::SquareOpen);

/// Whether a ratio has a place on a logarithmic scale.
fn is_drawn(line: &ForestLine) -> bool {
    let usable = |ratio: f64| ratio.is_finite() && ratio > 0.0;
    usable(line.ratio) && line.interval.is_none_or(|ends| ends.into_iter().all(usable))
}

/// How many of the ratios cannot be drawn.
pub(super) fn not_drawn(plot: &ForestPlot) -> usize {
    plot.lines.iter().filter(|line| !is_drawn(line)).count()
}

/// The chart; nothing where no ratio can be drawn.
pub(super) fn chart(plot: &ForestPlot) -> Option<Chart> {
    let mut drawn: Vec<&ForestLine> = plot.lines.iter().filter(|line| is_drawn(line)).collect();
    drawn.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    let lines = drawn.len();
    if lines == 0 {
        return None;
    }
    let mut chart = Plot::default();
    let mut widest = 1.02f64.ln();
    let known = |verdict: &str| VERDICTS.iter().any(|(name, ..)| *name == verdict);
    for (verdict, colour, symbol) in VERDICTS.into_iter().chain([OTHER]) {
        let mut points = Points { name: verdict.to_owned(), ..Points::default() };
        for (at, it) in drawn.iter().enumerate() {
            if it.verdict != verdict && (verdict != OTHER.0 || known(&it.verdict)) {
                continue;
            }
            let ends = it.interval.unwrap_or([it.ratio; 2]);
            widest = ends.iter().fold(widest, |widest, end| widest.max(end.ln().abs()));
            points.x.push(it.ratio);
            points.y.push(-(at as f64));
            points.ends.push(ends);
            points.told.push(told(&it.details));
            points.rows.push(it.row.clone());
        }
        if !points.x.is_empty() {
            chart.add_trace(points.trace((colour, symbol), Along::X, Mode::Markers));
        }
    }
    let names = match lines {
        few if few <= MOST_NAMES => {
            drawn.iter().enumerate().map(|(at, it)| (at as f64, safe(&it.name))).collect()
        }
        _ => Vec::new(),
    };
    let rows = drawn.iter().map(|it| it.row.clone()).collect();
    let order = Order { name: "by ratio", rows, names };
    let (one, _) = upright(1.0, "", true, false);
    let layout = layout(Some(lines))
        .x_axis(titled(ratio_axis(widest), "new / base"))
        .y_axis(lines_axis(&order))
        .shapes(plot.margin.map(band).into_iter().chain([one]).collect())
        .hover_mode(HoverMode::Closest);
    chart.set_layout(layout);
    Some(Chart {
        id: plot.id.clone(),
        caption: plot.caption.clone(),
        plot: chart,
        lines: Some(lines),
        orders: Vec::new(),
    })
}

/// The scale of ratios to either side of 1, as far as the widest interval reaches.
fn ratio_axis(widest: f64) -> plotly::layout::Axis {
    const ENDS: [f64; 10] = [1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 10.0, 100.0, 1_000.0];
    let found = ENDS.into_iter().find(|end| end.ln() >= widest);
    let end = found.unwrap_or(f64::INFINITY);
    let steps: &[f64] = match end {
        end if end <= 1.05 => &[1.01, 1.02, 1.03, 1.04, 1.05],
        end if end <= 1.2 => &[1.05, 1.1, 1.15, 1.2],
        end if end <= 2.0 => &[1.1, 1.2, 1.5, 2.0],
        end if end <= 10.0 => &[1.5, 2.0, 4.0, 10.0],
        _ => &[10.0, 100.0, 1_000.0],
    };
    let above = steps.iter().filter(|step| **step <= end * 1.001);
    let mut marks: Vec<f64> = above.flat_map(|step| [1.0 / step, *step]).chain([1.0]).collect();
    marks.sort_by(f64::total_cmp);
    let names = marks.iter().map(|mark| format!("{mark:.2}")).collect();
    let edge = found.map_or(widest, f64::ln) / std::f64::consts::LN_10 * 1.04;
    axis()
        .type_(plotly::layout::AxisType::Log)
        .range(vec![-edge, edge])
        .tick_mode(plotly::common::TickMode::Array)
        .tick_values(marks)
        .tick_text(names)
}

/// The band within which two figures are called equivalent.
fn band(ratio: f64) -> Shape {
    use plotly::layout::{ShapeLayer, ShapeLine, ShapeType};
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x0(1.0 / ratio)
        .x1(ratio)
        .y0(0.0)
        .y1(1.0)
        .y_ref("paper")
        .fill_color("rgba(128,128,128,0.12)")
        .line(ShapeLine::new().width(0.0))
}
