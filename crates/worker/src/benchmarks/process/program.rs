//! The minimal program, and work that starts it.

use kernel::process::elf::{
    Loader, dynamic_program, minimal_loader, program_with_loader, static_program,
};
use kernel::process::spawn::{self, Program};

use super::super::prelude::*;
use super::limits::{limit_or_error, retry_while_busy, try_once};

/// How the minimal program is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Static,
    Dynamic,
    /// To a loader that ends it at once.
    Loader,
}

/// Work with the minimal program in the scratch directory, or the reason why it is unavailable.
pub(crate) fn with_program(link: Link, build: impl FnOnce(Program) -> Work) -> Result<Work, Errno> {
    match program(link)? {
        Ok(program) => try_once(build(program)),
        Err(unavailable) => Ok(unavailable),
    }
}

/// The minimal program, after a first start; or work that is unavailable.
fn program(link: Link) -> Result<Result<Program, Work>, Errno> {
    let unavailable = |reason: String| Ok(Err(Work::unavailable(reason)));
    let bytes = match link {
        Link::Static => Some(static_program()),
        Link::Loader => None,
        Link::Dynamic => match Loader::of_system() {
            Some(loader) => Some(dynamic_program(&loader)),
            None => {
                return unavailable(String::from(
                    "/bin/sh names no dynamic loader of a known C library (glibc, musl), so there \
                     is none to measure: select link=static",
                ));
            }
        },
    };
    if !spawn::is_in_private_folder() {
        return unavailable(String::from(
            "there is no scratch directory to write a program into: set TMPDIR to a writable \
             directory",
        ));
    }
    let written = match bytes {
        Some(bytes) => Program::write(&bytes),
        None => Program::write_with_loader(&minimal_loader(), program_with_loader),
    };
    let program = match written {
        Ok(program) => program,
        Err(error) => {
            return unavailable(format!(
                "cannot write a program into the scratch directory ({error}): set TMPDIR to a \
                 writable directory"
            ));
        }
    };
    // A first start by posix_spawn, whatever starts it later, so that its errors are reported here.
    match retry_while_busy(|| spawn::reap(program.posix_spawn()?)) {
        Ok(()) => Ok(Ok(program)),
        Err(Errno::EACCES) => unavailable(String::from(
            "programs in the scratch directory cannot be executed (mounted noexec): set TMPDIR to \
             a directory that allows it",
        )),
        // The exit status of a loader that does not find a library.
        Err(Errno(127)) => unavailable(String::from(
            "the loader of this system does not start a program that needs only the C library: \
             select link=static",
        )),
        Err(error) => limit_or_error(error).map(Err),
    }
}
