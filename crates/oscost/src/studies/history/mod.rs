//! Acts over the years: which rows of several studies have the same act, what it cost then and
//! costs now, and the lesson of its figures.

pub mod across;
pub mod acts;
pub mod lesson;
