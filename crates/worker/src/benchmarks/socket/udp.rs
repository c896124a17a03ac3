//! Datagrams that may be lost: UDP, as study cs736-2019 measures it and beyond.
//!
//! Each datagram begins with a number of 4 bytes. A message larger than a datagram is split into as
//! few as possible, of equal size as far as possible, and is complete when all have arrived. Lost,
//! late, duplicate and reordered datagrams are counted and never become a sample.
//!
//! Both ends receive datagrams only: an empty one announces a message on the reliable control
//! stream. So nothing but the message is transferred in an op.

mod body;
mod client;
mod datagram;
mod link;
mod peer;

pub(super) use body::{one_way, round_trips, throughput};
pub(super) use link::serve;
