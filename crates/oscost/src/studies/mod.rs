//! Studies: published measurements as data, and how a run compares with them.
//!
//! What is this room for? A study is a file under `studies/`: which cases it measured, by which
//! method and on which targets, the figures as published, and what it claims. Here
//! such a file is read ([`parser`]), joined with a run's record ([`two_targets`] where the study
//! compares two targets, [`single_target`] where it has one), and its claims and conditions are
//! judged ([`claim`], [`condition`]).
//!
//! What may it not know? How anything was measured, and how it looks: a record comes in, and rows
//! and verdicts go out. Whether a case exists is a question for the catalog.

pub mod across;
pub mod acts;
pub mod bound;
mod built_in;
pub mod claim;
pub mod condition;
pub mod equal_added;
pub mod formula;
pub mod judgement;
pub mod lesson;
pub mod machine_fact;
pub mod parser;
pub mod prediction;
pub mod published;
pub mod published_result;
pub mod quantity;
mod rounds;
pub mod single_target;
mod single_target_judgement;
pub mod study;
mod study_statistic;
pub mod system;
#[cfg(test)]
mod test_record;
pub mod two_targets;
mod two_targets_judgement;
pub mod unit;
pub mod verdict;

pub use built_in::{built_in_names, find_built_in};
pub use published::PublishedFigure;
pub use rounds::IntervalEstimate;
pub use study::{
    Column, ExpectedDuration, Figure, NO_PEER, Note, NoteCondition, Placement, Protocol,
    PublishedPrediction, RequestedCase, Series, Study, Subject, Table, TableRow,
};
pub use unit::{ClockRates, TableUnit};
