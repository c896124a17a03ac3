//! Charts, drawn by the crate plotly.

use plotly::box_plot::{BoxPoints, QuartileMethod};
use plotly::common::{
    Anchor, DashType, ErrorData, ErrorType, HoverInfo, Line, Marker, MarkerSymbol, Mode,
    Orientation, TickMode, Title,
};
use plotly::layout::{
    Annotation, Axis as PlotlyAxis, AxisType, HoverMode, Layout, Legend, Margin, Shape as Figure,
    ShapeLayer, ShapeLine, ShapeType,
};
use plotly::{BoxPlot, Scatter, Trace};
use serde::Serialize;

use crate::report::text::plain;
use crate::report::view::document::chart::{
    Axis, Chart, Colour, Mark, Order, Point, Series, Shape, Symbol, Vertical,
};

/// The height of a chart without rows, in pixels of the screen.
const HEIGHT_PX: usize = 440;
/// The height of a row, in pixels of the screen.
const ROW_PX: usize = 18;
/// The smallest height of a row where there are many.
const MIN_ROW_PX: usize = 3;
/// The largest height of a chart of rows whose rows can be lower.
const MAX_HEIGHT_PX: usize = 2_400;
/// The height of the axis, its title and the legend.
const FRAME_PX: usize = 110;
/// With more rows than these, grid lines would cover the chart.
const MAX_GRID_LINES: usize = 180;

/// What is not in the foreground.
const GREY: &str = "#8a8f98";

/// Colours that people with colour blindness distinguish, too.
pub(super) const COLOURS: [&str; 8] =
    ["#2f7fd1", "#d9622b", "#17997a", "#b4559d", "#b58900", "#5b5fc7", "#8a8f98", "#c0392b"];

fn colour(colour: Colour) -> &'static str {
    match colour {
        Colour::Palette(number) => COLOURS[number % COLOURS.len()],
        Colour::Worse => COLOURS[7],
        Colour::Better => COLOURS[2],
        Colour::Muted => GREY,
    }
}

fn symbol(symbol: Symbol) -> MarkerSymbol {
    match symbol {
        Symbol::Circle => MarkerSymbol::Circle,
        Symbol::Diamond => MarkerSymbol::Diamond,
        Symbol::Square => MarkerSymbol::Square,
        Symbol::TriangleUp => MarkerSymbol::TriangleUp,
        Symbol::TriangleDown => MarkerSymbol::TriangleDown,
        Symbol::TriangleLeft => MarkerSymbol::TriangleLeft,
        Symbol::TriangleRight => MarkerSymbol::TriangleRight,
        Symbol::Cross => MarkerSymbol::X,
        Symbol::OpenCircle => MarkerSymbol::CircleOpen,
        Symbol::OpenDiamond => MarkerSymbol::DiamondOpen,
        Symbol::OpenSquare => MarkerSymbol::SquareOpen,
        Symbol::OpenTriangleLeft => MarkerSymbol::TriangleLeftOpen,
        Symbol::Stroke => MarkerSymbol::LineNSOpen,
    }
}

/// The data that the page's script draws a chart from. The plot type of the crate would include the
/// library in each chart, which is 6 MB.
#[derive(Serialize)]
pub(super) struct Plot<'a> {
    data: Vec<Box<dyn Trace>>,
    layout: Layout,
    /// How many rows it has.
    lines: Option<usize>,
    orders: Vec<DrawnOrder<'a>>,
}

/// An order that a reader can choose.
#[derive(Serialize)]
struct DrawnOrder<'a> {
    name: &'static str,
    rows: &'a [String],
    at: Vec<f64>,
    text: Vec<String>,
}

/// The orders that a reader can choose from; empty if there is only one.
pub(super) fn choices(chart: &Chart) -> &[Order] {
    match &chart.y {
        Vertical::Rows(orders) if orders.len() > 1 => orders,
        _ => &[],
    }
}

/// The height of a chart, in pixels of the screen.
pub(super) fn height_px(chart: &Chart) -> usize {
    match row_count(chart) {
        Some(rows) => FRAME_PX + rows * (MAX_HEIGHT_PX / rows.max(1)).clamp(MIN_ROW_PX, ROW_PX),
        None => HEIGHT_PX,
    }
}

fn row_count(chart: &Chart) -> Option<usize> {
    match &chart.y {
        Vertical::Rows(orders) => Some(orders.first().map_or(0, |order| order.rows.len())),
        Vertical::Axis(_) => None,
    }
}

