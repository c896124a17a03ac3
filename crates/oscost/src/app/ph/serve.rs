//! The monitor process and its cleanup process, which oscost starts itself.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use crate::ph::constants::Constants;

/// The options of the process that started the monitor.
pub struct ServeRequest {
    /// The process whose tree is monitored; without it, all processes.
    pub tree: Option<u32>,
    /// Whether to begin without profiles, and keep none.
    pub fresh: bool,
    /// A folder of profiles to begin with, where none is kept.
    pub unchanged: Option<PathBuf>,
    /// Whether only the beginning and the end are reported.
    pub quiet: bool,
    /// The constants of the rules.
    pub constants: Constants,
}

/// Whether the monitor could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorOutcome {
    /// It ran to its end.
    Done,
    /// A requirement is missing, and was reported.
    Missing,
}

/// Monitors until `input` ends, and writes events to `output`.
#[cfg(feature = "ebpf")]
pub fn serve(
    request: ServeRequest,
    input: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
) -> anyhow::Result<MonitorOutcome> {
    use crate::app::results::user_data::profile_folder;
    use crate::ph::processes::monitor_main;
    use crate::ph::processes::monitor_process::MonitorOptions;
    let ServeRequest { tree, fresh, unchanged, quiet, constants } = request;
    let save_profiles = unchanged.is_none();
    let folder = match (fresh, unchanged) {
        (true, _) => None,
        (false, Some(folder)) => Some(folder),
        (false, None) => Some(profile_folder()?),
    };
    let options = MonitorOptions { constants, tree };
    let task = monitor_main::MonitorTask { options, folder, save_profiles, report_events: !quiet };
    Ok(match monitor_main::run_monitor(&task, input, output)? {
        monitor_main::MonitorExit::Completed => MonitorOutcome::Done,
        monitor_main::MonitorExit::Missing => MonitorOutcome::Missing,
    })
}

/// Reports what is missing to monitor.
#[cfg(not(feature = "ebpf"))]
pub fn serve(
    _: ServeRequest,
    _: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
) -> anyhow::Result<MonitorOutcome> {
    use crate::ph::processes::monitor_process::MonitorEvent;
    use crate::ph::requirements::{Availability, BUILD, check_requirements};
    let needs = check_requirements(BUILD, std::path::Path::new("/"));
    let missing = needs.into_iter().filter(|need| need.availability == Availability::No);
    let missing: Vec<String> =
        missing.map(|need| format!("{}: {}", need.name, need.detail)).collect();
    let event = MonitorEvent::Missing { reason: missing.join("; ") };
    writeln!(output, "{}", serde_json::to_string(&event)?)?;
    Ok(MonitorOutcome::Missing)
}

/// Continues the processes that a monitor process has stopped, when that has ended.
#[cfg(feature = "ebpf")]
pub fn clean_up(input: &mut impl std::io::BufRead, output: &mut impl Write) -> anyhow::Result<()> {
    Ok(crate::ph::processes::cleanup_process::run_cleanup(input, output)?)
}
