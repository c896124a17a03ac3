//! Charts, by the crate plotly: what all of them have in common.

use oscost_model::unit::Unit;
use plotly::common::{
    ErrorData, ErrorType, HoverInfo, Marker, MarkerSymbol, Mode, TickMode, Title,
};
use plotly::layout::{Annotation, Axis, AxisType, Layout, Legend, Margin, Shape};
use plotly::{Scatter, Trace};
use serde::Serialize;

use crate::report::figures::short;
use crate::report::text::plain;

/// How high a chart is that has no line for each row, in pixels of the screen.
const HEIGHT: usize = 440;
/// A line of a chart that has a line for each row, in pixels of the screen.
const LINE: usize = 18;
/// The thinnest that such lines become where they are many.
const THINNEST: usize = 3;
/// What such a chart is high at most, where its lines can be thin.
const HIGHEST: usize = 2_400;
/// More names than these on an axis are a wall of letters: what they name is told by pointing at it.
pub const MOST_NAMES: usize = 180;
/// Axis, its title and the legend.
const AROUND: usize = 110;

/// A chart.
pub struct Chart {
    /// Its reference case: a word of ours.
    pub id: String,
    /// What it shows, for those who cannot see it, too.
    pub caption: String,
    /// What is drawn.
    pub plot: Plot,
    /// How many lines it has, where it has one for each row.
    pub lines: Option<usize>,
    /// In which orders its lines can stand; none where there is one.
    pub orders: Vec<Order>,
}

/// What is drawn. The crate's own plot carries with it the script that draws it: 6 MB in each.
#[derive(Default)]
pub struct Plot {
    data: Vec<Box<dyn Trace>>,
    /// Axes, legend and what stands around.
    pub layout: Box<Layout>,
}

impl Plot {
    /// Adds what is drawn in one way.
    pub fn add_trace(&mut self, trace: Box<dyn Trace>) {
        self.data.push(trace);
    }

    /// Says what stands around.
    pub fn set_layout(&mut self, layout: Layout) {
        *self.layout = layout;
    }
}

/// What the page's script draws a chart from.
#[derive(Serialize)]
pub struct Drawn<'a> {
    data: &'a [Box<dyn Trace>],
    layout: &'a Layout,
    lines: Option<usize>,
    orders: Vec<OrderDrawn<'a>>,
}

/// An order of its lines.
#[derive(Serialize)]
struct OrderDrawn<'a> {
    name: &'static str,
    rows: &'a [String],
    at: Vec<f64>,
    text: Vec<&'a str>,
}

/// An order of lines.
#[derive(Debug)]
pub struct Order {
    /// What it is by.
    pub name: &'static str,
    /// The ids of its rows, from above.
    pub rows: Vec<String>,
    /// Where something stands at the edge, counted from above, and what.
    pub names: Vec<(f64, String)>,
}

impl Chart {
    /// What the page's script draws it from.
    pub fn drawn(&self) -> Drawn<'_> {
        let Plot { data, layout } = &self.plot;
        let orders = self.orders.iter().map(Order::drawn).collect();
        Drawn { data, layout, lines: self.lines, orders }
    }

    /// How high it is, in pixels of the screen.
    pub fn height(&self) -> usize {
        self.lines.map_or(HEIGHT, height)
    }
}

impl Order {
    fn drawn(&self) -> OrderDrawn<'_> {
        let (at, text) = self.names.iter().map(|(at, name)| (-at, name.as_str())).unzip();
        OrderDrawn { name: self.name, rows: &self.rows, at, text }
    }
}

/// How high a chart of so many lines is.
fn height(lines: usize) -> usize {
    AROUND + lines * (HIGHEST / lines.max(1)).clamp(THINNEST, LINE)
}

