//! Costs in texts, and the costs of an act here.

use oscost_model::unit::Unit;

use crate::report::figures::rough;
use crate::report::view::document::Cell;
use crate::studies::figures::unit::UnitKind;
use crate::studies::history::across::{ActFigures, AgeFigure, Cost, CostHere, CyclesBy};

/// The counterparts here that differ, each by its case, with the figures that it belongs to. Which of
/// them is the first is that of the oldest figure.
pub(super) fn distinct<'a, 'b>(act: &'b ActFigures<'a>) -> Vec<(&'a str, Vec<&'b AgeFigure<'a>>)> {
    let mut found: Vec<(&str, Vec<&AgeFigure<'_>>)> = Vec::new();
    for it in act.figures.iter().filter(|it| it.is_reference) {
        let (Some(case), Some(here)) = (it.row.case(), &it.here) else { continue };
        let same = |(known, of): &&mut (&str, Vec<&AgeFigure<'_>>)| {
            let cost = of.first().and_then(|it| it.here.as_ref()).map(|it| it.cost.value);
            *known == case && cost == Some(here.cost.value)
        };
        match found.iter_mut().find(same) {
            Some((_, of)) => of.push(it),
            None => found.push((case, vec![it])),
        }
    }
    found
}

/// The unit of figures of this kind.
pub(super) fn unit(kind: UnitKind) -> Unit {
    if kind == UnitKind::Rate { Unit::BytesPerSecond } else { Unit::NsPerOp }
}

/// A cost in all measures.
pub(super) fn costs(cost: &Cost, unit: Unit) -> [Cell; 4] {
    let plain_numbers = [cost.cycles, cost.calls, cost.loads].map(|ends| number(ends, digits));
    let [cycles, calls, loads] = plain_numbers;
    [number(Some(cost.value), |value| rough(value, unit)), cycles, calls, loads]
}

/// Where the cycles of a cost here are from; nothing if it has none.
pub(super) fn cycles_by(here: &CostHere) -> Option<&'static str> {
    here.cost.cycles.map(|_| match here.cycles_by {
        CyclesBy::Counter => "counter",
        CyclesBy::Frequency => "frequency",
    })
}

/// A figure or a range; `-` for none.
pub(super) fn number(ends: Option<[f64; 2]>, text: impl Fn(f64) -> String) -> Cell {
    let Some([low, high]) = ends else { return Cell::number("-", None) };
    let shown = if low == high { text(low) } else { range([text(low), text(high)]) };
    Cell::number(shown, Some(Cost::middle([low, high])))
}

/// Two figures, with their unit once where they have the same.
pub(super) fn range([low, high]: [String; 2]) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}..{high}"),
        _ => format!("{low}..{high}"),
    }
}

/// A number in three digits, with commas between thousands where it has more.
pub(super) fn digits(value: f64) -> String {
    if value < 999.5 {
        let decimals = match value {
            large if large >= 99.95 => 0,
            middling if middling >= 9.995 => 1,
            _ => 2,
        };
        return format!("{value:.decimals$}");
    }
    let whole = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
