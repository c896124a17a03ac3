//! Parsing workload files (TOML, docs/reference/WORKLOADS.md).
//!
//! They are untrusted: the size of a file, the number of its items and the length of its texts are
//! bounded, unknown keys are refused, and errors name the line.

use std::ops::RangeInclusive;

use oscost_model::case::is_benchmark_id;
use oscost_model::program::{CompanionProgram, FAMILY, MAX_COMMAND_BYTES, ProgramLimits};
pub use oscost_model::untrusted_text::ParseError;
use oscost_model::untrusted_text::{display_text, is_control, line_at, one_line, utf8_text};
use toml::Spanned;

use crate::workloads::command::{check_command, has_control};
use crate::workloads::files::built_in::{MAX_NAME_CHARS, is_built_in, name_of};
use crate::workloads::files::spec::{Folder, Need, Origin, Prepare, RequiredItem, Spec};
use raw::{
    RawCommand, RawCompanion, RawCpus, RawFolder, RawLimits, RawNeed, RawOutput, RawPrepare,
    RawSpec,
};

mod raw;
mod tables;

/// The largest workload file: ten times one that contains a script.
pub const MAX_FILE_BYTES: usize = 64 << 10;
/// Commands before a trial, after it, and of a preparation.
const MAX_COMMANDS: usize = 16;
const MAX_VARIABLES: usize = 64;
const MAX_NEEDS: usize = 32;
/// The maximum number of exit statuses that mean success.
const MAX_STATUSES: usize = 8;
/// The longest sentence.
const MAX_TEXT_CHARS: usize = 600;
const MAX_PATH_CHARS: usize = 1_024;
/// The maximum is a day of trials of a minute each.
const TRIALS: RangeInclusive<u32> = 1..=1_000;
/// A day.
const SECONDS: RangeInclusive<u32> = 1..=86_400;
/// Output is kept in memory until it has been parsed.
const OUTPUT_MIB: RangeInclusive<u32> = 1..=1_024;
/// With less than 16 MiB no program starts; more than 16 TiB is no limit.
const MEMORY_MIB: RangeInclusive<u32> = 16..=16 << 20;
const FILE_MIB: RangeInclusive<u32> = 1..=16 << 20;

/// Parses a workload file of the user; `stem` is its file name without the extension.
pub fn parse(bytes: &[u8], stem: &str) -> Result<Spec, ParseError> {
    parse_from(bytes, stem, Origin::File)
}

/// Parses a built-in workload file.
pub(in crate::workloads) fn parse_built_in(bytes: &[u8], name: &str) -> Result<Spec, ParseError> {
    parse_from(bytes, name, Origin::BuiltIn)
}

fn parse_from(bytes: &[u8], stem: &str, origin: Origin) -> Result<Spec, ParseError> {
    let text = utf8_text(bytes, "workload", MAX_FILE_BYTES)?;
    let parser = Parser { text };
    let raw: RawSpec = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let why = display_text(error.message(), MAX_TEXT_CHARS);
        ParseError { line: line_at(text.as_bytes(), at), reason: why }
    })?;
    parser.spec(&raw, stem, origin)
}

struct Parser<'a> {
    text: &'a str,
}