/// Text from outside as it may stand in a chart: there a few tags of HTML have a meaning.
pub fn safe(text: &str) -> String {
    plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Lines of text from outside, for what is told of a point.
pub fn told(lines: &[String]) -> String {
    lines.iter().map(|line| safe(line)).collect::<Vec<_>>().join("<br>")
}

/// A scale of ratios for figures of a unit, from the smallest to the largest of them.
pub fn ratios(values: impl Iterator<Item = f64>, unit: Unit) -> Axis {
    ratios_named(values, &|mark| short(mark, unit))
}

/// The same, with the marks named so.
pub fn ratios_named(values: impl Iterator<Item = f64>, name: &dyn Fn(f64) -> String) -> Axis {
    let usable = values.filter(|value| *value > 0.0 && value.is_finite());
    let ends = usable.fold(None, |ends: Option<(f64, f64)>, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    });
    let (low, high) = ends.unwrap_or((1.0, 10.0));
    // Room for a mark at either end, and for at least one name.
    let (from, to) = (low.log10() - 0.12, high.log10() + 0.12);
    let marks = marks(from, to);
    let names = marks.iter().map(|mark| name(*mark)).collect();
    axis()
        .type_(AxisType::Log)
        .range(vec![from, to])
        .tick_mode(TickMode::Array)
        .tick_values(marks)
        .tick_text(names)
}

/// Round numbers between two powers of ten: by 1, 2, 5, or by 1, or further apart.
fn marks(from: f64, to: f64) -> Vec<f64> {
    const MOST: usize = 11;
    let ways: [(usize, &[f64]); 6] = [
        (1, &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]),
        (1, &[1.0, 2.0, 5.0]),
        (1, &[1.0, 3.0]),
        (1, &[1.0]),
        (2, &[1.0]),
        (3, &[1.0]),
    ];
    let of = |(step, at): (usize, &[f64])| -> Vec<f64> {
        let decades = (from.floor() as i32..=to.ceil() as i32).step_by(step);
        let all = decades.flat_map(|power| at.iter().map(move |it| it * 10f64.powi(power)));
        all.filter(|mark| (from..=to).contains(&mark.log10())).collect()
    };
    let found = ways.into_iter().map(of).find(|marks| marks.len() <= MOST);
    found.filter(|marks| !marks.is_empty()).unwrap_or_else(|| vec![10f64.powf(from + 0.12)])
}

/// An axis as all charts have them.
pub fn axis() -> Axis {
    Axis::new().auto_margin(true).zero_line(false)
}

/// The axis of lines that stand below each other, from above.
pub fn lines_axis(order: &Order) -> Axis {
    let (at, text): (Vec<f64>, Vec<String>) =
        order.names.iter().map(|(at, name)| (-at, name.clone())).unzip();
    let lines = order.rows.len() as f64;
    axis()
        .range(vec![-lines + 0.4, 0.6])
        .tick_mode(TickMode::Array)
        .tick_values(at)
        .tick_text(text)
        .show_grid(order.rows.len() <= MOST_NAMES)
}

/// A layout as all charts have it; colours come with the page's own.
pub fn layout(lines: Option<usize>) -> Layout {
    Layout::new()
        .height(lines.map_or(HEIGHT, height))
        .margin(Margin::new().left(60).right(24).top(24).bottom(48))
        .legend(legend())
        .show_legend(true)
}

/// The legend above the chart.
fn legend() -> Legend {
    use plotly::common::{Anchor, Orientation};
    Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .x_anchor(Anchor::Left)
        .y(1.0)
        .y_anchor(Anchor::Bottom)
}

/// The title of an axis.
pub fn titled(axis: Axis, title: &str) -> Axis {
    axis.title(Title::with_text(safe(title)))
}

/// Points of one sort.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// What they are.
    pub name: String,
    /// Where they stand.
    pub x: Vec<f64>,
    /// The same.
    pub y: Vec<f64>,
    /// Ends of their intervals.
    pub ends: Vec<[f64; 2]>,
    /// What is told of each.
    pub told: Vec<String>,
    /// The rows that they are of.
    pub rows: Vec<String>,
}

/// Along which axis intervals lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// From left to right.
    X,
    /// From below.
    Y,
}

