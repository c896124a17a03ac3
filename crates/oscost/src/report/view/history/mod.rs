//! Figures from run to run: series with their level changes and the software updates between runs.

pub(super) mod causes;
mod change_table;
mod findings;
mod json_document;
mod run_timeline;
mod screen;
#[cfg(test)]
mod tests;
pub(super) mod updates;

pub(super) use findings::{notes, sentences};
pub use json_document::{SCHEMA, json};
pub(super) use run_timeline::timeline;
pub use screen::view;
