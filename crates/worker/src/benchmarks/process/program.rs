//! The minimal program, and work that starts it.

use kernel::process::elf::{Loader, dynamic_program, static_program};
use kernel::process::spawn::{self, Program};

use super::super::prelude::*;
use super::limits::{limit_or_error, retry_while_busy, try_once};

/// How the minimal program is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Static,
    Dynamic,
}

/// Work with the minimal program in the scratch directory, or the reason why it is unavailable.
pub(super) fn with_program(link: Link, build: fn(Program) -> Work) -> Result<Work, Errno> {
    let bytes = match link {
        Link::Static => static_program(),
        Link::Dynamic => match Loader::of_system() {
            Some(loader) => dynamic_program(&loader),
            None => {
                return Ok(Work::unavailable(
                    "/bin/sh names no dynamic loader of a known C library (glibc, musl), so there \
                     is none to measure: select link=static",
                ));
            }
        },
    };
    if !spawn::is_in_private_folder() {
        return Ok(Work::unavailable(
            "there is no scratch directory to write a program into: set TMPDIR to a writable \
             directory",
        ));
    }
    let program = match Program::write(&bytes) {
        Ok(program) => program,
        Err(error) => {
            return Ok(Work::unavailable(format!(
                "cannot write a program into the scratch directory ({error}): set TMPDIR to a \
                 writable directory"
            )));
        }
    };
    // A first start by posix_spawn, whatever starts it later, so that its errors are reported here.
    match retry_while_busy(|| spawn::reap(program.posix_spawn()?)) {
        Ok(()) => try_once(build(program)),
        Err(Errno::EACCES) => Ok(Work::unavailable(
            "programs in the scratch directory cannot be executed (mounted noexec): set TMPDIR to \
             a directory that allows it",
        )),
        // The exit status of a loader that does not find a library.
        Err(Errno(127)) => Ok(Work::unavailable(
            "the loader of this system does not start a program that needs only the C library: \
             select link=static",
        )),
        Err(error) => limit_or_error(error),
    }
}
