//! What a worker saw of the channel that its ops went through.

use serde::{Deserialize, Serialize};

/// A channel between two ends, as the system made it: nothing of it was set unless an axis says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelObservation {
    /// How many bytes a pipe or a queue holds (`F_GETPIPE_SZ`, `mq_msgsize` times `mq_maxmsg`,
    /// `msg_qbytes`).
    pub capacity_bytes: Option<u64>,
    /// What a pipe takes at once or not at all (`PIPE_BUF`).
    #[serde(default)]
    pub pipe_buf_bytes: Option<u64>,
    /// The send buffer of a socket, as `SO_SNDBUF` tells it (twice what was asked for).
    pub send_buffer_bytes: Option<u64>,
    /// The receive buffer, as `SO_RCVBUF` tells it.
    pub receive_buffer_bytes: Option<u64>,
    /// The largest packet of the way there (`IP_MTU`).
    pub mtu_bytes: Option<u64>,
    /// The largest segment of a TCP connection (`TCP_MAXSEG`).
    pub segment_bytes: Option<u64>,
    /// In how many parts a message travels: datagrams, where one does not hold it.
    pub parts: Option<u64>,
    /// What became of datagrams.
    pub datagrams: Option<Datagrams>,
    /// Messages whose length and content were verified, untimed.
    pub verified: u64,
    /// The CPU that the other end was pinned to.
    pub peer_cpu: Option<u32>,
    /// Connections that did not show the token, or came from elsewhere: they were closed.
    pub unauthorised_connections: u64,
    /// How long requests took, as those felt who sent them.
    #[serde(default)]
    pub requests: Option<Requests>,
}

/// Requests to a server, from when each was due until its answer had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requests {
    /// How many.
    pub answered: u64,
    /// The median in nanoseconds; null where several workers are told of together, since the quantiles
    /// of parts are not those of the whole.
    pub p50_ns: Option<u64>,
    /// The 99th percentile; null below a hundred requests, too.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: u64,
    /// Requests of others than the load, and connections for which there was no place: they took
    /// time, and are in no other count.
    #[serde(default)]
    pub other_clients: u64,
}

impl Requests {
    /// Of requests that took so long each; none where there was none.
    pub fn from_durations_ns(mut took_ns: Vec<u64>) -> Option<Self> {
        /// With fewer the 99th percentile is the largest value, or lies beyond it.
        const FEWEST: usize = 100;
        took_ns.sort_unstable();
        let longest_ns = *took_ns.last()?;
        // The smallest value that is not exceeded by more than the rest.
        let rank = |per_cent: usize| took_ns.get((took_ns.len() * per_cent).div_ceil(100) - 1);
        Some(Self {
            answered: took_ns.len() as u64,
            p50_ns: rank(50).copied(),
            p99_ns: rank(99).copied().filter(|_| took_ns.len() >= FEWEST),
            max_ns: longest_ns,
            other_clients: 0,
        })
    }

    /// Both together.
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

/// Datagrams, as their senders and receivers counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// Sent by the measured end.
    pub sent: u64,
    /// Arrived where they should: at the other end, or (of round trips) back again.
    pub arrived: u64,
    /// Never arrived, or not before their time was up.
    pub lost: u64,
    /// Arrived after their time was up.
    pub late: u64,
    /// Arrived once more.
    pub duplicate: u64,
    /// Arrived after one that was sent later.
    pub reordered: u64,
    /// Datagrams that told the other end that there were no more, until it said that it knew.
    pub end_markers: u64,
}

impl ChannelObservation {
    /// What two workers saw: counts are added, and what the system made is the first one's word.
    #[must_use]
    pub fn merged_with(self, other: ChannelObservation) -> ChannelObservation {
        ChannelObservation {
            datagrams: match (self.datagrams, other.datagrams) {
                (Some(one), Some(more)) => Some(one.merged_with(more)),
                (one, more) => one.or(more),
            },
            verified: self.verified + other.verified,
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
    /// Both together.
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
    fn quantiles_are_of_a_worker_and_go_where_several_are_told_of_together() {
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
