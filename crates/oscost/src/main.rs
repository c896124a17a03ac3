//! `oscost`: measures what operating system operations cost, and what a change adds.

use std::process::ExitCode;
use std::thread::{Builder, JoinHandle};

/// The usual stack of a main thread. That of this one is the user's to limit (`ulimit -s`), and the
/// argument parser alone overflows 64 KiB. Raising the limit would change it for what is measured.
const STACK_BYTES: usize = 8 << 20;

/// The status of a Rust program that panics.
const PANICKED: u8 = 101;

fn main() -> ExitCode {
    let work = Builder::new().name("oscost".to_owned()).stack_size(STACK_BYTES);
    match work.spawn(oscost::cli::main).map(JoinHandle::join) {
        Ok(Ok(status)) => status,
        Ok(Err(_)) => ExitCode::from(PANICKED),
        // No second thread is allowed (`ulimit -u`), or there is no memory for its stack.
        Err(_) => oscost::cli::main(),
    }
}
