//! Batches run on the kernel of the tests, where it has io_uring.

use super::*;

/// Runs a batch some times; returns whether this kernel has it.
fn runs(batch: Result<Batch, Errno>, per_batch: u64) -> bool {
    let Ok(mut batch) = batch else { return false };
    for number in 1..=100 {
        batch.run().unwrap();
        assert_eq!(batch.completed(), number * per_batch);
        assert_eq!(batch.ring.available_completions(), 0);
    }
    true
}

#[test]
fn every_operation_of_every_batch_is_completed_once() {
    if Ring::new(1).is_err() {
        return eprintln!("cannot run here: io_uring_setup(2) is refused");
    }
    for times in [1, 8, 64] {
        assert!(runs(Batch::of_no_ops(times, RingSetup::Plain), u64::from(times)));
        runs(Batch::of_no_ops(times, RingSetup::Deferred), u64::from(times));
        assert!(runs(Batch::of_polls(times), u64::from(times)));
    }
    for linked in [false, true] {
        assert!(runs(Batch::of_two_no_ops(linked), 2));
    }
    assert!(runs(Batch::of_timeout(TimeoutEnd::Over), 1));
    assert!(runs(Batch::of_timeout(TimeoutEnd::Removed), 2));
    // Of Linux 5.5.
    for end in [TimeoutEnd::Counted, TimeoutEnd::Linked, TimeoutEnd::LinkedOver] {
        assert!(runs(Batch::of_timeout(end), 2), "{end:?}");
    }
}

#[test]
fn transfers_move_what_is_in_the_file_by_every_kind_of_access() {
    if Ring::new(1).is_err() {
        return eprintln!("cannot run here: io_uring_setup(2) is refused");
    }
    for access in [FileAccess::Descriptor, FileAccess::FixedFile, FileAccess::FixedBuffer] {
        for (bytes, times) in [(1, 1), (4_096, 1), (4_096, 32)] {
            let mut batch = Batch::of_transfers(Transfer::Read, access, bytes, times).unwrap();
            batch.check_and_clear_buffer().unwrap_err();
            batch.run().unwrap();
            assert_eq!(batch.check_and_clear_buffer(), Ok(()), "{access:?} {bytes}");
            let written = Batch::of_transfers(Transfer::Write, access, bytes, times);
            assert!(runs(written, u64::from(times)));
        }
    }
}

#[test]
fn another_result_than_the_expected_one_is_an_error() {
    let Ok(mut batch) = Batch::of_polls(2) else { return };
    batch.templates[0].result = 0;
    assert_eq!(batch.run(), Err(Errno::EPROTO));
    for times in [1, 2] {
        let Ok(mut batch) = Batch::of_no_ops(times, RingSetup::Plain) else { return };
        // No kernel has this operation.
        batch.templates[0].entry.operation = 250;
        assert_eq!(batch.run(), Err(Errno::EINVAL));
    }
}
