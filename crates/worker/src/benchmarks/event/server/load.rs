//! The load generator of the HTTP server: a process with some active connections and many idle
//! ones.
//!
//! It runs independently from a command to its report, so that the measuring process does not
//! disturb its timing.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use super::super::super::prelude::*;
use super::http::{self, COMMON_REQUEST};
use crate::kernel::event::readiness::{CallVariant, PollSet, WaitLimit};
use crate::kernel::ipc::context_switch::{self, SharedWords, sched_yield};
use crate::kernel::net::socket::connect_from;
use crate::kernel::time::clock::monotonic_raw_ns;

/// Active connections, each with one outstanding request.
pub(super) const ACTIVE: usize = 8;

/// Indices of the shared words: the port of each active connection; how many connections the server
/// has accepted; whether all exist.
pub(super) const PORTS: usize = 0;
pub(super) const ACCEPTED: usize = ACTIVE;
pub(super) const ALL_CONNECTED: usize = ACTIVE + 1;

/// Connections per local address: with more of its 28,232 default ephemeral ports in use, the
/// search for a free one becomes slow.
const MAX_PER_ADDRESS: u64 = 8_000;

/// Maximum number of connections waiting to be accepted during setup: below the smallest common
/// listen backlog, since a client that finds the backlog full retries only after a second.
const MAX_UNACCEPTED: u64 = 64;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// A connection sends the next request as soon as the last one is answered.
    Closed,
    /// That many requests are due per second, whether or not earlier ones are answered.
    Scheduled(u64),
}

/// The parameters of a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadSpec {
    pub(super) server_address: SocketAddr,
    pub(super) idle: u64,
    /// Idle connections that are closed and reopened per second.
    pub(super) churn: u64,
    pub(super) pace: Pace,
}

/// The local address of the connection after `opened` others: one with free ports.
pub(super) fn address(opened: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1 + (opened / MAX_PER_ADDRESS % 250) as u8))
}

/// The load generator process.
pub(super) struct Load {
    spec: LoadSpec,
    active: Vec<ActiveConnection>,
    idle: VecDeque<TcpStream>,
    opened: u64,
    set: PollSet,
    answer: Vec<u8>,
    /// Burst time since an idle connection was last replaced.
    since_churn_ns: u64,
}

/// An active connection.
struct ActiveConnection {
    stream: TcpStream,
    /// When the request was due whose answer is awaited; `None` if none is outstanding.
    since_ns: Option<u64>,
    /// The part of the answer received so far.
    received: Vec<u8>,
}

impl Load {
    /// Opens all connections, the active ones first.
    pub(super) fn new(spec: LoadSpec, words: &SharedWords) -> Result<Self, Errno> {
        let answer = http::parse_first(COMMON_REQUEST).ok_or(Errno::EINVAL)?.answer();
        let set = PollSet::new([].into_iter());
        let idle = VecDeque::with_capacity(spec.idle as usize + 1);
        let active = Vec::with_capacity(ACTIVE);
        let mut load = Self { spec, active, idle, opened: 0, set, answer, since_churn_ns: 0 };
        for index in 0..ACTIVE {
            let stream = load.connect()?;
            load.set.set(index, Some(stream.as_raw_fd()));
            words.word(PORTS + index).store(stream.local_addr()?.port().into(), Ordering::Relaxed);
            load.active.push(ActiveConnection { stream, since_ns: None, received: Vec::new() });
        }
        for _ in 0..spec.idle {
            let accepted = || u64::from(words.word(ACCEPTED).load(Ordering::Acquire));
            while load.opened >= accepted() + MAX_UNACCEPTED {
                sched_yield()?;
            }
            let stream = load.connect()?;
            load.idle.push_back(stream);
        }
        words.word(ALL_CONNECTED).store(1, Ordering::Release);
        Ok(load)
    }

    /// Opens another connection.
    fn connect(&mut self) -> Result<TcpStream, Errno> {
        let from = address(self.opened);
        self.opened += 1;
        connect_from(from, self.spec.server_address)
    }

