//! Programs as subjects, as a command line names them: those that come with oscost, by their names;
//! a file of the user's own; and whatever stands behind `--`.

use std::path::PathBuf;
use std::time::Duration;

use oscost_model::definition::{Catalog, Family};
use oscost_model::journal::PlannedRow;
use oscost_model::program::FAMILY;
use oscost_model::target::Host;

use super::UsageError;
use super::workload::read;
use crate::run::TrialBudget;
use crate::treatments::command_line::split;
use crate::workloads::here::default_cache;
use crate::workloads::{self, Here, Spec};

/// The time that trials are to fit into, beyond the fewest, as that of a bill.
const WITHIN: Duration = Duration::from_secs(60);
/// The same for figures that are published.
const WITHIN_THOROUGH: Duration = Duration::from_secs(600);

/// All programs that can be measured, and which of them are the user's own.
pub(super) struct Programs {
    specs: Vec<Spec>,
    own: Vec<String>,
    /// What is done before each trial of the command behind `--`.
    prepare: Vec<Vec<String>>,
}

/// What a command line says of programs.
#[derive(Debug, clap::Args)]
pub(super) struct Named {
    /// A command to run again and again, and what it costs.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Run this before each trial of COMMAND, untimed: words, which no shell reads.
    #[arg(long, value_name = "COMMAND", requires = "command")]
    prepare: Vec<String>,
    /// Count the system calls of programs by name, in a run more that nobody times.
    #[arg(long)]
    pub(super) calls: bool,
    /// A program from a file: what is done before and after it, and what is read from its output.
    #[arg(long, value_name = "FILE")]
    workload: Option<String>,
}

impl Programs {
    /// Those that come with oscost.
    pub(super) fn known() -> Self {
        Self { specs: workloads::all().to_vec(), own: Vec::new(), prepare: Vec::new() }
    }

    /// Those, and the ones of a command line.
    pub(super) fn of(named: &Named) -> anyhow::Result<Self> {
        let mut programs = Self::known();
        if let Some(path) = &named.workload {
            programs.add(read(path)?);
        }
        let bad = |what: &str, why: String| UsageError(format!("cannot {what}: {why}"));
        if !named.command.is_empty() {
            let spec = workloads::of_command(&named.command);
            programs.add(spec.map_err(|why| bad("measure this command", why.to_string()))?);
        }
        for text in &named.prepare {
            let words = split(text).map_err(|why| bad("read what `--prepare` says", why))?;
            programs.prepare.push(words);
        }
        Ok(programs)
    }

    /// The user's own goes before one of the same name.
    fn add(&mut self, spec: Spec) {
        let id = spec.definition().id;
        self.specs.retain(|it| it.definition().id != id);
        self.specs.push(spec);
        self.own.push(id);
    }

    /// What is asked for: the selectors, and the user's own programs.
    pub(super) fn selectors(&self, selectors: &[String]) -> Vec<String> {
        selectors.iter().chain(&self.own).cloned().collect()
    }

    /// The worker's benchmarks, and behind them the programs.
    pub(super) fn beside(&self, of_worker: &Catalog) -> Catalog {
        let mut catalog = of_worker.clone();
        let about = "whole programs: what all of this comes to".to_owned();
        catalog.families.push(Family { name: FAMILY.to_owned(), about });
        catalog.benchmarks.extend(self.specs.iter().map(Spec::definition));
        catalog
    }

    /// Tells rows what program they are of; what some of them lack here, and the way out.
    pub(super) fn fill(
        &self,
        rows: &mut [PlannedRow],
        host: &Host,
        quick: bool,
    ) -> Vec<(usize, String)> {
        let mut lacking = Vec::new();
        let here = here(host, quick);
        for (at, row) in rows.iter_mut().enumerate() {
            if row.definition.family() != FAMILY {
                continue;
            }
            let is_it = |spec: &&Spec| spec.definition().id == row.case.benchmark;
            let Some(spec) = self.specs.iter().find(is_it) else { continue };
            // It is not there that its packages and folders were looked for.
            let is_here = matches!(host, Host::Local | Host::Fake(_));
            let on_vm = matches!(host, Host::Vm(_));
            let found = match is_here {
                false if on_vm => {
                    Err("programs are run on this machine alone: one that is booted \
                                       has the worker and no other program"
                        .to_owned())
                }
                true => spec.workload(&row.case.point, &here).map_err(|it| it.to_string()),
                false => Err("programs are run on this machine alone: measure there, by \
                              `oscost run` on that machine"
                    .to_owned()),
            };
            match found {
                Ok(mut workload) => {
                    // It belongs to the command behind `--`, which was added last.
                    if self.own.last() == Some(&row.case.benchmark) {
                        workload.program.before.splice(0..0, self.prepare.iter().cloned());
                    }
                    row.workload = Some(Box::new(workload));
                }
                Err(missing) => lacking.push((at, missing)),
            }
        }
        lacking
    }
}

/// What programs find at a place: on this machine, or nothing at one that is made up.
fn here(host: &Host, quick: bool) -> Here {
    if let Host::Fake(_) = host {
        let [folder, cache] = ["/here", "/cache"].map(PathBuf::from);
        return Here { cpus: 2, folder, cache, quick, is_made_up: true };
    }
    Here {
        cpus: std::thread::available_parallelism().map_or(1, Into::into),
        folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        // Where a user has no folder nothing is prepared, and that is what is told.
        cache: default_cache().unwrap_or_else(|| PathBuf::from("/var/cache/oscost")),
        quick,
        is_made_up: false,
    }
}

/// How much time trials may take.
pub(super) fn time(
    (quick, thorough): (bool, bool),
    counts: bool,
    budget_s: Option<f64>,
) -> TrialBudget {
    let within = match (quick, thorough) {
        (true, _) => Duration::ZERO,
        (_, true) => WITHIN_THOROUGH,
        _ => WITHIN,
    };
    TrialBudget {
        time_budget: within,
        spread: !quick,
        count_calls: counts,
        run_limit: budget_s.map(Duration::from_secs_f64),
    }
}
