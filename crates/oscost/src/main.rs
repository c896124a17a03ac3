//! `oscost`: what the operating system charges you, and what a change does to the price list.

use std::process::ExitCode;

fn main() -> ExitCode {
    oscost::cli::main()
}
