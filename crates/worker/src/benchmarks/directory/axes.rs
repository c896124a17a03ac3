//! The axis that most benchmarks of this family have, and work that is tried once.

use crate::benchmarks::prelude::*;
use crate::kernel::file::location::Location;

pub(super) const DIRECTORY: Axis = Axis {
    name: "directory",
    sets: "where the directory is: in the one in which oscost was started, or in a tmpfs",
    points: Points::Words(&["cwd", "tmpfs"]),
    default_points: Points::Implied("cwd"),
};

/// The location that the axis selects.
pub(super) fn location(params: Params<'_>) -> Location {
    match params.word("directory") {
        "tmpfs" => Location::Tmpfs,
        _ => Location::UserFolder,
    }
}

/// The work of an op, which was done once; a skipped row where the file system or a filter refuses
/// it.
pub(super) fn tried(
    op: impl FnMut() -> Result<(), Errno> + 'static,
    act: &str,
) -> Result<Work, Errno> {
    tried_work(Work::with_loop(op), act)
}

/// The same of work.
pub(super) fn tried_work(mut work: Work, act: &str) -> Result<Work, Errno> {
    match work.run(1, 1).map_err(|at| at.errno) {
        Ok(()) => Ok(work),
        Err(error) if error.is_unavailable() || error == Errno::EINVAL => {
            Ok(Work::unavailable(format!("{act} is refused in this directory: {error}")))
        }
        Err(error) => Err(error),
    }
}
