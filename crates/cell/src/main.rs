//! `oscost-cell`: the program that is timed. People run `oscost`, which runs this.

use std::io::Write;
use std::process::ExitCode;

use oscost_cell::supervise;

const USAGE: &str = "\
oscost-cell measures for oscost; run `oscost` instead.

usage: oscost-cell supervise    serve one session: orders on stdin, events on stdout
       oscost-cell held PID PROGRAM [ARGUMENT]...
                                become a program that ends with whoever started it
       oscost-cell catalog      print the benchmark definitions as JSON
       oscost-cell hash         print the content hash of this program
       oscost-cell --version
";

fn main() -> ExitCode {
    if std::process::id() == 1 && std::env::args().next().as_deref() == Some(supervise::FIRST) {
        supervise::first();
    }
    let verb = std::env::args().nth(1).unwrap_or_default();
    let done = match verb.as_str() {
        "supervise" => supervise::supervise(),
        "job" => supervise::run_job(),
        "traced" => supervise::run_traced(),
        "treated" => return ExitCode::from(supervise::run_treated()),
        "catalog" => print(&supervise::catalog_json()),
        "held" => supervise::held(),
        "hash" => print(format!("{}\n", supervise::own_hash()).as_bytes()),
        "--version" => print(concat!("oscost-cell ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()),
        _ => {
            // Standard error may be closed; the status says the same.
            let _ = std::io::stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "oscost-cell {verb}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(bytes: &[u8]) -> Result<(), oscost_cell::sys::Errno> {
    std::io::stdout().write_all(bytes).map_err(Into::into)
}
