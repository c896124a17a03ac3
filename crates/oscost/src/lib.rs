//! The tool that thinks: it plans, runs workers, estimates, keeps and shows.
//!
//! It never links the worker: fork(2) pays for the parent's memory, so the process that is measured
//! carries no database, no templates and no argument parser. (Tests link it for its simulator.)
//!
//! `selection -> plan -> run -> estimates -> record -> store -> table`: left to right, no way back.
pub mod advice;
pub mod app;
pub mod bill;
pub mod cli;
pub mod counter;
pub mod estimate;
pub mod files;
pub mod fleet;
pub mod hosts;
pub mod ph;
pub mod plan;
pub mod report;
pub mod run;
pub mod signals;
pub mod store;
pub mod studies;
pub mod treatments;
pub mod workloads;
