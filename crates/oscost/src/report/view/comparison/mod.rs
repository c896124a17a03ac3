//! What compares: two targets of one run, and separate runs.

pub mod ab;
pub mod compare;
