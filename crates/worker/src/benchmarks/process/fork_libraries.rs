//! Forks of a parent that has as many mappings as a program with libraries.

use kernel::memory::library_mappings::LibraryMappings;
use kernel::probe::mapping_count;
use kernel::process;
use kernel::process::spawn;

use super::super::prelude::*;
use super::limits::try_once;
use super::parents::{FORK_CALLS, FORK_EXIT};

pub(super) const FORK_LIBRARIES: Bench = Bench {
    id: "process/fork-libraries",
    asks: "What do the mappings of a program's libraries add to a fork?",
    op: "libc's fork(); _exit(2) at once in the child; waitpid(2) in the parent, which has \
         `mappings` mappings in all: its own, and as many as are missing like those of libraries. \
         These are private ones of two pages of a file in memory (memfd_create(2)), in turn a \
         read-only one that was read and a writable one that was written to. The child's exit \
         removes its copies. Not included: mapping and touching them.",
    expected: "80 us with 16 mappings, and 1 us more for each further one: 0.5 us where it was \
               read, 1.5 us where it was written to",
    why: "fork copies the description of each mapping (vm_area_struct), enters it into the child's \
          tree and, under a lock, into that of the file's mappings (dup_mmap). Of a mapping that \
          was only read it copies no page table entry: a fault of the child would find the page in \
          the page cache. One that was written to has pages of its own, for which the child gets a \
          list of owners that is linked with its parent's (anon_vma_fork), and whose entries are \
          copied and write-protected. The child's exit, or its execve(2), undoes all of that. A \
          program that is linked statically has some 12 mappings, dash(1) 24, bash(1) 35 and an \
          interpreter of Python 70: the bill charges their forks by this line.",
    calls: FORK_CALLS,
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &[FORK_EXIT],
    axes: &[Axis {
        name: "mappings",
        sets: "mappings of the parent in all",
        points: Points::Items("mapping", &Points::Numbers(&[16, 96])),
        default_points: Points::Numbers(&[16, 96]),
    }],
    needs: &[Need::readable("/proc/self/maps")],
    in_price_list: false,
    switches: true,
    source: "fork(2), mmap(2); dup_mmap in kernel/fork.c (mm/mmap.c), copy_page_range in \
             mm/memory.c, anon_vma_fork in mm/rmap.c",
    build: |params| {
        if params.context.cpu.is_none() {
            return Ok(unpinned_work());
        }
        let libraries = match libraries_up_to(params.number("mappings")) {
            Err(Errno::ENOMEM) => {
                return Ok(Work::unavailable(
                    "the kernel allows fewer mappings: raise vm.max_map_count, or RLIMIT_AS \
                     (`ulimit -v`)",
                ));
            }
            libraries => match libraries? {
                Libraries::Mapped(mappings) => mappings,
                Libraries::TooMany { own } => {
                    return Ok(Work::unavailable(format!(
                        "the worker has {own} mappings of its own already (one that is linked \
                         statically has 12): select more mappings"
                    )));
                }
            },
        };
        try_once(Work::with_loop(move || {
            let _mapped = &libraries;
            spawn::reap(process::fork(|| 0)?)
        }))
    },
    ..Bench::DEFAULT
};

/// What a process with a number of mappings in all has beside its own ones.
enum Libraries {
    Mapped(LibraryMappings),
    /// It has more of its own.
    TooMany {
        own: u64,
    },
}

/// Maps libraries until this process has so many mappings in all.
fn libraries_up_to(total: u64) -> Result<Libraries, Errno> {
    /// An allocation may have mapped memory meanwhile.
    const TRIES: u32 = 3;
    for _ in 0..TRIES {
        let own = own_mappings()?;
        let Some(missing) = total.checked_sub(own) else { return Ok(Libraries::TooMany { own }) };
        let mappings = LibraryMappings::new(missing as usize)?;
        if own_mappings()? == total {
            return Ok(Libraries::Mapped(mappings));
        }
    }
    Err(Errno::check_failed(format!(
        "the process has not {total} mappings: their number changes by itself"
    )))
}

fn own_mappings() -> Result<u64, Errno> {
    let counted = mapping_count::of_task(std::process::id());
    counted.ok_or_else(|| Errno::check_failed("/proc/self/maps cannot be read".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn a_process_has_as_many_mappings_as_the_axis_says_or_more_of_its_own() {
        in_own_process(|| {
            let own = own_mappings().unwrap();
            for total in [own + 1, own + 40] {
                let libraries = libraries_up_to(total).unwrap();
                assert!(matches!(libraries, Libraries::Mapped(_)));
                assert_eq!(own_mappings(), Ok(total));
                drop(libraries);
            }
            let refused = libraries_up_to(1).unwrap();
            assert!(matches!(refused, Libraries::TooMany { own } if own > 1));
        });
    }
}
