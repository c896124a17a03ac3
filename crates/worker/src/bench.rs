//! The types that benchmark definitions are written in.
//!
//! A benchmark is one `const` [`Bench`] in the file of its family. Everything in it is data except
//! `build`, which makes the [`Work`], and `serve`. A definition never sees a clock. The plain data
//! of the model that definitions and their work name is re-exported here, so that the benchmarks
//! import this room and the kernel alone.

mod axis;
mod definition;
mod expected_call;
mod floor;
mod loops;
mod need;
mod params;
mod point_filter;
mod raw;
#[cfg(feature = "live")]
mod slowdown;
mod timer_survey;
mod work;
mod work_body;

pub use oscost_model::capability::Capability;
pub use oscost_model::channel::{ChannelObservation, Datagrams, Requests};
pub use oscost_model::definition::Catalog;
pub use oscost_model::file::FileObservation;
pub use oscost_model::point::Value;
pub use oscost_model::raw_call::RawCall;
pub use oscost_model::resource::Resource;
pub use oscost_model::seed::Seed;
pub use oscost_model::unit::Unit;

pub use axis::{Axis, Points};
pub use definition::{Bench, Family, ServeFn, catalog};
pub use expected_call::{ExpectedCall, each_end, exactly, once_per, other_calls, up_to};
pub use floor::{Floor, at_least};
pub use need::Need;
pub use params::{Context, Params};
pub use point_filter::PointFilter;
pub use timer_survey::{SurveyEntry, Timer};
pub use work::Work;
pub use work_body::{Shape, WorkBody};

pub use crate::kernel::OpError;
