//! How far repetitions and samples of rows lie from their middles: a chart for each family.

use oscost_model::record::Row;
use plotly::box_plot::{BoxPoints, QuartileMethod};
use plotly::common::{HoverInfo, Line as Stroke, Marker, Mode, Orientation};
use plotly::layout::HoverMode;
use plotly::{BoxPlot, Scatter};

use crate::report::figures::{Style, per_cent};
use crate::report::view::chart::{
    COLOURS, Chart, GREY, MOST_NAMES, Order, Plot, axis, layout, lines_axis, safe, titled, told,
};
use crate::report::view::page::rows;
use crate::report::view::page::rows::Rows;
use crate::report::view::row::has;
use oscost_stats::order::quantile;

/// How one row's values lie around their middle, in per cent of it.
struct Spread<'a> {
    at: usize,
    row: &'a Row,
    /// A repetition each, with what is told of it.
    repetitions: Vec<(f64, String)>,
    /// Five quantiles of the raw batches: 5, 25, 50, 75 and 95 %; `None` where the record has none.
    samples: Option<[f64; 5]>,
}

/// The chart of a family's rows; nothing where none has two repetitions.
pub(super) fn chart(id: String, members: &[(usize, &Row)], rows: &Rows<'_>) -> Option<Chart> {
    let spreads: Vec<Spread<'_>> =
        members.iter().filter_map(|(at, row)| spread(*at, row)).collect();
    if spreads.is_empty() {
        return None;
    }
    let lines = spreads.len();
    let y = |at: usize| -(at as f64);
    let mut plot = Plot::default();
    let sampled: Vec<(usize, [f64; 5])> =
        spreads.iter().enumerate().filter_map(|(at, it)| Some((at, it.samples?))).collect();
    if !sampled.is_empty() {
        plot.add_trace(samples(&sampled, &y));
    }
    let points = || {
        let all = spreads.iter().enumerate();
        all.flat_map(|(at, it)| it.repetitions.iter().map(move |(off, told)| (at, it, *off, told)))
    };
    let trace = Scatter::new(
        points().map(|(_, _, off, _)| off).collect(),
        points().map(|(at, ..)| y(at)).collect(),
    )
    .name("a repetition each")
    .mode(Mode::Markers)
    .marker(Marker::new().color(COLOURS[0]).size(6).opacity(0.65))
    .hover_text_array(points().map(|(.., told)| told).collect())
    .hover_info(HoverInfo::Text)
    .custom_data(points().map(|(_, it, ..)| rows::id(it.at)).collect::<Vec<_>>());
    plot.add_trace(trace);
    let names = match lines {
        few if few <= MOST_NAMES => {
            let all = spreads.iter().enumerate();
            all.map(|(at, it)| (at as f64, safe(&rows.name(it.row)))).collect()
        }
        _ => Vec::new(),
    };
    let ids = spreads.iter().map(|it| rows::id(it.at)).collect();
    let order = Order { name: "as measured", rows: ids, names };
    let all = spreads.iter().flat_map(|it| it.samples.into_iter().flatten());
    let all = all.chain(points().map(|(_, _, off, _)| off));
    let (low, high) = all.fold((0f64, 0f64), |(low, high), off| (low.min(off), high.max(off)));
    // Said, and not left to be found: on a telephone names begin at its edge.
    let room = (0.04 * high - 0.04 * low).max(0.004);
    let ends = [low - room, high + room].map(|end| end.clamp(f64::MIN, f64::MAX));
    let below = axis().tick_suffix(" %").range(ends.to_vec());
    let below = titled(below, "from the row's median");
    let layout =
        layout(Some(lines)).x_axis(below).y_axis(lines_axis(&order)).hover_mode(HoverMode::Closest);
    plot.set_layout(layout);
    let boxes = match sampled.is_empty() {
        true => "",
        false => {
            " Boxes: the raw batches around their own median, clock and loop still in them; from \
             5 to 95 in a hundred, the box is the middle half."
        }
    };
    Some(Chart {
        id,
        caption: format!(
            "How far the repetitions lie from their row's median, in per cent of it.{boxes}"
        ),
        plot,
        lines: Some(lines),
        orders: Vec::new(),
    })
}

/// Boxes of raw batches, one for each line that has any.
fn samples(sampled: &[(usize, [f64; 5])], y: &dyn Fn(usize) -> f64) -> Box<BoxPlot<f64, f64>> {
    let of = |which: usize| sampled.iter().map(|(_, five)| five[which]).collect::<Vec<f64>>();
    BoxPlot::<f64, f64>::new_xy(Vec::new(), sampled.iter().map(|(at, _)| y(*at)).collect())
        .name("raw batches")
        .orientation(Orientation::Horizontal)
        .lower_fence(of(0))
        .q1(of(1))
        .median(of(2))
        .q3(of(3))
        .upper_fence(of(4))
        .quartile_method(QuartileMethod::Inclusive)
        .box_points(BoxPoints::False)
        .hover_info(HoverInfo::X)
        .line(Stroke::new().color(GREY).width(1.0))
}

fn spread(at: usize, row: &Row) -> Option<Spread<'_>> {
    // What cannot be told from nothing has no middle that a share could be of, and what is exact has
    // nothing but its middle.
    let estimate = row.estimate.as_ref().filter(|_| !has(row, "BELOW_DETECTION"))?;
    if estimate.exact {
        return None;
    }
    let median = estimate.median;
    let off = |value: f64| drawn(100.0 * (value / median - 1.0));
    let style = Style::of(median, row.unit);
    let counted = row.repetitions.iter().filter_map(|it| Some((it, it.value?)));
    let repetitions: Vec<(f64, String)> = counted
        .map(|(it, value)| {
            let lines = [
                row.case.clone(),
                format!("{} ({:+.2} %)", style.with_unit(value), off(value)),
                format!("round {}, {} batches", it.round, it.batches),
                it.lost_pct.map_or(String::new(), |lost| format!("{} lost", per_cent(lost))),
            ];
            let lines: Vec<String> = lines.into_iter().filter(|it| !it.is_empty()).collect();
            (off(value), told(&lines))
        })
        .filter(|(off, _)| off.is_finite())
        .collect();
    if repetitions.len() < 2 {
        return None;
    }
    Some(Spread { at, row, repetitions, samples: five(row) })
}

/// A share as it is drawn and told: what is less than a ten-thousandth of a per cent is to be seen in
/// no chart, and its digits are a tenth of the file.
fn drawn(pct: f64) -> f64 {
    let rounded = (pct * 1e4).round() / 1e4;
    if rounded.is_finite() { rounded } else { pct }
}

/// Five quantiles of a row's raw batches, in per cent from their median.
fn five(row: &Row) -> Option<[f64; 5]> {
    let samples = row.repetitions.iter().flat_map(|it| it.samples.iter().flatten());
    let each = samples.filter(|it| it.n > 0).map(|it| it.ticks as f64 / it.n as f64);
    let mut all: Vec<f64> = each.collect();
    all.sort_by(f64::total_cmp);
    let middle = quantile(&all, 0.5)?;
    let off = |share: f64| {
        let value = quantile(&all, share)?;
        Some(drawn(100.0 * (value / middle - 1.0))).filter(|off| off.is_finite())
    };
    Some([off(0.05)?, off(0.25)?, off(0.5)?, off(0.75)?, off(0.95)?])
}
