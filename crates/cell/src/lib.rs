//! The lean program that measures.
pub mod bench;
pub mod catalog;
pub mod engine;
pub mod facts;
pub mod supervise;
pub mod sys;
pub mod treat;
