//! What a cell saw of the channel that its ops went through.

use serde::{Deserialize, Serialize};

/// A channel between two ends, as the system made it: nothing of it was set unless an axis says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelSeen {
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
    pub strangers: u64,
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
    pub ends: u64,
}

impl ChannelSeen {
    /// What two cells saw: counts are added, and what the system made is the first one's word.
    #[must_use]
    pub fn and(self, other: ChannelSeen) -> ChannelSeen {
        ChannelSeen {
            datagrams: match (self.datagrams, other.datagrams) {
                (Some(one), Some(more)) => Some(one.and(more)),
                (one, more) => one.or(more),
            },
            verified: self.verified + other.verified,
            strangers: self.strangers + other.strangers,
            ..self
        }
    }
}

impl Datagrams {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Datagrams) -> Datagrams {
        Datagrams {
            sent: self.sent + other.sent,
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
            late: self.late + other.late,
            duplicate: self.duplicate + other.duplicate,
            reordered: self.reordered + other.reordered,
            ends: self.ends + other.ends,
        }
    }
}
