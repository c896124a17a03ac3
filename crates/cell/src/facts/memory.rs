//! Memory, its pages and nodes.

use oscost_model::facts::Memory;

use super::{Roots, parse, reader};

/// The key of the page size in the auxiliary vector (`AT_PAGESZ` of elf.h).
const AT_PAGESZ: usize = 6;

/// What meminfo, the auxiliary vector and sysfs say of memory.
pub(super) fn gather(roots: &Roots) -> Memory {
    let meminfo = reader::lines(&roots.at("proc/meminfo")).unwrap_or_default();
    let huge = |name| reader::chosen(&roots.at("sys/kernel/mm/transparent_hugepage").join(name));
    let nodes = reader::list(&roots.at("sys/devices/system/node/online"));
    Memory {
        total_kib: parse::kib(&meminfo, "MemTotal"),
        swap_total_kib: parse::kib(&meminfo, "SwapTotal"),
        page_bytes: reader::binary(&roots.at("proc/self/auxv")).and_then(|auxv| page_bytes(&auxv)),
        huge_page_kib: parse::kib(&meminfo, "Hugepagesize"),
        transparent_huge_pages: huge("enabled"),
        transparent_huge_page_defrag: huge("defrag"),
        numa_nodes: nodes.and_then(|nodes| u32::try_from(nodes.len()).ok()),
    }
}

/// The auxiliary vector is pairs of machine words in this process's own byte order.
fn page_bytes(auxv: &[u8]) -> Option<u64> {
    let (words, _) = auxv.as_chunks::<{ size_of::<usize>() }>();
    let (pairs, _) = words.as_chunks::<2>();
    let page_size = pairs.iter().find(|[key, _]| usize::from_ne_bytes(*key) == AT_PAGESZ)?;
    u64::try_from(usize::from_ne_bytes(page_size[1])).ok().filter(|bytes| bytes.is_power_of_two())
}
