//! Plots of curves and of ratios.

use oscost_model::unit::Unit;

/// Curves, both scales logarithmic.
#[derive(Clone, Debug)]
pub struct LogPlot {
    /// The curves.
    pub lines: Vec<PlotLine>,
    /// What they are over.
    pub by: String,
    /// The unit of their figures.
    pub unit: Unit,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct PlotLine {
    /// The values that distinguish it from the others.
    pub label: String,
    /// Its points by ascending `x`.
    pub points: Vec<PlotPoint>,
}

/// A point of a curve; both coordinates are above zero.
#[derive(Clone, Copy, Debug)]
pub struct PlotPoint {
    /// The size or number.
    pub x: u64,
    /// The figure.
    pub y: f64,
}

/// Ratios with their intervals, a line each, on a logarithmic scale around 1.
#[derive(Clone, Debug)]
pub struct ForestPlot {
    /// Its anchor, a constant.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// The ratio within which two figures are called equivalent.
    pub margin: Option<f64>,
    /// The ratios.
    pub lines: Vec<ForestLine>,
}

/// A ratio.
#[derive(Clone, Debug)]
pub struct ForestLine {
    /// The anchor of its row in a table.
    pub row: String,
    /// What it is of.
    pub name: String,
    /// New over base.
    pub ratio: f64,
    /// The interval.
    pub interval: Option<[f64; 2]>,
    /// The verdict.
    pub verdict: String,
    /// What is written beside its symbol: the ratio, and what is added.
    pub figure: String,
    /// How much it matters among the ratios of its plot, as that of its row.
    pub priority: u32,
}
