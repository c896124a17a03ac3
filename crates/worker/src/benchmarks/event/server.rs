//! An HTTP server with many connections of which few are active: the experiment of the papers
//! behind the study, with four event loops.

use std::fs::File;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::super::placement::cpu_of_optional_peer;
use super::super::prelude::*;
use super::axes::{BY_EPOLL, BY_POLL, BY_SELECT, PEER_CPU, SELECT};
use crate::bench::{PointFilter, Requests};
use crate::kernel::event::descriptor_set::{DescriptorKind, check_memory, explain_error};
use crate::kernel::event::readiness::WaitLimit;
use crate::kernel::ipc::context_switch::{self, PeerProcess, SharedWords, sched_yield};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::limits;
use crate::kernel::process::minimise_timer_slack;
use crate::kernel::syscall::prepared::{EPOLL_WAIT, POLL};
use crate::kernel::time::clock::monotonic_raw_ns;

mod connections;
pub mod http;
mod load;
#[cfg(test)]
mod tests;
mod wait_set;

use connections::Server;
use load::{ACCEPTED, ACTIVE, ALL_CONNECTED, Load, LoadSpec, PORTS, Pace, address};

const BY_RING: PointFilter = &[("method", "io-uring")];

/// Requests of a burst in a closed loop: eight per connection, so that the first and last requests,
/// during which not all connections are busy, are a small part.
const BURST_REQUESTS: u64 = 64;
/// The length of a burst with scheduled load, if that is fewer requests.
const BURST_MS: u64 = 20;

/// Connections that a server has room for besides the expected ones.
const SPARE_CONNECTIONS: u64 = 64;

/// Bursts that are excluded from the quantiles, while server and load settle.
const SETTLING_BURSTS: u32 = 2;

pub(super) const SERVER: Bench = Bench {
    id: "event/server",
    asks: "How many requests per second does a server answer, and what latency do its clients see, \
           when most of its connections are idle?",
    op: "a request of 35 bytes for a page of 3 (HTTP/1.1, keep-alive) that is answered: one of a \
         burst of 64 by 8 connections of another process on this machine, from the first request \
         until the last answer, by that process's clock. Every answer is compared. The server is \
         the measured process: one loop, one thread; CPU times and calls are its own only. \
         request-p50 and request-p99 are request latencies, medians over workers. Not included: \
         opening idle connections; for the quantiles, the first two bursts of a worker.",
    expected: "30,000 per second by each method with 10 idle connections on one CPU; with 1,000 \
               epoll and io_uring the same, select and poll two thirds, and requests take one and \
               a half times as long; churn=1000 costs each of them 3 %",
    why: "A loop that receives one event at a time pays for all idle connections at each request; \
          one that finds 8 requests at once pays for them once per 8. A closed loop hides part of \
          the latency that clients see: a connection that waits for an answer sends nothing \
          meanwhile, and the requests that would have queued behind it are never counted \
          (coordinated omission). load=NUMBER is a schedule: that many requests are due per \
          second, and the latency of a request counts from when it is due, whether or not a \
          connection is free for it then.",
    calls: &[
        up_to(SELECT, 2).when(BY_SELECT),
        up_to(POLL, 2).when(BY_POLL),
        up_to(EPOLL_WAIT, 2).when(BY_EPOLL),
        up_to("io_uring_enter", 2).when(BY_RING),
        exactly("recvfrom", 1).when(NO_CHURN),
        exactly("sendto", 1),
        // Connections that are closed and reopened.
        up_to("recvfrom", 8).when(&[("churn", "100")]),
        up_to("recvfrom", 8).when(&[("churn", "1000")]),
        up_to("accept4", 8),
        up_to("ioctl", 8),
        up_to("close", 8),
        up_to("fcntl", 8),
        up_to("epoll_ctl", 8).when(BY_EPOLL),
        // Commands to the load generator, and its reports: one per burst.
        up_to("write", 1),
        up_to("read", 1),
        up_to("brk", 1),
    ],
    unit: Unit::OpsPerSecond,
    axes: &[
        Axis {
            name: "method",
            sets: "the call by which the server waits for all its connections; io-uring: by a \
                   multishot poll for each connection",
            points: Points::Words(&["select", "poll", "epoll", "io-uring"]),
            default_points: Points::Words(&["select", "poll", "epoll", "io-uring"]),
        },
        Axis {
            name: "idle",
            sets: "number of idle connections",
            points: Points::Range {
                min: 1,
                max: 100_000,
                points: &[10, 30, 100, 300, 1_000, 3_000, 10_000],
            },
            default_points: Points::Numbers(&[10, 300]),
        },
        Axis {
            name: "churn",
            sets: "number of them that are closed and reopened per second",
            points: Points::Numbers(&[0, 100, 1_000]),
            default_points: Points::Numbers(&[0]),
        },
        Axis {
            name: "peer_cpu",
            sets: "where the load generator is pinned: to the server's CPU, or to another one",
            ..PEER_CPU
        },
        Axis {
            name: "load",
            sets: "when requests are sent: by each connection as soon as its last answer arrives \
                   (closed), or that many per second by schedule",
            points: Points::Range { min: 50, max: 1_000_000, points: &[1_000, 5_000, 20_000] },
            default_points: Points::Implied("closed"),
        },
    ],
    needs: &[Need::time(), Need::io_uring().when(BY_RING)],
    in_price_list: false,
    switches: true,
    // While calls are counted, a tracer stops every call at either end of a connection.
    setup_us: &[("idle", "1000")],
    source: "study cs161-syscalls, The C10K problem; Banga and Mogul, USENIX ATC 1998; Banga, \
             Mogul and Druschel, USENIX ATC 1999; RFC 9112; select(2), poll(2), epoll(7), \
             io_uring(7)",
    build: |params| or_unavailable(server_work(params)),
    ..Bench::DEFAULT
};

