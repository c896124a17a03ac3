//! The arguments of the peer programs, and the tools that measure the same op.

/// The argument of an op in C.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    /// Nothing.
    Nothing,
    /// A size in bytes.
    Bytes(u64),
    /// A number of descriptors.
    Number(u64),
    /// Messages of so many bytes, to a process on the CPU that it runs on or on another one,
    /// through pipes of this capacity if one is given.
    Messages(u64, PeerCpu, Option<u64>),
    /// The CPU that it runs on.
    SameCpu,
    /// Another one.
    OtherCpu,
    /// As much memory as the worker has, since fork(2) copies its page tables.
    Memory,
    /// That, and a program that exits at once.
    Program,
    /// A folder on the file system from which the bench was started.
    Folder,
    /// A word that the op knows.
    Word(&'static str),
    /// A folder at that place, and a word.
    At(Place, &'static str),
}

/// Where an op's files are, as the worker chooses it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// On the file system from which the bench was started.
    Working,
    /// Among the temporary files.
    Temporary,
    /// On the tmpfs.
    Tmpfs,
}

/// The CPU of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerCpu {
    /// On the same CPU.
    Same,
    /// On another one.
    Other,
}

/// A measurement of another tool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tool {
    /// `perf bench syscall basic`: getppid(2).
    PerfSyscall,
    /// `perf bench sched pipe`: a round trip through two pipes.
    PerfPipe,
    /// `perf bench epoll wait`: a thread that waits for an event among so many eventfds and reads
    /// it; another one on the same CPU writes them all, and then sleeps for a moment.
    PerfEpoll(&'static str),
    /// `perf bench mem memcpy`, of blocks of this size.
    PerfMemcpy(&'static str),
    /// `stress-ng --pipe`: messages of so many bytes to another process on the same CPU, without an
    /// answer, through a pipe of this capacity if one is given.
    StressPipe(u64, Option<&'static str>),
    /// A stressor of stress-ng, which reports its bogus ops per second.
    StressNg(&'static str),
    /// sockperf's ping-pong over loopback, with these options: the median of its round trips.
    Sockperf(&'static [&'static str]),
    /// A latency of qperf's over loopback, which is half of its round trip.
    QperfTrip(&'static str),
    /// qperf's bandwidth of TCP.
    QperfStream(PeerCpu),
    /// iperf3 over loopback, with these options.
    Iperf3(PeerCpu, &'static [&'static str]),
    /// `sysbench memory`: blocks of 64 KiB read.
    Sysbench,
    /// fio: read(2) of 64 KiB of a file of 8 MiB in the page cache.
    Fio,
}

impl Tool {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Tool::PerfSyscall => "perf bench syscall",
            Tool::PerfPipe => "perf bench sched pipe",
            Tool::PerfEpoll(_) => "perf bench epoll wait",
            Tool::PerfMemcpy(_) => "perf bench mem",
            Tool::StressNg(_) => "stress-ng",
            Tool::StressPipe(_, None) => "stress-ng --pipe",
            Tool::StressPipe(..) => "the same, a larger pipe",
            Tool::Sockperf(_) => "sockperf ping-pong",
            Tool::QperfTrip(test) => test,
            Tool::QperfStream(_) => "qperf tcp_bw",
            Tool::Iperf3(_, []) => "iperf3 -l 64K",
            Tool::Iperf3(..) => "iperf3 -l 64K -Z",
            Tool::Sysbench => "sysbench memory",
            Tool::Fio => "fio, psync",
        }
    }

    pub(super) fn program(&self) -> &'static str {
        match self {
            Tool::Fio => "fio",
            Tool::StressNg(_) | Tool::StressPipe(..) => "stress-ng",
            Tool::Sockperf(_) => "sockperf",
            Tool::QperfTrip(_) | Tool::QperfStream(_) => "qperf",
            Tool::Iperf3(..) => "iperf3",
            Tool::Sysbench => "sysbench",
            _ => "perf",
        }
    }
}
