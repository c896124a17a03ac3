//! Programs to measure: those that come with oscost, a file of the user's own, and the commands
//! behind `--`.

use std::path::PathBuf;

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Family};
use oscost_model::journal::PlannedRow;
use oscost_model::parameter::SampledParameter;
use oscost_model::point::MAX_AXES;
use oscost_model::program::{FAMILY, TrialTime};
use oscost_model::target::Host;

use super::command_input::{input_path, piped_input};
use super::effort::{CommandTrials, Effort};
use super::named_files::read_workload;
use crate::app::error::UsageError;
use crate::files::input_copy::InputCopy;
use crate::files::user_folder::program_folder;
use crate::plan::SkippedRow;
use crate::treatments::command_line::split;
use crate::workloads::{self, CommandError, Parameter, ProgramFiles, RunEnvironment, Spec};

/// The most commands that are compared.
const MAX_COMMANDS: usize = 12;
/// The most commands and values of parameters that take turns.
const MAX_TURNS: usize = 32;
/// The most parameters with a random value: their values are in the record of each trial.
const MAX_SAMPLED: usize = 8;

/// What a request says about programs.
#[derive(Clone, Debug, Default)]
pub struct ProgramRequest {
    /// The commands, in words; the first is compared with the others.
    pub commands: Vec<Vec<String>>,
    /// Further ones as text, which is split into words.
    pub command_texts: Vec<String>,
    /// Parameters in the words of commands.
    pub parameters: Vec<Parameter>,
    /// Parameters with a random value in each round.
    pub sampled: Vec<SampledParameter>,
    /// What is run before each trial of a command, each a command line.
    pub prepare: Vec<String>,
    /// What is run after each trial of a command, each a command line.
    pub cleanup: Vec<String>,
    /// The file that is the standard input of commands; `-` for that of this process.
    pub input: Option<String>,
    /// Whether a command may fail.
    pub ignore_failure: bool,
    /// Whether the system calls of programs are counted, in an extra run.
    pub count_calls: bool,
    /// The file of a workload of the user's own.
    pub workload: Option<String>,
    /// For how long workloads run at least, in seconds; `None` for as often as each says.
    pub workload_seconds: Option<f64>,
}

impl ProgramRequest {
    /// Whether it has commands of the command line.
    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty() || !self.command_texts.is_empty()
    }

    /// Refuses commands without words, as `oscost ab -- A --` and `--new-cmd ''` have.
    fn check_words(&self) -> Result<(), UsageError> {
        if self.commands.iter().any(Vec::is_empty) {
            return Err(UsageError::with_hint(
                "cannot measure a command without words: none follow one of the `--`",
                "write a command behind each `--`, as in `oscost ab -- A ARGS -- B ARGS`",
            ));
        }
        match self.command_texts.iter().any(|text| text.trim().is_empty()) {
            true => Err(UsageError::with_hint(
                "cannot measure a command without words: `--base-cmd` or `--new-cmd` is empty",
                "write both, as in `--base-cmd 'sort a' --new-cmd 'sort -u a'`",
            )),
            false => Ok(()),
        }
    }

    /// Refuses options of commands without one.
    fn check_options(&self) -> Result<(), UsageError> {
        let given = [
            ("--param", !self.parameters.is_empty()),
            ("--param-sample", !self.sampled.is_empty()),
            ("--prepare", !self.prepare.is_empty()),
            ("--cleanup", !self.cleanup.is_empty()),
            ("--stdin", self.input.is_some()),
            ("--ignore-failure", self.ignore_failure),
        ];
        match given.into_iter().find(|&(_, is_given)| is_given && !self.has_commands()) {
            Some((option, _)) => {
                let what = format!("{option} belongs to a command, and none is named");
                Err(UsageError::with_hint(&what, "name one after `--`"))
            }
            None => Ok(()),
        }
    }
}

/// All programs that can be measured, and which of them are the user's own.
pub(crate) struct Programs {
    specs: Vec<Spec>,
    own: Vec<String>,
    /// The ids of the commands of the command line.
    commands: Vec<String>,
    /// Their parameters with a random value in each round.
    sampled: Vec<SampledParameter>,
    /// Their standard input, if it was read from a pipe: it exists as long as this.
    piped_input: Option<InputCopy>,
    /// For how long the others run at least, in seconds.
    workload_seconds: Option<f64>,
}

impl Programs {
    /// The programs that come with oscost.
    pub(crate) fn bundled() -> Self {
        let specs = workloads::all().to_vec();
        let (own, commands, sampled) = (Vec::new(), Vec::new(), Vec::new());
        Self { specs, own, commands, sampled, piped_input: None, workload_seconds: None }
    }

