//! Memory, its pages and nodes.

use oscost_model::facts::Memory;

use crate::facts::hardware::dmi::Dmi;
use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// The key of the page size in the auxiliary vector (`AT_PAGESZ` of elf.h).
const AT_PAGESZ: usize = 6;

/// The virtio device id of the balloon, and the bit of its free page reporting feature
/// (`VIRTIO_ID_BALLOON`, `VIRTIO_BALLOON_F_REPORTING` of the kernel's headers).
const BALLOON: &str = "0x0005";
const REPORTING: usize = 5;

/// Memory, from meminfo, the auxiliary vector, sysfs and the firmware.
pub(in crate::facts) fn gather(roots: &Roots, firmware: Dmi) -> Memory {
    let meminfo = reader::lines(&roots.at("proc/meminfo")).unwrap_or_default();
    let huge = |name| reader::selected(&roots.at("sys/kernel/mm/transparent_hugepage").join(name));
    let nodes = reader::list(&roots.at("sys/devices/system/node/online"));
    Memory {
        total_kib: parse::kib(&meminfo, "MemTotal"),
        swap_total_kib: parse::kib(&meminfo, "SwapTotal"),
        page_bytes: reader::binary(&roots.at("proc/self/auxv")).and_then(|auxv| page_bytes(&auxv)),
        huge_page_kib: parse::kib(&meminfo, "Hugepagesize"),
        transparent_huge_pages: huge("enabled"),
        transparent_huge_page_defrag: huge("defrag"),
        numa_cpus: nodes.as_deref().and_then(|nodes| numa_cpus(roots, nodes)),
        numa_nodes: nodes.and_then(|nodes| u32::try_from(nodes.len()).ok()),
        swap_free_kib: parse::kib(&meminfo, "SwapFree"),
        free_page_reporting: free_page_reporting(roots),
        modules: firmware.modules,
        slots: firmware.slots,
        channels: firmware.channels,
    }
}

/// The CPUs of each node; `None` if those of one cannot be read.
fn numa_cpus(roots: &Roots, nodes: &[u32]) -> Option<Vec<Vec<u32>>> {
    let folder = roots.at("sys/devices/system/node");
    let cpus = |node: &u32| reader::list(&folder.join(format!("node{node}/cpulist")));
    nodes.iter().map(cpus).collect()
}

/// Whether the balloon, if there is one, has the feature; `features` has one character per bit.
fn free_page_reporting(roots: &Roots) -> Option<bool> {
    let folder = roots.at("sys/bus/virtio/devices");
    let is_balloon = |name: &String| {
        reader::value(&folder.join(name).join("device")).is_some_and(|device| device == BALLOON)
    };
    let balloon = reader::names(&folder).into_iter().find(is_balloon)?;
    let features = reader::value(&folder.join(balloon).join("features"))?;
    features.chars().nth(REPORTING).map(|bit| bit == '1')
}

/// The page size. The auxiliary vector is pairs of machine words in native byte order.
fn page_bytes(auxv: &[u8]) -> Option<u64> {
    let (words, _) = auxv.as_chunks::<{ size_of::<usize>() }>();
    let (pairs, _) = words.as_chunks::<2>();
    let page_size = pairs.iter().find(|[key, _]| usize::from_ne_bytes(*key) == AT_PAGESZ)?;
    u64::try_from(usize::from_ne_bytes(page_size[1])).ok().filter(|bytes| bytes.is_power_of_two())
}
