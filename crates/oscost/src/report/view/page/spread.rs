//! The deviation of repetitions and samples from the median of their row: a chart for each family.

use oscost_model::record::Row;
use oscost_stats::order::quantile;

use crate::report::view::document::chart::{
    Axis, Chart, Colour, Order, Point, Series, Shape, Vertical,
};
use crate::report::view::page::rows;
use crate::report::view::page::rows::{IndexedRow, Rows};
use crate::report::view::run::row::has;

/// The deviations of one row's values from their median, in per cent of it.
struct Spread<'a> {
    /// The index of its row in the record.
    index: usize,
    row: &'a Row,
    /// The deviations of its repetitions.
    repetitions_pct: Vec<f64>,
    /// Five quantiles of the raw batches: 5, 25, 50, 75 and 95 %; `None` if the record has none.
    samples: Option<[f64; 5]>,
}

/// The chart of a family's rows; `None` if no row has two repetitions.
pub(super) fn chart(id: String, members: &[IndexedRow<'_>], rows: &Rows<'_>) -> Option<Chart> {
    let spreads: Vec<Spread<'_>> = members.iter().filter_map(|&member| spread(member)).collect();
    if spreads.is_empty() {
        return None;
    }
    let numbered = || spreads.iter().enumerate();
    let sampled = numbered().filter_map(|(row, it)| {
        Some(Point { y: row as f64, quantiles: it.samples?, ..Point::default() })
    });
    let sampled: Vec<Point> = sampled.collect();
    let of_row = |(row, it): (usize, &Spread<'_>)| {
        let point = |x: &f64| Point { x: *x, y: row as f64, ..Point::default() };
        it.repetitions_pct.iter().map(point).collect::<Vec<_>>()
    };
    let repetitions: Vec<Point> = numbered().flat_map(of_row).collect();
    let ids = spreads.iter().map(|it| rows::id(it.index)).collect();
    let names = spreads.iter().map(|it| rows.name(it.row)).collect();
    let all = spreads.iter().flat_map(|it| it.samples.into_iter().flatten());
    let all = all.chain(repetitions.iter().map(|point| point.x));
    let (low, high) = all.fold((0f64, 0f64), |(low, high), pct| (low.min(pct), high.max(pct)));
    let margin = (0.04 * high - 0.04 * low).max(0.004);
    let ends = [low - margin, high + margin].map(|end| end.clamp(f64::MIN, f64::MAX));
    let boxes = match sampled.is_empty() {
        true => "",
        false => {
            " Boxes: the raw batches around their own median, clock and loop included; from the \
             5th to the 95th percentile, the box is the middle half."
        }
    };
    let boxed = (!sampled.is_empty()).then(|| Series {
        name: "raw batches".to_owned(),
        colour: Colour::Muted,
        shape: Shape::Boxes,
        points: sampled,
    });
    let repeated = Series {
        name: "repetitions".to_owned(),
        colour: Colour::Palette(0),
        shape: Shape::DenseSymbols,
        points: repetitions,
    };
    Some(Chart {
        id,
        caption: format!(
            "How far the repetitions are from their row's median, in per cent of it.{boxes}"
        ),
        // The row's own median is inside, wherever its repetitions are.
        x: Axis { ends: Some(ends), suffix: " %", ..Axis::linear("from the row's median") },
        y: Vertical::Rows(vec![Order::of_rows("as measured", ids, names)]),
        series: boxed.into_iter().chain([repeated]).collect(),
        marks: Vec::new(),
        band: None,
    })
}

fn spread(IndexedRow { index, row }: IndexedRow<'_>) -> Option<Spread<'_>> {
    // A figure that cannot be distinguished from zero has no relative deviation, and an exact figure
    // has no spread.
    let estimate = row.estimate.as_ref().filter(|_| !has(row, "BELOW_DETECTION"))?;
    if estimate.exact {
        return None;
    }
    let median = estimate.median;
    let values = row.repetitions.iter().filter_map(|it| it.value);
    let deviations_pct = values.map(|value| 100.0 * (value / median - 1.0));
    let repetitions_pct: Vec<f64> = deviations_pct.filter(|pct| pct.is_finite()).collect();
    if repetitions_pct.len() < 2 {
        return None;
    }
    Some(Spread { index, row, repetitions_pct, samples: quantiles(row) })
}

/// Five quantiles of a row's raw batches, as deviations from their median in per cent.
fn quantiles(row: &Row) -> Option<[f64; 5]> {
    let samples = row.repetitions.iter().flat_map(|it| it.samples.iter().flatten());
    let each = samples.filter(|it| it.n > 0).map(|it| it.ticks as f64 / it.n as f64);
    let mut all: Vec<f64> = each.collect();
    all.sort_by(f64::total_cmp);
    let median = quantile(&all, 0.5)?;
    let deviation_pct = |share: f64| {
        let value = quantile(&all, share)?;
        Some(100.0 * (value / median - 1.0)).filter(|pct| pct.is_finite())
    };
    Some([
        deviation_pct(0.05)?,
        deviation_pct(0.25)?,
        deviation_pct(0.5)?,
        deviation_pct(0.75)?,
        deviation_pct(0.95)?,
    ])
}
