//! Stressors of stress-ng: those that report the time or the rate of an act, and those whose bogus
//! op is one act.
//!
//! A metric is the mean of times between two reads of CLOCK_REALTIME, each of which contains one
//! whole read; bogus ops are counted in the loop of the act, with a check of a flag.

use super::reading::{Figure, Found, Is};
use super::row::Part::{self, Once, Times};
use super::row::{ROW, Row, ns_before, rate_before};

/// What a stressor's timer adds.
const CLOCK: Part = Once("timer/clock-gettime:clock=realtime,via=libc");
/// Why its sendfile(2) takes longer.
const SENDFILE_DIFFERS: &str = "the peer reads its clock and sets the offset around each call, and calls through the C \
     library (docs/explanation/BIAS.md: a call without a function around it)";
/// Its MB, of which it reports rates.
const MB: f64 = 1_048_576.0;

const STRESS_NG: Row = Row {
    program: "stress-ng",
    package: "stress-ng",
    common_words: &["--timeout", "1", "--metrics"],
    ..ROW
};

/// A function of the vDSO.
const fn vdso(name: &'static str, words: &'static [&'static str], parts: &'static [Part]) -> Row {
    Row {
        name,
        words,
        figure: ns_before("nanosecs per call (excluding test overhead)"),
        parts,
        differs: "the peer asks whether it is to end in each turn of its loop; the empty loop that \
                  it subtracts does not",
        ..STRESS_NG
    }
}

/// A system call by the raw instruction.
const fn x86_call(
    name: &'static str,
    words: &'static [&'static str],
    parts: &'static [Part],
) -> Row {
    Row {
        name,
        words,
        // Older versions have no closing bracket.
        figure: ns_before("nanosecs per call (excluding test overhead"),
        parts,
        ..STRESS_NG
    }
}

