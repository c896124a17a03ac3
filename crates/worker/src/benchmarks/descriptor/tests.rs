//! What the benchmarks of descriptors leave open, counted.

use oscost_model::case::Case;

use crate::bench::Context;
use crate::benchmarks::tests::all_points;
use crate::kernel::process::in_own_process;

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn every_op_closes_what_it_has_opened() {
    in_own_process(|| {
        for bench in super::BENCHES {
            for point in all_points(&bench.definition()) {
                let case = Case::new(bench.id, point);
                let before = open_descriptors();
                let mut work = match bench.work(&case.point, Context::DEFAULT) {
                    Ok(work) => work,
                    Err(error) if error.is_unavailable() => {
                        eprintln!("skipped: {case}: {error}");
                        continue;
                    }
                    Err(error) => panic!("{case}: {error}"),
                };
                if work.unavailable_reason().is_some() {
                    continue;
                }
                let ops = work.max_batch_ops().min(50);
                // Of the descriptors that are prepared for a batch, its ops close all.
                let mut after_batch = Vec::new();
                for _ in 0..3 {
                    let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
                    assert_eq!(done.and_then(|()| work.verify()), Ok(()), "{case}");
                    after_batch.push(open_descriptors());
                }
                assert_eq!(after_batch[0], after_batch[1], "{case}");
                assert_eq!(after_batch[0], after_batch[2], "{case}");
                drop(work);
                assert_eq!(open_descriptors(), before, "{case}");
            }
        }
    });
}
