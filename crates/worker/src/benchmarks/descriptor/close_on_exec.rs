//! Starting a program while descriptors are open that its exec closes, or leaves open.

use super::super::prelude::*;
use super::super::process::program::{Link, with_program};

use crate::kernel::process::inherited::{ExecAction, open_null_copies};
use crate::kernel::process::spawn;

pub(super) const CLOSE_ON_EXEC: Bench = Bench {
    id: "descriptor/close-on-exec",
    asks: "What do descriptors with the flag close-on-exec cost the start of a program?",
    op: "vfork and execve(2) of a minimal, statically linked program, by the raw instruction, \
         while the parent has `fds` descriptors of /dev/null open besides its own, all of one open \
         file; then waitpid(2). at_exec=closed: they have the flag FD_CLOEXEC, and the exec closes \
         the child's copies; kept: they have not, and its exit closes them. Not included: writing \
         the file, and opening them.",
    expected: "as process/vfork-exec with 10 descriptors; 15 us more for 1000 that are kept, a \
               copy and a close of each; closed 5 ns more for each, for the lock that the exec \
               takes and releases around it",
    why: "vfork shares the memory but copies the table of descriptors, with a reference to the \
          file of each. Each copy is then closed once: by the exec, which finds those with the \
          flag in a bitmap, or by the exit. The exec takes the lock of the table for each, \
          frees its number, and releases the lock while it closes it; the exit closes all without \
          the lock, since nobody else can use the table. In a plain C loop on a guest with a Zen 5 \
          core 1000 that are kept added some 55 us, and 1000 that are closed some 85 us.",
    calls: &[
        exactly("clone", 1),
        exactly("execve", 1),
        exactly("exit_group", 1),
        exactly("wait4", 1),
    ],
    floor: &[at_least(4, NULL_CALL)],
    compare_with: &["process/vfork-exec"],
    axes: &[
        Axis {
            name: "fds",
            sets: "further open descriptors of the parent",
            points: Points::Items("descriptor", &Points::Numbers(&[10, 100, 1_000])),
            default_points: Points::Numbers(&[10, 100, 1_000]),
        },
        Axis {
            name: "at_exec",
            sets: "whether the exec closes them, or the program has them until it exits",
            points: Points::Words(&["closed", "kept"]),
            default_points: Points::Words(&["closed", "kept"]),
        },
    ],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    switches: true,
    source: "execve(2), fcntl(2); do_close_on_exec, dup_fd and close_files in fs/file.c",
    build: |params| {
        let at_exec = match params.word("at_exec") {
            "kept" => ExecAction::Kept,
            _ => ExecAction::Closed,
        };
        let copies = open_null_copies(params.number("fds"), at_exec)?;
        with_program(Link::Static, move |program| {
            Work::with_loop(move || {
                let _open = &copies;
                spawn::reap(program.vfork_exec()?)
            })
        })
    },
    ..Bench::DEFAULT
};
