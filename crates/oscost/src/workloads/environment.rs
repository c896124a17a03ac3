//! A workload on this machine: what it lacks, and what its placeholders stand for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use oscost_model::point::Point;
use oscost_model::program::{CompanionProgram, Figure, Program, Workload};
use wildmatch::WildMatch;

use super::parser::words_of_a_command;
use super::{Folder, Need, Origin, RequiredItem, Spec, cache};

/// Where programs lie that are not on everybody's path: games, and those of the administrator.
const EXTRA_PATH: [&str; 6] =
    ["/usr/local/games", "/usr/games", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin"];

/// What a workload must know of the machine and of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnvironment {
    /// How many CPUs may be used.
    pub cpus: usize,
    /// Where oscost was started.
    pub start_folder: PathBuf,
    /// The root of oscost's caches; see [`default_cache`].
    pub cache: PathBuf,
    /// Whether as few trials are made as a quick run has.
    pub quick: bool,
    /// Whether it is made up: then nothing is looked for.
    pub skip_checks: bool,
}

impl RunEnvironment {
    /// The cache folder of a workload.
    pub fn cache_of(&self, spec: &Spec) -> PathBuf {
        self.cache.join("workload").join(spec.name())
    }
}

/// Where a user's caches lie: in `$XDG_CACHE_HOME`, else in `$HOME/.cache`; `None` where neither
/// names a folder.
pub fn default_cache() -> Option<PathBuf> {
    cache_below(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
}

/// See [`default_cache`]. The XDG specification calls a relative path invalid.
fn cache_below(xdg_cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let cache = xdg_cache.and_then(absolute);
    let cache = cache.or_else(|| Some(home.and_then(absolute)?.join(".cache")))?;
    Some(cache.join("oscost"))
}

/// What a workload lacks on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The things, in words: `no program sqlite3`.
    pub lacks: Vec<String>,
    /// The packages of Debian that have them, as far as they are known.
    pub packages: Vec<String>,
    /// The command that fills its cache folder, if that is to be done.
    pub prepare: Option<String>,
}

impl Missing {
    fn is_nothing(&self) -> bool {
        self.lacks.is_empty()
    }