/// Messages of a System V queue, one after the other.
const fn messages(
    name: &'static str,
    words: &'static [&'static str],
    parts: &'static [Part],
) -> Row {
    Row {
        name,
        words,
        figure: Figure { found: Found::BogusOps("msg"), is: Is::Rate(1e9) },
        parts,
        differs: "how many messages are in the queue before the receiver runs is the scheduler's \
                  choice; every 256 messages the peer asks for the queue's state in seven calls",
        ..STRESS_NG
    }
}

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "stress-ng null",
        words: &["--null", "1"],
        figure: rate_before("MB per sec /dev/null write rate", 4_096.0 / MB * 1e9),
        parts: &[Once("syscall/write:via=libc"), CLOCK],
        differs: "between two writes the peer makes a dozen other calls, so that caches and branch \
                  predictors are colder; both write to /dev/null, the peer 4096 bytes",
        ..STRESS_NG
    },
    // Since 0.18: nothing but writes in the loop, and two reads of the clock in all.
    Row {
        name: "stress-ng null-write",
        words: &["--null", "1", "--null-write"],
        figure: rate_before("MB per sec /dev/null write rate", 4_096.0 / MB * 1e9),
        parts: &[Once("syscall/write:via=libc")],
        ..STRESS_NG
    },
    vdso(
        "vdso clock_gettime",
        &["--vdso", "1", "--vdso-func", "clock_gettime"],
        &[Once("timer/clock-gettime:clock=monotonic,via=vdso")],
    ),
    vdso(
        "vdso gettimeofday",
        &["--vdso", "1", "--vdso-func", "gettimeofday"],
        &[Once("timer/gettimeofday:via=vdso")],
    ),
    vdso("vdso time", &["--vdso", "1", "--vdso-func", "time"], &[Once("timer/time:via=vdso")]),
    vdso(
        "vdso getcpu",
        &["--vdso", "1", "--vdso-func", "getcpu"],
        &[Once("syscall/getcpu:via=vdso")],
    ),
    x86_call(
        "x86 getcpu",
        &["--x86syscall", "1", "--x86syscall-func", "getcpu"],
        &[Once("syscall/getcpu:via=raw")],
    ),
    x86_call(
        "x86 gettimeofday",
        &["--x86syscall", "1", "--x86syscall-func", "gettimeofday"],
        &[Once("timer/gettimeofday:via=raw")],
    ),
    x86_call(
        "x86 time",
        &["--x86syscall", "1", "--x86syscall-func", "time"],
        &[Once("timer/time:via=raw")],
    ),
    Row {
        name: "stress-ng tsc",
        words: &["--tsc", "1"],
        figure: ns_before("nanosecs per time counter read"),
        parts: &[Once("timer/tsc:read=rdtsc")],
        ..STRESS_NG
    },
    // Since 0.17.
    Row {
        name: "stress-ng tsc-rdtscp",
        words: &["--tsc", "1", "--tsc-rdtscp"],
        figure: ns_before("nanosecs per time counter read"),
        parts: &[Once("timer/tsc:read=rdtscp")],
        ..STRESS_NG
    },
    // On one CPU it starts two processes. A call lasts until both have made one: two yields, and
    // the reads of the clock of the other process and one of its own.
    Row {
        name: "stress-ng yield",
        words: &["--yield", "1"],
        figure: ns_before("ns duration per sched_yield call"),
        parts: &[
            Times(2.0, "sched/yield:tasks=2"),
            Times(3.0, "timer/clock-gettime:clock=realtime,via=libc"),
        ],
        ..STRESS_NG
    },
    Row {
        name: "stress-ng switch",
        words: &["--switch", "1", "--switch-method", "pipe"],
        figure: ns_before("nanosecs per context switch (pipe method)"),
        parts: &[Once("switch/pipe:between=processes,peer_cpu=same")],
        differs: "one message in a pipe that has room for one: two switches, as in a round trip, \
                  but one write(2) and one read(2), where ours has two of each",
        ..STRESS_NG
    },
    Row {
        name: "sendfile 4K",
        words: &["--sendfile", "1", "--sendfile-size", "4K"],
        figure: rate_before("MB per sec sent to /dev/null", 4_096.0 / MB * 1e9),
        parts: &[Once("file/sendfile:size=4096"), CLOCK],
        differs: SENDFILE_DIFFERS,
        ..STRESS_NG
    },
    Row {
        name: "sendfile 64K",
        words: &["--sendfile", "1", "--sendfile-size", "64K"],
        figure: rate_before("MB per sec sent to /dev/null", 65_536.0 / MB * 1e9),
        parts: &[Once("file/sendfile:size=65536"), CLOCK],
        differs: SENDFILE_DIFFERS,
        ..STRESS_NG
    },
    // 8192 bytes with each flag of getrandom(2), none of which changes the generator.
    Row {
        name: "stress-ng getrandom",
        words: &["--getrandom", "1"],
        figure: rate_before("getrandom bits per sec", 8.0 * 8_192.0 * 1e9),
        parts: &[Times(2.0, "random/getrandom:via=raw,size=4096"), CLOCK],
        ..STRESS_NG
    },
    // 8192 bytes of /dev/urandom and one of /dev/random.
    Row {
        name: "stress-ng urandom",
        words: &["--urandom", "1"],
        figure: rate_before("million random bits per sec", 8.0 * 8_193.0 * 1e3),
        parts: &[
            Times(2.0, "random/urandom:size=4096"),
            Once("random/urandom:size=8"),
            Times(2.0, "timer/clock-gettime:clock=realtime,via=libc"),
        ],
        ..STRESS_NG
    },
    Row {
        name: "stress-ng mincore",
        words: &["--mincore", "1"],
        figure: ns_before("nanosecs per mincore call"),
        parts: &[Once("memory/mincore:pages=1"), CLOCK],
        differs: "between two timed calls the peer makes eight others, most of which fail, and a \
                  msync(2): caches and branch predictors are colder",
        ..STRESS_NG
    },
    messages(
        "stress-ng msg 4",
        &["--msg", "1", "--msg-bytes", "4"],
        &[Times(4.0, "pipe/throughput:by=sysv-mq,size=4,peer_cpu=same")],
    ),
    messages(
        "stress-ng msg 1024",
        &["--msg", "1", "--msg-bytes", "1024"],
        &[Times(1_024.0, "pipe/throughput:by=sysv-mq,size=1024,peer_cpu=same")],
    ),
    Row {
        name: "stress-ng sem-sysv",
        words: &["--sem-sysv", "1", "--sem-sysv-procs", "2"],
        figure: Figure { found: Found::BogusOps("sem-sysv"), is: Is::Rate(1e9) },
        parts: &[Once("sync/semaphore:by=sysv-undo")],
        differs: "the peer takes the semaphore by semtimedop(2), which copies a time-out; two \
                  processes share it, and one that is preempted with the semaphore in hand makes \
                  the other sleep",
        ..STRESS_NG
    },
    // The child exits at once; 64 children are reaped after the last of them.
    Row {
        name: "stress-ng vfork",
        words: &["--vfork", "1", "--vfork-max", "64"],
        figure: Figure { found: Found::BogusOps("vfork"), is: Is::Rate(1e9) },
        parts: &[Once("process/clone-vm")],
        differs: "the peer's parent sleeps in vfork(2) until the child exits and reaps it later, \
                  ours sleeps in waitpid(2); it clears a table of 128 KB for every 64 children",
        ..STRESS_NG
    },
    Row {
        name: "userfaultfd",
        words: &["--userfaultfd", "1"],
        figure: ns_before("nanosecs per page fault"),
        parts: &[Once("fault/userfaultfd:peer_cpu=same")],
        differs: "the peer calls poll(2) before each read(2), fills half of the pages by \
                  UFFDIO_ZEROPAGE instead of UFFDIO_COPY, and has the handler's wake-up outside \
                  its time",
        ..STRESS_NG
    },
    // 19 sleeps of random lengths from 8 ns to 262 us: the slack of 50 us is in each.
    Row {
        name: "stress-ng nanosleep",
        words: &["--nanosleep", "1", "--nanosleep-threads", "1"],
        figure: ns_before("nanosec sleep overrun"),
        parts: &[Once("timer/wait:by=nanosleep,us=100")],
        differs: "most of the peer's sleeps are shorter than 100 us, so that the CPU idles less \
                  deeply, and another thread wakes each 10 ms to count",
        ..STRESS_NG
    },
    Row {
        name: "stress-ng chdir",
        // By default it first makes 8,192 directories, which may take longer than its second.
        words: &["--chdir", "1", "--chdir-dirs", "64"],
        figure: Figure { found: Found::Before("chdir calls per sec"), is: Is::Rate(1e9) },
        parts: &[Once("directory/chdir:by=chdir"), CLOCK],
        differs: "a third of the peer's calls go to `/`, the others to paths of many components, \
                  where ours goes to /etc",
        ..STRESS_NG
    },
];