const NO_CHURN: PointFilter = &[("churn", "0")];

/// The work at a point: an op is a burst.
fn server_work(params: Params<'_>) -> Result<Work, Errno> {
    let started = start_server(params)?;
    Ok(started.map_or_else(
        |unavailable| unavailable,
        |body| {
            let burst = body.burst;
            Work::from_body(Shape::OwnValue, body).with_op_count(burst)
        },
    ))
}

/// Server and load generator at a point, after their first burst; or a skipped row with the reason.
fn start_server(params: Params<'_>) -> Result<Result<Body, Work>, Errno> {
    let cpu = match cpu_of_optional_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(Err(unavailable)),
    };
    let (idle, churn) = (params.number("idle"), params.number("churn"));
    let (pace, burst) = match params.value("load") {
        Some(&Value::Number(rate)) => {
            (Pace::Scheduled(rate), (rate * BURST_MS / 1_000).clamp(1, BURST_REQUESTS))
        }
        _ => (Pace::Closed, BURST_REQUESTS),
    };
    let needed = idle + ACTIVE as u64 + SPARE_CONNECTIONS + OTHER_DESCRIPTORS;
    if limits::raise_descriptor_limit_to(needed)? < needed {
        return Err(explain_error(Errno::EMFILE, idle, DescriptorKind::Tcp));
    }
    check_memory(idle, DescriptorKind::Tcp)?;
    let max_connections = (idle + ACTIVE as u64 + SPARE_CONNECTIONS) as usize;
    let server = Server::new(params.word("method"), max_connections)
        .map_err(|errno| explain_error(errno, idle, DescriptorKind::Tcp))?;
    let spec = LoadSpec { server_address: server.address(), idle, churn, pace };
    let mut body = Body::new(server, spec, cpu, burst).map_err(|errno| match errno {
        Errno::EINVAL if params.word("method") == "io-uring" => Errno::unavailable(
            "multishot polls of io_uring need Linux 5.13: select method=epoll".to_owned(),
        ),
        errno => explain_error(errno, idle, DescriptorKind::Tcp),
    })?;
    body.burst()?;
    Ok(Ok(body))
}

/// Descriptors of a process that are not connections.
const OTHER_DESCRIPTORS: u64 = 64;

/// The server, and the load generator.
struct Body {
    server: Server,
    load: PeerProcess,
    orders: File,
    reports: File,
    cpu: Option<u32>,
    burst: u64,
    bursts: u32,
    /// The latency of each request.
    latencies_ns: Vec<u64>,
    last: i64,
}

