//! Workloads: whole programs that are measured, from files or from the command line.
//!
//! Purpose: reading a workload file (`workloads/NAME.toml`, or the user's own; [`files::parser`]), filling
//! its cache directory ([`cache`]), resolving it for this machine (`program`), telling builds of it
//! apart (`executable`), and reading its figures from the output of a trial ([`figures`](mod@figures)).
//!
//! It must not know how a trial is run and timed, which is the worker's task, or what its figures
//! mean.

pub mod cache;
mod command;
pub mod environment;
mod executable;
pub mod figures;
pub mod files;
mod program;
mod requirements;
pub mod study_program;

use std::sync::LazyLock;

pub use cache::{CacheError, PreparationOutcome, clean, prepare};
pub use command::{Parameter, of_command, sampled_parameter};
pub use environment::RunEnvironment;
pub use executable::ProgramFiles;
pub use figures::figures;
pub use files::parser::{ParseError, parse};
pub use files::spec::{
    ConditionalFigure, Folder, Need, Origin, Prepare, RequiredItem, Spec, WorkloadAxis,
};
pub use requirements::{
    CommandError, MissingItems, check_command_program, is_set_id, program_file,
};

/// The built-in workloads. A test checks that all of them can be parsed.
static BUILT_IN: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    files::built_in::FILES
        .iter()
        .filter_map(|(name, text)| files::parser::parse_built_in(text.as_bytes(), name).ok())
        .collect()
});

/// The workloads that come with oscost.
pub fn all() -> &'static [Spec] {
    &BUILT_IN
}

/// The built-in workload of that name, with or without its family.
pub fn find(name: &str) -> Option<&'static Spec> {
    let name = name.strip_prefix("workload/").unwrap_or(name);
    all().iter().find(|spec| spec.name() == name)
}

#[cfg(test)]
mod tests;
