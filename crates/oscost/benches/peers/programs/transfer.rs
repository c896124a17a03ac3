//! Programs that move bytes: sockperf between two processes over loopback, and mbw in memory.

use super::super::tools::PeerCpu;
use super::reading::{Figure, Found, Is};
use super::row::Part::{self, Once};
use super::row::{PORT, ROW, Row, ServerEnd, us_after};

const SOCKPERF: Row = Row {
    program: "sockperf",
    package: "sockperf",
    common_words: &["-t", "1", "--full-rtt"],
    // The median round trip.
    figure: us_after("percentile 50.000"),
    differs: "the peer's round trip includes two reads of its clock and the check of a sequence \
              number in each message",
    ..ROW
};

const TCP_SERVER: &[&str] = &["sr", "-i", "127.0.0.1", "-p", PORT, "--tcp"];
const UDP_SERVER: &[&str] = &["sr", "-i", "127.0.0.1", "-p", PORT];

/// A round trip over loopback.
const fn round_trip(
    name: &'static str,
    words: &'static [&'static str],
    server: ServerEnd,
    parts: &'static [Part],
) -> Row {
    Row { name, words, server: Some(server), parts, ..SOCKPERF }
}

pub(super) const ROWS: &[Row] = &[
    round_trip(
        "sockperf tcp 1024",
        &["pp", "-i", "127.0.0.1", "-p", PORT, "--tcp", "-m", "1024"],
        ServerEnd { cpu: PeerCpu::Same, words: TCP_SERVER },
        &[Once("socket/round-trip:by=tcp,size=1024,peer_cpu=same")],
    ),
    round_trip(
        "sockperf udp 1024",
        &["pp", "-i", "127.0.0.1", "-p", PORT, "-m", "1024"],
        ServerEnd { cpu: PeerCpu::Same, words: UDP_SERVER },
        &[Once("socket/round-trip:by=udp,size=1024,peer_cpu=same")],
    ),
    round_trip(
        "sockperf tcp, 2 CPUs",
        &["pp", "-i", "127.0.0.1", "-p", PORT, "--tcp", "-m", "64"],
        ServerEnd { cpu: PeerCpu::Other, words: TCP_SERVER },
        &[Once("socket/round-trip:by=tcp,size=64,peer_cpu=other")],
    ),
    round_trip(
        "sockperf udp, 2 CPUs",
        &["pp", "-i", "127.0.0.1", "-p", PORT, "-m", "64"],
        ServerEnd { cpu: PeerCpu::Other, words: UDP_SERVER },
        &[Once("socket/round-trip:by=udp,size=64,peer_cpu=other")],
    ),
    // Arrays of 16 MiB; the last line is the average, in MiB a second.
    Row {
        name: "mbw memcpy 16 MiB",
        program: "mbw",
        package: "mbw",
        words: &["-q", "-t0", "-n", "100", "16"],
        figure: Figure { found: Found::After("Copy:"), is: Is::Rate(16.0 * 1e9) },
        parts: &[Once("memory/copy:size=16777216,by=library")],
        differs: "the peer's arrays come from calloc(3): they begin 16 bytes into a page, and may \
                  be huge pages",
        ..ROW
    },
];
