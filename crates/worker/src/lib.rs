//! The small program that measures.
pub mod bench;
pub mod benchmarks;
pub mod engine;
pub mod facts;
pub mod kernel;
pub mod supervisor;
pub mod treatments;
