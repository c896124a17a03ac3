//! Resource limits are reported as reasons, not as failures.

use super::*;

#[test]
fn a_resource_limit_is_a_reason_with_a_way_out_and_not_a_failure() {
    for (limit, way_out) in [(Errno::EAGAIN, "ulimit -u"), (Errno::ENOMEM, "vm.overcommit_memory")]
    {
        let work = try_once(Work::with_loop(move || Err(limit))).unwrap();
        let reason = work.unavailable_reason().unwrap();
        assert!(reason.contains(way_out), "{reason}");
    }
    let failed = try_once(Work::with_loop(|| Err(Errno::ECHILD)));
    assert_eq!(failed.map(|_| ()), Err(Errno::ECHILD));
}

#[test]
fn a_file_that_is_open_for_writing_elsewhere_is_waited_for() {
    let mut attempts = 0;
    let work = try_once(Work::with_loop(move || {
        attempts += 1;
        if attempts < 3 { Err(Errno::ETXTBSY) } else { Ok(()) }
    }));
    assert_eq!(work.unwrap().unavailable_reason(), None);
}
