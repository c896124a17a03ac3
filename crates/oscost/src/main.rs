//! `oscost`: measures what operating system operations cost, and what a change adds.

use std::process::ExitCode;

fn main() -> ExitCode {
    oscost::cli::main()
}
