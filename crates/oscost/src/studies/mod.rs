//! Studies: published measurements as data, and how a run compares with them.
//!
//! What is this room for? A study is a file under `studies/`: which cases it measured, by which
//! method and on which targets, the figures as published, and what it claims. Here
//! such a file is read ([`parser`]), joined with a run's record ([`comparison`]), and its claims and
//! conditions are judged ([`claims`], [`machine`]).
//!
//! What may it not know? How anything was measured, and how it looks: a record comes in, and rows
//! and verdicts go out. Whether a case exists is a question for the catalog.

mod built_in;
pub mod checklist;
pub mod claims;
pub mod class_lesson;
pub mod comparison;
pub mod figures;
pub mod history;
pub mod machine;
pub mod parser;
pub mod study;
pub mod system;
#[cfg(test)]
mod test_record;

pub use built_in::{built_in_names, find_built_in};
pub use figures::published_figure::PublishedFigure;
pub use figures::rounds::IntervalEstimate;
pub use figures::unit::{ClockRates, TableUnit};
pub use study::{
    Column, Figure, NO_PEER, Note, NoteCondition, Placement, Protocol, PublishedPrediction,
    RequestedCase, Series, Study, Subject, Table, TableRow,
};
