//! Datagrams that may be lost: UDP, as study cs736-2019 measures it and beyond.
//!
//! Each datagram begins with a number of 4 bytes. A message that one datagram does not hold travels
//! in the fewest that do, as equal as may be, and has come when all have. What is lost, late,
//! duplicate or out of order is counted and is never a sample.
//!
//! Both ends listen to datagrams alone: an empty one says that there is something to hear on the
//! control stream, which knows no loss. So nothing but the message passes in an op.

mod datagram;
mod line;
mod own;
mod peer;

pub(super) use line::serve;
pub(super) use own::{one_way, round_trips, throughput};
