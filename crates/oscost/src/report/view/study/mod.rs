//! Runs in the form of their study, and studies themselves.

pub mod ab;
pub mod across;
pub mod book;
mod claim_values;
pub(in crate::report::view) mod claims;
mod curves;
mod evidence;
mod heading;
pub mod list;
pub(in crate::report::view) mod machine;
mod method;
pub(in crate::report::view) mod notes;
pub mod published;
pub(in crate::report::view) mod rows;
pub mod run;
mod systems;
