//! The axes of this family, and the calls and floors that several of its benchmarks have.

use crate::bench::PointFilter;
use crate::benchmarks::prelude::*;

/// The system call behind `method=select`.
#[cfg(target_arch = "x86_64")]
pub(super) const SELECT: &str = "select";
#[cfg(not(target_arch = "x86_64"))]
pub(super) const SELECT: &str = "pselect6";

pub(super) const METHOD: Axis = Axis {
    name: "method",
    sets: "the call that waits: select, poll; an epoll set, level-triggered, edge-triggered or \
           one-shot; a poll request in an io_uring, one-shot or multishot. Linux has no kqueue \
           (BSD, macOS), event ports or /dev/poll (Solaris)",
    points: Points::Words(&[
        "select",
        "pselect",
        "poll",
        "ppoll",
        "epoll",
        "epoll-edge",
        "epoll-oneshot",
        "io-uring-poll",
        "io-uring-multishot",
    ]),
    default_points: USUAL_METHODS,
};

pub(super) const USUAL_METHODS: Points =
    Points::Words(&["select", "poll", "epoll", "io-uring-poll"]);

pub(super) const FDS: Axis = Axis {
    name: "fds",
    sets: "number of descriptors in the set, including the ready ones",
    points: Points::Items(
        "descriptor",
        &Points::Range {
            min: 1,
            max: 1_000_000,
            points: &[
                10, 18, 32, 56, 100, 160, 250, 400, 630, 1_000, 3_000, 10_000, 30_000, 100_000,
            ],
        },
    ),
    default_points: Points::WithPriceList {
        // Fitting a scaling law takes ten points over two decades.
        points: &Points::Numbers(&[10, 18, 32, 56, 100, 160, 250, 400, 630, 1_000]),
        price_list: &Points::Numbers(&[100]),
    },
};

pub(super) const READY: Axis = Axis {
    name: "ready",
    sets: "how many of them are ready: none (the call does not block), one, or a tenth",
    points: Points::Words(&["none", "one", "10pct"]),
    default_points: Points::Words(&["one"]),
};

pub(super) const POSITION: Axis = Axis {
    name: "position",
    sets: "position of the ready ones in the set",
    points: Points::Words(&["first", "middle", "last"]),
    default_points: Points::Implied("middle"),
};

pub(super) const HIGHEST: Axis = Axis {
    name: "highest",
    sets: "number of the last descriptor: as low as possible, 4,095 or 16,383",
    points: Points::Words(&["low", "4k", "16k"]),
    default_points: Points::Implied("low"),
};

pub(super) const OVER: Axis = Axis {
    name: "over",
    sets: "type of the descriptors",
    points: Points::Words(&["pipe", "socketpair", "tcp", "eventfd"]),
    default_points: Points::Implied("pipe"),
};

pub(super) const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the waiters are pinned: to the CPU of the process that triggers the event, or to \
           another one",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same"]),
};

pub(super) const WAITERS: Axis = Axis {
    name: "waiters",
    sets: "number of processes that wait for the event, each with its own set",
    points: Points::Numbers(&[1, 2, 8]),
    default_points: Points::Numbers(&[1]),
};

pub(super) const HERD: Axis = Axis {
    name: "herd",
    sets: "what several waiters wait for: all for one byte; the same with EPOLLEXCLUSIVE; each on \
           its own socket for a connection to one port (SO_REUSEPORT)",
    points: Points::Words(&["all", "exclusive", "reuseport"]),
    default_points: Points::Implied("all"),
};

pub(super) const BY_SELECT: PointFilter = &[("method", "select")];
pub(super) const BY_PSELECT: PointFilter = &[("method", "pselect")];
pub(super) const BY_POLL: PointFilter = &[("method", "poll")];
pub(super) const BY_PPOLL: PointFilter = &[("method", "ppoll")];
pub(super) const BY_EPOLL: PointFilter = &[("method", "epoll")];
pub(super) const BY_EDGE: PointFilter = &[("method", "epoll-edge")];
pub(super) const BY_ONESHOT: PointFilter = &[("method", "epoll-oneshot")];
pub(super) const BY_RING: PointFilter = &[("method", "io-uring-poll")];
pub(super) const BY_MULTISHOT: PointFilter = &[("method", "io-uring-multishot")];
