//! What the kernel has charged a running process, as /proc tells it.
//!
//! User and system time are those of /proc/PID/stat: the kernel divides the exact CPU time of all
//! threads, those that have ended too, by what clock ticks have interrupted, and tells it in
//! hundredths of a second.

mod command_line;
mod process_stat;
mod reading;
mod sampler;
mod threads;

pub use self::command_line::command_of;
pub use self::process_stat::{ProcessUsage, is_own_or_ancestor, living_descendants, process_of};
pub use self::reading::Charge;
pub use self::sampler::ProcessSampler;
pub use self::threads::ThreadUsage;