/// A chart for the page's script.
pub(super) fn plotly_chart(chart: &Chart) -> Plot<'_> {
    let has_rows = matches!(chart.y, Vertical::Rows(_));
    let y = match &chart.y {
        Vertical::Axis(it) => axis(it),
        Vertical::Rows(orders) => orders.first().map_or_else(PlotlyAxis::new, rows_axis),
    };
    let band = chart.band.map(band);
    let annotations = chart.marks.iter().filter(|mark| !mark.text.is_empty());
    let layout = Layout::new()
        .height(height_px(chart))
        .margin(Margin::new().left(60).right(24).top(24).bottom(48))
        .legend(legend())
        .show_legend(true)
        .hover_mode(HoverMode::Closest)
        .x_axis(axis(&chart.x))
        .y_axis(y)
        .shapes(band.into_iter().chain(chart.marks.iter().map(line_across)).collect())
        .annotations(annotations.map(|mark| annotation(mark, chart)).collect());
    let data = chart.series.iter().map(|series| match series.shape {
        Shape::Boxes => boxes(series),
        _ => trace(series, has_rows),
    });
    let orders = choices(chart).iter().map(|order| {
        let (at, text) = edge(order);
        DrawnOrder { name: order.name, rows: &order.rows, at, text }
    });
    Plot { data: data.collect(), layout, lines: row_count(chart), orders: orders.collect() }
}

