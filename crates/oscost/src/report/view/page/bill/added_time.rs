//! What changes would add to a program, as predicted and as measured.

use oscost_model::bill::{Amount, WhatIf};
use oscost_model::program::{CPU, REAL};

use super::amounts::AmountScale;
use crate::report::view::document::chart::{
    Chart, Colour, Order, Point, RowGroup, Series, Shape, Vertical,
};
use crate::report::view::what_if::{compared, name, with_interval};

/// What a change would add.
struct AddedTime<'a> {
    title: String,
    predicted: &'a Amount,
    measured: Option<&'a Amount>,
}

impl<'a> AddedTime<'a> {
    /// To the time that is judged.
    fn of(change: &'a WhatIf) -> Self {
        let (predicted, measured) = compared(change);
        let time = match change.judged_by.as_str() {
            REAL => ", real time",
            CPU => ", measured as CPU time",
            _ => "",
        };
        Self { title: format!("{}{time}", name(change)), predicted, measured }
    }
}

/// The chart; `None` without a change.
pub(super) fn chart(changes: &[WhatIf]) -> Option<Chart> {
    if changes.is_empty() {
        return None;
    }
    let added: Vec<AddedTime<'_>> = changes.iter().map(AddedTime::of).collect();
    let amounts = added.iter().flat_map(|it| [Some(it.predicted), it.measured]);
    let ends = amounts.flatten().flat_map(|it| it.ci95.into_iter().flatten().chain([it.ns]));
    let scale = AmountScale::over(ends);
    let (mut predicted, mut measured) = (Vec::new(), Vec::new());
    let (mut names, mut groups) = (Vec::new(), Vec::new());
    for it in added {
        groups.push(RowGroup { first: names.len(), title: it.title });
        predicted.push(point(scale, names.len(), it.predicted));
        names.push("predicted".to_owned());
        if let Some(amount) = it.measured {
            measured.push(point(scale, names.len(), amount));
            names.push("measured".to_owned());
        }
    }
    let series = |name: &str, shape, points| Series {
        name: name.to_owned(),
        colour: Colour::Palette(0),
        shape,
        points,
    };
    let anchors = vec![String::new(); names.len()];
    let order = Order { groups, ..Order::of_rows("as they were asked about", anchors, names) };
    let series = [
        series("predicted", Shape::OpenBars, predicted),
        series("measured", Shape::Bars, measured),
    ];
    Some(Chart {
        id: "chart-what-if".to_owned(),
        caption: "What each change adds to the system time of the program, or to its real time \
                  where a monitor is another process: as its calls and their added costs predict, \
                  and as it was measured afterwards."
            .to_owned(),
        x: scale.axis(),
        y: Vertical::Rows(vec![order]),
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        marks: Vec::new(),
        band: None,
    })
}

fn point(scale: AmountScale, row: usize, amount: &Amount) -> Point {
    Point { figure: with_interval(amount), ..scale.bar(row, 0.0, amount) }
}