    /// Serves commands until the pipe is closed.
    pub(super) fn serve(mut self, orders: &File, reports: &File) -> Result<(), Errno> {
        let mut order = [0; size_of::<u64>()];
        while context_switch::read(orders, &mut order)? == order.len() {
            let report = self.burst(u64::from_ne_bytes(order) as usize)?;
            let bytes: Vec<u8> = report.iter().flat_map(|word| word.to_ne_bytes()).collect();
            if context_switch::write(reports, &bytes)? != bytes.len() {
                return Err(Errno::EPIPE);
            }
        }
        Ok(())
    }

    /// Sends `count` requests: the time from the first request to the last answer, followed by the
    /// latency of each, in nanoseconds.
    fn burst(&mut self, count: usize) -> Result<Vec<u64>, Errno> {
        let mut report = Vec::with_capacity(1 + count);
        report.push(0);
        let (start_ns, mut sent) = (monotonic_raw_ns(), 0);
        let mut now_ns = start_ns;
        while report.len() <= count {
            let next = self.send_due(&mut sent, count, start_ns, now_ns)?;
            let ready = match next {
                Some(due) => self.set.wait_for(due.saturating_sub(now_ns))?,
                None => self.set.wait(CallVariant::Plain, WaitLimit::Infinite)?,
            };
            let mut ready_indices = [usize::MAX; ACTIVE];
            let mut free_entries = ready_indices.iter_mut();
            self.set.each(ready, |index| {
                free_entries.next().into_iter().for_each(|entry| *entry = index)
            });
            for index in ready_indices.into_iter().take_while(|&index| index != usize::MAX) {
                if let Some(since_ns) = self.receive(index)? {
                    report.push(monotonic_raw_ns().saturating_sub(since_ns));
                }
            }
            let previous_ns = std::mem::replace(&mut now_ns, monotonic_raw_ns());
            self.since_churn_ns += now_ns - previous_ns;
            self.replace_idle()?;
        }
        report[0] = now_ns - start_ns;
        Ok(report)
    }

    /// Sends every request that is due on a free connection; returns when the next one is due that
    /// a free connection could send.
    fn send_due(
        &mut self,
        sent: &mut usize,
        count: usize,
        start_ns: u64,
        now_ns: u64,
    ) -> Result<Option<u64>, Errno> {
        for connection in self.active.iter_mut().filter(|connection| connection.since_ns.is_none())
        {
            if *sent == count {
                return Ok(None);
            }
            let since_ns = match self.spec.pace {
                Pace::Closed => monotonic_raw_ns(),
                Pace::Scheduled(rate) => {
                    // The first is due one interval after the start, so that a burst lasts as long
                    // as its number of requests.
                    let due = start_ns + (1 + *sent as u64) * 1_000_000_000 / rate.max(1);
                    if due > now_ns {
                        return Ok(Some(due));
                    }
                    due
                }
            };
            connection.since_ns = Some(since_ns);
            *sent += 1;
            if connection.stream.write(COMMON_REQUEST)? != COMMON_REQUEST.len() {
                return Err(Errno::EAGAIN);
            }
        }
        Ok(None)
    }

    /// Reads from one connection: if its answer is complete, the time from which it was awaited.
    fn receive(&mut self, index: usize) -> Result<Option<u64>, Errno> {
        let connection = self.active.get_mut(index).ok_or(Errno::EPROTO)?;
        let mut buffer = [0; 512];
        let bytes = connection.stream.read(&mut buffer)?;
        connection.received.extend_from_slice(&buffer[..bytes]);
        if bytes == 0 || !self.answer.starts_with(&connection.received) {
            return Err(Errno::EPROTO);
        }
        if connection.received.len() < self.answer.len() {
            return Ok(None);
        }
        connection.received.clear();
        connection.since_ns.take().map(Some).ok_or(Errno::EPROTO)
    }

    /// Replaces the oldest idle connections, as many as are due by now.
    fn replace_idle(&mut self) -> Result<(), Errno> {
        let Some(interval_ns) = 1_000_000_000u64.checked_div(self.spec.churn) else {
            return Ok(());
        };
        while self.since_churn_ns >= interval_ns {
            self.since_churn_ns -= interval_ns;
            drop(self.idle.pop_front());
            let stream = self.connect()?;
            self.idle.push_back(stream);
        }
        Ok(())
    }
}
