//! NUMA nodes: where pages are, moving them, and the policy for new ones.

use crate::kernel::memory::nodes::{PlacedPages, allowed_nodes, two_nodes};
use crate::kernel::memory::region::PAGE_BYTES;
use crate::kernel::syscall::prepared::{self, CallPair};

use super::super::prelude::*;
use super::body::touched_region;
use crate::bench::PointFilter;

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

pub(super) const MOVE_PAGES: Bench = Bench {
    id: "memory/move-pages",
    asks: "What does move_pages cost, which asks for the node of pages or moves them to another?",
    op: "move_pages(2) of `pages` pages of this process that are present. act=ask: without a list \
         of nodes, so that it answers on which node each page is; the answer about the last one is \
         checked. act=move: to the other of two nodes, and back in the next op (MPOL_MF_MOVE); the \
         case is skipped where this process may use the memory of one node only. Not included: \
         mapping and touching; asking after a batch whether all pages have arrived.",
    expected: "ask: 350 ns for a page, 60 ns more for each further one; move: 100 us for a page, 1 \
               us more for each further one",
    why: "To answer, the kernel copies addresses in, 16 at a time, finds the mapping and walks the \
          page table for each, and copies the answers out. Before it moves pages it takes those \
          back that CPUs keep in lists of their own: a grace period of RCU, and work on every CPU, \
          which cost the same for one page as for many. Then each page is allocated on the other \
          node, unmapped, copied and mapped again, and the TLBs of CPUs that run the program are \
          flushed.",
    calls: &[exactly("move_pages", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "act",
            sets: "whether the call asks where pages are, or moves them",
            points: Points::Words(&["ask", "move"]),
            default_points: Points::Words(&["ask", "move"]),
        },
        Axis {
            name: "pages",
            sets: "pages of 4 KiB, each of which is present",
            points: Points::Items("page", &Points::Numbers(&[1, 256])),
            default_points: Points::Numbers(&[1, 256]),
        },
    ],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    switches: true,
    source: "move_pages(2), numa(7); mm/migrate.c: do_pages_stat, do_pages_move; stress-ng numa",
    build: |params| {
        let pages = PlacedPages::new(params.number("pages") as usize)?;
        match params.word("act") {
            "ask" => ask(pages),
            _ => moves(pages),
        }
    },
    ..Bench::DEFAULT
};

/// Questions about pages.
fn ask(mut pages: PlacedPages) -> Result<Work, Errno> {
    match pages.ask() {
        Ok(()) => Ok(Work::with_loop(move || pages.ask())),
        Err(error) => refused("move_pages", error),
    }
}

/// A skipped row, if this kernel lacks the call or a filter forbids it.
fn refused(name: &str, error: Errno) -> Result<Work, Errno> {
    if error != Errno::UNAVAILABLE && error.is_unavailable() {
        return Ok(Work::unavailable(format!(
            "{name}(2) is refused here ({error}): by a filter of system calls, as in containers \
             without CAP_SYS_NICE, or since the kernel has no nodes (CONFIG_NUMA)"
        )));
    }
    or_unavailable(Err(error))
}

/// Pages that move between two nodes.
struct Moves {
    pages: PlacedPages,
    nodes: [u32; 2],
    /// On which of the two they are.
    at: usize,
}

fn moves(pages: PlacedPages) -> Result<Work, Errno> {
    let Some(nodes) = two_nodes() else {
        return Ok(Work::unavailable(
            "pages move between two nodes: this machine has the memory of one, or a cpuset allows \
             only one",
        ));
    };
    // Where they are now they need not move: the next op moves all.
    let mut moves = Moves { pages, nodes, at: 0 };
    match moves.pages.move_to(nodes[0]) {
        Ok(()) => Ok(Work::from_body(Shape::WithLoop, moves)),
        Err(error) => refused("move_pages", error),
    }
}

impl WorkBody for Moves {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.at ^= 1;
            let done = self.pages.move_to(self.nodes[self.at]);
            done.map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        if self.pages.are_all_on(self.nodes[self.at])? {
            return Ok(());
        }
        Err(Errno::check_failed("some pages have not moved to the other node".to_owned()))
    }
}

pub(super) const POLICY: Bench = Bench {
    id: "memory/policy",
    asks: "What do the calls cost by which a program chooses the nodes of its memory?",
    op: "by the raw instruction: call=get-mempolicy: get_mempolicy(2) for the mode of the \
         thread's policy; call=set-mempolicy: set_mempolicy(2) to the nodes that this process may \
         use (MPOL_BIND), and back to the default, two calls; call=mbind: the same by mbind(2) for \
         a mapping of 64 KiB that is present, two calls. No page is moved. Not included: mapping \
         and touching, and what a policy costs when pages are allocated.",
    expected: "get-mempolicy 120 ns; set-mempolicy 600 ns for both calls; mbind 1.2 us for both",
    why: "A policy is an object of the kernel: it is allocated, its nodes are cut down to those \
          that the cpuset allows, and the one before is freed. mbind also takes the lock of the \
          address space and splits or joins mappings. Run-times call these once per thread or \
          arena, so that the price matters less than where pages come from afterwards.",
    calls: &[
        exactly("get_mempolicy", 1).when(GET),
        exactly("set_mempolicy", 2).when(SET),
        exactly("mbind", 2).when(BIND),
    ],
    floor: &[
        at_least(1, KERNEL_ENTRY).when(GET),
        at_least(2, KERNEL_ENTRY).when(SET),
        at_least(2, KERNEL_ENTRY).when(BIND),
    ],
    axes: &[Axis {
        name: "call",
        sets: "the system call",
        points: Points::Words(&["get-mempolicy", "set-mempolicy", "mbind"]),
        default_points: Points::Words(&["get-mempolicy", "set-mempolicy", "mbind"]),
    }],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "get_mempolicy(2), set_mempolicy(2), mbind(2), numa(7); mm/mempolicy.c",
    build: |params| match params.word("call") {
        "get-mempolicy" => {
            let call = prepared::get_mempolicy();
            let made = call.ready().make();
            match made {
                Ok(_) => Ok(Work::raw(call)),
                Err(error) => refused("get_mempolicy", error),
            }
        }
        "set-mempolicy" => pair("set_mempolicy", prepared::set_mempolicy(allowed_nodes())),
        _ => {
            let region = touched_region(16 * PAGE_BYTES)?;
            pair("mbind", prepared::mbind(region, allowed_nodes()))
        }
    },
    ..Bench::DEFAULT
};

const GET: PointFilter = &[("call", "get-mempolicy")];
const SET: PointFilter = &[("call", "set-mempolicy")];
const BIND: PointFilter = &[("call", "mbind")];

/// Work of two calls, if they are permitted.
fn pair(name: &str, pair: CallPair) -> Result<Work, Errno> {
    let made = pair.ready().make();
    match made {
        Ok(()) => Ok(Work::raw_pair(pair)),
        Err(error) => refused(name, error),
    }
}
