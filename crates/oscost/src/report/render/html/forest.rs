//! A forest plot as a chart: ratios with their intervals and verdicts, the largest on top.

use crate::report::view::document::chart::{
    Axis, Chart, Colour, Mark, Order, Point, Series, Shape, Symbol, Tick, Vertical,
};
use crate::report::view::document::{ForestLine, ForestPlot};

/// How the ratios of a verdict are drawn.
struct Style {
    verdict: &'static str,
    colour: Colour,
    symbol: Symbol,
}

const STYLES: [Style; 4] = [
    Style { verdict: "slower", colour: Colour::Worse, symbol: Symbol::TriangleRight },
    Style { verdict: "faster", colour: Colour::Better, symbol: Symbol::TriangleLeft },
    Style { verdict: "equivalent", colour: Colour::Palette(0), symbol: Symbol::Circle },
    Style { verdict: "inconclusive", colour: Colour::Muted, symbol: Symbol::OpenCircle },
];

/// The style of a verdict that this version does not know.
const UNKNOWN: Style =
    Style { verdict: "another verdict", colour: Colour::Muted, symbol: Symbol::OpenSquare };

/// Whether a ratio can be drawn on a logarithmic scale.
fn is_drawn(line: &ForestLine) -> bool {
    let usable = |ratio: f64| ratio.is_finite() && ratio > 0.0;
    usable(line.ratio) && line.interval.is_none_or(|ends| ends.into_iter().all(usable))
}

/// How many of the ratios cannot be drawn.
pub(super) fn not_drawn(plot: &ForestPlot) -> usize {
    plot.lines.iter().filter(|line| !is_drawn(line)).count()
}

/// The chart; `None` if no ratio can be drawn.
pub(super) fn chart(plot: &ForestPlot) -> Option<Chart> {
    let mut lines: Vec<&ForestLine> = plot.lines.iter().filter(|line| is_drawn(line)).collect();
    if lines.is_empty() {
        return None;
    }
    lines.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    let style_of = |line: &ForestLine| STYLES.iter().position(|it| it.verdict == line.verdict);
    let series = STYLES.iter().chain([&UNKNOWN]).enumerate().map(|(number, style)| {
        let of_style = |line: &ForestLine| style_of(line).unwrap_or(STYLES.len()) == number;
        let points = lines.iter().enumerate().filter(|(_, line)| of_style(line));
        let point = |(row, line): (usize, &&ForestLine)| Point {
            x: line.ratio,
            y: row as f64,
            interval: Some(line.interval.unwrap_or([line.ratio; 2])),
            figure: line.figure.clone(),
            row: line.row.clone(),
            ..Point::default()
        };
        Series {
            name: style.verdict.to_owned(),
            colour: style.colour,
            shape: Shape::Symbols(style.symbol),
            points: points.map(point).collect(),
        }
    });
    let ends = lines.iter().flat_map(|line| line.interval.unwrap_or([line.ratio; 2]));
    let widest = ends.fold(1.02f64.ln(), |widest, end| widest.max(end.ln().abs()));
    let order = Order::of_rows(
        "by ratio",
        lines.iter().map(|line| line.row.clone()).collect(),
        lines.iter().map(|line| line.name.clone()).collect(),
    );
    Some(Chart {
        id: plot.id.clone(),
        caption: plot.caption.clone(),
        x: ratio_axis(widest),
        y: Vertical::Rows(vec![order]),
        series: series.filter(|series| !series.points.is_empty()).collect(),
        marks: vec![Mark { x: 1.0, text: String::new() }],
        band: plot.margin.map(|ratio| [1.0 / ratio, ratio]),
    })
}

/// The scale of ratios to either side of 1, as far as the widest interval reaches.
fn ratio_axis(widest: f64) -> Axis {
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
    let mut values: Vec<f64> = above.flat_map(|step| [1.0 / step, *step]).chain([1.0]).collect();
    values.sort_by(f64::total_cmp);
    let tick = |value: f64| Tick { value, name: format!("{value:.2}") };
    let edge = found.map_or(widest, f64::ln) / std::f64::consts::LN_10 * 1.04;
    Axis {
        ends: Some([-edge, edge]),
        ticks: values.into_iter().map(tick).collect(),
        ..Axis::logarithmic("new / base")
    }
}
