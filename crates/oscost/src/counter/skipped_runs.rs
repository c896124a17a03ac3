//! Runs of programs that the kernel has left out.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// The line of /proc/self/fdinfo that tells how often (Linux 5.12).
const FIELD: &str = "recursion_misses:";

/// How often the kernel has not run a program since it was loaded, because it ran on that CPU already:
/// its task had been preempted by another one. Of which task the event was is not known.
pub(super) fn skipped_runs(program: impl AsFd) -> Result<u64, String> {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    let info =
        fs::read_to_string(&path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    Ok(skipped_runs_of(&info))
}

/// The same by what is in that file; 0 where the kernel does not tell.
fn skipped_runs_of(info: &str) -> u64 {
    let told = info.lines().find_map(|line| line.strip_prefix(FIELD));
    told.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_runs_that_it_left_out() {
        let info =
            "pos:\t0\nprog_type:\t26\nrun_cnt:\t9\nrecursion_misses:\t12\nverified_insns:\t8\n";
        assert_eq!(skipped_runs_of(info), 12);
        assert_eq!(skipped_runs_of("pos:\t0\nprog_type:\t26\nrun_cnt:\t9\n"), 0);
    }

    #[test]
    fn a_descriptor_that_is_no_program_has_none() {
        let file = fs::File::open("/dev/null").unwrap();
        assert_eq!(skipped_runs(&file), Ok(0));
    }
}
