//! A fake host that answers from a scenario file: for tests of everything after the measurement.
//!
//! Its figures are invented, which shows in the record: the host is `fake:FILE`.

mod batches;
mod calls;
mod counters;
mod jobs;
mod programs;
mod scenario;
mod session;

pub use scenario::Scenario;
pub use session::FakeSession;
