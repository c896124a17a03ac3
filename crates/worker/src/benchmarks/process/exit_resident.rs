//! The exit of a process that has touched memory.

use super::super::prelude::*;
use super::children::exit_resident;
use super::parents::{CLOCK_CALLS, LIBC_CALLS, TOUCHED};
use crate::bench::PointFilter;

/// Where a child maps memory of its own.
const ANONYMOUS: PointFilter = &[("backing", "anonymous")];

pub(super) const EXIT_RESIDENT: Bench = Bench {
    id: "process/exit-resident",
    asks: "What does the memory that a process has touched add to its exit?",
    op: "_exit(2) of a child that has touched `touched_mib` MiB, from a clock read by the child \
         before it to one by the parent, which sleeps in waitid(2) for the child without \
         reaping it (WNOWAIT) and is woken. With backing=anonymous the child has mapped and \
         written memory of its own; with backing=file it has read each page of a private \
         mapping of a file in memory (memfd_create(2)), which its parent has not touched. Not \
         included: fork(), mmap(2) and the touches before, and the child's wait until its \
         parent has announced that it goes to sleep; wait4(2) after.",
    expected: "some 30 us, and some 15 us per MiB: 256 pages are taken off their table, \
               uncharged and freed one by one",
    why: "In `process/exit` the written memory is the parent's, and the child frees the copies \
          of its page tables alone. Here each page has this one owner and goes back to the \
          allocator: first to the lists of the CPU, and from these in batches to the zone. The \
          parent is woken only when that is done, as is everyone who waits for the exit of a \
          large program. With huge pages it would be a fraction: one entry for 512 pages. A \
          page of a file stays in memory: its entry is cleared, and its counts of mappings and \
          references are lowered. So are the pages of its program's libraries that a process \
          has mapped, at its exit and at each execve(2).",
    calls: &[
        exactly("clone", 1),
        exactly("mmap", 1).when(ANONYMOUS),
        exactly("madvise", 1).when(ANONYMOUS),
        exactly("exit_group", 1),
        exactly("waitid", 1),
        exactly("wait4", 1),
        up_to("sched_yield", 1_000),
        LIBC_CALLS,
        CLOCK_CALLS,
    ],
    floor: &[at_least(1, NULL_CALL)],
    compare_with: &["process/exit:touched_mib=0"],
    axes: &[
        Axis {
            sets: "MiB that the child touches, in base pages",
            points: Points::Numbers(&[1, 64, 256]),
            default_points: Points::Numbers(&[1, 64]),
            ..TOUCHED
        },
        Axis {
            name: "backing",
            sets: "what the child touches: anonymous memory, which it writes, or a private \
                   mapping of a file, which it reads",
            points: Points::Words(&["anonymous", "file"]),
            default_points: Points::Implied("anonymous"),
        },
    ],
    in_price_list: false,
    switches: true,
    source: "_exit(2), waitid(2); exit_mmap in mm/mmap.c",
    build: exit_resident,
    ..Bench::DEFAULT
};
