//! Limits of what several parts of a study may hold.

/// As many as a long paper has figures and tables.
pub(super) const MAX_TABLES: usize = 24;
/// Rows of all tables: a run measures a case for each of them.
pub(super) const MAX_ROWS: usize = 200;
pub(super) const MAX_CLAIMS: usize = 40;
pub(super) const MAX_CONDITIONS: usize = 16;
/// As many as a table of a machine's specifications has rows.
pub(super) const MAX_MACHINE_FACTS: usize = 32;
pub(super) const MAX_AUTHORS: usize = 12;
/// Kernels that a study of their history compares, with some to spare.
pub(super) const MAX_SYSTEMS: usize = 48;
pub(super) const MAX_NOTES: usize = 4;
/// Sentences, in characters. Names are the first column of a table of 80 columns.
pub(super) const MAX_TEXT_CHARS: usize = 400;
pub(super) const MAX_NAME_CHARS: usize = 24;
pub(super) const MAX_CASE_CHARS: usize = 200;
/// Two columns of figures, two of differences, and the names fit into 80 columns.
pub(super) const MAX_FIGURE_CHARS: usize = 18;
/// A study of a single target has one column of published figures.
pub(super) const MAX_SINGLE_FIGURE_CHARS: usize = 24;
/// One run has no deviation, and with more than 100 a run would take hours.
pub(super) const RUNS: std::ops::RangeInclusive<usize> = 2..=100;
/// Default trials of a program.
pub(super) const DEFAULT_RUNS: usize = 10;
/// Ten times the maximum of the built-in studies.
pub(super) const ITERATIONS: std::ops::RangeInclusive<u64> = 1..=100_000_000;
pub(super) const EXPERIMENTS: std::ops::RangeInclusive<u32> = 1..=100_000;
/// From a clock of the 1970s to beyond any core.
pub(super) const GHZ: std::ops::RangeInclusive<f64> = 0.000_1..=100.0;
