//! The kernel and its settings: configuration, scheduling, limits, security, tracers.

pub(in crate::facts) mod cgroup;
pub(in crate::facts) mod cmdline;
pub(in crate::facts) mod config;
pub(in crate::facts) mod limits;
pub(in crate::facts) mod os;
pub(in crate::facts) mod scheduling;
pub(in crate::facts) mod security;
pub(in crate::facts) mod tracers;
