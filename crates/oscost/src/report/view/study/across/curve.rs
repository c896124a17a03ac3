//! The curve of an act over the years: in time, and in cycles.

use super::costs::{digits, distinct, unit};
use crate::report::figures::rough;
use crate::report::text::plain;
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Point, Series, Shape, Symbol, Vertical,
};
use crate::studies::figures::unit::UnitKind;
use crate::studies::history::across::{ActFigures, AgeFigure, Cost};

/// From the oldest machines of the studies to some years from now.
const YEARS: [f64; 2] = [1991.0, 2028.0];

/// A point that is in the chart in time, in cycles, or in both.
struct DatedCost {
    year: f64,
    cost: Cost,
    name: String,
}

/// The chart of an act; nothing where it has no figure.
pub(super) fn chart(number: usize, act: &ActFigures<'_>) -> Option<Chart> {
    let is_rate = act.act.kind == UnitKind::Rate;
    let (references, others): (Vec<&AgeFigure<'_>>, Vec<&AgeFigure<'_>>) =
        act.figures.iter().partition(|it| it.is_reference);
    let mut line: Vec<DatedCost> = references.iter().map(|it| dated_cost(it)).collect();
    line.extend(distinct(act).iter().filter_map(|(case, of)| {
        let here = of.first()?.here.as_ref()?;
        let year = here.started.get(..4)?.parse().ok()?;
        Some(DatedCost { year, cost: here.cost, name: format!("here: {case}") })
    }));
    let others: Vec<DatedCost> = others.iter().map(|it| dated_cost(it)).collect();
    let in_time = |cost: &Cost| Some(Cost::middle(cost.value));
    let in_cycles = |cost: &Cost| cost.cycles.map(Cost::middle);
    let (time, cycles) =
        if is_rate { ("bytes per second", "bytes per cycle") } else { ("nanoseconds", "cycles") };
    let series = [
        series(
            "other systems",
            Colour::Muted,
            Shape::Symbols(Symbol::OpenCircle),
            &others,
            act,
            in_time,
        ),
        series(
            time,
            Colour::Palette(0),
            Shape::ConnectedSymbols(Symbol::Circle),
            &line,
            act,
            in_time,
        ),
        series(
            cycles,
            Colour::Palette(1),
            Shape::ConnectedSymbols(Symbol::Diamond),
            &line,
            act,
            in_cycles,
        ),
    ];
    let series: Vec<Series> = series.into_iter().filter(|it| !it.points.is_empty()).collect();
    let values: Vec<f64> = series.iter().flat_map(|it| &it.points).map(|it| it.y).collect();
    let caption =
        format!("{} over the years, in {time} and in {cycles} of each core", act.act.name);
    let y = Axis::over_named(values.iter().copied(), format!("{time}, {cycles}"), tick);
    (!values.is_empty()).then(|| Chart {
        id: format!("across-{number}"),
        caption,
        x: Axis { ends: Some(YEARS), ..Axis::linear("year") },
        y: Vertical::Axis(y),
        series,
        marks: Vec::new(),
        band: None,
    })
}

/// A number on the axis: 0.1, 20, 1000, 1e6.
fn tick(value: f64) -> String {
    if (0.000_999..999_999.0).contains(&value) { format!("{value}") } else { format!("{value:e}") }
}

fn dated_cost(it: &AgeFigure<'_>) -> DatedCost {
    let system = it.system.map(|system| format!(", {system}")).unwrap_or_default();
    let name = format!("{}{system}: {}, {}", it.study.id, it.row.name, it.published);
    DatedCost { year: f64::from(it.year), cost: it.then, name }
}

fn series(
    name: &str,
    colour: Colour,
    shape: Shape,
    costs: &[DatedCost],
    act: &ActFigures<'_>,
    of: impl Fn(&Cost) -> Option<f64>,
) -> Series {
    let unit = unit(act.act.kind);
    let point = |it: &DatedCost| {
        let y = of(&it.cost).filter(|y| *y > 0.0 && y.is_finite())?;
        let in_cycles = it.cost.cycles.map(|ends| {
            let what = if act.act.kind == UnitKind::Rate { "bytes per cycle" } else { "cycles" };
            format!("{} {what}", digits(Cost::middle(ends)))
        });
        let details = [
            Some(format!("{}: {}", it.year, plain(&it.name))),
            Some(rough(Cost::middle(it.cost.value), unit)),
            in_cycles,
        ];
        let details = details.into_iter().flatten().collect();
        Some(Point { x: it.year, y, details, ..Point::default() })
    };
    Series {
        name: name.to_owned(),
        colour,
        shape,
        points: costs.iter().filter_map(point).collect(),
    }
}
