//! Properties of the channel that the ops of a worker used.

use serde::{Deserialize, Serialize};

/// A channel between two ends, with the system's default settings unless an axis sets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelObservation {
    /// The capacity of a pipe or queue (`F_GETPIPE_SZ`, `mq_msgsize` times `mq_maxmsg`,
    /// `msg_qbytes`).
    pub capacity_bytes: Option<u64>,
    /// The largest atomic write to a pipe (`PIPE_BUF`).
    #[serde(default)]
    pub pipe_buf_bytes: Option<u64>,
    /// The send buffer of a socket, as `SO_SNDBUF` reports it (twice the requested size).
    pub send_buffer_bytes: Option<u64>,
    /// The receive buffer, as `SO_RCVBUF` reports it.
    pub receive_buffer_bytes: Option<u64>,
    /// The path MTU (`IP_MTU`).
    pub mtu_bytes: Option<u64>,
    /// The largest segment of a TCP connection (`TCP_MAXSEG`).
    pub segment_bytes: Option<u64>,
    /// Datagrams per message, where one datagram cannot hold it.
    pub datagrams_per_message: Option<u64>,
    /// Counts of datagrams.
    pub datagrams: Option<Datagrams>,
    /// Messages whose length and content were verified outside the timed part.
    pub verified_messages: u64,
    /// The CPU of the other end.
    pub peer_cpu: Option<u32>,
    /// Connections that were closed since they lacked the token or came from another address.
    pub unauthorised_connections: u64,
    /// Latencies of requests, as measured by the clients.
    #[serde(default)]
    pub requests: Option<Requests>,
}

/// Requests to a server; latencies count from when a request was due until its answer arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requests {
    /// The number of answered requests.
    pub answered: u64,
    /// The median in nanoseconds; null for several workers together, since quantiles cannot be
    /// merged.
    pub p50_ns: Option<u64>,
    /// The 99th percentile in nanoseconds; also null below 100 requests.
    pub p99_ns: Option<u64>,
    /// The maximum in nanoseconds.
    pub max_ns: u64,
    /// Requests of other clients than the load generator, and connections beyond the server's
    /// limit: they took time and are in no other count.
    #[serde(default)]
    pub other_clients: u64,
}

impl Requests {
    /// Summarises latencies in nanoseconds; `None` if there are none.
    pub fn from_durations_ns(mut took_ns: Vec<u64>) -> Option<Self> {
        /// With fewer values the 99th percentile is the maximum or lies beyond it.
        const MIN_FOR_P99: usize = 100;
        took_ns.sort_unstable();
        let longest_ns = *took_ns.last()?;
        // Nearest-rank definition.
        let rank = |per_cent: usize| took_ns.get((took_ns.len() * per_cent).div_ceil(100) - 1);
        Some(Self {
            answered: took_ns.len() as u64,
            p50_ns: rank(50).copied(),
            p99_ns: rank(99).copied().filter(|_| took_ns.len() >= MIN_FOR_P99),
            max_ns: longest_ns,
            other_clients: 0,
        })
    }

    /// The sum of both.
    #[must_use]
    pub fn merged_with(self, other: Requests) -> Requests {
        Requests {
            answered: self.answered + other.answered,
            p50_ns: None,
            p99_ns: None,
            max_ns: self.max_ns.max(other.max_ns),
            other_clients: self.other_clients + other.other_clients,
        }
    }
}

/// Datagrams, counted by their senders and receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// Sent by the measured end.
    pub sent: u64,
    /// Received at the other end, or back at the sender for round trips.
    pub arrived: u64,
    /// Not received before the timeout.
    pub lost: u64,
    /// Received after the timeout.
    pub late: u64,
    /// Received again.
    pub duplicate: u64,
    /// Received after a datagram that was sent later.
    pub reordered: u64,
    /// Datagrams that marked the end of the transfer, repeated until acknowledged.
    pub end_markers: u64,
}

impl ChannelObservation {
    /// Combines the observations of two workers: counts are added, properties are those of `self`.
    #[must_use]
    pub fn merged_with(self, other: ChannelObservation) -> ChannelObservation {
        ChannelObservation {
            datagrams: match (self.datagrams, other.datagrams) {
                (Some(one), Some(more)) => Some(one.merged_with(more)),
                (one, more) => one.or(more),
            },
            verified_messages: self.verified_messages + other.verified_messages,
            unauthorised_connections: self.unauthorised_connections
                + other.unauthorised_connections,
            requests: match (self.requests, other.requests) {
                (Some(one), Some(more)) => Some(one.merged_with(more)),
                (one, more) => one.or(more),
            },
            ..self
        }
    }
}

impl Datagrams {
    /// The sum of both.
    #[must_use]
    pub fn merged_with(self, other: Datagrams) -> Datagrams {
        Datagrams {
            sent: self.sent + other.sent,
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
            late: self.late + other.late,
            duplicate: self.duplicate + other.duplicate,
            reordered: self.reordered + other.reordered,
            end_markers: self.end_markers + other.end_markers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_dropped_when_the_requests_of_workers_are_merged() {
        assert_eq!(Requests::from_durations_ns(vec![]), None);
        let all = Requests::from_durations_ns((1..=1_000).rev().collect()).unwrap();
        assert_eq!((all.answered, all.p50_ns, all.p99_ns), (1_000, Some(500), Some(990)));
        let few = Requests::from_durations_ns(vec![7, 5]).unwrap();
        assert_eq!((few.p50_ns, few.p99_ns, few.max_ns), (Some(5), None, 7));
        let both = all.merged_with(few);
        assert_eq!((both.answered, both.max_ns), (1_002, 1_000));
        assert_eq!((both.p50_ns, both.p99_ns), (None, None));
    }
}
