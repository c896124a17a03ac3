//! A program that is searched for along PATH.

use crate::benchmarks::prelude::*;
use crate::kernel::syscall::prepared;

pub(super) const EXEC_MISSING: Bench = Bench {
    id: "process/exec-missing",
    asks: "What does execve cost in a folder that does not have the program?",
    op: "execve(2) of a name that does not exist in an existing private folder; failing with \
         ENOENT is the expected result. Not included: creating the folder.",
    expected: "4 us: memory for a new program and for its arguments is prepared before the path is \
               looked up, and freed again",
    why: "execvp(3) tries each folder of PATH in turn: env, shells' scripts and compilers make \
          several failing calls for each program that they start. Since Linux 6.8 the kernel opens \
          the file before anything else, so that a missing one costs little more than its path. \
          Before, it first allocated a description of the program, since Linux 5.9 also an address \
          space and the copies of the arguments, and freed all of it.",
    calls: &[exactly("execve", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    source: "execve(2), exec(3); fs/exec.c",
    build: |_| prepared::execve_missing().map(Work::raw),
    ..Bench::DEFAULT
};
