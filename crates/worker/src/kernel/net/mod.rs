//! Sockets: the calls on them, listeners that admit one authenticated peer, several listeners at
//! one port, and the control stream between two peers.

pub mod control_stream;
pub mod reuseport;
pub mod socket;
pub mod token_listener;
