//! Comparisons: for each pair of sides a forest plot of ratios with their verdicts, and a table.

use oscost_model::record::{Comparison, Record, Row};
use plotly::common::{MarkerSymbol, Mode};
use plotly::layout::{HoverMode, Shape};

use crate::report::figures::per_cent;
use crate::report::text::plain;
use crate::report::view::chart::{
    Along, Chart, GREY, MOST_NAMES, Order, Plot, Points, axis, layout, lines_axis, safe, titled,
    told, upright,
};
use crate::report::view::compare::names;
use crate::report::view::document::{Cell, Column, Line, Part, Section, Table};
use crate::report::view::run::gathered;
use crate::report::view::{ab, compare, instructions, programs};

/// The verdicts, each with its colour, its sign and its look in a table.
const VERDICTS: [(&str, &str, MarkerSymbol); 4] = [
    ("slower", "#c0392b", MarkerSymbol::TriangleRight),
    ("faster", "#17997a", MarkerSymbol::TriangleLeft),
    ("equivalent", "#2f7fd1", MarkerSymbol::Circle),
    ("inconclusive", GREY, MarkerSymbol::CircleOpen),
];

/// A verdict of a version that we do not know.
const OTHER: (&str, &str, MarkerSymbol) = ("another verdict", GREY, MarkerSymbol::SquareOpen);

/// A comparison, the row that it is with, and the one that it is of.
type Pair<'a> = (&'a Comparison, &'a Row, &'a Row);

/// The section of a run whose places were measured side by side.
pub(super) fn of_run(record: &Record) -> Option<Section> {
    let mut parts = Vec::new();
    let row = |at: u32| record.results.get(at as usize);
    for (at, (base, new)) in ab::targets(record).into_iter().enumerate() {
        let (asked, reference_cases) = ab::between(record, base, new);
        parts.push(Part::Title(super::unfolded(&ab::title((base, new), &asked)).join(" ")));
        let pairs: Vec<Pair<'_>> =
            asked.into_iter().filter_map(|it| Some((it, row(it.base)?, row(it.new)?))).collect();
        parts.extend(pair(at, &pairs));
        parts.extend(ab::beside(record, &reference_cases).map(Part::Text));
    }
    if !parts.is_empty() {
        parts.push(Part::Title("What it says, and what it does not".to_owned()));
        parts.push(Part::List(ab::said(record)));
    }
    let title = "What differs".to_owned();
    (!parts.is_empty()).then(|| Section { id: "compared".to_owned(), title, parts })
}

/// The section of runs that were compared.
pub(super) fn of_runs(shown: &crate::report::view::compare::Shown<'_>) -> Section {
    let compared = shown.compared;
    let row = |at: u32| compared.results.get(at as usize);
    let pairs = compared.comparisons.iter();
    let pairs: Vec<Pair<'_>> =
        pairs.filter_map(|it| Some((it, row(it.base)?, row(it.new)?))).collect();
    let mut parts = match pairs.is_empty() {
        true => vec![Part::Text("No row could be compared.".to_owned())],
        false => pair(0, &pairs),
    };
    let left = compared.not_compared.iter().map(|it| (plain(&it.why), it.case.as_str()));
    let left: Vec<String> = gathered(left)
        .into_iter()
        .map(|(why, cases)| {
            let cases: Vec<String> = cases.iter().map(|case| plain(case)).collect();
            format!("{why}: {}", cases.join(", "))
        })
        .collect();
    if !left.is_empty() {
        parts.push(Part::Title("Not compared".to_owned()));
        parts.push(Part::List(left));
    }
    parts.push(Part::Title("What it says, and what it does not".to_owned()));
    parts.push(Part::List(crate::report::view::compare::said(shown)));
    Section { id: "compared".to_owned(), title: "What differs".to_owned(), parts }
}

