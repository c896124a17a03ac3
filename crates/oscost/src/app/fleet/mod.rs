//! Fleets: many machines measured by one plan, each several times.
//!
//! A fleet's records are collected from its folder into the store. What is analysed is a [`Fleet`]:
//! a few numbers for each case of each visit, read from the store, from the folder, or from a data
//! set.
//!
//! [`Fleet`]: crate::fleet::Fleet

pub mod collect;
pub mod data_set;
pub mod simulate;
pub mod source;

mod builder;
mod folder;
mod parallel;
mod visit_record;