impl Points {
    /// The points, each with its interval.
    pub fn trace(
        self,
        (colour, symbol): (&'static str, MarkerSymbol),
        along: Along,
        mode: Mode,
    ) -> Box<dyn Trace> {
        let at = if along == Along::X { &self.x } else { &self.y };
        let host = |end: usize| -> Vec<f64> {
            self.ends.iter().zip(at).map(|(ends, at)| (ends[end] - at).abs()).collect()
        };
        let interval = ErrorData::new(ErrorType::Data)
            .symmetric(false)
            .array(host(1))
            .array_minus(host(0))
            .thickness(1.2)
            .width(3);
        let has_ends = !self.ends.is_empty();
        let trace = Scatter::new(self.x, self.y)
            .name(safe(&self.name))
            .mode(mode)
            .marker(Marker::new().color(colour).symbol(symbol).size(8))
            .hover_text_array(self.told)
            .hover_info(HoverInfo::Text)
            .custom_data(self.rows);
        match (has_ends, along) {
            (false, _) => trace,
            (true, Along::X) => trace.error_x(interval),
            (true, Along::Y) => trace.error_y(interval),
        }
    }
}

/// A line across the chart at a place on its lower axis, and what stands at its head: to its left
/// where it is near the right end.
pub fn upright(at: f64, words: &str, is_log: bool, near_end: bool) -> (Shape, Annotation) {
    use plotly::common::{Anchor, DashType};
    use plotly::layout::{ShapeLayer, ShapeLine, ShapeType};
    let line = ShapeLine::new().color(GREY).width(1.0).dash(DashType::Dash);
    let shape = Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x0(at)
        .x1(at)
        .y0(0.0)
        .y1(1.0)
        .y_ref("paper")
        .line(line);
    // Where a shape stands at a value, what is written on the same scale stands at its logarithm.
    let annotation = Annotation::new()
        .x(if is_log { at.log10() } else { at })
        .y(1.0)
        .y_ref("paper")
        .x_anchor(if near_end { Anchor::Right } else { Anchor::Left })
        .y_anchor(Anchor::Top)
        .show_arrow(false)
        .text(safe(words));
    (shape, annotation)
}

/// What is not in the foreground.
pub const GREY: &str = "#8a8f98";

/// Colours that those who tell few apart tell apart too, with a sign for each.
pub const COLOURS: [&str; 8] =
    ["#2f7fd1", "#d9622b", "#17997a", "#b4559d", "#b58900", "#5b5fc7", "#8a8f98", "#c0392b"];

/// A sign for each colour.
pub fn symbol(at: usize) -> MarkerSymbol {
    match at % 6 {
        0 => MarkerSymbol::Circle,
        1 => MarkerSymbol::Diamond,
        2 => MarkerSymbol::Square,
        3 => MarkerSymbol::TriangleUp,
        4 => MarkerSymbol::X,
        _ => MarkerSymbol::TriangleDown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_a_chart_is_text_and_no_markup() {
        let text = safe("<b>bold</b> & <a href='x'>\u{1b}[31m");
        assert_eq!(text, "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a href='x'&gt;[31m");
        assert_eq!(told(&["a<br>b".into(), "c".into()]), "a&lt;br&gt;b<br>c");
    }

    #[test]
    fn scales_have_round_marks_and_at_least_one() {
        assert_eq!(marks(0.0, 2.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(marks(0.0, 9.0).len(), 10);
        assert!(marks(-30.0, 30.0).len() <= 21);
        assert_eq!(marks(1.5, 1.6).len(), 1);
        let json = |values: &[f64]| {
            serde_json::to_value(ratios(values.iter().copied(), Unit::NsPerOp)).unwrap()
        };
        assert_eq!(json(&[1.0, 1_000.0])["ticktext"][0], "1 ns");
        // Nothing, or what no scale of ratios has, is no trouble.
        assert!(json(&[])["range"].is_array() && json(&[0.0, f64::NAN, -3.0])["range"].is_array());
    }
}
