//! `oscost fleet`: many machines.

pub mod ab;
pub mod check;
pub mod links;
