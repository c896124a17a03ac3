//! Sockets: the calls on them, listeners that admit one authenticated peer, several listeners at
//! one port, the control stream between two peers, netlink, and devices of private networks.

pub mod control_stream;
pub(in crate::kernel) mod device;
pub mod messages;
pub mod netlink;
pub mod private_network;
pub mod reuseport;
pub mod socket;
pub mod token_listener;
pub mod unconnected;
pub mod zerocopy;
