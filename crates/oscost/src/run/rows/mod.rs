//! Rows of cases: their pilots and rounds, when a row has enough, and their repetition with the
//! method of a study.

pub(super) mod iteration_cost;
mod pilot;
pub(super) mod rounds;
pub(super) mod row;
pub(super) mod stopping;
mod study_method;
#[cfg(test)]
pub(super) mod test_pilot;
