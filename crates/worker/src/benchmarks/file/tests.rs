//! Properties of files that are read, written and copied.

use oscost_model::case::Case;

use crate::bench::{Context, Work};
use crate::benchmarks::find;
use crate::kernel::Errno;
use crate::kernel::process::in_own_process;

/// The work of a case; `None`, with a message, if this machine lacks something for it.
fn work(text: &str) -> Option<Work> {
    let case = Case::parse(text).unwrap();
    match find(&case.benchmark).unwrap().work(&case.point, Context::DEFAULT) {
        Ok(work) => Some(work),
        Err(Errno::UNAVAILABLE) => {
            eprintln!("skipped: {text}: {}", Errno::UNAVAILABLE);
            None
        }
        Err(error) => panic!("{text}: {error}"),
    }
}

/// A batch as the engine runs it.
fn run_batch(work: &mut Work, ops: u64) -> Result<(), Errno> {
    let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
    done.and_then(|()| work.verify()).map_err(|error| error.errno)
}

#[test]
fn every_way_to_read_returns_what_was_written_throughout_the_file() {
    for via in ["read", "fread", "mmap", "mapped", "pread", "readv", "io-uring"] {
        for size in [8, 512, 65_536] {
            let case = format!("file/read:via={via},size={size},cache=warm,file_mib=1");
            let Some(mut work) = work(&case) else { continue };
            assert_eq!(work.max_batch_ops(), (1 << 20) / size, "{case}");
            // Each batch begins by comparing the result of the last read of the previous one; with
            // 7 and 3 they end at varying positions, and rewind when a batch does not fit.
            for ops in [1, 7, 3, 7, 2].repeat(5) {
                assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
            }
            assert_eq!(run_batch(&mut work, (1 << 20) / size), Ok(()), "{case}: all of it");
            assert_eq!(work.prepare(1), Ok(()), "{case}: the last read");
            let observation = work.file_observation().unwrap();
            assert!(observation.checks >= 2 && !observation.cold, "{observation:?}");
            assert_eq!(
                (observation.min_cached, observation.max_cached),
                (256, 256),
                "{case}: warm"
            );
        }
    }
}

#[test]
fn a_pass_over_a_cold_file_counts_its_reads_and_verifies_that_it_was_cold() {
    for (via, size) in
        [("read", 4_096), ("fread", 64), ("mmap", 65_536), ("direct", 4_096), ("io-uring", 4_096)]
    {
        let case = format!("file/read:via={via},size={size},cache=cold,file_mib=1");
        let Some(mut work) = work(&case) else { continue };
        assert_eq!((work.max_batch_ops(), work.op_count()), (1, (1 << 20) / size), "{case}");
        for _ in 0..3 {
            assert_eq!(run_batch(&mut work, 1), Ok(()), "{case}");
        }
        assert_eq!(work.run(0, 1), Ok(()), "zero iterations read nothing");
        assert_eq!(work.prepare(1), Ok(()), "{case}: the last read is verified");
        let observation = work.file_observation().unwrap();
        assert_eq!(
            (observation.checks, observation.pages, observation.cold),
            (4, 256, true),
            "{case}"
        );
        assert_eq!((observation.min_cached, observation.max_cached), (0, 0), "{case}: cold");
    }
}

#[test]
fn a_pass_that_is_not_timed_can_be_shorter_and_then_whole_again() {
    for (via, cache) in [("read", "cold"), ("mmap", "cold"), ("fread", "cold")] {
        let case = format!("file/read:via={via},size=64,cache={cache},file_mib=1");
        let Some(mut work) = work(&case) else { continue };
        let all = (1 << 20) / 64;
        for (limit, reads) in [(1, 1), (0, 1), (100, 100), (all + 1, all), (u64::MAX, all)] {
            work.limit_op_count(limit);
            assert_eq!((work.op_count(), run_batch(&mut work, 1)), (reads, Ok(())), "{case}");
        }
        assert_eq!(work.file_observation().unwrap().max_cached, 0, "{case}: cold each time");
    }
    // A body with a fixed number of ops keeps it.
    let Some(mut work) = work("file/read:via=read,size=64,cache=warm,file_mib=1") else { return };
    work.limit_op_count(1);
    assert_eq!(work.op_count(), 1);
}

