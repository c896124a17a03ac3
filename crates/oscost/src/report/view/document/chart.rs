//! Charts as plain data: series of points over two axes, with their captions and marks.
//!
//! The reports decide what a chart shows; each medium decides how it is drawn.

use oscost_model::unit::Unit;

use crate::report::figures::short;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its anchor, a constant.
    pub id: String,
    /// What it shows; also its text alternative for screen readers.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical direction.
    pub y: Vertical,
    /// What is drawn, from the back to the front.
    pub series: Vec<Series>,
    /// Lines across the chart at values of the horizontal axis.
    pub marks: Vec<Mark>,
    /// Values of the horizontal axis between which the chart is shaded.
    pub band: Option<[f64; 2]>,
}

/// The vertical direction of a chart.
#[derive(Clone, Debug)]
pub enum Vertical {
    /// Values.
    Axis(Axis),
    /// Rows, counted from above: `y` of a point is the number of its row in the first order. There is
    /// at least one order; the others are for readers whose medium can sort.
    Rows(Vec<Order>),
}

/// An order of a chart's rows.
#[derive(Clone, Debug)]
pub struct Order {
    /// What they are ordered by.
    pub name: &'static str,
    /// The rows, from above.
    pub rows: Vec<ChartRow>,
    /// Rows that belong together, from above; empty if none do.
    pub groups: Vec<RowGroup>,
}

/// A row of a chart.
#[derive(Clone, Debug, Default)]
pub struct ChartRow {
    /// The anchor of its row in a table; empty for none.
    pub anchor: String,
    /// What a person calls it.
    pub name: String,
    /// Its id, where the name is not one, or how its figure was made; a medium with room shows it
    /// below the name.
    pub id: String,
}

/// Neighbouring rows under a title.
#[derive(Clone, Debug)]
pub struct RowGroup {
    /// The number of its first row, from above.
    pub first: usize,
    /// The title.
    pub title: String,
}

impl Order {
    /// Rows by their anchors and names.
    pub fn of_rows(name: &'static str, anchors: Vec<String>, names: Vec<String>) -> Self {
        let row = |(anchor, name): (String, String)| ChartRow { anchor, name, id: String::new() };
        let rows = anchors.into_iter().zip(names).map(row).collect();
        Self { name, rows, groups: Vec::new() }
    }
}

/// An axis of values.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What is measured along it.
    pub title: String,
    /// Whether its scale is logarithmic.
    pub is_logarithmic: bool,
    /// Where it ends; on a logarithmic scale as powers of ten. `None` for as far as points reach.
    pub ends: Option<[f64; 2]>,
    /// Values that are marked, with their names; empty for what the medium chooses.
    pub ticks: Vec<Tick>,
    /// What follows each number.
    pub suffix: &'static str,
}

/// A value that is marked on an axis.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// Its name.
    pub name: String,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A logarithmic axis.
    pub fn logarithmic(title: impl Into<String>) -> Self {
        Self { is_logarithmic: true, ..Self::linear(title) }
    }

    /// A logarithmic axis from the smallest to the largest of values, with round numbers of a unit.
    pub fn over(values: impl Iterator<Item = f64>, title: impl Into<String>, unit: Unit) -> Self {
        Self::over_named(values, title, |value| short(value, unit))
    }

    /// The same, with numbers that are named by `name`.
    pub fn over_named(
        values: impl Iterator<Item = f64>,
        title: impl Into<String>,
        name: impl Fn(f64) -> String,
    ) -> Self {
        let usable = values.filter(|value| *value > 0.0 && value.is_finite());
        let ends = usable.fold(None, |ends: Option<[f64; 2]>, value| match ends {
            None => Some([value, value]),
            Some([low, high]) => Some([low.min(value), high.max(value)]),
        });
        let [low, high] = ends.unwrap_or([1.0, 10.0]);
        // Room for a mark at either end, and for at least one name.
        let ends = [low.log10() - 0.12, high.log10() + 0.12];
        let ticks = round_numbers(ends).into_iter().map(|value| Tick { value, name: name(value) });
        Self { ends: Some(ends), ticks: ticks.collect(), ..Self::logarithmic(title) }
    }
}

