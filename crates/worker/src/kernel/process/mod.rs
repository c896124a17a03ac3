//! Processes and threads: making and ending them, their signals, limits and resource usage, their
//! namespaces, privileges and keys.

pub mod batch_policy;
pub mod clone3;
mod control;
pub mod elf;
pub mod environment;
pub mod inherited;
pub mod jump;
pub mod kernel_thread;
pub mod keyring;
pub mod landlock;
pub mod limits;
pub mod namespace;
pub mod own_signals;
pub mod privileges;
pub mod proc_file;
pub mod realtime;
pub mod shared_clone;
pub mod signal;
pub mod sleeping_threads;
pub mod spawn;
pub mod task_name;
pub mod thread;
pub mod timer_signal;
pub mod usage;
pub mod wait_interrupts;

#[cfg(test)]
pub(crate) use control::in_own_process;
pub(in crate::kernel) use control::waitpid_argument;
pub use control::{
    EndedChild, Termination, WaitTarget, become_subreaper, children, die_with_parent,
    disable_core_files, fork, kill, kill_and_reap, kill_group, libc_version, minimise_timer_slack,
    open_pidfd, outlive_parent, own_executable, parent_argument, pause_forever, process_group,
    set_environment_variable, speculation_status, wait,
};
