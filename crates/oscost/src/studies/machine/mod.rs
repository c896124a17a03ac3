//! The machine of a study: its facts and its configuration, compared with this machine's.

pub mod condition;
pub mod machine_fact;
