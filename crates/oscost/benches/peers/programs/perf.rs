//! Benchmarks of perf bench. Those that `acts.rs` compares are not repeated.

use super::reading::{Figure, Found, Is};
use super::row::Part::{self, Once};
use super::row::{ROW, Row};

const PERF: Row = Row { program: "perf", package: "linux-perf", ..ROW };

const US_PER_OP: Figure = Figure { found: Found::Before("usecs/op"), is: Is::Time(1e3) };

/// 20 senders, each of which sends so many messages to each of 20 receivers.
const MESSAGING_LOOPS: &str = "500";
const MESSAGES: f64 = 20.0 * 20.0 * 500.0;

/// `perf bench mem`, of a block of so many bytes.
const fn memory(
    name: &'static str,
    words: &'static [&'static str],
    bytes: f64,
    parts: &'static [Part],
) -> Row {
    Row {
        name,
        words,
        figure: Figure { found: Found::Bytes, is: Is::Rate(bytes * 1e9) },
        parts,
        differs: "the peer's blocks come from calloc(3): they begin 16 bytes into a page, and may \
                  be huge pages",
        ..PERF
    }
}

/// `perf bench sched messaging`, of one group.
const fn messaging(
    name: &'static str,
    words: &'static [&'static str],
    parts: &'static [Part],
) -> Row {
    Row {
        name,
        words,
        figure: Figure { found: Found::After("Total time:"), is: Is::Time(1e9 / MESSAGES) },
        parts,
        differs: "the peer's group has 20 senders and 20 receivers, ours 5 and 5; its channels \
                  fill up, so that senders sleep too, and its time includes the tasks' exits",
        ..PERF
    }
}

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "perf sched pipe -T",
        words: &["bench", "sched", "pipe", "-T", "-l", "50000"],
        figure: US_PER_OP,
        parts: &[Once("switch/pipe:between=threads,peer_cpu=same")],
        differs: "the peer calls through the C library (docs/explanation/BIAS.md: a call without a \
                  function around it), and checks each result",
        ..PERF
    },
    messaging(
        "perf messaging -p",
        &["bench", "sched", "messaging", "-g", "1", "-l", MESSAGING_LOOPS, "-p"],
        &[Once("sched/messaging:groups=1,via=pipe,between=processes")],
    ),
    messaging(
        "perf messaging",
        &["bench", "sched", "messaging", "-g", "1", "-l", MESSAGING_LOOPS],
        &[Once("sched/messaging:groups=1,via=socket,between=processes")],
    ),
    messaging(
        "perf messaging -p -t",
        &["bench", "sched", "messaging", "-g", "1", "-l", MESSAGING_LOOPS, "-p", "-t"],
        &[Once("sched/messaging:groups=1,via=pipe,between=threads")],
    ),
    memory(
        "perf memcpy 4KB",
        &["bench", "mem", "memcpy", "-f", "default", "-s", "4KB", "-l", "2000000"],
        4_096.0,
        &[Once("memory/copy:size=4096,by=library")],
    ),
    memory(
        "perf memcpy 64KB",
        &["bench", "mem", "memcpy", "-f", "default", "-s", "64KB", "-l", "100000"],
        65_536.0,
        &[Once("memory/copy:size=65536,by=library")],
    ),
    memory(
        "perf memcpy 16MB",
        &["bench", "mem", "memcpy", "-f", "default", "-s", "16MB", "-l", "100"],
        16_777_216.0,
        &[Once("memory/copy:size=16777216,by=library")],
    ),
    memory(
        "perf memset 4KB",
        &["bench", "mem", "memset", "-f", "default", "-s", "4KB", "-l", "2000000"],
        4_096.0,
        &[Once("memory/clear:size=4096,by=library")],
    ),
    memory(
        "perf memset 64KB",
        &["bench", "mem", "memset", "-f", "default", "-s", "64KB", "-l", "200000"],
        65_536.0,
        &[Once("memory/clear:size=65536,by=library")],
    ),
    memory(
        "perf memset 2MB",
        &["bench", "mem", "memset", "-f", "default", "-s", "2MB", "-l", "2000"],
        2_097_152.0,
        &[Once("memory/clear:size=2097152,by=library")],
    ),
    memory(
        "perf memset 64MB",
        &["bench", "mem", "memset", "-f", "default", "-s", "64MB", "-l", "30"],
        67_108_864.0,
        &[Once("memory/clear:size=67108864,by=library")],
    ),
    // Since Linux 6.2.
    Row {
        name: "perf syscall getpgid",
        words: &["bench", "syscall", "getpgid", "-l", "1000000"],
        figure: US_PER_OP,
        parts: &[Once("process/getpgid:call=getpgid,of=self")],
        ..PERF
    },
    // Since Linux 6.4.
    Row {
        name: "perf syscall fork",
        words: &["bench", "syscall", "fork", "-l", "5000"],
        figure: US_PER_OP,
        parts: &[Once("process/fork-exit:touched_mib=0,peer_cpu=same")],
        differs: "fork(2) copies the mappings and page tables of the process: perf has more of \
                  both than a worker",
        ..PERF
    },
    // Since Linux 6.2.
    Row {
        name: "perf syscall execve",
        words: &["bench", "syscall", "execve", "-l", "2000"],
        figure: US_PER_OP,
        parts: &[Once("process/fork-exec:link=dynamic")],
        differs: "the peer runs /bin/true, which sets up the C library and its locale before it \
                  exits, and forks from perf, which has more mappings than a worker",
        ..PERF
    },
];
