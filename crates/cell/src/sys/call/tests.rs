use super::*;

#[test]
fn a_result_that_is_not_good_is_an_error() {
    let good = invalid().ready().make();
    assert_eq!(good, Ok(-i64::from(libc::ENOSYS)), "no kernel knows the call");
    // SAFETY: there is no such call.
    let unknown = unsafe { Call::new(65_535, &[]) };
    assert_eq!(unknown.ready().make(), Err(Errno::ENOSYS));
    // SAFETY: it takes no argument.
    let pid_0 = unsafe { Call::new(libc::SYS_getpid, &[]) };
    assert_eq!(pid_0.ready().make(), Err(Errno::EPROTO), "it came back with something else");
}

#[test]
fn what_a_call_points_to_lives_as_long_as_the_call() {
    let calls: Vec<Call> = [uname(), getcpu(), futex_wake()].into_iter().collect();
    for call in calls {
        assert_eq!(call.ready().make(), Ok(0));
    }
}

#[test]
fn a_pair_hands_on_what_the_first_call_gave() {
    for pair in [dup_close().unwrap(), mmap_munmap(), mprotect().unwrap()] {
        for _ in 0..100 {
            assert_eq!(pair.ready().make(), Ok(()));
        }
    }
}

#[test]
fn a_signal_to_oneself_runs_the_handler_exactly_once_each_time() {
    let handler = signal_to_oneself().unwrap();
    let before = handler.handled();
    for delivered in 1..=1_000 {
        assert_eq!(handler.deliver(), Ok(()));
        assert_eq!(handler.handled(), before + delivered);
    }
}

#[test]
fn a_folder_is_listed_whole_each_time() {
    let pair = getdents(crate::sys::files::Folder::new().unwrap()).unwrap();
    for _ in 0..3 {
        assert_eq!(pair.ready().make(), Ok(()));
        // The rest is empty: the one call has brought all.
        assert_eq!(pair.second.ready().make(), Err(Errno::EPROTO));
    }
}
