//! Lists: benchmarks, runs, kernels, treatments and workloads.

pub mod catalog;
pub mod kernels;
pub mod runs;
pub mod treatments;
pub mod workloads;
