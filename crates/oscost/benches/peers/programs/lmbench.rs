//! lmbench, which many of the acts come from. Its programs print the median of eleven measurements.

use super::row::Part::{self, Once};
use super::row::{ROW, Row, us_after};

const LMBENCH: Row = Row { package: "lmbench, of Debian's non-free", ..ROW };

/// A program that prints microseconds behind these words.
const fn program(
    name: &'static str,
    program: &'static str,
    words: &'static [&'static str],
    result: &'static str,
    parts: &'static [Part],
) -> Row {
    Row { name, program, words, figure: us_after(result), parts, ..LMBENCH }
}

pub(super) const ROWS: &[Row] = &[
    program(
        "lat_syscall null",
        "lat_syscall",
        &["null"],
        "Simple syscall",
        &[Once("syscall/getppid:via=libc")],
    ),
    program(
        "lat_syscall read",
        "lat_syscall",
        &["read"],
        "Simple read",
        &[Once("syscall/read:via=libc")],
    ),
    program(
        "lat_syscall write",
        "lat_syscall",
        &["write"],
        "Simple write",
        &[Once("syscall/write:via=libc")],
    ),
    program(
        "lat_syscall stat",
        "lat_syscall",
        &["stat", "/dev/null"],
        "Simple stat",
        &[Once("syscall/stat:via=libc")],
    ),
    program(
        "lat_syscall fstat",
        "lat_syscall",
        &["fstat", "/dev/null"],
        "Simple fstat",
        &[Once("syscall/fstat:via=libc")],
    ),
    program(
        "lat_syscall open",
        "lat_syscall",
        &["open", "/dev/null"],
        "Simple open/close",
        &[Once("syscall/open-close:via=libc")],
    ),
    program(
        "lat_sig install",
        "lat_sig",
        &["install"],
        "Signal handler installation",
        &[Once("syscall/sigaction:via=libc")],
    ),
    Row {
        differs: "the peer sends by kill(2), which looks the process up and picks a thread; ours \
                  by tgkill(2)",
        ..program(
            "lat_sig catch",
            "lat_sig",
            &["catch"],
            "Signal handler overhead",
            &[Once("syscall/signal")],
        )
    },
    program(
        "lat_pipe",
        "lat_pipe",
        &[],
        "Pipe latency",
        &[Once("switch/pipe:between=processes,peer_cpu=same")],
    ),
    program(
        "lat_unix",
        "lat_unix",
        &[],
        "AF_UNIX sock stream latency",
        &[Once("switch/unix:between=processes,peer_cpu=same")],
    ),
    program(
        "lat_proc fork",
        "lat_proc",
        &["fork"],
        "Process fork+exit",
        &[Once("process/fork-exit:touched_mib=0,peer_cpu=same")],
    ),
];
