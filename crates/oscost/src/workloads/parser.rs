//! The file of a workload (TOML): docs/reference/WORKLOADS.md says what stands in one.
//!
//! It may come from anybody. Its size, the number of everything in it and the length of its texts
//! are bounded, an unknown key is refused, and a refusal names the line.

use std::ops::RangeInclusive;

use oscost_model::case::is_benchmark_id;
use oscost_model::program::{CompanionProgram, FAMILY, ProgramLimits};
pub use oscost_model::untrusted::ParseError;
use oscost_model::untrusted::{display_text, is_control, line_at, one_line, utf8_text};
use toml::Spanned;

use super::command::{name_of, own};
use super::{Folder, Need, Origin, Prepare, RequiredItem, Spec, is_built_in};
use raw::{
    RawCommand, RawCompanion, RawFolder, RawLimits, RawNeed, RawOutput, RawPrepare, RawSpec,
};

mod raw;
mod tables;

/// The longest file of a workload: ten times one with a script in it.
pub const MAX_FILE_BYTES: usize = 64 << 10;
/// Words of a command, and what they may have in all: a list of files, or a script.
const MAX_WORDS: usize = 1_024;
const MAX_LETTERS: usize = 64 << 10;
/// Commands before a trial, after it, and of a preparation.
const MAX_COMMANDS: usize = 16;
const MAX_VARIABLES: usize = 64;
const MAX_NEEDS: usize = 32;
/// A program has few ways to say that all went well.
const MAX_STATUSES: usize = 8;
/// Sentences; names stand at the side of a table of 80 columns.
const MAX_TEXT_CHARS: usize = 600;
const MAX_NAME_CHARS: usize = 24;
const MAX_PATH_CHARS: usize = 1_024;
/// As many as a run of a day has of something that takes a minute.
const TRIALS: RangeInclusive<u32> = 1..=1_000;
/// A day.
const SECONDS: RangeInclusive<u32> = 1..=86_400;
/// What is read lies in memory until it has been looked at.
const OUTPUT_MIB: RangeInclusive<u32> = 1..=1_024;
/// Below 16 no program starts; above 16 TiB there is no limit.
const MEMORY_MIB: RangeInclusive<u32> = 16..=16 << 20;
const FILE_MIB: RangeInclusive<u32> = 1..=16 << 20;

/// What holds where a file does not say otherwise.
pub(super) mod defaults {
    /// Ten have a deviation that means something, and are as many as most studies have.
    pub(in crate::workloads) const TRIALS: u32 = 10;
    /// See [`TRIALS`].
    pub(in crate::workloads) const LEAST: u32 = 10;
    /// The fewest of which a median is not one of two ends.
    pub(in crate::workloads) const QUICK: u32 = 3;
}

/// Reads a person's own workload; `stem` is its file's name without what stands behind the dot.
pub fn parse(bytes: &[u8], stem: &str) -> Result<Spec, ParseError> {
    read(bytes, stem, Origin::File)
}

/// Reads one that comes with oscost.
pub(super) fn built_in(bytes: &[u8], name: &str) -> Result<Spec, ParseError> {
    read(bytes, name, Origin::BuiltIn)
}

fn read(bytes: &[u8], stem: &str, origin: Origin) -> Result<Spec, ParseError> {
    let text = utf8_text(bytes, "workload", MAX_FILE_BYTES)?;
    let reader = Reader { text };
    let raw: RawSpec = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let why = display_text(error.message(), MAX_TEXT_CHARS);
        ParseError { line: line_at(text.as_bytes(), at), reason: why }
    })?;
    reader.spec(&raw, stem, origin)
}

/// What is wrong with the words of a command.
pub(super) fn words_of_a_command(words: &[String]) -> Result<(), String> {
    match words.first() {
        None => return Err("a command has words".to_owned()),
        Some(program) if program.is_empty() => {
            return Err("a command's program has no name".to_owned());
        }
        Some(_) => {}
    }
    few_words(words)
}

/// What is wrong with words that stand in a command.
fn few_words(words: &[String]) -> Result<(), String> {
    if words.len() > MAX_WORDS {
        return Err(format!("a command has at most {MAX_WORDS} words"));
    }
    if words.iter().map(String::len).sum::<usize>() > MAX_LETTERS {
        return Err(format!("the words of a command have at most {} KiB", MAX_LETTERS >> 10));
    }
    match words.iter().any(|word| steers(word)) {
        true => Err("a word of a command has a control character".to_owned()),
        false => Ok(()),
    }
}

