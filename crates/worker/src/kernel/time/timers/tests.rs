use super::*;
use crate::kernel::process::in_own_process;

fn left_of_own_timer() -> i64 {
    let mut left = [0i64; 4];
    // SAFETY: the kernel writes one itimerval.
    unsafe { libc::getitimer(libc::ITIMER_REAL, left.as_mut_ptr().cast()) };
    left[2]
}

#[test]
fn what_is_armed_is_far_away_and_is_disarmed_when_it_is_dropped() {
    in_own_process(|| {
        for make in [TimeCall::getitimer, TimeCall::setitimer, TimeCall::alarm] {
            let Ok(call) = make() else { continue }; // aarch64 has no alarm(2).
            call.make().unwrap();
            assert!(left_of_own_timer() > EXPIRY_S - 3_600, "it might run out in a worker");
            drop(call);
            assert_eq!(left_of_own_timer(), 0, "it is still armed");
        }
        let call = TimeCall::timer_gettime().unwrap();
        let timer = call.arguments[0].get() as i32;
        assert!(call.now_ns().unwrap() < 0, "what is left counts up to 0");
        drop(call);
        assert!(set_posix_timer(timer).is_err(), "the timer is still there");
    });
}

#[test]
fn a_fork_arms_its_timers_anew() {
    in_own_process(|| {
        let calls = [TimeCall::getitimer().unwrap(), TimeCall::timer_gettime().unwrap()];
        in_own_process(|| {
            for call in &calls {
                call.arm().unwrap();
                assert!(call.now_ns().unwrap() < 0, "nothing is left of it");
            }
        });
    });
}

#[test]
fn timers_move_on_and_none_of_them_goes_back() {
    in_own_process(|| {
        let timers = [
            TimeCall::gettimeofday(),
            TimeCall::times(),
            TimeCall::times_into_buffer(),
            TimeCall::getrusage(),
            TimeCall::getitimer().unwrap(),
            TimeCall::timer_gettime().unwrap(),
            TimeCall::timerfd_gettime().unwrap(),
            TimeCall::clock_gettime(ClockId::MONOTONIC_RAW),
        ];
        let begun = timers.each_ref().map(|timer| timer.now_ns().unwrap());
        let start = gettime(ClockId::MONOTONIC_RAW).unwrap();
        while gettime(ClockId::MONOTONIC_RAW).unwrap() - start < 25_000_000 {}
        for (timer, begun) in timers.iter().zip(begun) {
            let now = timer.now_ns().unwrap();
            assert!(now > begun, "call {}: {begun}, then {now}", timer.number);
        }
    });
}

#[test]
fn every_call_reads_the_same_real_time() {
    let realtime = || gettime(ClockId(libc::CLOCK_REALTIME)).unwrap() as i64;
    for timer in [TimeCall::gettimeofday(), TimeCall::adjtimex().unwrap()] {
        let (before, reported, after) = (realtime(), timer.now_ns().unwrap(), realtime());
        assert!(
            before / 1_000 <= reported / 1_000 && reported <= after,
            "{before} {reported} {after}"
        );
    }
}

#[test]
fn no_call_sets_the_clock() {
    in_own_process(|| {
        TimeCall::clock_settime_invalid().make().unwrap();
        TimeCall::clock_settime_unprivileged().unwrap().make().unwrap();
    });
}

#[test]
fn an_unexpected_result_is_an_error() {
    let call = TimeCall { answers: 7..=7, ..TimeCall::times() };
    assert_eq!(call.make(), Err(Errno(libc::ERANGE)));
    let call = TimeCall::clock_gettime(ClockId(99));
    assert_eq!(call.make(), Err(Errno::EINVAL));
}