/// Text from outside for a chart, in which plotly.js interprets some HTML tags.
fn escape(text: &str) -> String {
    plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The details of a point as one text.
fn details(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br>")
}

fn axis(of: &Axis) -> PlotlyAxis {
    let mut axis = PlotlyAxis::new().auto_margin(true).zero_line(false);
    if of.is_logarithmic {
        axis = axis.type_(AxisType::Log);
    }
    if let Some(ends) = of.ends {
        axis = axis.range(ends.to_vec());
    }
    if !of.ticks.is_empty() {
        axis = axis
            .tick_mode(TickMode::Array)
            .tick_values(of.ticks.iter().map(|tick| tick.value).collect())
            .tick_text(of.ticks.iter().map(|tick| tick.name.clone()).collect());
    }
    if !of.suffix.is_empty() {
        axis = axis.tick_suffix(of.suffix);
    }
    axis.title(Title::with_text(escape(&of.title)))
}

/// The positions and names at the edge. Rows are counted from above, and the axis from below.
fn edge(order: &Order) -> (Vec<f64>, Vec<String>) {
    order.labels.iter().map(|label| (-label.row, escape(&label.text))).unzip()
}

/// The axis of rows.
fn rows_axis(order: &Order) -> PlotlyAxis {
    let (at, text) = edge(order);
    let rows = order.rows.len();
    PlotlyAxis::new()
        .auto_margin(true)
        .zero_line(false)
        .range(vec![-(rows as f64) + 0.4, 0.6])
        .tick_mode(TickMode::Array)
        .tick_values(at)
        .tick_text(text)
        .show_grid(rows <= MAX_GRID_LINES)
}

/// The legend above the chart.
fn legend() -> Legend {
    Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .x_anchor(Anchor::Left)
        .y(1.0)
        .y_anchor(Anchor::Bottom)
}

fn trace(series: &Series, has_rows: bool) -> Box<dyn Trace> {
    let Series { name, points, .. } = series;
    let colour = colour(series.colour);
    let vertical = |y: f64| if has_rows { -y } else { y };
    let xs = points.iter().map(|point| point.x).collect();
    let ys = points.iter().map(|point| vertical(point.y)).collect();
    let mut trace = Scatter::new(xs, ys);
    trace = match name.is_empty() {
        true => trace.show_legend(false),
        false => trace.name(escape(name)),
    };
    if points.iter().any(|point| !point.row.is_empty()) || has_rows {
        trace = trace.custom_data(points.iter().map(|point| point.row.clone()).collect());
    }
    trace = match points.iter().any(|point| !point.details.is_empty()) {
        true => {
            let texts = points.iter().map(|point| details(&point.details));
            trace.hover_text_array(texts.collect()).hover_info(HoverInfo::Text)
        }
        false => trace.hover_info(HoverInfo::Skip),
    };
    let marker = |of| Marker::new().color(colour).symbol(symbol(of)).size(8);
    let line = |dash| Line::new().color(colour).dash(dash).width(1.5);
    trace = match series.shape {
        Shape::Symbols(Symbol::Stroke) => {
            let marker = marker(Symbol::Stroke).size(9).line(Line::new().color(colour).width(2.0));
            trace.mode(Mode::Markers).marker(marker)
        }
        Shape::Symbols(symbol) => trace.mode(Mode::Markers).marker(marker(symbol)),
        Shape::ConnectedSymbols(symbol) => trace.mode(Mode::LinesMarkers).marker(marker(symbol)),
        Shape::DenseSymbols => {
            trace.mode(Mode::Markers).marker(Marker::new().color(colour).size(6).opacity(0.65))
        }
        Shape::Line => trace.mode(Mode::Lines).line(line(DashType::Solid)),
        Shape::DottedLine => trace.mode(Mode::Lines).line(line(DashType::Dot)),
        Shape::Boxes => trace,
    };
    if points.iter().all(|point| point.interval.is_none()) {
        return trace;
    }
    let reach = |end: usize| -> Vec<f64> {
        let of = |point: &Point| {
            let middle = if has_rows { point.x } else { point.y };
            point.interval.map_or(0.0, |ends| (ends[end] - middle).abs())
        };
        points.iter().map(of).collect()
    };
    let interval = ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(reach(1))
        .array_minus(reach(0))
        .thickness(1.2)
        .width(3);
    if has_rows { trace.error_x(interval) } else { trace.error_y(interval) }
}

/// A box for each row of a series.
fn boxes(series: &Series) -> Box<dyn Trace> {
    let quantile =
        |which: usize| series.points.iter().map(|it| it.quantiles[which]).collect::<Vec<f64>>();
    let rows = series.points.iter().map(|point| -point.y).collect();
    BoxPlot::<f64, f64>::new_xy(Vec::new(), rows)
        .name(escape(&series.name))
        .orientation(Orientation::Horizontal)
        .lower_fence(quantile(0))
        .q1(quantile(1))
        .median(quantile(2))
        .q3(quantile(3))
        .upper_fence(quantile(4))
        .quartile_method(QuartileMethod::Inclusive)
        .box_points(BoxPoints::False)
        .hover_info(HoverInfo::X)
        .line(Line::new().color(colour(series.colour)).width(1.0))
}

/// A shape below the points, from the bottom of the chart to its top.
fn upright(kind: ShapeType, [from, to]: [f64; 2]) -> Figure {
    Figure::new()
        .shape_type(kind)
        .layer(ShapeLayer::Below)
        .x0(from)
        .x1(to)
        .y0(0.0)
        .y1(1.0)
        .y_ref("paper")
}

fn line_across(mark: &Mark) -> Figure {
    let line = ShapeLine::new().color(GREY).width(1.0).dash(DashType::Dash);
    upright(ShapeType::Line, [mark.x; 2]).line(line)
}

fn band(ends: [f64; 2]) -> Figure {
    upright(ShapeType::Rect, ends)
        .fill_color("rgba(128,128,128,0.12)")
        .line(ShapeLine::new().width(0.0))
}

/// The text at the head of a mark: to its left where it is in the right half.
fn annotation(mark: &Mark, chart: &Chart) -> Annotation {
    // On a logarithmic scale plotly.js positions a shape by its value, and text by the logarithm.
    let scaled = |x: f64| if chart.x.is_logarithmic { x.log10() } else { x };
    let points = chart.series.iter().flat_map(|series| &series.points);
    let xs = points.map(|point| scaled(point.x)).filter(|x| x.is_finite());
    let [low, high] = chart.x.ends.unwrap_or_else(|| {
        let none = [f64::INFINITY, f64::NEG_INFINITY];
        xs.fold(none, |[low, high], x| [low.min(x), high.max(x)])
    });
    let is_right = scaled(mark.x) > f64::midpoint(low, high);
    Annotation::new()
        .x(scaled(mark.x))
        .y(1.0)
        .y_ref("paper")
        .x_anchor(if is_right { Anchor::Right } else { Anchor::Left })
        .y_anchor(Anchor::Top)
        .show_arrow(false)
        .text(escape(&mark.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_chart_is_escaped() {
        let text = escape("<b>bold</b> & <a href='x'>\u{1b}[31m");
        assert_eq!(text, "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a href='x'&gt;[31m");
        assert_eq!(details(&["a<br>b".into(), "c".into()]), "a&lt;br&gt;b<br>c");
    }
}
