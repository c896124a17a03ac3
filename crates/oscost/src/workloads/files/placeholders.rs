//! Placeholders in the words of commands, and their replacement.

use std::collections::BTreeMap;
use std::path::Path;

use oscost_model::parameter::replace_placeholders;
use oscost_model::point::Point;

use crate::workloads::command::check_command;
use crate::workloads::environment::RunEnvironment;
use crate::workloads::files::spec::{Origin, Spec};
use crate::workloads::requirements::{ProgramLocation, find_program};
use crate::workloads::study_program::{self, StudyProgram};

/// The beginning of a placeholder that stands for the path of a program of a study: only those that
/// come with oscost are carried by it.
const STUDY_PROGRAM: &str = "program:";

/// Replaces the placeholders of a workload at a point.
pub(in crate::workloads) struct Placeholders<'a> {
    spec: &'a Spec,
    point: &'a Point,
    cpus: String,
    pub(in crate::workloads) here: String,
    pub(in crate::workloads) cache: String,
    /// The paths of the programs of studies that it uses, by name.
    programs: BTreeMap<&'static str, String>,
    /// Whether programs are looked up outside of PATH.
    finds_programs: bool,
}

impl<'a> Placeholders<'a> {
    /// The error is what is missing.
    pub(in crate::workloads) fn new(
        spec: &'a Spec,
        point: &'a Point,
        environment: &RunEnvironment,
    ) -> Result<Self, String> {
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| format!("no UTF-8 name of the directory {}", path.display()))
        };
        let cpus = environment.cpus.max(1).to_string();
        let here = text(&environment.start_folder)?;
        let cache = text(&environment.cache_of(spec))?;
        let finds_programs = !environment.skip_checks;
        let path = |program: &'static StudyProgram| {
            let path = match environment.skip_checks {
                true => Ok(format!("/programs/{}", program.name)),
                false => program.path(),
            };
            let path = path.map_err(|why| format!("no file for {}: {why}", program.name))?;
            Ok((program.name, path))
        };
        let programs =
            spec.study_programs().into_iter().map(path).collect::<Result<_, String>>()?;
        Ok(Self { spec, point, cpus, here, cache, programs, finds_programs })
    }

    /// The replacement of a name in braces; `None` if it is not a placeholder.
    fn replacement(&self, name: &str) -> Option<String> {
        match name {
            "cpus" => Some(self.cpus.clone()),
            "cache" => Some(self.cache.clone()),
            "here" => Some(self.here.clone()),
            name if name.starts_with(STUDY_PROGRAM) => {
                self.programs.get(name.strip_prefix(STUDY_PROGRAM)?).cloned()
            }
            axis => {
                let value = self.point.get(axis)?.to_string();
                let axis = self.spec.axes.iter().find(|it| it.name == axis)?;
                Some(axis.words.get(&value).map_or(value, |words| words.join(" ")))
            }
        }
    }

    /// A word of the command line with all parameters replaced once.
    pub(in crate::workloads) fn parameters_of(&self, word: &str) -> String {
        replace_placeholders(word, |name| Some(self.point.get(name)?.to_string()))
    }

    /// A text with all placeholders replaced once.
    pub(in crate::workloads) fn text(&self, text: &str) -> String {
        replace_placeholders(text, |name| self.replacement(name))
    }

    /// The words of a command. The placeholder of an axis with words is replaced by these words,
    /// and a program outside of PATH by its path.
    pub(in crate::workloads) fn command(&self, words: &[String]) -> Result<Vec<String>, String> {
        if self.spec.origin == Origin::CommandLine {
            return Ok(words.iter().map(|word| self.parameters_of(word)).collect());
        }
        let mut filled: Vec<String> = Vec::new();
        for word in words {
            let name = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
            let axis = self.spec.axes.iter().find(|axis| Some(axis.name.as_str()) == name);
            let value = axis.and_then(|axis| self.point.get(&axis.name));
            match axis.zip(value).and_then(|(axis, value)| axis.words.get(&value.to_string())) {
                Some(words) => filled.extend(words.iter().cloned()),
                None => filled.push(self.text(word)),
            }
        }
        check_command(&filled).map_err(|why| format!("no command at this point: {why}"))?;
        if let Some(program) =
            filled.first_mut().filter(|it| self.finds_programs && !it.contains('/'))
            && !self.spec.variables.contains_key("PATH")
            && let Some(ProgramLocation::At(path)) = find_program(program)
            && let Some(path) = path.to_str()
        {
            path.clone_into(program);
        }
        Ok(filled)
    }

    /// The values of variables.
    pub(in crate::workloads) fn variables(
        &self,
        raw: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        raw.iter().map(|(name, value)| (name.clone(), self.text(value))).collect()
    }
}

impl Spec {
    /// The programs of studies that its words name.
    pub fn study_programs(&self) -> Vec<&'static StudyProgram> {
        let mut found: Vec<&'static StudyProgram> = Vec::new();
        if self.origin != Origin::BuiltIn {
            return found;
        }
        let start = format!("{{{STUDY_PROGRAM}");
        for word in self.words().chain(self.variables.values()) {
            let names =
                word.split(start.as_str()).skip(1).filter_map(|rest| rest.split('}').next());
            for program in names.filter_map(study_program::find) {
                if !found.iter().any(|it| it.name == program.name) {
                    found.push(program);
                }
            }
        }
        found
    }
}
