//! The programs in the kernel that count clock reads, at functions of a C library.

use std::ffi::OsStr;
use std::path::Path;

use libbpf_rs::{Error, ErrorKind, Link, Object, UprobeOpts};

use super::event_sum::ClockFunctions;

/// A program that counts the calls of a function.
struct ClockProbe {
    program: &'static str,
    function: &'static str,
}

const CLOCK_GETTIME: ClockProbe =
    ClockProbe { program: "count_clock_gettime", function: "clock_gettime" };
const GETTIMEOFDAY: ClockProbe =
    ClockProbe { program: "count_gettimeofday", function: "gettimeofday" };
const TIME: ClockProbe = ClockProbe { program: "count_time_of_day", function: "time" };

/// What is attached.
pub(super) struct ClockProbes {
    pub(super) links: Vec<Link>,
    /// The functions beside clock_gettime(2).
    pub(super) functions: ClockFunctions,
}

/// Whether this is the name of one of these programs: they are loaded if asked for.
pub(super) fn is_probe(name: &OsStr) -> bool {
    [CLOCK_GETTIME, GETTIMEOFDAY, TIME].iter().any(|probe| name == OsStr::new(probe.program))
}

/// Attaches the programs to the functions of a library, in all processes. Some libraries have an
/// indirect function (IFUNC) instead of gettimeofday(2) and time(2), which the dynamic loader replaces
/// by that of the vDSO: there is nothing to attach to.
pub(super) fn attach(object: &Object, library: &Path) -> Result<ClockProbes, String> {
    let clock_gettime = link(object, library, &CLOCK_GETTIME).map_err(|it| it.text)?;
    // The library is there, and has uprobes: what is not found now is the function alone.
    let [gettimeofday, time] =
        [GETTIMEOFDAY, TIME].map(|probe| unless_absent(link(object, library, &probe)));
    let (gettimeofday, time) = (gettimeofday?, time?);
    let functions = ClockFunctions { gettimeofday: gettimeofday.is_some(), time: time.is_some() };
    let links = [Some(clock_gettime), gettimeofday, time].into_iter().flatten().collect();
    Ok(ClockProbes { links, functions })
}

/// Why a program is not attached.
#[derive(Debug)]
struct Failure {
    /// Whether something was not found: the library, its function, or uprobes in the kernel.
    is_absent: bool,
    text: String,
}

/// What was attached; `None` if there is nothing to attach to. Any other failure is one.
fn unless_absent<T>(attached: Result<T, Failure>) -> Result<Option<T>, String> {
    match attached {
        Ok(attached) => Ok(Some(attached)),
        Err(failure) if failure.is_absent => Ok(None),
        Err(failure) => Err(failure.text),
    }
}

fn link(object: &Object, library: &Path, probe: &ClockProbe) -> Result<Link, Failure> {
    const ALL_PROCESSES: i32 = -1;
    let program = object.progs_mut().find(|program| program.name() == OsStr::new(probe.program));
    let program = program.ok_or_else(|| Failure {
        is_absent: false,
        text: format!("there is no program `{}`", probe.program),
    })?;
    let at = UprobeOpts { func_name: Some(probe.function.to_owned()), ..UprobeOpts::default() };
    program
        .attach_uprobe_with_opts(ALL_PROCESSES, library, 0, at)
        .map_err(|error| failure(library, probe, &error))
}

fn failure(library: &Path, probe: &ClockProbe, error: &Error) -> Failure {
    let (function, library) = (probe.function, library.display());
    Failure {
        is_absent: matches!(error.kind(), ErrorKind::NotFound),
        text: format!("a uprobe cannot be attached to {function}() of {library}: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn only_a_function_that_is_not_there_is_left_to_the_vdso() {
        let found = |errno: Errno| {
            let error = Error::from_raw_os_error(errno as i32);
            unless_absent::<()>(Err(failure(Path::new("/lib/libc.so.6"), &TIME, &error)))
        };
        assert_eq!(found(Errno::ENOENT), Ok(None));
        for errno in [Errno::EPERM, Errno::EINVAL, Errno::ENOMEM, Errno::EBADF] {
            let why = found(errno).unwrap_err();
            assert!(why.contains("to time() of /lib/libc.so.6: "), "{why}");
        }
        assert_eq!(unless_absent(Ok(7)), Ok(Some(7)));
    }
}
