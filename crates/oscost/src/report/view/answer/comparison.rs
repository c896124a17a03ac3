//! What a comparison found: what is added to each case and relatively, on what nothing shows, and how
//! large an effect could hide there.

mod answers;
mod commands;
mod differences;
mod group;
mod no_difference;
mod wording;

pub(in crate::report::view) use answers::{of_run, of_runs};
pub(in crate::report::view) use group::Group;
