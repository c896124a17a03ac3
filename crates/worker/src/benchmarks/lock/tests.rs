//! Properties of locks: an op leaves none behind, and changes none that is held.

use std::fs;

use oscost_model::case::Case;

use super::super::tests::{all_points, context};
use super::BENCHES;
use crate::kernel::process::in_own_process;

/// The locks and leases of this process, as /proc/locks lists them; `None` if it cannot be read.
/// Locks of open file descriptions have no process there.
fn locks_of_this_process() -> Option<usize> {
    let text = fs::read_to_string("/proc/locks").ok()?;
    let pid = std::process::id().to_string();
    let is_ours = |line: &&str| line.split_whitespace().nth(4) == Some(&pid);
    Some(text.lines().filter(is_ours).count())
}

#[test]
fn an_op_leaves_the_locks_as_they_were() {
    in_own_process(|| {
        let Some(before) = locks_of_this_process() else {
            eprintln!("not run here: /proc/locks cannot be read");
            return;
        };
        for bench in BENCHES {
            for point in all_points(&bench.definition()) {
                let case = Case::new(bench.id, point);
                let built = bench.work(&case.point, context());
                let mut work = built.unwrap_or_else(|error| panic!("{case}: {error}"));
                if let Some(reason) = work.unavailable_reason() {
                    eprintln!("{case} cannot run here: {reason}");
                    continue;
                }
                let held = locks_of_this_process();
                let done = work.prepare(23).and_then(|()| work.run(23, 1));
                assert_eq!(done, Ok(()), "{case}");
                assert_eq!(locks_of_this_process(), held, "{case}");
                let is_of_process =
                    case.point.get("kind").is_some_and(|kind| kind.to_string() == "process");
                if let Some(number) = case.point.get("held").filter(|_| is_of_process) {
                    let held = held.map(|held| (held - before).to_string());
                    assert_eq!(held, Some(number.to_string()), "{case}");
                }
                drop(work);
                assert_eq!(locks_of_this_process(), Some(before), "{case}");
            }
        }
    });
}
