//! Constants of the system and of a channel that may explain a break.

use std::collections::BTreeMap;

use oscost_model::channel::ChannelObservation;
use oscost_model::record::Machine;

use super::number_format::bytes;

/// The most that an IPv4 datagram carries: 65,535 bytes less the headers of IP and UDP.
const MAX_DATAGRAM_BYTES: u64 = 65_507;

/// A constant: its bytes, and what it is called.
pub(super) type Constant = (u64, String);

/// All constants that are known of a machine and of what the channels of some rows were.
pub(super) fn constants<'a>(
    channels: impl Iterator<Item = &'a ChannelObservation>,
    machine: Option<&Machine>,
) -> Vec<Constant> {
    // The same constant from several rows is told once.
    let mut found: BTreeMap<(u64, u8), &str> = BTreeMap::new();
    let mut known = |bytes: Option<u64>, rank: u8, name: &'static str| {
        if let Some(bytes) = bytes.filter(|&bytes| bytes > 0) {
            found.insert((bytes, rank), name);
        }
    };
    for channel in channels {
        known(channel.capacity_bytes, 0, "the channel's capacity");
        known(channel.pipe_buf_bytes, 1, "PIPE_BUF");
        known(channel.send_buffer_bytes, 2, "the send buffer");
        known(channel.receive_buffer_bytes, 3, "the receive buffer");
        known(channel.mtu_bytes, 4, "the MTU");
        known(channel.segment_bytes, 5, "a segment");
        known(channel.datagrams.map(|_| MAX_DATAGRAM_BYTES), 6, "the largest datagram");
    }
    if let Some(machine) = machine {
        known(machine.memory.page_bytes, 7, "a page");
        known(machine.memory.huge_page_kib.map(|kib| kib << 10), 8, "a huge page");
        let caches = machine.caches.iter().filter(|it| it.kind.as_deref() != Some("Instruction"));
        for cache in caches {
            // Who copies holds the bytes twice in it, where they come from and where they go to: a
            // cache is full at half of its size.
            let size = cache.size_kib.map(|kib| kib << 10);
            let (rank, whole, half) = match cache.level {
                Some(1) => (9, "L1d", "half of L1d"),
                Some(2) => (10, "L2", "half of L2"),
                Some(3) => (11, "L3", "half of L3"),
                _ => continue,
            };
            known(size, rank, whole);
            known(size.map(|size| size / 2), rank + 3, half);
        }
    }
    found.into_iter().map(|((bytes, _), name)| (bytes, name.to_owned())).collect()
}

/// The constants inside an interval, the nearest to `at` first, each with its size.
pub(super) fn constants_in(constants: &[Constant], at: u64, interval: [u64; 2]) -> Vec<String> {
    let [first, last] = interval;
    let mut there: Vec<&Constant> =
        constants.iter().filter(|(bytes, _)| (first..=last).contains(bytes)).collect();
    let far = |bytes: u64| (bytes as f64 / at.max(1) as f64).ln().abs();
    there.sort_by(|one, other| far(one.0).total_cmp(&far(other.0)));
    there.iter().map(|(size, name)| format!("{name} ({})", bytes(*size as f64))).collect()
}
