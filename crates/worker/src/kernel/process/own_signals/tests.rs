//! A signal has the effect that it should, and nothing of it is left.

use super::*;
use crate::kernel::process::in_own_process;

/// The address of the handler of a signal, and the blocked signals.
fn state(signal: i32) -> (usize, u64) {
    let mut mask = 0u64;
    // SAFETY: all-zero bits are a valid action, which is written, as is one set.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        let args = [0, 0, &raw mut mask as u64, SET_BYTES, 0, 0];
        assert_eq!(arch::syscall(libc::SYS_rt_sigprocmask, args), 0);
        (action.sa_sigaction, mask)
    }
}

#[test]
fn every_handler_runs_once_for_each_signal_and_on_its_stack() {
    in_own_process(|| {
        let before = state(SIGNAL);
        for kind in [
            HandlerKind::Plain,
            HandlerKind::WithInfo,
            HandlerKind::AlternateStack,
            HandlerKind::NotDeferred,
        ] {
            let handled = HandledSignal::install(kind).unwrap();
            let already = handler_runs();
            for sent in 1..=100 {
                assert_eq!(handled.send(), Ok(()), "{kind:?}");
                assert_eq!(handler_runs(), already + sent, "{kind:?}");
            }
            assert!(handled.ran_where_it_should(), "{kind:?}");
            drop(handled);
            assert_eq!(state(SIGNAL), before, "{kind:?}");
        }
    });
}

#[test]
fn a_handler_on_the_usual_stack_is_not_on_the_alternate_one() {
    in_own_process(|| {
        let handled = HandledSignal::install(HandlerKind::Plain).unwrap();
        handled.send().unwrap();
        let stack = AlternateStack::install().unwrap();
        assert!(!stack.contains(FRAME.with(|last| last.load(Ordering::Relaxed))));
    });
}

#[test]
fn a_queued_signal_arrives_with_its_value_by_either_path() {
    in_own_process(|| {
        let mut queued = QueuedSignal::install().unwrap();
        for sent in 1..=50 {
            assert_eq!(queued.send(), Ok(()));
            assert_eq!(VALUE.with(|last| last.load(Ordering::Relaxed)), 2 * sent - 1);
            assert_eq!(queued.send_by_library(), Ok(()));
            assert_eq!(VALUE.with(|last| last.load(Ordering::Relaxed)), 2 * sent);
        }
        let already = handler_runs();
        assert_eq!(queued.check_received(already), Err(Errno::EPROTO), "none was sent");
    });
}

#[test]
fn a_blocked_signal_is_fetched_once_and_its_handler_never_runs() {
    in_own_process(|| {
        let before = state(SIGNAL);
        let blocked = BlockedSignal::new().unwrap();
        let already = handler_runs();
        assert_eq!(blocked.fetch(), Err(Errno::EAGAIN));
        for _ in 0..10 {
            assert_eq!(blocked.send_to_process().and_then(|()| blocked.fetch()), Ok(()));
            assert_eq!(blocked.send_to_thread().and_then(|()| blocked.fetch()), Ok(()));
            assert_eq!(blocked.fetch(), Err(Errno::EAGAIN));
        }
        // Pending for the process and for the thread: neither is left.
        blocked.send_to_process().unwrap();
        blocked.send_to_thread().unwrap();
        drop(blocked);
        assert_eq!((handler_runs(), state(SIGNAL)), (already, before));
    });
}

#[test]
fn a_descriptor_gives_the_signal_that_was_sent() {
    in_own_process(|| {
        let before = state(SIGNAL);
        let descriptor = SignalDescriptor::new().unwrap();
        for _ in 0..10 {
            assert_eq!(descriptor.send_and_read(), Ok(()));
            assert_eq!(descriptor.blocked.fetch(), Err(Errno::EAGAIN));
        }
        drop(descriptor);
        assert_eq!(state(SIGNAL), before);
    });
}

#[test]
fn an_ignored_signal_does_nothing_and_no_group_is_every_process() {
    in_own_process(|| {
        let before = state(IGNORED);
        let ignored = IgnoredSignal::new().unwrap();
        assert_eq!(ignored.send(), Ok(()));
        drop(ignored);
        assert_eq!(state(IGNORED), before);
        for not_a_child in [0, 1, u32::MAX] {
            assert_eq!(IgnoringGroup::of(not_a_child), Err(Errno::ESRCH));
        }
    });
}

#[test]
fn the_c_library_blocks_and_unblocks() {
    in_own_process(|| {
        let before = state(SIGNAL);
        assert_eq!(before.1 & SIGNAL_SET, 0, "it is not blocked");
        assert_eq!(LibrarySet::new().block_and_unblock(), Ok(()));
        assert_eq!(state(SIGNAL), before);
    });
}
