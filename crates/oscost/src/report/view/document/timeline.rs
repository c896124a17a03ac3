//! Figures of successive runs, as plain data, with their level changes and software updates.

use oscost_model::unit::Unit;

/// Figures of successive runs.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Its anchor, a constant.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// The runs, the oldest first.
    pub runs: Vec<TimelineRun>,
    /// The changes, the earliest first.
    pub changes: Vec<LevelChange>,
    /// The updates, the earliest first.
    pub updates: Vec<Update>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct TimelineRun {
    /// Its day.
    pub day: String,
    /// Its figure.
    pub figure: f64,
    /// The interval of its figure.
    pub interval: Option<[f64; 2]>,
    /// What is shown of it on demand, in lines.
    pub details: Vec<String>,
}

/// A change of the level of figures.
#[derive(Clone, Copy, Debug)]
pub struct LevelChange {
    /// The first run after it, counted from 0.
    pub run: usize,
    /// The level before it.
    pub from: f64,
    /// The level after it.
    pub to: f64,
    /// The ratio of both.
    pub ratio: f64,
}

/// Something that was updated.
#[derive(Clone, Debug)]
pub struct Update {
    /// The first run with it, counted from 0.
    pub run: usize,
    /// What kind of thing it is.
    pub kind: &'static str,
    /// The letter of its kind.
    pub letter: char,
    /// From what to what.
    pub text: String,
}

/// A ratio in as many digits as distinguish it from 1, and in at most five characters after the x.
pub fn ratio_text(ratio: f64) -> String {
    match ratio {
        near if (near - 1.0).abs() < 0.095 => format!("x{near:.3}"),
        usual if (0.01..99.995).contains(&usual) => format!("x{usual:.2}"),
        large if (99.995..99_999.5).contains(&large) => format!("x{large:.0}"),
        extreme => format!("x{extreme:.0e}"),
    }
}