    /// The programs that come with oscost, and those of a request.
    pub(crate) fn with_request(request: &ProgramRequest) -> anyhow::Result<Self> {
        let mut programs = Self::bundled();
        if let Some(path) = &request.workload {
            programs.add(read_workload(path)?);
        }
        let words = |option: &str, texts: &[String]| {
            let read = texts.iter().map(|text| split(text)).collect::<Result<Vec<_>, _>>();
            read.map_err(|why| {
                let what = format!("cannot read the command of `{option}`: {why}");
                let hint = "spaces separate words, and single quotes around a word keep its spaces";
                UsageError::with_hint(&what, hint)
            })
        };
        request.check_options()?;
        request.check_words()?;
        let mut commands = request.commands.clone();
        commands.extend(words("--base-cmd` or `--new-cmd", &request.command_texts)?);
        if commands.len() > MAX_COMMANDS {
            let what = format!("{} commands: at most {MAX_COMMANDS} are compared", commands.len());
            return Err(UsageError::with_hint(&what, "compare the others in another run").into());
        }
        let (before, after) =
            (words("--prepare", &request.prepare)?, words("--cleanup", &request.cleanup)?);
        programs.piped_input = request.input.as_deref().map(piped_input).transpose()?.flatten();
        let input = match &programs.piped_input {
            Some(copy) => Some(copy.path()),
            None => request.input.as_deref().map(input_path).transpose()?,
        };
        for command in commands {
            let spec = workloads::of_command(&command, &request.parameters);
            let spec = spec.map_err(|error| {
                let what = format!("cannot measure this command: {}", error.reason);
                let hint = "write a program and its arguments behind `--`; a script in a file may \
                            have what they may not";
                UsageError::with_hint(&what, hint)
            })?;
            let spec = Spec {
                before: before.clone(),
                after: after.clone(),
                input: input.clone(),
                ignores_status: request.ignore_failure,
                ..spec
            };
            let id = programs.unused_id(&spec.id);
            programs.commands.push(id.clone());
            programs.add(Spec { id, ..spec });
        }
        programs.check_parameters(request)?;
        programs.sampled.clone_from(&request.sampled);
        programs.workload_seconds = request.workload_seconds;
        Ok(programs)
    }

    /// An id that no command has yet: `sort`, `sort-2`.
    fn unused_id(&self, id: &str) -> String {
        let numbered = (2..).map(|number| format!("{id}-{number}"));
        let mut ids = std::iter::once(id.to_owned()).chain(numbered);
        ids.find(|id| !self.commands.contains(id)).unwrap_or_default()
    }

