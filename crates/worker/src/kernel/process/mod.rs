//! Processes and threads: making and ending them, their signals, limits and resource usage.

mod control;
pub mod elf;
pub mod kernel_thread;
pub mod limits;
pub mod nice;
pub mod signal;
pub mod spawn;
pub mod thread;
pub mod usage;

#[cfg(test)]
pub(crate) use control::alone;
pub(in crate::kernel) use control::target;
pub use control::{
    Ended, Whose, become_subreaper, children, die_with, forbid_core_files, fork, group_of, kill,
    kill_group, leave_session, libc_version, named_parent, outlive_parent, own_program,
    set_variable, speculation, user, wait, wait_for_the_end, wake_on_time,
};