impl Parser<'_> {
    /// The line of a byte offset, from 1.
    fn line(&self, at: usize) -> usize {
        line_at(self.text.as_bytes(), at)
    }

    fn refused<T>(&self, at: &Spanned<T>, why: impl Into<String>) -> ParseError {
        ParseError { line: self.line(at.span().start), reason: why.into() }
    }

    /// Checks the length of a list.
    fn check_length<T>(&self, what: &str, list: &[T], max: usize) -> Result<(), ParseError> {
        if list.len() <= max {
            return Ok(());
        }
        Err(ParseError {
            line: 1,
            reason: format!("it has {} {what}; at most {max} are allowed", list.len()),
        })
    }

    /// A text, joined into one line.
    fn line_of_text(
        &self,
        raw: &Spanned<String>,
        what: &str,
        max_chars: usize,
    ) -> Result<String, ParseError> {
        one_line(raw.as_ref(), what, max_chars).map_err(|why| self.refused(raw, why))
    }

    /// An optional text.
    fn optional_text(
        &self,
        raw: Option<&Spanned<String>>,
        what: &str,
    ) -> Result<Option<String>, ParseError> {
        raw.map(|raw| self.line_of_text(raw, what, MAX_TEXT_CHARS)).transpose()
    }

    fn within(
        &self,
        raw: Option<&Spanned<u32>>,
        what: &str,
        range: &RangeInclusive<u32>,
    ) -> Result<Option<u32>, ParseError> {
        let Some(raw) = raw else { return Ok(None) };
        if range.contains(raw.as_ref()) {
            return Ok(Some(*raw.as_ref()));
        }
        let why = format!("{what}: {} to {} are allowed", range.start(), range.end());
        Err(self.refused(raw, why))
    }

    fn command(&self, raw: &RawCommand) -> Result<Vec<String>, ParseError> {
        check_command(raw.as_ref()).map_err(|why| self.refused(raw, why))?;
        Ok(raw.as_ref().clone())
    }

    fn commands(&self, what: &str, raw: &[RawCommand]) -> Result<Vec<Vec<String>>, ParseError> {
        self.check_length(&format!("commands {what}"), raw, MAX_COMMANDS)?;
        raw.iter().map(|command| self.command(command)).collect()
    }

    fn spec(&self, raw: &RawSpec, stem: &str, origin: Origin) -> Result<Spec, ParseError> {
        let id = self.id(raw.id.as_ref(), stem, origin)?;
        let mut spec = Spec::of_command(&id, origin, self.command(&raw.command)?);
        let texts = [
            (&mut spec.asks, &raw.asks, "the question"),
            (&mut spec.op, &raw.op, "the op"),
            (&mut spec.expected, &raw.expected, "the expectation"),
            (&mut spec.source, &raw.source, "the source"),
            (&mut spec.explanation, &raw.explanation, "the explanation"),
        ];
        for (into, text, what) in texts {
            if let Some(text) = self.optional_text(text.as_ref(), what)? {
                *into = text;
            }
        }
        if let Some(asks) = raw.asks.as_ref().filter(|_| !spec.asks.ends_with('?')) {
            return Err(self.refused(asks, "a question ends with `?`"));
        }
        spec.rev = self.within(raw.rev.as_ref(), "a revision", &(1..=u32::MAX))?.unwrap_or(1);
        self.surroundings(raw, &mut spec)?;
        spec.limits = self.limits(raw.limits.as_ref())?;
        self.trials(raw, &mut spec)?;
        spec.axes = self.axes(&raw.axes)?;
        spec.figures = self.figures(&raw.figures, &spec.axes)?;
        spec.primary = self.primary(raw.primary.as_ref(), &spec.figures)?;
        spec.reads_output = match raw.output {
            Some(output) => output == RawOutput::Read,
            None => raw.figures.iter().any(|figure| figure.pattern.is_some()),
        };
        spec.needs = self.needs(&raw.needs)?;
        spec.prepare = raw.prepare.as_ref().map(|raw| self.prepare(raw)).transpose()?;
        self.check_consistency(raw, &spec)?;
        Ok(spec)
    }

    fn id(
        &self,
        raw: Option<&Spanned<String>>,
        stem: &str,
        origin: Origin,
    ) -> Result<String, ParseError> {
        let Some(raw) = raw else { return Ok(format!("{FAMILY}/{}", name_of(stem))) };
        let id = self.line_of_text(raw, "the id", FAMILY.len() + 1 + MAX_NAME_CHARS)?;
        match id.split_once('/') {
            Some((FAMILY, name)) if is_benchmark_id(&id) => {
                if origin != Origin::BuiltIn && is_built_in(name) {
                    let why = format!("`{id}` comes with oscost; choose another name");
                    return Err(self.refused(raw, why));
                }
                Ok(id)
            }
            _ => Err(self.refused(
                raw,
                "an id is workload/NAME, with lower-case letters, digits and dashes",
            )),
        }
    }

    /// Variables, directory, other commands and exit statuses.
    fn surroundings(&self, raw: &RawSpec, spec: &mut Spec) -> Result<(), ParseError> {
        let variables: Vec<_> = raw.variables.iter().collect();
        self.check_length("variables", &variables, MAX_VARIABLES)?;
        for (name, value) in variables {
            self.variable(name, value)?;
            if has_control(value.as_ref()) || value.as_ref().len() > MAX_COMMAND_BYTES {
                return Err(self.refused(
                    value,
                    "the value of a variable has a control character, or is too long",
                ));
            }
            spec.variables.insert(name.clone(), value.as_ref().clone());
        }
        if let Some(folder) = &raw.folder {
            spec.folder = match folder.as_ref() {
                RawFolder::Fresh => Folder::Fresh,
                RawFolder::Here => Folder::Here,
                RawFolder::Cache => Folder::Cache,
            };
        }
        spec.one_cpu = raw.cpus == Some(RawCpus::One);
        spec.before = self.commands("before a trial", &raw.before)?;
        spec.after = self.commands("after a trial", &raw.after)?;
        spec.companion = raw.companion.as_ref().map(|raw| self.companion(raw)).transpose()?;
        if let Some(raw) = &raw.statuses {
            let statuses = raw.as_ref();
            let bounded = (1..=MAX_STATUSES).contains(&statuses.len());
            if !bounded || statuses.iter().any(|status| !(0..=255).contains(status)) {
                let why = format!("1 to {MAX_STATUSES} statuses from 0 to 255 are allowed");
                return Err(self.refused(raw, why));
            }
            spec.statuses.clone_from(statuses);
        }
        Ok(())
    }

    fn variable<T>(&self, name: &str, at: &Spanned<T>) -> Result<(), ParseError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let has_first = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        if has_first && name.len() <= 64 && name.bytes().all(is_allowed) {
            return Ok(());
        }
        let why = format!("`{}` is not a variable name", display_text(name, 40));
        Err(self.refused(at, why))
    }

    fn companion(&self, raw: &RawCompanion) -> Result<CompanionProgram, ParseError> {
        let mut companion = CompanionProgram {
            command: self.command(&raw.command)?,
            ..CompanionProgram::default()
        };
        if let Some(raw) = &raw.variable {
            self.variable(raw.as_ref(), raw)?;
            companion.variable.clone_from(raw.as_ref());
        }
        if let Some(prefix) = &raw.prefix {
            if raw.variable.is_none() {
                return Err(self.refused(prefix, "a prefix requires a variable"));
            }
            companion.prefix = self.line_of_text(prefix, "the prefix", MAX_PATH_CHARS)?;
        }
        Ok(companion)
    }

    fn limits(&self, raw: Option<&RawLimits>) -> Result<ProgramLimits, ParseError> {
        let (mut limits, Some(raw)) = (ProgramLimits::default(), raw) else {
            return Ok(ProgramLimits::default());
        };
        if let Some(seconds) = self.within(raw.seconds.as_ref(), "seconds", &SECONDS)? {
            limits.seconds = seconds;
        }
        if let Some(mib) = self.within(raw.output_mib.as_ref(), "MiB of output", &OUTPUT_MIB)? {
            limits.output_mib = mib;
        }
        limits.memory_mib = self.within(raw.memory_mib.as_ref(), "MiB of memory", &MEMORY_MIB)?;
        limits.file_mib = self.within(raw.file_mib.as_ref(), "MiB of a file", &FILE_MIB)?;
        Ok(limits)
    }

    fn trials(&self, raw: &RawSpec, spec: &mut Spec) -> Result<(), ParseError> {
        if let Some(trials) = self.within(raw.trials.as_ref(), "trials", &TRIALS)? {
            spec.trials = trials;
        }
        // The defaults of the others are limited to the number of trials.
        let range = 1..=spec.trials;
        let min = self.within(raw.min_trials.as_ref(), "min-trials", &range)?;
        spec.min_trials = min.unwrap_or(spec.min_trials.min(spec.trials));
        let quick = self.within(raw.quick_trials.as_ref(), "quick-trials", &range)?;
        spec.quick_trials = quick.unwrap_or(spec.quick_trials.min(spec.trials));
        Ok(())
    }

    fn needs(&self, raw: &[Spanned<RawNeed>]) -> Result<Vec<Need>, ParseError> {
        self.check_length("needs", raw, MAX_NEEDS)?;
        raw.iter().map(|raw| self.need(raw)).collect()
    }

    fn need(&self, raw: &Spanned<RawNeed>) -> Result<Need, ParseError> {
        let refused = |why: &str| self.refused(raw, why);
        let need = raw.as_ref();
        let item = match (&need.program, &need.file, &need.glob) {
            (Some(program), None, None) if !program.is_empty() && !program.contains('/') => {
                RequiredItem::Program(program.clone())
            }
            (Some(_), None, None) => {
                return Err(refused("a needed program is a name without a path"));
            }
            (None, Some(path), None) if path.starts_with('/') => RequiredItem::File(path.clone()),
            (None, None, Some(path)) if path.starts_with('/') => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                if folder.contains('*') || !path.contains('*') {
                    return Err(refused("a glob has its `*` in the last component of its path"));
                }
                RequiredItem::Glob(path.clone())
            }
            (None, Some(_), None) | (None, None, Some(_)) => {
                return Err(refused("a needed file has an absolute path"));
            }
            _ => return Err(refused("a need is one of: program, file, glob")),
        };
        let (RequiredItem::Program(text) | RequiredItem::File(text) | RequiredItem::Glob(text)) =
            &item;
        if text.len() > MAX_PATH_CHARS || text.chars().any(is_control) {
            return Err(refused("the name of a need has a control character, or is too long"));
        }
        let package = need.package.as_ref().map(|raw| {
            let name = raw.as_ref();
            let is_first =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.';
            let has_first = name.bytes().next().is_some_and(is_first);
            let is_allowed = |byte: u8| is_first(byte) || matches!(byte, b'+' | b'-');
            match has_first && name.bytes().all(is_allowed) && name.len() <= 80 {
                true => Ok(name.clone()),
                false => Err(self.refused(raw, "this is not a package name")),
            }
        });
        Ok(Need { item, package: package.transpose()? })
    }

    fn prepare(&self, raw: &RawPrepare) -> Result<Prepare, ParseError> {
        let commands = self.commands("of its preparation", raw.commands.as_ref())?;
        if commands.is_empty() {
            return Err(self.refused(&raw.commands, "a preparation has commands"));
        }
        if commands.iter().flatten().any(|word| word.contains("{cache}")) {
            let why =
                "a preparation runs in the cache directory, which gets its name only afterwards";
            return Err(self.refused(&raw.commands, why));
        }
        let marker = self.line_of_text(&raw.marker, "the marker", MAX_PATH_CHARS)?;
        // These components may lead out of the directory.
        if marker.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(self.refused(&raw.marker, "a marker is a path within the cache directory"));
        }
        Ok(Prepare { commands, marker_file: marker })
    }
}

#[cfg(test)]
mod tests;
