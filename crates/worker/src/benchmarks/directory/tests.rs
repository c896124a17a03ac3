//! What the benchmarks of directories leave behind, and what their ops did, counted.

use std::collections::BTreeSet;
use std::ffi::OsString;

use oscost_model::case::Case;

use crate::bench::{Context, Work};
use crate::benchmarks::find;
use crate::benchmarks::tests::all_points;
use crate::kernel::Errno;
use crate::kernel::file::location::own_leftover_name;
use crate::kernel::process::in_own_process;

/// The work of a case; `None`, with a message, if this machine lacks something for it.
fn work(case: &Case) -> Option<Work> {
    match find(&case.benchmark).unwrap().work(&case.point, Context::DEFAULT) {
        Ok(work) if work.unavailable_reason().is_none() => Some(work),
        Ok(work) => {
            eprintln!("skipped: {case}: {:?}", work.unavailable_reason());
            None
        }
        Err(error) if error.is_unavailable() => {
            eprintln!("skipped: {case}: {error}");
            None
        }
        Err(error) => panic!("{case}: {error}"),
    }
}

fn run_batch(work: &mut Work, ops: u64) -> Result<(), Errno> {
    let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
    done.and_then(|()| work.verify()).map_err(|error| error.errno)
}

/// What this process has in the folders where benchmarks place files.
fn own_names() -> BTreeSet<OsString> {
    let (temporary, scratch) = (format!("oscost-{}-", std::process::id()), own_leftover_name());
    let folders = [std::env::temp_dir(), ".".into(), "/dev/shm".into()];
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names
        .filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with(&temporary) || name == scratch
        })
        .collect()
}

#[test]
fn batches_of_any_size_follow_each_other_and_leave_no_name_and_no_other_working_folder() {
    in_own_process(|| {
        let here = std::env::current_dir().unwrap();
        for bench in super::BENCHES {
            let definition = bench.definition();
            for point in all_points(&definition) {
                // A disk may take seconds, and is tried by other tests.
                let is_on_disk =
                    definition.axis("directory").is_some() && point.get("directory").is_none();
                let case = Case::new(bench.id, point);
                if is_on_disk || case.to_string().contains("files=10000") {
                    continue;
                }
                let Some(mut work) = work(&case) else { continue };
                for ops in [1, 7, 3, 20] {
                    let ops = ops.min(work.max_batch_ops());
                    assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
                }
                // As a worker that is stopped in the middle of a batch.
                assert_eq!(work.prepare(work.max_batch_ops().min(9)), Ok(()), "{case}");
                assert_eq!(work.run(1, 1), Ok(()), "{case}");
                assert_eq!(run_batch(&mut work, 1), Ok(()), "{case}");
                drop(work);
                assert_eq!(own_names(), BTreeSet::new(), "{case}");
                assert_eq!(std::env::current_dir().unwrap(), here, "{case}");
            }
        }
    });
}

#[test]
fn an_op_beyond_those_that_were_prepared_fails() {
    in_own_process(|| {
        for text in ["directory/close:after=open", "directory/close:after=read"] {
            let case = Case::parse(text).unwrap();
            let Some(mut work) = work(&case) else { continue };
            work.prepare(2).unwrap();
            assert_eq!(work.run(2, 1), Ok(()), "{case}");
            assert_eq!(work.run(1, 1).map_err(|error| error.errno), Err(Errno::EBADF), "{case}");
        }
        let case = Case::parse("directory/rename:kind=replace,directory=tmpfs").unwrap();
        let Some(mut work) = work(&case) else { return };
        let most = work.max_batch_ops();
        work.prepare(most).unwrap();
        assert_eq!(work.run(most, 1), Ok(()));
        assert_eq!(work.run(1, 1).map_err(|error| error.errno), Err(Errno::E2BIG));
    });
}
