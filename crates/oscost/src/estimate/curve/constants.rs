//! Constants of the system and of a channel that may explain a break.

use std::collections::BTreeMap;

use oscost_model::channel::ChannelObservation;
use oscost_model::record::Machine;

use super::number_format::bytes;

/// The most that an IPv4 datagram carries: 65,535 bytes less the headers of IP and UDP.
const MAX_DATAGRAM_BYTES: u64 = 65_507;

/// A constant of the system.
#[derive(Debug, PartialEq)]
pub(super) struct Constant {
    pub(super) bytes: u64,
    pub(super) name: &'static str,
}

/// All add constants of a machine and of the channels of some rows.
pub(super) fn constants<'a>(
    channels: impl Iterator<Item = &'a ChannelObservation>,
    machine: Option<&Machine>,
) -> Vec<Constant> {
    // The same constant of several rows is listed once.
    let mut found: BTreeMap<(u64, u8), &'static str> = BTreeMap::new();
    let mut add = |bytes: Option<u64>, rank: u8, name: &'static str| {
        if let Some(bytes) = bytes.filter(|&bytes| bytes > 0) {
            found.insert((bytes, rank), name);
        }
    };
    for channel in channels {
        add(channel.capacity_bytes, 0, "the channel's capacity");
        add(channel.pipe_buf_bytes, 1, "PIPE_BUF");
        add(channel.send_buffer_bytes, 2, "the send buffer");
        add(channel.receive_buffer_bytes, 3, "the receive buffer");
        add(channel.mtu_bytes, 4, "the MTU");
        add(channel.segment_bytes, 5, "a segment");
        add(channel.datagrams.map(|_| MAX_DATAGRAM_BYTES), 6, "the largest datagram");
    }
    if let Some(machine) = machine {
        add(machine.memory.page_bytes, 7, "a page");
        add(machine.memory.huge_page_kib.map(|kib| kib << 10), 8, "a huge page");
        let caches = machine.caches.iter().filter(|it| it.kind.as_deref() != Some("Instruction"));
        for cache in caches {
            // A copy has its bytes in the cache twice, as source and as destination: the cache is
            // full at half its size.
            let size = cache.size_kib.map(|kib| kib << 10);
            let (rank, whole, half) = match cache.level {
                Some(1) => (9, "L1d", "half of L1d"),
                Some(2) => (10, "L2", "half of L2"),
                Some(3) => (11, "L3", "half of L3"),
                _ => continue,
            };
            add(size, rank, whole);
            add(size.map(|size| size / 2), rank + 3, half);
        }
    }
    found.into_iter().map(|((bytes, _), name)| Constant { bytes, name }).collect()
}

/// The constants inside an interval, the nearest to `at` first, each with its size.
pub(super) fn constants_in(constants: &[Constant], at: u64, interval: [u64; 2]) -> Vec<String> {
    let [first, last] = interval;
    let mut inside: Vec<&Constant> =
        constants.iter().filter(|it| (first..=last).contains(&it.bytes)).collect();
    let distance = |it: &Constant| (it.bytes as f64 / at.max(1) as f64).ln().abs();
    inside.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    inside.iter().map(|it| format!("{} ({})", it.name, bytes(it.bytes as f64))).collect()
}
