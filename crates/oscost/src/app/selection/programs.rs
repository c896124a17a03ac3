//! Programs to measure: those that come with oscost, a file of the user's own, and the command
//! behind `--`.

use std::path::PathBuf;
use std::time::Duration;

use oscost_model::definition::{Catalog, Family};
use oscost_model::journal::PlannedRow;
use oscost_model::program::FAMILY;
use oscost_model::target::Host;

use super::named_files::read_workload;
use crate::app::error::UsageError;
use crate::files::user_folder::cache_folder;
use crate::plan::SkippedRow;
use crate::run::TrialBudget;
use crate::treatments::command_line::split;
use crate::workloads::{self, RunEnvironment, Spec};

/// The time for trials beyond the minimum number, as for the price list.
const TRIAL_TIME: Duration = Duration::from_secs(60);
/// The same for figures that are published.
const TRIAL_TIME_THOROUGH: Duration = Duration::from_secs(600);

/// What a request says about programs.
#[derive(Clone, Debug, Default)]
pub struct ProgramRequest {
    /// The command behind `--`, if there is one.
    pub command: Vec<String>,
    /// What is run before each trial of it, each a command line.
    pub prepare: Vec<String>,
    /// Whether the system calls of programs are counted, in an extra run.
    pub count_calls: bool,
    /// The file of a workload of the user's own.
    pub workload: Option<String>,
}

/// How precise the figures are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// The least that gives a figure or a verdict.
    Quick,
    /// The usual.
    #[default]
    Default,
    /// For figures that are published.
    Thorough,
}

impl Effort {
    /// Its name in a record.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Default => "default",
            Effort::Thorough => "thorough",
        }
    }
}

/// All programs that can be measured, and which of them are the user's own.
pub(crate) struct Programs {
    specs: Vec<Spec>,
    own: Vec<String>,
    /// What is run before each trial of the command behind `--`.
    prepare: Vec<Vec<String>>,
}

impl Programs {
    /// The programs that come with oscost.
    pub(crate) fn bundled() -> Self {
        Self { specs: workloads::all().to_vec(), own: Vec::new(), prepare: Vec::new() }
    }

    /// The programs that come with oscost, and those of a request.
    pub(crate) fn with_request(request: &ProgramRequest) -> anyhow::Result<Self> {
        let mut programs = Self::bundled();
        if let Some(path) = &request.workload {
            programs.add(read_workload(path)?);
        }
        let error = |what: &str, why: String| UsageError(format!("cannot {what}: {why}"));
        if !request.command.is_empty() {
            let spec = workloads::of_command(&request.command);
            programs.add(spec.map_err(|why| error("measure this command", why.to_string()))?);
        }
        for text in &request.prepare {
            let words = split(text).map_err(|why| error("read the command of `--prepare`", why))?;
            programs.prepare.push(words);
        }
        Ok(programs)
    }

    /// Adds a program of the user's, which replaces one of the same name.
    fn add(&mut self, spec: Spec) {
        let id = spec.definition().id;
        self.specs.retain(|it| it.definition().id != id);
        self.specs.push(spec);
        self.own.push(id);
    }

    /// The selectors of a request, and the user's own programs.
    pub(crate) fn selectors(&self, selectors: &[String]) -> Vec<String> {
        selectors.iter().chain(&self.own).cloned().collect()
    }

    /// The worker's benchmarks, followed by the programs.
    pub(crate) fn definitions(&self, worker: &Catalog) -> Catalog {
        let mut catalog = worker.clone();
        let about = "whole programs: what all of this comes to".to_owned();
        catalog.families.push(Family { name: FAMILY.to_owned(), about });
        catalog.benchmarks.extend(self.specs.iter().map(Spec::definition));
        catalog
    }

    /// Fills in the program of each row that measures one; returns the rows whose program cannot
    /// run here.
    pub(crate) fn fill(
        &self,
        rows: &mut [PlannedRow],
        host: &Host,
        effort: Effort,
    ) -> Vec<SkippedRow> {
        let mut skipped = Vec::new();
        let environment = environment(host, effort == Effort::Quick);
        for (index, row) in rows.iter_mut().enumerate() {
            if row.definition.family() != FAMILY {
                continue;
            }
            let is_it = |spec: &&Spec| spec.definition().id == row.case.benchmark;
            let Some(spec) = self.specs.iter().find(is_it) else { continue };
            // Packages and folders were looked for on this machine only.
            let workload = match host {
                Host::Local | Host::Fake(_) => spec
                    .workload(&row.case.point, &environment)
                    .map_err(|missing| missing.to_string()),
                Host::Vm(_) => Err("programs run on this machine only: a virtual machine has the \
                                    worker and no other program"
                    .to_owned()),
                Host::Ssh(_) => Err("programs run on this machine only: start `oscost run` on \
                                     that machine"
                    .to_owned()),
            };
            match workload {
                Ok(mut workload) => {
                    // `--prepare` belongs to the command behind `--`, which was added last.
                    if self.own.last() == Some(&row.case.benchmark) {
                        workload.program.before.splice(0..0, self.prepare.iter().cloned());
                    }
                    row.workload = Some(Box::new(workload));
                }
                Err(reason) => skipped.push(SkippedRow { row: index, reason }),
            }
        }
        skipped
    }
}

/// The environment of programs on a host: this machine, or an invented one for a fake host.
fn environment(host: &Host, quick: bool) -> RunEnvironment {
    if let Host::Fake(_) = host {
        let [folder, cache] = ["/here", "/cache"].map(PathBuf::from);
        return RunEnvironment { cpus: 2, start_folder: folder, cache, quick, skip_checks: true };
    }
    RunEnvironment {
        cpus: std::thread::available_parallelism().map_or(1, Into::into),
        start_folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        // Without HOME nothing can have been prepared; the missing preparation is then reported.
        cache: cache_folder().unwrap_or_else(|| PathBuf::from("/var/cache/oscost")),
        quick,
        skip_checks: false,
    }
}

/// How much time the trials of programs may take.
pub(crate) fn trial_budget(
    effort: Effort,
    count_calls: bool,
    budget_s: Option<f64>,
) -> TrialBudget {
    let time_budget = match effort {
        Effort::Quick => Duration::ZERO,
        Effort::Default => TRIAL_TIME,
        Effort::Thorough => TRIAL_TIME_THOROUGH,
    };
    TrialBudget {
        time_budget,
        spread: effort != Effort::Quick,
        count_calls,
        run_limit: budget_s.map(Duration::from_secs_f64),
    }
}