impl Body {
    fn new(server: Server, spec: LoadSpec, cpu: Option<u32>, burst: u64) -> Result<Self, Errno> {
        let words = SharedWords::new()?;
        let ((peer_orders, orders), (reports, peer_reports)) = (pipe()?, pipe()?);
        let mut measured_end = Some((server, orders, reports));
        let load = {
            let (measured_end, words) = (&mut measured_end, &words);
            PeerProcess::start(cpu, move || {
                drop(measured_end.take());
                minimise_timer_slack();
                Load::new(spec, words)?.serve(&peer_orders, &peer_reports)
            })?
        };
        // `None` in the child only.
        let (server, orders, reports) = measured_end.ok_or(Errno::EINVAL)?;
        let (latencies_ns, last) = (Vec::new(), 0);
        let mut body =
            Self { server, load, orders, reports, cpu, burst, bursts: 0, latencies_ns, last };
        body.accept_all(spec.idle as usize + ACTIVE, &words)?;
        Ok(body)
    }

    /// Accepts the load generator's connections, and marks the active ones.
    fn accept_all(&mut self, expected: usize, words: &SharedWords) -> Result<(), Errno> {
        let (mut accepted, mut last_accept_ns) = (0, monotonic_raw_ns());
        loop {
            let all_connected = words.word(ALL_CONNECTED).load(Ordering::Acquire) == 1;
            self.server.run_once(WaitLimit::Immediate)?;
            if all_connected && self.server.open_connections() >= expected {
                break;
            }
            if self.server.counters.accepted != accepted {
                (accepted, last_accept_ns) = (self.server.counters.accepted, monotonic_raw_ns());
                words.word(ACCEPTED).store(accepted, Ordering::Release);
            } else {
                self.load.check_running()?;
                if monotonic_raw_ns() - last_accept_ns > kernel::PEER_TIMEOUT.as_nanos() as u64 {
                    return Err(Errno::PEER_TIMED_OUT);
                }
                sched_yield()?;
            }
        }
        let port = |index: usize| words.word(PORTS + index).load(Ordering::Relaxed) as u16;
        let active_addresses: Vec<SocketAddr> =
            (0..ACTIVE).map(|index| SocketAddr::new(address(0), port(index))).collect();
        if self.server.mark_active(&active_addresses) == ACTIVE {
            Ok(())
        } else {
            Err(Errno::EPROTO)
        }
    }

    /// Why the load generator sends no more requests.
    fn end_cause(&self) -> Errno {
        match self.load.check_running() {
            // It may be about to exit.
            Ok(()) | Err(Errno::ESRCH) => Errno::check_failed(
                "the process that sends the requests was killed, or has closed its \
                 connections: run the case again"
                    .to_owned(),
            ),
            Err(errno) => errno,
        }
    }

    /// Runs one burst: the mean time per request, in thousandths of a nanosecond.
    fn burst(&mut self) -> Result<i64, Errno> {
        let until = self.server.counters.answered + self.burst;
        context_switch::write(&self.orders, &self.burst.to_ne_bytes())?;
        while self.server.counters.answered < until {
            self.server.run_once(WaitLimit::Infinite)?;
            if self.server.counters.active_closed > 0 {
                return Err(self.end_cause());
            }
        }
        let mut report = vec![0; (1 + self.burst as usize) * size_of::<u64>()];
        let mut received = 0;
        while received < report.len() {
            match context_switch::read(&self.reports, &mut report[received..])? {
                0 => return Err(self.end_cause()),
                bytes => received += bytes,
            }
        }
        let mut words = report
            .chunks_exact(size_of::<u64>())
            .map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
        let total_ns = words.next().unwrap_or(0);
        self.bursts += 1;
        if self.bursts > SETTLING_BURSTS {
            self.latencies_ns.extend(words);
        }
        Ok((1_000 * total_ns / self.burst) as i64)
    }
}

impl WorkBody for Body {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.last = self.burst().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.last
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        let counters = self.server.counters;
        let requests = Requests::from_durations_ns(self.latencies_ns.clone());
        let other_clients = counters.answered_others + counters.refused;
        let requests = requests.map(|requests| Requests { other_clients, ..requests });
        Some(ChannelObservation { peer_cpu: self.cpu, requests, ..ChannelObservation::default() })
    }
}
