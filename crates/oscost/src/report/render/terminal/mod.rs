//! Text of 80 columns.

pub mod plot;
