//! System calls as the subject: made directly, prepared for a timed loop, or through the C library;
//! their names, and Syscall User Dispatch.

mod direct;
pub mod libc_wrappers;
pub mod names;
pub mod prepared;
pub mod user_dispatch;

pub use direct::{
    clock_gettime, close, getegid, getppid, libc_getppid, libc_open_close, lsm_list_modules, mark,
    mark_program_start, open,
};
