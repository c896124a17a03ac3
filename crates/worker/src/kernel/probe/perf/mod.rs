//! perf_event_open(2): counters of events of the calling thread, and of the tasks that it creates.
//!
//! Every descriptor is closed at exec(2), and a counter's page is not mapped in a fork: a measured
//! program finds neither.

mod attribute;
mod counter;
mod page;
mod stand_in;

pub use attribute::{Counted, Modes, Selection, Start, is_kernel_event};
pub use counter::{Counter, CounterGroup, GROUP_HEADER, OpenError};
pub use page::{CounterPage, PageReading};
pub use stand_in::are_counters_replaced;
