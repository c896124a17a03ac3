//! The program of a workload at a point, on this machine.

use oscost_model::point::Point;
use oscost_model::program::{CompanionProgram, Figure, Program, Workload};

use super::cache;
use super::environment::RunEnvironment;
use super::files::placeholders::Placeholders;
use super::files::spec::{Folder, Origin, Spec};
use super::requirements::MissingItems;

impl Spec {
    /// The workload at a point; or what this machine lacks for it.
    pub fn workload(
        &self,
        point: &Point,
        environment: &RunEnvironment,
    ) -> Result<Workload, MissingItems> {
        let mut missing = self.missing_needs();
        if self.prepare.is_some() {
            self.check_cache(environment, &mut missing);
        }
        let program = Placeholders::new(self, point, environment).and_then(|placeholders| {
            let command = placeholders.command(&self.command)?;
            self.check_program(&command, &mut missing);
            self.program(&placeholders, command)
        });
        let program = match program {
            Ok(program) => program,
            Err(why) => {
                missing.lacks.push(why);
                return Err(missing);
            }
        };
        if !missing.is_empty() && !environment.skip_checks {
            return Err(missing);
        }
        let trials = if environment.quick { self.quick_trials } else { self.trials };
        let figures = self.figures.iter().filter(|it| point.includes(&it.when));
        Ok(Workload {
            program,
            file: None,
            one_cpu: self.one_cpu,
            trials,
            min_trials: self.min_trials.min(trials),
            time: self.time,
            figures: figures.map(|it| it.figure.clone()).collect::<Vec<Figure>>(),
            primary: self.primary.clone(),
            sampled: Vec::new(),
        })
    }

    fn program(
        &self,
        placeholders: &Placeholders<'_>,
        command: Vec<String>,
    ) -> Result<Program, String> {
        let commands = |all: &[Vec<String>]| {
            all.iter().map(|it| placeholders.command(it)).collect::<Result<Vec<_>, _>>()
        };
        let companion = |companion: &CompanionProgram| {
            let command = placeholders.command(&companion.command)?;
            Ok::<_, String>(CompanionProgram { command, ..companion.clone() })
        };
        Ok(Program {
            command,
            input: self.input.as_deref().map(|path| placeholders.parameters_of(path)),
            variables: placeholders.variables(&self.variables),
            working_directory: match self.folder {
                Folder::Fresh => None,
                Folder::Here => Some(placeholders.here.clone()),
                Folder::Cache => Some(placeholders.cache.clone()),
            },
            before: commands(&self.before)?,
            after: commands(&self.after)?,
            companion: self.companion.as_ref().map(companion).transpose()?,
            captures_output: self.reads_output,
            ok_statuses: self.statuses.clone(),
            ignores_status: self.ignores_status,
            may_leave_processes: false,
            limits: self.limits,
        })
    }

    /// Adds the cache directory if it is missing.
    fn check_cache(&self, environment: &RunEnvironment, missing: &mut MissingItems) {
        let why = match cache::state(self, environment) {
            cache::State::Ready => return,
            cache::State::Absent => "no prepared directory",
            cache::State::Outdated => {
                "no prepared directory but one that was filled by other commands"
            }
        };
        missing.lacks.push(why.to_owned());
        missing.prepare = Some(match self.origin {
            Origin::BuiltIn => format!("oscost workload prepare {}", self.name()),
            Origin::File | Origin::CommandLine => "oscost workload prepare FILE".to_owned(),
        });
    }
}

#[cfg(test)]
mod tests;
