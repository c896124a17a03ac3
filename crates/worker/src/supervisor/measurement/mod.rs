//! Measurement jobs: the work of a case and its needs, workers of one arm and of several, the peer's
//! end, and what is measured of the machine itself: clocks, gaps, activity.

pub(super) mod calibrate;
pub(super) mod case_work;
mod cooling;
mod counting;
mod forbidden_call;
pub(super) mod measure;
mod needs;
pub(super) mod privileges;
pub(super) mod probe;
mod raw_calls;
pub(super) mod serve;
mod session;
#[cfg(feature = "live")]
mod slowdown;
mod stage;
pub(super) mod system_activity;
mod timing;
mod twins;
