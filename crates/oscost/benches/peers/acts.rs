//! The acts that both sides do.

use super::others::{Peer, Tool, With};

/// An act, here and in C.
pub(super) struct Act {
    /// Its case here.
    pub(super) case: &'static str,
    /// What the definition's op must say, or the two sides do not do the same.
    pub(super) says: &'static [&'static str],
    /// What it is called in `loops.c`, and what it needs there.
    pub(super) in_c: (&'static str, With),
    /// Who else has the same act.
    pub(super) tools: &'static [Tool],
    /// How large a multiple of a peer's figure ours may be.
    pub(super) most: f64,
}

/// What may be added to a peer's figure: the noise of comparing two programs, each with a layout of
/// its own.
pub(super) const MOST: f64 = 1.03;

/// An act that says nothing else.
const PLAIN: Act = Act { case: "", says: &[], in_c: ("", With::Nothing), tools: &[], most: MOST };

/// A round trip of messages through two pipes.
const fn trip(case: &'static str, bytes: u64, peer: Peer) -> Act {
    Act {
        case,
        says: &["a message", "back through a second one"],
        in_c: ("trip", With::Messages(bytes, peer, None)),
        ..PLAIN
    }
}

/// Many messages through a pipe, and one answer: nobody's is to be faster.
const fn stream(case: &'static str, bytes: u64, peer: Peer, capacity: Option<u64>) -> Act {
    Act {
        case,
        says: &["many messages", "4 bytes back"],
        in_c: ("stream", With::Messages(bytes, peer, capacity)),
        most: 1.0,
        ..PLAIN
    }
}

/// A round trip of 64 bytes through sockets, on one CPU.
const fn socket_trip(case: &'static str, in_c: &'static str, tools: &'static [Tool]) -> Act {
    Act {
        case,
        says: &["a message sent through a socket", "has sent as many bytes back"],
        in_c: (in_c, With::Messages(64, Peer::Same, None)),
        tools,
        ..PLAIN
    }
}

/// Many messages of 64 KiB through a socket, and one answer: nobody's is to be faster.
const fn socket_stream(
    case: &'static str,
    in_c: &'static str,
    peer: Peer,
    tools: &'static [Tool],
) -> Act {
    Act {
        case,
        says: &["many messages", "4 bytes back"],
        in_c: (in_c, With::Messages(65_536, peer, None)),
        tools,
        most: 1.0,
    }
}

/// A call by its libc name, in a loop.
const fn call(case: &'static str, in_c: &'static str, says: &'static [&'static str]) -> Act {
    Act { case, says, in_c: (in_c, With::Nothing), ..PLAIN }
}

/// The C library's memcpy of one block.
const fn copy(case: &'static str, bytes: u64) -> Act {
    Act { case, says: &["memcpy"], in_c: ("copy", With::Bytes(bytes)), ..PLAIN }
}

pub(super) const ACTS: &[Act] = &[
    call("syscall/getpid:via=libc", "getpid", &[]),
    Act {
        // `getpgid`, which newer ones have, is asked by no case here.
        tools: &[Tool::PerfSyscall],
        ..call("syscall/getppid:via=libc", "getppid", &[])
    },
    call("syscall/write:via=libc", "write", &["/dev/null", "byte"]),
    call("syscall/stat:via=libc", "stat", &["/dev/null"]),
    call("syscall/open-close:via=libc", "open-close", &["/dev/null"]),
    call("timer/clock-gettime:clock=monotonic,via=libc", "clock-gettime", &["nanoseconds"]),
    Act {
        in_c: ("fork-exit", With::Memory),
        ..call("process/fork-exit:touched_mib=0,peer_cpu=same", "", &["_exit", "waitpid"])
    },
    Act {
        case: "process/fork-exec:link=static",
        says: &["execve", "waitpid"],
        in_c: ("fork-exec", With::Program),
        tools: &[],
        ..PLAIN
    },
    call("thread/create-join:via=libc,peer_cpu=same", "create-join", &["pthread_join"]),
    Act {
        case: "switch/pipe:between=processes,peer_cpu=same",
        says: &["a byte", "pipe"],
        in_c: ("pipe", With::SameCpu),
        tools: &[Tool::PerfPipe],
        ..PLAIN
    },
    Act {
        case: "switch/pipe:between=processes,peer_cpu=other",
        says: &["a byte", "pipe"],
        in_c: ("pipe", With::OtherCpu),
        tools: &[],
        ..PLAIN
    },
    Act {
        case: "event/wait:method=epoll,fds=100,ready=one",
        says: &["call", "answer"],
        in_c: ("epoll-wait", With::Number(100)),
        ..PLAIN
    },
    // Of perf's thread that writes, the switches to it and its sleeps are in perf's figure, too.
    Act {
        case: "event/wait:method=epoll-edge,fds=64,ready=one,over=eventfd",
        says: &["epoll-edge", "read and written again"],
        in_c: ("epoll-edge", With::Number(64)),
        tools: &[Tool::PerfEpoll("64")],
        ..PLAIN
    },
    trip("pipe/round-trip:by=pipe,size=64,peer_cpu=same", 64, Peer::Same),
    trip("pipe/round-trip:by=pipe,size=64,peer_cpu=other", 64, Peer::Other),
    // It answers nothing and reads as much at a time as it writes.
    Act {
        tools: &[Tool::StressPipe(4_096, None)],
        ..stream("pipe/throughput:by=pipe,size=4096,peer_cpu=same", 4_096, Peer::Same, None)
    },
    stream("pipe/throughput:by=pipe,size=65536,peer_cpu=same", 65_536, Peer::Same, None),
    stream("pipe/throughput:by=pipe,size=65536,peer_cpu=other", 65_536, Peer::Other, None),
    Act {
        tools: &[Tool::StressPipe(4_096, Some("1048576"))],
        ..stream(
            "pipe/throughput:by=pipe,size=4096,peer_cpu=same,capacity=1048576",
            4_096,
            Peer::Same,
            Some(1 << 20),
        )
    },
    stream(
        "pipe/throughput:by=pipe,size=65536,peer_cpu=same,capacity=1048576",
        65_536,
        Peer::Same,
        Some(1 << 20),
    ),
    stream(
        "pipe/throughput:by=pipe,size=65536,peer_cpu=other,capacity=1048576",
        65_536,
        Peer::Other,
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
        Peer::Same,
        &[
            Tool::Iperf3(Peer::Same, &[]),
            Tool::Iperf3(Peer::Same, &["-Z"]),
            Tool::QperfStream(Peer::Same),
        ],
    ),
    socket_stream(
        "socket/throughput:by=tcp,size=65536,peer_cpu=other",
        "tcp-stream",
        Peer::Other,
        &[Tool::Iperf3(Peer::Other, &[]), Tool::QperfStream(Peer::Other)],
    ),
    socket_stream(
        "socket/throughput:by=unix-stream,size=65536,peer_cpu=same",
        "unix-stream",
        Peer::Same,
        &[],
    ),
    socket_stream(
        "socket/throughput:by=unix-stream,size=65536,peer_cpu=other",
        "unix-stream",
        Peer::Other,
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
        says: &["read"],
        in_c: ("read", With::Folder),
        tools: &[Tool::Fio],
        ..PLAIN
    },
];