    /// What to do about it; `None` where nothing is known.
    pub fn hint(&self) -> Option<String> {
        let install = (!self.packages.is_empty()).then(|| {
            let packages = self.packages.join(" ");
            format!("sudo apt-get install --no-install-recommends {packages}")
        });
        match (install, &self.prepare) {
            (Some(install), Some(prepare)) => Some(format!("{install}, then {prepare}")),
            (install, prepare) => install.or_else(|| prepare.clone()),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is {}", self.lacks.join(", "))?;
        match self.hint() {
            Some(hint) => write!(out, ": {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Missing {}

impl Spec {
    /// The workload at a point, on this machine.
    pub fn workload(&self, point: &Point, here: &RunEnvironment) -> Result<Workload, Missing> {
        let mut missing = self.lacking();
        if self.prepare.is_some() {
            self.lacking_cache(here, &mut missing);
        }
        let filler = Placeholders::of(self, point, here);
        let (filler, command) = match filler.and_then(|filler| {
            let command = filler.command(&self.command)?;
            Ok((filler, command))
        }) {
            Ok(it) => it,
            Err(why) => {
                missing.lacks.push(why);
                return Err(missing);
            }
        };
        self.lacking_program(&command, &mut missing);
        let program = self.program(&filler, command).map_err(|why| {
            missing.lacks.push(why);
            missing.clone()
        })?;
        if !missing.is_nothing() && !here.skip_checks {
            return Err(missing);
        }
        let trials = if here.quick { self.quick_trials } else { self.trials };
        let at = self.figures.iter().filter(|it| point.includes(&it.when));
        Ok(Workload {
            program,
            trials,
            min_trials: self.min_trials.min(trials),
            figures: at.map(|it| it.figure.clone()).collect::<Vec<Figure>>(),
            primary: self.primary.clone(),
        })
    }

    fn program(&self, filler: &Placeholders<'_>, command: Vec<String>) -> Result<Program, String> {
        let commands = |all: &[Vec<String>]| {
            all.iter().map(|it| filler.command(it)).collect::<Result<Vec<_>, _>>()
        };
        let beside = |beside: &CompanionProgram| {
            let command = filler.command(&beside.command)?;
            Ok::<_, String>(CompanionProgram { command, ..beside.clone() })
        };
        Ok(Program {
            command,
            variables: filler.variables(&self.variables),
            working_directory: match self.folder {
                Folder::Fresh => None,
                Folder::Here => Some(filler.here.clone()),
                Folder::Cache => Some(filler.cache.clone()),
            },
            before: commands(&self.before)?,
            after: commands(&self.after)?,
            companion: self.companion.as_ref().map(beside).transpose()?,
            captures_output: self.reads_output,
            ok_statuses: self.statuses.clone(),
            limits: self.limits,
        })
    }

    /// What of its needs is not there, in the order of its file.
    pub(super) fn lacking(&self) -> Missing {
        let mut missing = Missing::default();
        for need in self.needs.iter().filter(|need| !is_there(&need.item)) {
            missing.lacks.push(match &need.item {
                RequiredItem::Program(name) => format!("no program {name}"),
                RequiredItem::File(path) | RequiredItem::Glob(path) => format!("no file {path}"),
            });
            let known = need.package.iter().filter(|name| !missing.packages.contains(name));
            let known: Vec<String> = known.cloned().collect();
            missing.packages.extend(known);
        }
        missing
    }

    fn lacking_cache(&self, here: &RunEnvironment, missing: &mut Missing) {
        let why = match cache::state(self, here) {
            cache::State::Ready => return,
            cache::State::Absent => "no prepared folder of it",
            cache::State::Other => "no prepared folder of it but one that was filled otherwise",
        };
        missing.lacks.push(why.to_owned());
        missing.prepare = Some(match self.origin {
            Origin::BuiltIn => format!("oscost workload prepare {}", self.name()),
            Origin::File | Origin::CommandLine => "oscost workload prepare FILE".to_owned(),
        });
    }

    /// A program that is named by a path may be made before the trial, and one with a path of its
    /// own is looked for there.
    fn lacking_program(&self, command: &[String], missing: &mut Missing) {
        let Some(name) = command.first().filter(|name| !name.contains('/')) else { return };
        let told = |need: &Need| need.item == RequiredItem::Program(name.clone());
        let own_path = self.variables.contains_key("PATH");
        // Words that are taken as they stand name nothing that lies beside the path.
        let lies = found(name)
            .filter(|lies| self.origin != Origin::CommandLine || *lies == ProgramLocation::OnPath);
        if !own_path && !self.needs.iter().any(told) && lies.is_none() {
            missing.lacks.push(format!("no program {}", super::quoting::display_text(name, 80)));
        }
    }
}

fn is_there(what: &RequiredItem) -> bool {
    match what {
        RequiredItem::Program(name) => found(name).is_some(),
        RequiredItem::File(path) => Path::new(path).exists(),
        RequiredItem::Glob(path) => {
            let (folder, pattern) = path.rsplit_once('/').unwrap_or(("", path));
            let pattern = WildMatch::new(pattern);
            let folder = if folder.is_empty() { "/" } else { folder };
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name());
            names.any(|name| pattern.matches(&name.to_string_lossy()))
        }
    }
}

/// Where a program lies, and whether a shell of the user's would find it.
#[derive(Debug, PartialEq, Eq)]
enum ProgramLocation {
    /// On the path.
    OnPath,
    /// Elsewhere.
    At(PathBuf),
}

/// Finds a program by its name.
fn found(name: &str) -> Option<ProgramLocation> {
    found_on(std::env::var_os("PATH").as_deref(), name)
}

fn found_on(path: Option<&OsStr>, name: &str) -> Option<ProgramLocation> {
    let runs = |path: &PathBuf| {
        let known = std::fs::metadata(path);
        known.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let mut folders = path.into_iter().flat_map(std::env::split_paths);
    if folders.any(|folder| runs(&folder.join(name))) {
        return Some(ProgramLocation::OnPath);
    }
    EXTRA_PATH.iter().map(|folder| Path::new(folder).join(name)).find(runs).map(ProgramLocation::At)
}

/// Puts what is meant in place of placeholders.
pub(super) struct Placeholders<'a> {
    spec: &'a Spec,
    point: &'a Point,
    cpus: String,
    here: String,
    cache: String,
    /// Whether programs are looked for.
    looks: bool,
}

impl<'a> Placeholders<'a> {
    pub(super) fn of(
        spec: &'a Spec,
        point: &'a Point,
        here: &RunEnvironment,
    ) -> Result<Self, String> {
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| "no way to write a folder's name as text (UTF-8)".to_owned())
        };
        let cpus = here.cpus.max(1).to_string();
        let cache = text(&here.cache_of(spec))?;
        let looks = !here.skip_checks;
        Ok(Self { spec, point, cpus, here: text(&here.start_folder)?, cache, looks })
    }

    /// What a name in braces stands for; `None` for what is no placeholder.
    fn meaning(&self, name: &str) -> Option<String> {
        match name {
            "cpus" => Some(self.cpus.clone()),
            "cache" => Some(self.cache.clone()),
            "here" => Some(self.here.clone()),
            axis => {
                let value = self.point.get(axis)?.to_string();
                let of = self.spec.axes.iter().find(|it| it.name == axis)?;
                Some(of.words.get(&value).map_or(value, |words| words.join(" ")))
            }
        }
    }

    /// A text with all placeholders filled; what they stand for is not looked at again.
    fn text(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            filled.push_str(before);
            let name = behind.split_once('}');
            match name.and_then(|(name, after)| Some((self.meaning(name)?, after))) {
                Some((meaning, after)) => {
                    filled.push_str(&meaning);
                    rest = after;
                }
                None => {
                    filled.push('{');
                    rest = behind;
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// The words of a command. A word that is the placeholder of an axis with words becomes those,
    /// and a program that lies beside the path is named in full.
    pub(super) fn command(&self, words: &[String]) -> Result<Vec<String>, String> {
        if self.spec.origin == Origin::CommandLine {
            return Ok(words.to_vec());
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
        words_of_a_command(&filled).map_err(|why| format!("no command at this point: {why}"))?;
        if let Some(program) = filled.first_mut().filter(|it| self.looks && !it.contains('/'))
            && !self.spec.variables.contains_key("PATH")
            && let Some(ProgramLocation::At(path)) = found(program)
            && let Some(path) = path.to_str()
        {
            path.clone_into(program);
        }
        Ok(filled)
    }

    /// The variables, filled.
    pub(super) fn variables(&self, raw: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        raw.iter().map(|(name, value)| (name.clone(), self.text(value))).collect()
    }
}

#[cfg(test)]
mod tests;
