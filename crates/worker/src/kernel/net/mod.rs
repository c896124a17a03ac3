//! Sockets: the calls on them, listeners that admit one authenticated peer, several listeners at
//! one port, the control stream between two peers, and netlink.

pub mod control_stream;
pub mod messages;
pub mod netlink;
pub mod reuseport;
pub mod socket;
pub mod token_listener;
pub mod unconnected;