/// The chart and the table of a pair of sides.
fn pair(at: usize, pairs: &[Pair<'_>]) -> Vec<Part> {
    if pairs.is_empty() {
        return vec![Part::Text("No row could be compared.".to_owned())];
    }
    let named: Vec<String> = pairs
        .iter()
        .zip(names(&pairs.iter().map(|(it, ..)| it.case.as_str()).collect::<Vec<_>>()))
        .map(|((it, ..), name)| match it.metric.as_str() {
            "primary" => name,
            metric => format!("{name} ({metric})"),
        })
        .collect();
    let (chart, drawn) = forest(at, pairs, &named);
    let mut parts: Vec<Part> = chart.map(Part::chart).into_iter().collect();
    let left = pairs.len() - drawn;
    if left > 0 {
        parts.push(Part::Text(format!(
            "{left} ratios have no place on a scale of ratios: they stand in the table."
        )));
    }
    parts.push(Part::Table(table(at, pairs)));
    parts
}

/// The dearest change on top, and how many are drawn; no chart of none.
fn forest(at: usize, pairs: &[Pair<'_>], names: &[String]) -> (Option<Chart>, usize) {
    let usable = |ratio: f64| ratio.is_finite() && ratio > 0.0;
    let mut drawn: Vec<usize> = (0..pairs.len())
        .filter(|at| {
            let ratio = &pairs[*at].0.ratio;
            usable(ratio.value) && ratio.ci95.is_none_or(|ends| ends.into_iter().all(usable))
        })
        .collect();
    let ratio = |which: usize| pairs[which].0.ratio.value;
    drawn.sort_by(|one, other| ratio(*other).total_cmp(&ratio(*one)));
    let lines = drawn.len();
    if lines == 0 {
        return (None, 0);
    }
    let mut plot = Plot::default();
    let mut widest = 1.02f64.ln();
    let known = |verdict: &str| VERDICTS.iter().any(|(name, ..)| *name == verdict);
    for (verdict, colour, symbol) in VERDICTS.into_iter().chain([OTHER]) {
        let mut points = Points { name: verdict.to_owned(), ..Points::default() };
        for (line, &which) in drawn.iter().enumerate() {
            let (it, row, new) = pairs[which];
            if it.verdict != verdict && (verdict != OTHER.0 || known(&it.verdict)) {
                continue;
            }
            let ends = it.ratio.ci95.unwrap_or([it.ratio.value; 2]);
            widest = ends.iter().fold(widest, |widest, end| widest.max(end.ln().abs()));
            points.x.push(it.ratio.value);
            points.y.push(-(line as f64));
            points.ends.push(ends);
            points.told.push(told(&words(&names[which], (it, row, new))));
            points.rows.push(id(at, which));
        }
        if !points.x.is_empty() {
            plot.add_trace(points.trace((colour, symbol), Along::X, Mode::Markers));
        }
    }
    let order_names = match lines {
        few if few <= MOST_NAMES => {
            let all = drawn.iter().enumerate();
            all.map(|(line, which)| (line as f64, safe(&names[*which]))).collect()
        }
        _ => Vec::new(),
    };
    let ids = drawn.iter().map(|which| id(at, *which)).collect();
    let order = Order { name: "by ratio", rows: ids, names: order_names };
    let below = titled(ratio_axis(widest), "new / base");
    let (one, _) = upright(1.0, "", true, false);
    let counted = pairs.iter().all(|(_, row, _)| instructions::is_it(row));
    let layout = layout(Some(lines))
        .x_axis(below)
        .y_axis(lines_axis(&order))
        .shapes(if counted { vec![one] } else { vec![margin(), one] })
        .hover_mode(HoverMode::Closest);
    plot.set_layout(layout);
    let caption = match counted {
        true => {
            "Ratios of new to base, on a scale of ratios; a line is the range of what was seen."
        }
        false => {
            "Ratios of new to base with their 95 % intervals, on a scale of ratios; the band is the \
             3 % within which things are called equivalent."
        }
    };
    let chart = Chart {
        id: format!("forest-{at}"),
        caption: caption.to_owned(),
        plot,
        lines: Some(lines),
        orders: Vec::new(),
    };
    (Some(chart), lines)
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

/// The band within which things are called equivalent.
fn margin() -> Shape {
    use plotly::layout::{ShapeLayer, ShapeLine, ShapeType};
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x0(1.0 / 1.03)
        .x1(1.03)
        .y0(0.0)
        .y1(1.0)
        .y_ref("paper")
        .fill_color("rgba(128,128,128,0.12)")
        .line(ShapeLine::new().width(0.0))
}

/// What is told of a comparison's point.
fn words(name: &str, (it, base, new): Pair<'_>) -> Vec<String> {
    let of_metric = programs::of_metric(base, it);
    let [figure, ratio, interval, added, verdict, _] = compare::told(it, &of_metric);
    if instructions::is_it(base) {
        let other = instructions::figure(new);
        return vec![name.to_owned(), format!("{figure} and {other}: {verdict}"), added];
    }
    let mde = it.mde_pct.map(|pct| format!("could have shown {}", per_cent(pct)));
    [
        Some(name.to_owned()),
        Some(format!("{ratio} times the base ({interval}): {verdict}")),
        Some(format!("{added}, {} {}", it.pairs, it.design)),
        Some(format!("q {:.2e}", it.q)),
        mde,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The reference case of a comparison.
fn id(at: usize, which: usize) -> String {
    format!("c{at}-{which}")
}

fn table(at: usize, pairs: &[Pair<'_>]) -> Table {
    let line = |(which, (it, row, _)): (usize, &Pair<'_>)| {
        let row = programs::of_metric(row, it);
        let [base, ratio, interval, added, verdict, _] = compare::told(it, &row);
        let figure = row.estimate.as_ref().map(|estimate| estimate.median);
        let end = |end: usize| {
            let value = it.ratio.ci95.map(|ends| ends[end]);
            let text = match end {
                0 => interval.split_once(" .. ").map(|(low, _)| low),
                _ => interval.split_once(" .. ").map(|(_, high)| high),
            };
            Cell::number(text.unwrap_or("-"), value)
        };
        let look = VERDICTS.iter().find(|(name, ..)| *name == it.verdict);
        let cells = vec![
            Cell::text(plain(&it.case)),
            Cell::text(plain(&it.metric)),
            Cell::number(base, figure),
            Cell::text(row.unit.text()),
            Cell::number(ratio, Some(it.ratio.value)),
            end(0),
            end(1),
            Cell::number(added, Some(it.added.value)),
            Cell { value: Some(plain(&it.verdict)), ..Cell::text(verdict) }
                .looking(look.map_or("", |(name, ..)| *name)),
            Cell::number(format!("{:.1e}", it.q), Some(it.q)),
            Cell::number(it.pairs.to_string(), Some(f64::from(it.pairs))),
            Cell::text(it.flags.iter().map(|flag| plain(flag)).collect::<Vec<_>>().join(" "))
                .looking("small"),
        ];
        Line { id: id(at, which), benchmark: row.benchmark.clone(), cells }
    };
    Table {
        id: format!("comparisons-{at}"),
        caption: "Every comparison".to_owned(),
        columns: vec![
            Column::words("case"),
            Column::choice("metric"),
            Column::number("base", "base"),
            Column::words("unit"),
            Column::number("ratio", "ratio"),
            Column::number("from", "ratio_ci95_low"),
            Column::number("to", "ratio_ci95_high"),
            Column::number("added", "added"),
            Column::choice("verdict"),
            Column::number("q", "q"),
            Column::number("pairs", "pairs"),
            Column::words("flags"),
        ],
        rows: pairs.iter().enumerate().map(line).collect(),
        is_tool: true,
    }
}
