//! `oscost-worker`: the program that measures. Users run `oscost`, which starts this one.

use std::io::Write;
use std::process::ExitCode;

use oscost_worker::supervisor;

const USAGE: &str = "\
oscost-worker measures for oscost; run `oscost` instead.

usage: oscost-worker supervise    serve one session: orders on stdin, events on stdout
       oscost-worker treat TREATMENTS [COMMAND [ARGUMENT]...]
                                  run a command under treatments (JSON), for `oscost treat`
       oscost-worker die-with-parent PID PROGRAM [ARGUMENT]...
                                  run a program that is killed when its parent PID dies
       oscost-worker catalog      print the benchmark definitions as JSON
       oscost-worker hash         print the content hash of this program
       oscost-worker --version
";

fn main() -> ExitCode {
    if std::process::id() == 1 && std::env::args().next().as_deref() == Some(supervisor::INIT_PATH)
    {
        supervisor::run_init();
    }
    let verb = std::env::args().nth(1).unwrap_or_default();
    let done = match verb.as_str() {
        "supervise" => match supervisor::supervise() {
            Ok(status) => return ExitCode::from(status),
            Err(error) => Err(error),
        },
        "job" => supervisor::run_job(),
        "traced-job" => supervisor::run_traced_job(),
        "treat" => return ExitCode::from(supervisor::run_treat()),
        "catalog" => print(&supervisor::catalog_json()),
        "die-with-parent" => supervisor::die_with_parent(),
        "hash" => print(format!("{}\n", supervisor::own_hash()).as_bytes()),
        "--version" => print(concat!("oscost-worker ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()),
        _ => {
            // Standard error may be closed; the exit status reports the same.
            let _ = std::io::stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "oscost-worker {verb}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(bytes: &[u8]) -> Result<(), oscost_worker::kernel::Errno> {
    std::io::stdout().write_all(bytes).map_err(Into::into)
}
