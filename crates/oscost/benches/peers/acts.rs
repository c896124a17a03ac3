//! The ops that both sides measure.

use anyhow::{Context, bail, ensure};
use oscost::plan;
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Definition, Extent};

use super::pairs::Bar;
use super::tools::{Argument, PeerCpu, Tool};

/// An op, as a case and in C.
pub(super) struct Act {
    /// Its case here.
    pub(super) case: &'static str,
    /// Words that the definition's op must contain, or the two sides do not measure the same op.
    pub(super) op_words: &'static [&'static str],
    /// The program in C that has it.
    pub(super) program: &'static str,
    /// Its name in that program, and its argument there.
    pub(super) c_loop: (&'static str, Argument),
    /// The tools that measure the same op.
    pub(super) tools: &'static [Tool],
    /// What our figure may be against a peer's.
    pub(super) bar: Bar,
}

/// The programs in C: `loops.c` and `calls.c`.
pub(super) const LOOPS: &str = "loops";
pub(super) const CALLS: &str = "calls";

/// Allows for the noise of comparing two programs that have different layouts.
pub(super) const MAX_RATIO: f64 = 1.03;

/// No peer may be faster.
const FASTEST: Bar = Bar { ratio: 1.0, difference_ns: 0.0 };

/// Defaults of an act.
pub(super) const PLAIN: Act = Act {
    case: "",
    op_words: &[],
    program: LOOPS,
    c_loop: ("", Argument::Nothing),
    tools: &[],
    bar: Bar { ratio: MAX_RATIO, difference_ns: 0.0 },
};

/// A round trip of messages through two pipes.
const fn pipe_round_trip(case: &'static str, bytes: u64, peer: PeerCpu) -> Act {
    Act {
        case,
        op_words: &["a message", "back through a second one"],
        c_loop: ("trip", Argument::Messages(bytes, peer, None)),
        ..PLAIN
    }
}

/// Many messages through a pipe, and one answer: no peer may be faster.
const fn pipe_stream(case: &'static str, bytes: u64, peer: PeerCpu, capacity: Option<u64>) -> Act {
    Act {
        case,
        op_words: &["many messages", "4 bytes back"],
        c_loop: ("stream", Argument::Messages(bytes, peer, capacity)),
        bar: FASTEST,
        ..PLAIN
    }
}

/// A round trip of 64 bytes through sockets, on one CPU.
const fn socket_trip(case: &'static str, c_loop: &'static str, tools: &'static [Tool]) -> Act {
    Act {
        case,
        op_words: &["a message sent through a socket", "has sent as many bytes back"],
        c_loop: (c_loop, Argument::Messages(64, PeerCpu::Same, None)),
        tools,
        ..PLAIN
    }
}

/// Many messages of 64 KiB through a socket, and one answer: no peer may be faster.
const fn socket_stream(
    case: &'static str,
    c_loop: &'static str,
    peer: PeerCpu,
    tools: &'static [Tool],
) -> Act {
    Act {
        case,
        op_words: &["many messages", "4 bytes back"],
        c_loop: (c_loop, Argument::Messages(65_536, peer, None)),
        tools,
        bar: FASTEST,
        ..PLAIN
    }
}

/// A libc function, in a loop.
const fn call(case: &'static str, c_loop: &'static str, op_words: &'static [&'static str]) -> Act {
    Act { case, op_words, c_loop: (c_loop, Argument::Nothing), ..PLAIN }
}

/// The C library's memcpy of one block.
const fn copy(case: &'static str, bytes: u64) -> Act {
    Act { case, op_words: &["memcpy"], c_loop: ("copy", Argument::Bytes(bytes)), ..PLAIN }
}