/// Whether a word has control characters other than those that scripts are laid out with.
fn steers(word: &str) -> bool {
    word.chars().any(|letter| is_control(letter) && !matches!(letter, '\n' | '\t'))
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    /// The line of a place in the text, from 1.
    fn line(&self, at: usize) -> usize {
        line_at(self.text.as_bytes(), at)
    }

    fn refused<T>(&self, at: &Spanned<T>, why: impl Into<String>) -> ParseError {
        ParseError { line: self.line(at.span().start), reason: why.into() }
    }

    /// What is wrong with the whole of it.
    fn bounded<T>(&self, what: &str, list: &[T], most: usize) -> Result<(), ParseError> {
        if list.len() <= most {
            return Ok(());
        }
        Err(ParseError {
            line: 1,
            reason: format!("it has {} {what}: {most} are read", list.len()),
        })
    }

    /// A text in one line: line ends in it part words as blanks do.
    fn words(
        &self,
        raw: &Spanned<String>,
        what: &str,
        longest: usize,
    ) -> Result<String, ParseError> {
        one_line(raw.as_ref(), what, longest).map_err(|why| self.refused(raw, why))
    }

    /// A text that need not be there.
    fn said(
        &self,
        raw: Option<&Spanned<String>>,
        what: &str,
    ) -> Result<Option<String>, ParseError> {
        raw.map(|raw| self.words(raw, what, MAX_TEXT_CHARS)).transpose()
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
        let why = format!("{what}: {} to {} can be asked for", range.start(), range.end());
        Err(self.refused(raw, why))
    }

    fn command(&self, raw: &RawCommand) -> Result<Vec<String>, ParseError> {
        words_of_a_command(raw.as_ref()).map_err(|why| self.refused(raw, why))?;
        Ok(raw.as_ref().clone())
    }

    fn commands(&self, what: &str, raw: &[RawCommand]) -> Result<Vec<Vec<String>>, ParseError> {
        self.bounded(&format!("commands {what}"), raw, MAX_COMMANDS)?;
        raw.iter().map(|command| self.command(command)).collect()
    }

    fn spec(&self, raw: &RawSpec, stem: &str, origin: Origin) -> Result<Spec, ParseError> {
        let id = self.id(raw.id.as_ref(), stem, origin)?;
        let mut spec = own(&id, origin, self.command(&raw.command)?);
        let texts = [
            (&mut spec.asks, &raw.asks, "the question"),
            (&mut spec.op, &raw.op, "the op"),
            (&mut spec.expected, &raw.expected, "the guess"),
            (&mut spec.source, &raw.source, "the source"),
            (&mut spec.explanation, &raw.explanation, "the mechanism"),
        ];
        for (into, text, what) in texts {
            if let Some(text) = self.said(text.as_ref(), what)? {
                *into = text;
            }
        }
        if let Some(asks) = raw.asks.as_ref().filter(|_| !spec.asks.ends_with('?')) {
            return Err(self.refused(asks, "a question ends in `?`"));
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
        self.agrees(raw, &spec)?;
        Ok(spec)
    }

    fn id(
        &self,
        raw: Option<&Spanned<String>>,
        stem: &str,
        origin: Origin,
    ) -> Result<String, ParseError> {
        let Some(raw) = raw else { return Ok(format!("{FAMILY}/{}", name_of(stem))) };
        let id = self.words(raw, "the id", FAMILY.len() + 1 + MAX_NAME_CHARS)?;
        match id.split_once('/') {
            Some((FAMILY, name)) if is_benchmark_id(&id) => {
                if origin != Origin::BuiltIn && is_built_in(name) {
                    let why = format!("`{id}` comes with oscost: give yours a name of its own");
                    return Err(self.refused(raw, why));
                }
                Ok(id)
            }
            _ => Err(self.refused(raw, "an id is workload/NAME, in lower-case letters and dashes")),
        }
    }

    /// What surrounds the command.
    fn surroundings(&self, raw: &RawSpec, spec: &mut Spec) -> Result<(), ParseError> {
        let variables: Vec<_> = raw.variables.iter().collect();
        self.bounded("variables", &variables, MAX_VARIABLES)?;
        for (name, value) in variables {
            self.variable(name, value)?;
            if steers(value.as_ref()) || value.as_ref().len() > MAX_LETTERS {
                return Err(self.refused(value, "a variable's value has a control character"));
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
        spec.before = self.commands("before a trial", &raw.before)?;
        spec.after = self.commands("after a trial", &raw.after)?;
        spec.companion = raw.companion.as_ref().map(|raw| self.beside(raw)).transpose()?;
        if let Some(raw) = &raw.statuses {
            let statuses = raw.as_ref();
            let bounded = (1..=MAX_STATUSES).contains(&statuses.len());
            if !bounded || statuses.iter().any(|status| !(0..=255).contains(status)) {
                let why = format!("1 to {MAX_STATUSES} statuses, each of 0 to 255, are read");
                return Err(self.refused(raw, why));
            }
            spec.statuses.clone_from(statuses);
        }
        Ok(())
    }

    fn variable<T>(&self, name: &str, at: &Spanned<T>) -> Result<(), ParseError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        if begins && name.len() <= 64 && name.bytes().all(letter) {
            return Ok(());
        }
        let why = format!("`{}` is no variable's name", display_text(name, 40));
        Err(self.refused(at, why))
    }

    fn beside(&self, raw: &RawCompanion) -> Result<CompanionProgram, ParseError> {
        let mut beside = CompanionProgram {
            command: self.command(&raw.command)?,
            ..CompanionProgram::default()
        };
        if let Some(raw) = &raw.variable {
            self.variable(raw.as_ref(), raw)?;
            beside.variable.clone_from(raw.as_ref());
        }
        if let Some(prefix) = &raw.prefix {
            if raw.variable.is_none() {
                return Err(self.refused(prefix, "a prefix is of a variable, and there is none"));
            }
            beside.prefix = self.words(prefix, "the prefix", MAX_PATH_CHARS)?;
        }
        Ok(beside)
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
        // Who says nothing of the others means no more than there are.
        let most = 1..=spec.trials;
        let least = self.within(raw.min_trials.as_ref(), "the fewest trials", &most)?;
        spec.min_trials = least.unwrap_or(spec.min_trials.min(spec.trials));
        let quick = self.within(raw.quick_trials.as_ref(), "quick trials", &most)?;
        spec.quick_trials = quick.unwrap_or(spec.quick_trials.min(spec.trials));
        Ok(())
    }

    fn needs(&self, raw: &[Spanned<RawNeed>]) -> Result<Vec<Need>, ParseError> {
        self.bounded("needs", raw, MAX_NEEDS)?;
        raw.iter().map(|raw| self.need(raw)).collect()
    }

    fn need(&self, raw: &Spanned<RawNeed>) -> Result<Need, ParseError> {
        let refused = |why: &str| self.refused(raw, why);
        let need = raw.as_ref();
        let what = match (&need.program, &need.file, &need.glob) {
            (Some(program), None, None) if !program.is_empty() && !program.contains('/') => {
                RequiredItem::Program(program.clone())
            }
            (Some(_), None, None) => return Err(refused("a needed program is a name alone")),
            (None, Some(path), None) if path.starts_with('/') => RequiredItem::File(path.clone()),
            (None, None, Some(path)) if path.starts_with('/') => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                if folder.contains('*') || !path.contains('*') {
                    return Err(refused("a glob has its `*` in the last part of its path"));
                }
                RequiredItem::Glob(path.clone())
            }
            (None, Some(_), None) | (None, None, Some(_)) => {
                return Err(refused("what is needed has its whole path, from /"));
            }
            _ => return Err(refused("a need is one of: program, file, glob")),
        };
        let (RequiredItem::Program(text) | RequiredItem::File(text) | RequiredItem::Glob(text)) =
            &what;
        if text.len() > MAX_PATH_CHARS || text.chars().any(is_control) {
            return Err(refused("what is needed has a control character, or is too long"));
        }
        let package = need.package.as_ref().map(|raw| {
            let name = raw.as_ref();
            let letter =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.';
            let begins = name.bytes().next().is_some_and(letter);
            let all = name.bytes().all(|byte| letter(byte) || matches!(byte, b'+' | b'-'));
            match begins && all && name.len() <= 80 {
                true => Ok(name.clone()),
                false => Err(self.refused(raw, "that is no name of a package")),
            }
        });
        Ok(Need { item: what, package: package.transpose()? })
    }

    fn prepare(&self, raw: &RawPrepare) -> Result<Prepare, ParseError> {
        let commands = self.commands("of its preparation", raw.commands.as_ref())?;
        if commands.is_empty() {
            return Err(self.refused(&raw.commands, "a preparation has commands"));
        }
        if commands.iter().flatten().any(|word| word.contains("{cache}")) {
            let why = "a preparation stands in the cache folder, which has its name only later";
            return Err(self.refused(&raw.commands, why));
        }
        let marks = self.words(&raw.marker, "the mark", MAX_PATH_CHARS)?;
        // A part that is `.` or `..`, or none, may lead out of the folder.
        if marks.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(self.refused(&raw.marker, "a mark is a path within the cache folder"));
        }
        Ok(Prepare { commands, marker_file: marks })
    }
}

#[cfg(test)]
mod tests;