/// Round numbers between two powers of ten: by 1, 2, 5, or by 1, or further apart.
fn round_numbers([from, to]: [f64; 2]) -> Vec<f64> {
    const MAX_TICKS: usize = 11;
    let steps: [(usize, &[f64]); 6] = [
        (1, &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]),
        (1, &[1.0, 2.0, 5.0]),
        (1, &[1.0, 3.0]),
        (1, &[1.0]),
        (2, &[1.0]),
        (3, &[1.0]),
    ];
    let by = |(decades, factors): (usize, &[f64])| -> Vec<f64> {
        let powers = (from.floor() as i32..=to.ceil() as i32).step_by(decades);
        let all = powers.flat_map(|power| factors.iter().map(move |it| it * 10f64.powi(power)));
        all.filter(|number| (from..=to).contains(&number.log10())).collect()
    };
    let found = steps.into_iter().map(by).find(|numbers| numbers.len() <= MAX_TICKS);
    found.filter(|it| !it.is_empty()).unwrap_or_else(|| vec![10f64.powf(from + 0.12)])
}

/// What is drawn in one way.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name; empty if the legend omits it.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// How it is drawn.
    pub shape: Shape,
    /// Its points.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A symbol for each point.
    Symbols(Symbol),
    /// Symbols that a line connects.
    ConnectedSymbols(Symbol),
    /// Small symbols that may cover each other.
    DenseSymbols,
    /// A line through the points.
    Line,
    /// A dotted line through the points.
    DottedLine,
    /// A box for each point, of its quantiles.
    Boxes,
    /// In a chart of rows, a bar for each point.
    Bars,
    /// The same as outlines: what was not measured.
    OpenBars,
}

impl Shape {
    /// Whether it is drawn from a start to a value.
    pub fn is_bar(self) -> bool {
        matches!(self, Self::Bars | Self::OpenBars)
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self::Symbols(Symbol::Circle)
    }
}

/// A colour: one of a palette, or that of the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One of the palette; numbers beyond its end begin again.
    Palette(usize),
    /// What costs more.
    Worse,
    /// What costs less.
    Better,
    /// What is not in the foreground.
    Muted,
}

impl Default for Colour {
    fn default() -> Self {
        Self::Palette(0)
    }
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A disc.
    Circle,
    /// A diamond.
    Diamond,
    /// A square.
    Square,
    /// A triangle that points up.
    TriangleUp,
    /// A triangle that points down.
    TriangleDown,
    /// A triangle that points left.
    TriangleLeft,
    /// A triangle that points right.
    TriangleRight,
    /// A cross.
    Cross,
    /// A ring.
    OpenCircle,
    /// The outline of a diamond.
    OpenDiamond,
    /// The outline of a square.
    OpenSquare,
    /// The outline of a triangle that points left.
    OpenTriangleLeft,
    /// A short upright stroke.
    Stroke,
}

impl Symbol {
    /// Symbols that are easily distinguished, for as many series.
    pub fn of_series(number: usize) -> Self {
        const SYMBOLS: [Symbol; 6] = [
            Symbol::Circle,
            Symbol::Diamond,
            Symbol::Square,
            Symbol::TriangleUp,
            Symbol::Cross,
            Symbol::TriangleDown,
        ];
        SYMBOLS[number % SYMBOLS.len()]
    }
}

/// A point.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Where it is on the horizontal axis.
    pub x: f64,
    /// Where it is on the vertical axis, or the number of its row.
    pub y: f64,
    /// The ends of its interval: along the horizontal axis in a chart of rows, else along the
    /// vertical one.
    pub interval: Option<[f64; 2]>,
    /// Five quantiles, for a box.
    pub quantiles: [f64; 5],
    /// Where its bar begins on the horizontal axis; the bar ends at `x`, on either side of it.
    pub start: f64,
    /// The figure that is written beside it; empty for none.
    pub figure: String,
    /// What is shown of it on demand, in lines, where no row of a table says it.
    pub details: Vec<String>,
    /// The anchor of its row in a table; empty for none.
    pub row: String,
}

/// A line across the chart.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its value on the horizontal axis.
    pub x: f64,
    /// Its meaning; empty if the axis states it.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_axes_have_round_ticks_and_at_least_one() {
        assert_eq!(round_numbers([0.0, 2.0]), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(round_numbers([0.0, 9.0]).len(), 10);
        assert!(round_numbers([-30.0, 30.0]).len() <= 21);
        assert_eq!(round_numbers([1.5, 1.6]).len(), 1);
        let axis = |values: &[f64]| Axis::over(values.iter().copied(), "cost", Unit::NsPerOp);
        assert_eq!(axis(&[1.0, 1_000.0]).ticks[0].name, "1 ns");
        // No value, or values that a logarithmic scale cannot show, still make an axis.
        for values in [&[][..], &[0.0, f64::NAN, -3.0]] {
            assert!(axis(values).ends.unwrap().iter().all(|end| end.is_finite()));
        }
    }
}
