//! The programs in the kernel that count clock reads, at functions of a C library.

use std::ffi::OsStr;
use std::path::Path;

use libbpf_rs::{Link, Object, UprobeOpts};

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
    let clock_gettime = link(object, library, &CLOCK_GETTIME)?;
    let further = [GETTIMEOFDAY, TIME].map(|probe| link(object, library, &probe).ok());
    let [gettimeofday, time] = further.each_ref().map(Option::is_some);
    let links = [Some(clock_gettime)].into_iter().chain(further).flatten().collect();
    Ok(ClockProbes { links, functions: ClockFunctions { gettimeofday, time } })
}

fn link(object: &Object, library: &Path, probe: &ClockProbe) -> Result<Link, String> {
    const ALL_PROCESSES: i32 = -1;
    let program = object.progs_mut().find(|program| program.name() == OsStr::new(probe.program));
    let program = program.ok_or_else(|| format!("there is no program `{}`", probe.program))?;
    let at = UprobeOpts { func_name: Some(probe.function.to_owned()), ..UprobeOpts::default() };
    program.attach_uprobe_with_opts(ALL_PROCESSES, library, 0, at).map_err(|error| {
        let (function, library) = (probe.function, library.display());
        format!("a uprobe cannot be attached to {function}() of {library}: {error:#}")
    })
}
