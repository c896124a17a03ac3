//! The line protocol between the tool, the supervisor and a job: the first event, orders, answers
//! and failures, and reading them in bounded lines and times.

pub(super) mod answer;
pub(super) mod failure;
pub(super) mod hello;
pub(super) mod io;
pub(super) mod line_reader;
pub(super) mod wire;
