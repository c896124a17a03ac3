//! NUMA nodes: on which node pages are, moving them to another one, and the policy by which nodes
//! are chosen for new pages.

use std::fs;
use std::ops::RangeInclusive;

use crate::kernel::errno::raw_result;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::{Errno, arch};

/// Of move_pages(2): pages that no other process maps are moved (`MPOL_MF_MOVE`).
const MOVE: u64 = 1 << 1;

/// The nodes that a mask of one word can name.
const MAX_NODES: u32 = u64::BITS;

/// The nodes whose memory this process may use, as bits; node 0 if the kernel does not say so.
pub fn allowed_nodes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    let with_memory = fs::read_to_string("/sys/devices/system/node/has_memory");
    let with_memory = with_memory.as_deref().map_or(u64::MAX, mask_of_list);
    match allowed.map_or(0, mask_of_list) & with_memory {
        0 => 1,
        nodes => nodes,
    }
}

/// The bits of a list such as `0-3,8`; those that can be read, and that a word has room for.
fn mask_of_list(list: &str) -> u64 {
    let numbers = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    let bits = |range: RangeInclusive<u32>| -> u64 {
        let nodes = (0..MAX_NODES).filter(|node| range.contains(node));
        nodes.fold(0u64, |bits, node| bits | 1u64 << node)
    };
    numbers.fold(0u64, |mask, range| mask | bits(range))
}

/// The first two nodes whose memory this process may use, if there are two.
pub fn two_nodes() -> Option<[u32; 2]> {
    let nodes = allowed_nodes();
    let first = nodes.trailing_zeros();
    // Without the lowest bit.
    let rest = nodes & (nodes - 1);
    (rest != 0).then(|| [first, rest.trailing_zeros()])
}

/// Pages of this process, and the lists by which move_pages(2) names them.
pub struct PlacedPages {
    _region: Region,
    addresses: Vec<u64>,
    nodes: Vec<i32>,
    status: Vec<i32>,
}

impl PlacedPages {
    /// Maps `pages` pages, each of which is present.
    pub fn new(pages: usize) -> Result<Self, Errno> {
        let region = Region::anonymous(pages * PAGE_BYTES, PageKind::Small)?;
        region.touch_all(Access::Write);
        let base = region.address() as u64;
        let addresses = (0..pages).map(|page| base + (page * PAGE_BYTES) as u64).collect();
        Ok(Self { _region: region, addresses, nodes: vec![0; pages], status: vec![0; pages] })
    }

    /// move_pages(2) without nodes: asks on which node each page is. The answer about the last page
    /// is checked.
    #[inline(always)]
    pub fn ask(&mut self) -> Result<(), Errno> {
        if let Some(last) = self.status.last_mut() {
            *last = -1;
        }
        self.call(0, 0)?;
        match self.status.last() {
            Some(0..) => Ok(()),
            Some(&error) => Err(Errno(-error)),
            None => Err(Errno::EINVAL),
        }
    }

    /// move_pages(2) of all pages to a node. A result of 0 does not say that all have moved: see
    /// [`Self::are_all_on`].
    #[inline(always)]
    pub fn move_to(&mut self, node: u32) -> Result<(), Errno> {
        self.nodes.fill(node as i32);
        self.call(self.nodes.as_ptr() as u64, MOVE)
    }

    /// Whether every page is on this node.
    pub fn are_all_on(&mut self, node: u32) -> Result<bool, Errno> {
        self.ask()?;
        Ok(self.status.iter().all(|&found| found == node as i32))
    }

    #[inline(always)]
    fn call(&mut self, nodes: u64, flags: u64) -> Result<(), Errno> {
        let count = self.addresses.len() as u64;
        let (addresses, status) = (self.addresses.as_ptr() as u64, self.status.as_mut_ptr() as u64);
        // SAFETY: the kernel reads as many addresses, and nodes if there are any, as the lists
        // have, and writes as many statuses; moving a page keeps its address and content.
        let done = raw_result(unsafe {
            arch::syscall(libc::SYS_move_pages, [0, count, addresses, nodes, status, flags])
        })?;
        // Otherwise the number of pages that were not moved.
        if done == 0 { Ok(()) } else { Err(Errno::EBUSY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_nodes_becomes_the_bits_of_a_mask() {
        for (list, mask) in [
            ("0\n", 1),
            ("\t0-3,8\n", 0b1_0000_1111),
            ("", 0),
            ("1,x,3-2", 2),
            ("62-70", 0b11 << 62),
            ("0-63", u64::MAX),
        ] {
            assert_eq!(mask_of_list(list), mask, "{list}");
        }
    }

    #[test]
    fn each_page_is_on_a_node_of_this_process() {
        assert_ne!(allowed_nodes(), 0);
        let mut pages = PlacedPages::new(17).unwrap();
        match pages.ask() {
            Err(error) if error.is_unavailable() => return eprintln!("cannot run here: {error}"),
            asked => assert_eq!(asked, Ok(())),
        }
        assert!(pages.status.iter().all(|&node| (0..64).contains(&node)), "{:?}", pages.status);
        let Some([one, other]) = two_nodes() else { return eprintln!("there is one node") };
        for node in [other, one] {
            assert_eq!(pages.move_to(node), Ok(()));
            assert_eq!(pages.are_all_on(node), Ok(true));
        }
    }
}
