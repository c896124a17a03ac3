//! bpf(2): maps and programs, as a program that manages them uses them.

use std::time::Duration;

use super::prelude::*;
use crate::kernel::probe::bpf_objects::{
    Map, MapKind, SocketFilter, create_and_close, try_to_create,
};

mod attach;

pub(super) const FAMILY: Family =
    Family { name: "bpf", about: "eBPF maps and programs, by bpf(2)", benches: BENCHES };

const KIND: Axis = Axis {
    name: "kind",
    sets: "kind of the map: an array, or a hash table with preallocated entries",
    points: Points::Words(&["array", "hash"]),
    default_points: Points::Words(&["array", "hash"]),
};

/// CAP_BPF since Linux 5.8, before it CAP_SYS_ADMIN.
const NEEDS: &[Need] = &[Need::capability(Capability::Bpf), Need::capability(Capability::SysAdmin)];

/// How many maps are created before the kernel is given time to free them.
const BATCH_OF_MAPS: u64 = 128;
/// Many times what a kworker takes to free a batch of maps, once it runs.
const TIME_TO_FREE: Duration = Duration::from_millis(5);

/// The defaults of this family.
const DEFAULTS: Bench = Bench { needs: NEEDS, in_price_list: false, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "bpf/map-lookup",
        asks: "What does reading an entry of an eBPF map cost from user space?",
        op: "BPF_MAP_LOOKUP_ELEM by bpf(2) of an entry that exists, in a map of 64 entries with \
             keys of 4 and values of 8 bytes; the value is compared with what was written. Not \
             included: creating the map, and writing the entry.",
        expected: "250 ns, hash 20 ns more",
        why: "The lookup itself takes some ns, and in a program it is nothing else. From user \
              space the call copies its attribute and the key in, allocates buffers for key and \
              value, and copies the value out.",
        calls: &[exactly("bpf", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[KIND],
        source: "bpf(2); kernel/bpf/syscall.c: map_lookup_elem",
        build: |params| {
            let map = Map::new(kind(params))?;
            Ok(Work::with_loop(move || map.look_up()))
        },
        ..DEFAULTS
    },
    Bench {
        id: "bpf/map-update",
        asks: "What does writing an entry of an eBPF map cost from user space?",
        op: "BPF_MAP_UPDATE_ELEM by bpf(2) of an entry that exists, in a map of 64 entries with \
             keys of 4 and values of 8 bytes. Not included: creating the map.",
        expected: "array 250 ns, hash 330",
        why: "As bpf/map-lookup, with the copy in the other direction. An array's entry is \
              overwritten in place; in a hash table a new element takes the place of the old one \
              under the lock of its bucket, while readers may still use that.",
        calls: &[exactly("bpf", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[KIND],
        source: "bpf(2); kernel/bpf/syscall.c: map_update_elem",
        build: |params| {
            let map = Map::new(kind(params))?;
            Ok(Work::with_loop(move || map.update()))
        },
        ..DEFAULTS
    },
    Bench {
        id: "bpf/map-delete",
        asks: "What do an insertion into an eBPF hash map and a deletion from it cost?",
        op: "BPF_MAP_UPDATE_ELEM by bpf(2) of an entry that does not exist, and \
             BPF_MAP_DELETE_ELEM of it, in a hash map of 64 entries with keys of 4 and values of \
             8 bytes. Not included: creating the map. No array can delete.",
        expected: "570 ns for both calls",
        why: "Elements are preallocated: an insertion takes one from a free list of the CPU, a \
              deletion returns it.",
        calls: &[exactly("bpf", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        source: "bpf(2); kernel/bpf/hashtab.c",
        build: |_| {
            let map = Map::new(MapKind::Hash)?;
            map.delete()?;
            Ok(Work::with_loop(move || map.update().and_then(|()| map.delete())))
        },
        ..DEFAULTS
    },
    Bench {
        id: "bpf/map-create",
        asks: "What does creating an eBPF map cost?",
        op: "BPF_MAP_CREATE by bpf(2) of a map of 64 entries with keys of 4 and values of 8 bytes, \
             and close(2) of it. The kernel frees a closed map later, in a workqueue, on a CPU of \
             its choice; before each batch it is given 5 ms for that. Not included: that time.",
        expected: "array 3 us, hash 12",
        why: "Memory is allocated for the map and all of its entries, and charged to the memory \
              cgroup; the map gets an id and an open file. A hash table also allocates a lock per \
              bucket and a free list per CPU.",
        calls: &[exactly("bpf", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        axes: &[KIND],
        // The kernel's thread that frees the maps of the batch may interrupt it.
        switches: true,
        source: "bpf(2); kernel/bpf/syscall.c: map_create, bpf_map_free_deferred",
        build: |params| {
            let kind = kind(params);
            try_to_create(kind)?;
            let work = Work::with_loop(move || create_and_close(kind));
            let wait = |_| {
                std::thread::sleep(TIME_TO_FREE);
                Ok(())
            };
            Ok(work.with_preparation(wait).with_max_batch_ops(BATCH_OF_MAPS))
        },
        ..DEFAULTS
    },
    Bench {
        id: "bpf/test-run",
        asks: "What does one run of an eBPF program by BPF_PROG_TEST_RUN cost?",
        op: "BPF_PROG_TEST_RUN by bpf(2), once (repeat=1), of an empty socket filter on a packet \
             of 64 bytes; its result is checked. Not included: loading and compiling the program.",
        expected: "3 us",
        why: "The program itself is two instructions. For one run the kernel builds what it would \
              run on: it allocates a packet buffer and a socket, copies the packet in, and frees \
              all of it. So a test run does not show what a program costs, unless it repeats it.",
        calls: &[exactly("bpf", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        source: "bpf(2); net/bpf/test_run.c: bpf_prog_test_run_skb",
        build: |_| {
            let filter = SocketFilter::load()?;
            Ok(Work::with_loop(move || filter.run()))
        },
        ..DEFAULTS
    },
    attach::ATTACH,
];

fn kind(params: Params<'_>) -> MapKind {
    match params.word("kind") {
        "hash" => MapKind::Hash,
        _ => MapKind::Array,
    }
}