    /// Refuses a parameter that no command has, one that is named twice, and too many with random
    /// values.
    fn check_parameters(&self, request: &ProgramRequest) -> Result<(), UsageError> {
        let ProgramRequest { parameters, sampled, .. } = request;
        if sampled.len() > MAX_SAMPLED {
            let what = format!(
                "{} parameters with random values: at most {MAX_SAMPLED} are drawn",
                sampled.len()
            );
            let hint = "`--param NAME=VALUE` gives the others a fixed value";
            return Err(UsageError::with_hint(&what, hint));
        }
        if parameters.len() > MAX_AXES {
            return Err(UsageError::with_hint(
                &format!("there are {} parameters, the maximum is {MAX_AXES}", parameters.len()),
                "write those with one value into the command",
            ));
        }
        let is_command = |spec: &&Spec| self.commands.contains(&spec.id);
        let fixed = parameters.iter().map(|it| &it.name);
        let names: Vec<&String> = fixed.chain(sampled.iter().map(|it| &it.name)).collect();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                let what = format!("the parameter `{name}` is named twice");
                let hint = "name it once, in `--param` or in `--param-sample`";
                return Err(UsageError::with_hint(&what, hint));
            }
            let placeholder = format!("{{{name}}}");
            let has_it =
                |spec: &Spec| spec.words().chain(&spec.input).any(|it| it.contains(&placeholder));
            if !self.specs.iter().filter(is_command).any(has_it) {
                let what = format!("no command has the parameter `{placeholder}`");
                let hint = format!(
                    "write `{placeholder}` in a command, `--prepare`, `--cleanup` or `--stdin`, or \
                     leave the parameter out"
                );
                return Err(UsageError::with_hint(&what, &hint));
            }
        }
        Ok(())
    }

    /// The commands of the command line that are compared with each other: groups of cases, the first
    /// of which is compared with the others. `None` if there is nothing to compare with.
    pub(crate) fn compared_commands(&self, cases: &[Case]) -> Option<Vec<Vec<Case>>> {
        let of = |id: &str| -> Vec<Case> {
            cases.iter().filter(|case| case.benchmark == id).cloned().collect()
        };
        match &self.commands[..] {
            [] => None,
            [one] => {
                let points = of(one);
                (points.len() > 1).then(|| vec![points])
            }
            [first, others @ ..] => {
                let group = |base: Case| {
                    let new = others.iter().map(|id| Case::new(id, base.point.clone()));
                    std::iter::once(base.clone()).chain(new).collect()
                };
                Some(of(first).into_iter().map(group).collect())
            }
        }
    }

    /// Checks before anything is measured that the commands can be started on this machine. One that
    /// is prepared may not be there yet.
    pub(crate) fn check_commands(&self, host: &Host) -> Result<(), CommandError> {
        let is_checked = |spec: &&Spec| {
            let name = spec.command.first().map_or("", String::as_str);
            self.commands.contains(&spec.id) && spec.before.is_empty() && !name.contains('{')
        };
        let mut commands = self.specs.iter().filter(is_checked).filter_map(|it| it.command.first());
        match host {
            Host::Local => commands.try_for_each(|name| workloads::check_command_program(name)),
            Host::Ssh(_) | Host::Slurm(_) | Host::Vm(_) | Host::Fake(_) => Ok(()),
        }
    }

    /// Refuses more commands and values than can take turns.
    pub(crate) fn check_turns(groups: &[Vec<Case>]) -> Result<(), UsageError> {
        match groups.iter().map(Vec::len).max() {
            Some(count) if count > MAX_TURNS => {
                let what = format!("{count} commands and values: at most {MAX_TURNS} take turns");
                Err(UsageError::with_hint(&what, "compare the others in another run"))
            }
            _ => Ok(()),
        }
    }

    /// The first command of the command line.
    pub(crate) fn command(&self) -> Option<&Spec> {
        let id = self.commands.first()?;
        self.specs.iter().find(|spec| spec.id == *id)
    }

    /// The file with the standard input of commands, if that was read from a pipe.
    pub(crate) fn piped_input_path(&self) -> Option<String> {
        self.piped_input.as_ref().map(InputCopy::path)
    }

    /// Whether there are several commands of the command line.
    pub(crate) fn has_several_commands(&self) -> bool {
        self.commands.len() > 1
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
        trials: CommandTrials,
    ) -> Vec<SkippedRow> {
        let mut skipped = Vec::new();
        let environment = environment(host, effort == Effort::Quick);
        let mut files = ProgramFiles::default();
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
                Host::Ssh(_) | Host::Slurm(_) => {
                    let why =
                        "programs run on this machine only: start `oscost run` on that machine";
                    Err(why.to_owned())
                }
            };
            match workload {
                Ok(mut workload) => {
                    if *host == Host::Local {
                        workload.file = files.find(&workload.program);
                    }
                    if self.commands.contains(&row.case.benchmark) {
                        workload.trials = MAX_COMMAND_TRIALS;
                        workload.min_trials = trials.min;
                        workload.time = Some(trials.time);
                        workload.sampled.clone_from(&self.sampled);
                    } else if let Some(first_look_s) = self.workload_seconds {
                        workload.min_trials = workload.trials;
                        workload.trials = MAX_COMMAND_TRIALS;
                        workload.time = Some(TrialTime { first_look_s, last_look_s: None });
                    }
                    row.workload = Some(Box::new(workload));
                }
                Err(reason) => skipped.push(SkippedRow { row: index, reason }),
            }
        }
        skipped
    }
}

/// More trials of a command add little, and a record should stay readable.
const MAX_COMMAND_TRIALS: u32 = 20_000;

/// The environment of programs on a host: this machine, or an invented one for a fake host. Of another
/// machine nothing is known.
pub(crate) fn environment(host: &Host, quick: bool) -> RunEnvironment {
    if let Host::Fake(_) = host {
        let [folder, cache] = ["/here", "/cache"].map(PathBuf::from);
        return RunEnvironment { cpus: 2, start_folder: folder, cache, quick, skip_checks: true };
    }
    // What another machine has shows when it is started there.
    let skip_checks = matches!(host, Host::Ssh(_));
    RunEnvironment {
        cpus: std::thread::available_parallelism().map_or(1, Into::into),
        start_folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        // Without HOME nothing can have been prepared; the missing preparation is then reported.
        cache: program_folder().unwrap_or_else(|| PathBuf::from("/var/cache/oscost")),
        quick,
        skip_checks,
    }
}
