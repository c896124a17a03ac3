//! Time: the kernel's clocks and how they are read, timers, sleeps, the clock's discipline, and the
//! stopwatch that two processes share.

pub mod adjtimex;
pub mod clock;
pub mod clock_sync;
pub mod sleep;
pub mod stopwatch;
pub mod timers;
pub mod vdso;