#[test]
fn written_data_arrives_throughout_the_file() {
    for via in ["write", "fwrite", "pwrite"] {
        for (size, onto) in [(8, "old"), (64, "new"), (4_096, "new"), (65_536, "old")] {
            let case = format!("file/write:via={via},size={size},onto={onto},file_mib=1");
            let Some(mut work) = work(&case) else { continue };
            let all = (1 << 20) / size;
            // A pass, split into batches that do not fit: the rewinds compare.
            for ops in [1, all / 3, all / 3, all / 3, all, all, 0, 5, all] {
                assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
            }
        }
        let case = format!("file/write-sync:via={via},size=64,sync=fdatasync,file_mib=1");
        let Some(mut work) = work(&case) else { continue };
        for ops in [1, 2, 3] {
            assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
        }
    }
}

#[test]
fn copied_data_arrives_by_every_call() {
    for via in ["read-write", "copy-file-range", "sendfile", "splice"] {
        for size in [4_096, 65_536, 1_048_576] {
            let case = format!("file/copy:via={via},size={size},file_mib=8");
            let Some(mut work) = work(&case) else { continue };
            let all = work.max_batch_ops();
            for ops in [1, all / 2, all / 2, all, 1] {
                assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
            }
        }
    }
}

#[test]
fn reading_more_than_a_file_holds_is_refused_before_a_byte_is_read() {
    let Some(mut work) = work("file/read:via=read,size=65536,cache=warm,file_mib=1") else {
        return;
    };
    assert_eq!(work.prepare(17).unwrap_err().errno, Errno::E2BIG);
    work.prepare(1).unwrap();
    assert_eq!(work.run(17, 1).unwrap_err().errno, Errno::E2BIG);
}

#[test]
fn a_random_order_visits_every_piece_once() {
    for pieces in [1, 2, 256, 4_096] {
        let mut order = super::body::scrambled_order(pieces);
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(at, &piece)| at == piece as usize), "{pieces}");
    }
}

/// In a process of its own, since it enters the control group.
#[test]
fn a_file_larger_than_its_control_group_is_observed_not_to_stay_cached() {
    in_own_process(|| {
        let cached = |share: u64| {
            let mut work = work(&format!("file/reread:limit_mib=64,share_pct={share}"))?;
            (0..3).for_each(|_| assert_eq!(run_batch(&mut work, 1), Ok(())));
            work.file_observation().map(|observation| (observation.min_cached, observation.pages))
        };
        let (Some((cached_quarter, all)), Some((cached_whole, of))) = (cached(25), cached(150))
        else {
            return;
        };
        assert_eq!(cached_quarter, all, "a quarter of the memory");
        assert!(
            cached_whole < of,
            "{cached_whole} of {of} pages are cached, of a file 1.5 times the limit"
        );
    });
}

#[test]
fn calls_on_the_state_of_a_file_and_moved_pages_are_repeatable_at_every_point() {
    for text in [
        "file/truncate:directory=tmpfs",
        "file/fallocate:size=4096,directory=tmpfs",
        "file/fallocate:size=1048576,directory=tmpfs",
        "file/sync:via=fsync,directory=tmpfs",
        "file/sync:via=sync-file-range,directory=tmpfs",
        "file/fadvise:size=1048576,directory=tmpfs",
        "file/chmod:via=fchown,directory=tmpfs",
        "file/statx:via=statx",
        "file/vectors:via=preadv,vectors=64",
        "file/sendfile:size=65536,directory=tmpfs",
        "file/splice:via=splice,size=65536",
        "file/splice:via=tee,size=65536",
        "file/splice:via=vmsplice,size=65536",
        "file/msync:wait=sync",
    ] {
        let Some(mut work) = work(text) else { continue };
        if let Some(reason) = work.unavailable_reason() {
            eprintln!("skipped: {text}: {reason}");
            continue;
        }
        for ops in [1, 2, 7] {
            assert_eq!(run_batch(&mut work, ops), Ok(()), "{text}");
        }
    }
}
