//! A chart over two axes.

use std::fmt::Write;

use super::parts::{LANE_PX, Signs, escape, ground, mark_id, pct, reach, tick_names};
use crate::report::render::svg::{Scale, class, title, values};
use crate::report::view::document::chart::{Axis, Chart, Point, Series, Shape, Symbol};

/// Steps of a path in either direction, of which there are this many in its width and its height.
const STEPS: f64 = 9_999.0;
/// Just below the chart.
const EDGE: f64 = 101.0;

pub(super) fn plane(chart: &Chart, vertical: &Axis) -> String {
    let x = Scale::of(&chart.x, values(chart, true), [0.0, 100.0]);
    let y = Scale::of(vertical, values(chart, false), [100.0, 0.0]);
    let ticks = x.ticks(&chart.x);
    let Signs { text: signs, lanes } = Signs::of(chart, &x);
    let signs = match lanes {
        0 => String::new(),
        _ => format!(
            "<svg class=\"x head\" height=\"{}\" aria-hidden=\"true\"><g class=\"s\">{signs}</g></svg>\n",
            LANE_PX * lanes
        ),
    };
    let mut grid = String::new();
    let mut names = String::new();
    for tick in y.ticks(vertical) {
        let at = pct(tick.at);
        let _ = write!(grid, "M0 {:.0}h{STEPS}", steps(tick.at));
        let _ = write!(names, "<text y=\"{at}\">{}</text>", escape(&tick.text));
    }
    for tick in &ticks {
        let _ = write!(grid, "M{:.0} 0v{STEPS}", steps(tick.at));
    }
    // All paths share one picture that is stretched.
    let mut paths = format!("<path class=\"g\" d=\"{grid}\"/>");
    let mut signs_of_points = String::new();
    for series in &chart.series {
        let placed = placed(series, &x, &y);
        paths += &lines(series, &placed, &y);
        signs_of_points += &symbols(series, &placed);
    }
    format!(
        "<div class=\"plane\">\n<p>{}</p>\n{signs}<svg class=\"gutter\" aria-hidden=\"true\"><svg x=\"100%\">{names}\
         </svg></svg>\n<svg class=\"x field\" role=\"img\" aria-labelledby=\"{}-caption\">{}{}{signs_of_points}</svg>\n\
         <svg class=\"x foot\" height=\"18\" aria-hidden=\"true\"><g class=\"t\">{}</g></svg>\n\
         <p class=\"e\">{}</p>\n</div>\n",
        escape(&title(vertical)),
        escape(&chart.id),
        ground(chart, &x, &[]),
        stretched(&paths),
        tick_names(&ticks, 13),
        escape(&title(&chart.x))
    )
}

/// A point where the axes can show it, in per cent.
struct PlacedPoint<'a> {
    at: [f64; 2],
    point: &'a Point,
}

/// The points of a series. What its axes cannot show is left out.
fn placed<'a>(series: &'a Series, x: &Scale, y: &Scale) -> Vec<PlacedPoint<'a>> {
    let place = |point: &'a Point| {
        Some(PlacedPoint { at: [x.position(point.x)?, y.position(point.y)?], point })
    };
    series.points.iter().filter_map(place).collect()
}

