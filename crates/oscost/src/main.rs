//! `oscost`: what the operating system charges you, and what a change does to the bill.

use std::process::ExitCode;

fn main() -> ExitCode {
    oscost::cli::main()
}
