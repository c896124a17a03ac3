//! Operations that wait for what comes next: single ones and multishot ones.

use super::super::prelude::*;
use super::body::or_lacking;
use crate::kernel::event::io_uring::{Accepts, Receives, Shots};

/// The call that submits and waits.
const ENTER: &str = "io_uring_enter";

/// The defaults here.
const DEFAULTS: Bench =
    Bench { needs: &[Need::io_uring()], in_price_list: false, ..Bench::DEFAULT };

const SHOTS: Axis = Axis {
    name: "shots",
    sets: "how often an operation completes: once, so that each wait also submits the next one; or \
           for each thing that comes (multishot), so that it is submitted once",
    points: Points::Words(&["single", "multishot"]),
    default_points: Points::Words(&["single", "multishot"]),
};

pub(super) const ACCEPT: Bench = Bench {
    id: "io-uring/accept",
    asks: "What does a connection cost that is accepted through io_uring, and what does multishot \
           save?",
    op: "socket(2) and connect(2) to an AF_UNIX stream listener of the same process, for which an \
         accept (IORING_OP_ACCEPT) has been waiting; one io_uring_enter(2), which returns the \
         accepted connection and, with shots=single, submits the next accept; and close(2) of both \
         ends. Not included: setting up the ring, and listening.",
    expected: "single 5 us, multishot 300 ns less",
    why: "The connection wakes the waiting operation, which accepts it as work that the task owes, \
          before connect(2) returns. A multishot operation then waits for the next one; a single \
          one is an entry read, a request from a cache and an entry in the listener's wait queue, \
          each time. No other process is woken: compare socket/connect, where one is.",
    compare_with: &["socket/connect:by=unix-stream,peer_cpu=same"],
    calls: &[exactly("socket", 1), exactly("connect", 1), exactly(ENTER, 1), exactly("close", 2)],
    floor: &[at_least(1, "socket/open-close:domain=unix-stream"), at_least(3, KERNEL_ENTRY)],
    axes: &[SHOTS],
    source: "io_uring_enter(2); io_uring/net.c: io_accept; multishot since Linux 5.19",
    build: |params| tried(Accepts::new(shots(params)), Accepts::connect_and_accept),
    ..DEFAULTS
};

pub(super) const RECEIVE: Bench = Bench {
    id: "io-uring/receive",
    asks: "What does a message cost that is received through io_uring, and what does multishot \
           save?",
    op: "sendto(2) of 64 bytes into one end of a pair of AF_UNIX stream sockets, at whose other \
         end a receive (IORING_OP_RECV) of the same process has been waiting; and one \
         io_uring_enter(2), which returns its completion and, with shots=single, submits the next \
         receive. With shots=multishot the kernel chooses a buffer from a registered ring, to \
         which it is given back. Number and first byte of what arrived are checked. Not included: \
         setting up the ring and the pair, and registering buffers.",
    expected: "single 1.5 us, multishot 200 ns less",
    why: "The message wakes the waiting operation, which receives it as work that the task owes, \
          before sendto(2) returns. A single operation is then submitted anew, and finds nothing \
          before it waits. A multishot one tries again at once, for the same reason, but is not \
          submitted; choosing a buffer and giving it back are some stores to shared memory.",
    compare_with: &["socket/message:kind=stream,vectors=1"],
    calls: &[exactly("sendto", 1), exactly(ENTER, 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[SHOTS],
    source: "io_uring_enter(2), io_uring_register(2); io_uring/net.c: io_recv, io_uring/kbuf.c; \
             multishot since Linux 6.0",
    build: |params| tried(Receives::new(shots(params)), Receives::send_and_receive),
    ..DEFAULTS
};

fn shots(params: Params<'_>) -> Shots {
    match params.word("shots") {
        "multishot" => Shots::Multi,
        _ => Shots::Single,
    }
}

/// Work of this op, once it has succeeded; the reason, if this kernel refuses it.
fn tried<T: 'static>(
    made: Result<T, Errno>,
    mut op: impl FnMut(&mut T) -> Result<(), Errno> + 'static,
) -> Result<Work, Errno> {
    let tried = made.and_then(|mut thing| op(&mut thing).map(|()| thing));
    match tried {
        Ok(mut thing) => Ok(Work::with_loop(move || op(&mut thing))),
        Err(error) => or_lacking(error),
    }
}