/// The line and the intervals of a series, as paths in steps.
fn lines(series: &Series, placed: &[PlacedPoint<'_>], y: &Scale) -> String {
    let colour = class(series.colour);
    let line = match series.shape {
        Shape::DottedLine => Some("l o"),
        Shape::Line | Shape::ConnectedSymbols(_) => Some("l"),
        Shape::Symbols(_) | Shape::DenseSymbols | Shape::Boxes | Shape::Bars | Shape::OpenBars => {
            None
        }
    };
    let intervals = placed.iter().filter_map(|PlacedPoint { at: [px, _], point }| {
        let [from, to] = reach(y, point.interval?, EDGE)?;
        (from != to).then(|| format!("M{:.0} {:.0}V{:.0}", steps(*px), steps(from), steps(to)))
    });
    let intervals: String = intervals.collect();
    let mut paths = String::new();
    if let Some(class) = line.filter(|_| placed.len() > 1) {
        let places: Vec<[f64; 2]> = placed.iter().map(|it| it.at).collect();
        let corners = path(corners(&places).into_iter());
        let _ = write!(paths, "<path class=\"{class} {colour}\" d=\"{corners}\"/>");
    }
    if !intervals.is_empty() {
        let _ = write!(paths, "<path class=\"w {colour}\" d=\"{intervals}\"/>");
    }
    paths
}

/// The symbols of a series; empty if it has none.
fn symbols(series: &Series, placed: &[PlacedPoint<'_>]) -> String {
    let kind = match series.shape {
        Shape::Symbols(kind) | Shape::ConnectedSymbols(kind) => kind,
        Shape::DenseSymbols => Symbol::Circle,
        // Boxes and bars are of rows.
        Shape::Line | Shape::DottedLine | Shape::Boxes | Shape::Bars | Shape::OpenBars => {
            return String::new();
        }
    };
    let drawn = placed.iter().map(|it| symbol(&mark_id(kind), it.at, it.point));
    match drawn.collect::<String>() {
        drawn if drawn.is_empty() => drawn,
        drawn => format!("<g class=\"{}\">{drawn}</g>", class(series.colour)),
    }
}

/// The points of a line without those that are a quarter of a pixel or less above or below the line
/// without them. A zoom changes nothing of that: it stretches the horizontal axis alone.
fn corners(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    /// In per cent of a chart of 320 pixels.
    const QUARTER_OF_PIXEL: f64 = 0.08;
    /// So many points may be left out in a row.
    const MAX_OMITTED: usize = 64;
    let is_near = |[x1, y1]: [f64; 2], [x2, y2]: [f64; 2], [x, y]: [f64; 2]| {
        x2 != x1 && (y1 + (y2 - y1) * (x - x1) / (x2 - x1) - y).abs() <= QUARTER_OF_PIXEL
    };
    let mut kept: Vec<[f64; 2]> = points.first().copied().into_iter().collect();
    let mut last = 0;
    for end in 2..points.len() {
        let omitted = &points[last + 1..end];
        let is_line = omitted.iter().all(|it| is_near(points[last], points[end], *it));
        if !is_line || omitted.len() > MAX_OMITTED {
            last = end - 1;
            kept.push(points[last]);
        }
    }
    kept.extend(points.last().filter(|_| points.len() > 1));
    kept
}

/// A position in per cent as steps of a path.
fn steps(at: f64) -> f64 {
    (at / 100.0).clamp(-9.0, 10.0) * STEPS
}

/// Paths in steps, stretched over the chart.
fn stretched(paths: &str) -> String {
    format!("<svg viewBox=\"0 0 {STEPS} {STEPS}\" preserveAspectRatio=\"none\">{paths}</svg>")
}

/// A line through these points: each as its distance from the one before, in whole steps, which takes
/// half of the digits. Rounding errors do not add up.
fn path(points: impl Iterator<Item = [f64; 2]>) -> String {
    let mut out = String::new();
    let mut before: Option<[i64; 2]> = None;
    for point in points {
        let [x, y] = point.map(|at| steps(at).round() as i64);
        let [dx, dy] = before.map_or([x, y], |[px, py]| [x - px, y - py]);
        out += if before.is_none() { "M" } else { "l" };
        // A sign separates numbers, too.
        let space = if dy < 0 { "" } else { " " };
        let _ = write!(out, "{dx}{space}{dy}");
        before = Some([x, y]);
    }
    out
}

/// The symbol of a point; on demand a reader sees its row in the table, or its details.
fn symbol(id: &str, [x, y]: [f64; 2], point: &Point) -> String {
    let [x, y] = [x, y].map(pct);
    let row = match point.row.as_str() {
        "" => String::new(),
        row => format!(" data-row=\"{}\"", escape(row)),
    };
    let opening = format!("<use href=\"#{id}\" x=\"{x}\" y=\"{y}\"{row}");
    match &point.details[..] {
        [] => format!("{opening}/>"),
        lines => {
            let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
            format!("{opening}><title>{}</title></use>", lines.join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::corners;

    #[test]
    fn a_line_keeps_its_ends_its_corners_and_the_bends_that_one_sees() {
        let straight: Vec<[f64; 2]> =
            (0..40).map(|at| [f64::from(at), 2.0 * f64::from(at)]).collect();
        assert_eq!(corners(&straight), [[0.0, 0.0], [39.0, 78.0]]);
        let corner = [[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [3.0, 9.0], [4.0, 18.0]];
        assert_eq!(corners(&corner), [[0.0, 0.0], [2.0, 0.0], [4.0, 18.0]]);
        let steps = [[0.0, 0.0], [1.0, 0.0], [1.0, 5.0], [2.0, 5.0]];
        assert_eq!(corners(&steps), steps, "upright parts stay");
        let curve: Vec<[f64; 2]> =
            (0..=60).map(|at| [f64::from(at), 0.02 * f64::from(at * at)]).collect();
        let kept = corners(&curve);
        assert!(kept.len() < 40, "{}", kept.len());
        for [x, y] in curve {
            let after = kept.iter().position(|it| it[0] >= x).unwrap().max(1);
            let ([x1, y1], [x2, y2]) = (kept[after - 1], kept[after]);
            assert!((y1 + (y2 - y1) * (x - x1) / (x2 - x1) - y).abs() < 0.081, "{x}");
        }
        assert_eq!(corners(&[]), [[0.0; 2]; 0]);
        assert_eq!(corners(&[[1.0, 2.0]]), [[1.0, 2.0]]);
        let long: Vec<[f64; 2]> = (0..200).map(|at| [f64::from(at), 0.0]).collect();
        assert_eq!(corners(&long).last(), Some(&[199.0, 0.0]));
    }
}
