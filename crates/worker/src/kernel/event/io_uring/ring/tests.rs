use super::*;

#[test]
fn every_no_op_is_completed_once_with_its_own_number_and_no_error() {
    let mut ring = match Ring::new(32) {
        Ok(ring) => ring,
        Err(error) => {
            eprintln!("cannot run here: io_uring_setup: {error}");
            return;
        }
    };
    let mut expected = 0;
    for batch in [1u64, 32, 7, 32, 32, 1].iter().cycle().take(300) {
        let queued: Result<(), Errno> = (0..*batch).try_for_each(|_| ring.queue_no_op());
        assert_eq!(queued.and_then(|()| ring.submit()), Ok(()));
        expected += batch;
        assert_eq!(ring.completion_count(), expected);
        // Nothing is left over: the kernel has moved as many bytes as it accepted.
        // SAFETY: both words are inside the mapping.
        let (head, tail) =
            unsafe { (ring.completion_head.as_ref(), ring.completion_tail.as_ref()) };
        assert_eq!(head.load(Ordering::Relaxed), tail.load(Ordering::Relaxed));
        assert_eq!(u64::from(tail.load(Ordering::Relaxed)), expected);
    }
}

#[test]
fn a_full_ring_and_a_wrong_completion_are_errors() {
    let Ok(mut ring) = Ring::new(4) else { return };
    assert_eq!((0..4).try_for_each(|_| ring.queue_no_op()), Ok(()));
    assert_eq!(ring.queue_no_op(), Err(Errno(libc::EBUSY)));
    // SAFETY: the entry is inside the mapping, and the kernel does not know it yet.
    unsafe { (*ring.submissions.as_ptr()).user_data = 99 };
    assert_eq!(ring.submit(), Err(Errno::EPROTO));
}