pub(super) const ACTS: &[Act] = &[
    call("syscall/getpid:via=libc", "getpid", &[]),
    Act {
        // Newer versions also have `getpgid`, for which there is no case.
        tools: &[Tool::PerfSyscall],
        ..call("syscall/getppid:via=libc", "getppid", &[])
    },
    call("syscall/write:via=libc", "write", &["/dev/null", "byte"]),
    call("syscall/stat:via=libc", "stat", &["/dev/null"]),
    call("syscall/open-close:via=libc", "open-close", &["/dev/null"]),
    call("timer/clock-gettime:clock=monotonic,via=libc", "clock-gettime", &["nanoseconds"]),
    Act {
        c_loop: ("fork-exit", Argument::Memory),
        ..call("process/fork-exit:touched_mib=0,peer_cpu=same", "", &["_exit", "waitpid"])
    },
    Act {
        case: "process/fork-exec:link=static",
        op_words: &["execve", "waitpid"],
        c_loop: ("fork-exec", Argument::Program),
        tools: &[],
        ..PLAIN
    },
    call("thread/create-join:via=libc,peer_cpu=same", "create-join", &["pthread_join"]),
    Act {
        case: "switch/pipe:between=processes,peer_cpu=same",
        op_words: &["a byte", "pipe"],
        c_loop: ("pipe", Argument::SameCpu),
        tools: &[Tool::PerfPipe],
        ..PLAIN
    },
    Act {
        case: "switch/pipe:between=processes,peer_cpu=other",
        op_words: &["a byte", "pipe"],
        c_loop: ("pipe", Argument::OtherCpu),
        tools: &[],
        ..PLAIN
    },
    Act {
        case: "event/wait:method=epoll,fds=100,ready=one",
        op_words: &["call", "position"],
        c_loop: ("epoll-wait", Argument::Number(100)),
        ..PLAIN
    },
    // perf's figure includes its writer thread: the switches to it and its sleeps.
    Act {
        case: "event/wait:method=epoll-edge,fds=64,ready=one,over=eventfd",
        op_words: &["epoll-edge", "read and written again"],
        c_loop: ("epoll-edge", Argument::Number(64)),
        tools: &[Tool::PerfEpoll("64")],
        ..PLAIN
    },
    pipe_round_trip("pipe/round-trip:by=pipe,size=64,peer_cpu=same", 64, PeerCpu::Same),
    pipe_round_trip("pipe/round-trip:by=pipe,size=64,peer_cpu=other", 64, PeerCpu::Other),
    // The peer sends no answer and reads as much at a time as it writes.
    Act {
        tools: &[Tool::StressPipe(4_096, None)],
        ..pipe_stream("pipe/throughput:by=pipe,size=4096,peer_cpu=same", 4_096, PeerCpu::Same, None)
    },
    pipe_stream("pipe/throughput:by=pipe,size=65536,peer_cpu=same", 65_536, PeerCpu::Same, None),
    pipe_stream("pipe/throughput:by=pipe,size=65536,peer_cpu=other", 65_536, PeerCpu::Other, None),
    Act {
        tools: &[Tool::StressPipe(4_096, Some("1048576"))],
        ..pipe_stream(
            "pipe/throughput:by=pipe,size=4096,peer_cpu=same,capacity=1048576",
            4_096,
            PeerCpu::Same,
            Some(1 << 20),
        )
    },
    pipe_stream(
        "pipe/throughput:by=pipe,size=65536,peer_cpu=same,capacity=1048576",
        65_536,
        PeerCpu::Same,
        Some(1 << 20),
    ),
    pipe_stream(
        "pipe/throughput:by=pipe,size=65536,peer_cpu=other,capacity=1048576",
        65_536,
        PeerCpu::Other,
        Some(1 << 20),
    ),
    socket_trip(
        "socket/round-trip:by=tcp,size=64,peer_cpu=same",
        "tcp-trip",
        &[Tool::Sockperf(&["--tcp"]), Tool::QperfTrip("tcp_lat")],
    ),
    socket_trip(
        "socket/round-trip:by=udp,size=64,peer_cpu=same",
        "udp-trip",
        &[Tool::Sockperf(&[]), Tool::QperfTrip("udp_lat")],
    ),
    socket_trip("socket/round-trip:by=unix-stream,size=64,peer_cpu=same", "unix-trip", &[]),
    socket_stream(
        "socket/throughput:by=tcp,size=65536,peer_cpu=same",
        "tcp-stream",
        PeerCpu::Same,
        &[
            Tool::Iperf3(PeerCpu::Same, &[]),
            Tool::Iperf3(PeerCpu::Same, &["-Z"]),
            Tool::QperfStream(PeerCpu::Same),
        ],
    ),
    socket_stream(
        "socket/throughput:by=tcp,size=65536,peer_cpu=other",
        "tcp-stream",
        PeerCpu::Other,
        &[Tool::Iperf3(PeerCpu::Other, &[]), Tool::QperfStream(PeerCpu::Other)],
    ),
    socket_stream(
        "socket/throughput:by=unix-stream,size=65536,peer_cpu=same",
        "unix-stream",
        PeerCpu::Same,
        &[],
    ),
    socket_stream(
        "socket/throughput:by=unix-stream,size=65536,peer_cpu=other",
        "unix-stream",
        PeerCpu::Other,
        &[],
    ),
    call(
        "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending",
        "zero-fill",
        &["8 MiB", "one byte written"],
    ),
    copy("memory/copy:size=64,by=library", 64),
    copy("memory/copy:size=1024,by=library", 1 << 10),
    copy("memory/copy:size=4096,by=library", 4 << 10),
    copy("memory/copy:size=65536,by=library", 64 << 10),
    Act {
        tools: &[Tool::PerfMemcpy("1MB")],
        ..copy("memory/copy:size=1048576,by=library", 1 << 20)
    },
    copy("memory/copy:size=16777216,by=library", 16 << 20),
    Act {
        case: "file/read:via=read,size=65536,cache=warm,file_mib=8",
        op_words: &["read"],
        c_loop: ("read", Argument::Folder),
        tools: &[Tool::Fio],
        ..PLAIN
    },
];

/// The case of an act. Fails when there is no such case, or when its op is another one.
pub(crate) fn resolve_case<'a>(
    act: &Act,
    catalog: &'a Catalog,
) -> anyhow::Result<(Case, &'a Definition)> {
    let (case, definition) = find_case(act.case, catalog)?;
    for word in act.op_words {
        ensure!(
            definition.op.contains(word),
            "not the same op: the peer's involves `{word}`, which the definition's op does not mention"
        );
    }
    Ok((case, definition))
}

/// The case with this id.
pub(crate) fn find_case<'a>(
    id: &str,
    catalog: &'a Catalog,
) -> anyhow::Result<(Case, &'a Definition)> {
    let cases = plan::select(catalog, &[id.to_owned()], Extent::Default)
        .with_context(|| format!("{id} is missing"))?;
    let [case] = &cases[..] else { bail!("{id} selects {} cases, not one", cases.len()) };
    let definition = catalog.get(&case.benchmark).with_context(|| format!("{id} is missing"))?;
    Ok((case.clone(), definition))
}
