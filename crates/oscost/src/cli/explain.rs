//! `oscost explain`

use oscost_model::definition::{Catalog, Definition};
use oscost_model::record::Record;

use super::command_words;
use super::display;
use super::exit::ExitStatus;
use super::output::{Output, report_line};
use super::terminal::Terminal;
use crate::app::explain::{
    Explanation, Kind, LastFigure, Mechanism, ObservedBenchmark, ObservedCase, Request,
    explain as find, last_run, observe, other_names,
};
use crate::app::{UsageError, nearest_hint, nearest_names};
use crate::report;
use crate::report::explain::{CaseDetails, PreviousFigure};
use crate::report::treatments::TreatmentExplanation;
use crate::report::view::document::{Section, View};
use crate::report::words;
use crate::report::words::CommandWord;
use crate::report::words::files::RecordWord;

/// What to explain.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is a benchmark, a case, a family, a treatment, a study, or any word that
oscost prints: a column, class, flag, verdict, unit, metric, an axis or its
value, a key of the record or of another JSON document, an option. A word that
describes rows is shown with rows of the last run. A word with several meanings
is explained in all of them, one of the glossary before a benchmark that ends in
it. Of several benchmarks that end in it each has a line.

Of a single benchmark, the system calls are also counted here and now, which
takes a moment, and its last figure from this machine is shown.

Examples:
  oscost explain syscall/getppid
  oscost explain getppid           the same
  oscost explain timer             the benchmarks of a family, a line each
  oscost explain timer --full      each of them in full
  oscost explain seccomp           a treatment (`oscost treat list`)
  oscost explain NOT_CONVERGED     a flag, with the rows that have it
  oscost explain floor             a column
  oscost explain cost group        a term of several words
  oscost explain peer_cpu=other    a value of an axis
  oscost explain 'heavy?'          what a table prints: a mark, `64Ki`, `12 us`
  oscost explain nice=5@ssh:db1    a target: its treatments and its host
  oscost explain --precision       an option")]
pub(super) struct Arguments {
    /// A benchmark, a case, a family, a treatment, a study, or a word.
    #[arg(value_name = "NAME", allow_hyphen_values = true)]
    name: String,
    /// Further words of its name.
    #[arg(value_name = "WORD")]
    further: Vec<String>,
    /// Explain each benchmark of a family in full.
    #[arg(long)]
    full: bool,
    /// Where to count the system calls of a benchmark.
    #[arg(long, value_name = "HOST", default_value = "local")]
    at: String,
}

/// Explains a name; of `command` also its options and subcommands.
pub(super) fn explain(
    arguments: Arguments,
    command: clap::Command,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let Arguments { name, further, full, at } = arguments;
    let name = [vec![name], further].concat().join(" ").trim().to_owned();
    let found = find(&Request { name: name.clone(), at })?;
    let sources = WordSources::of(command);
    let has_examples = sources.has_option(&name) || has_examples(&found, &name);
    let last = if has_examples { example_run() } else { None };
    let explained = sources.sections_of_printed(&found, &name, last.as_ref());
    let Explanation { treatments, benchmarks, catalog, refusal, .. } = found;
    if treatments.is_empty() && benchmarks.is_none() && explained.is_empty() {
        let names = sources.names(catalog.as_ref());
        return Err(refusal.unwrap_or_else(|| unknown(&name, &names).into()));
    }
    let mut parts = Parts { output, has_some: false };
    for kind in treatments {
        parts.write(&report::treatments::explanation(&treatment(kind)))?;
        parts.write_sections(Vec::from_iter(words::treatment_example(kind.name, last.as_ref())))?;
    }
    // A benchmark may end in a word of the glossary (`socket/batch`): the word is meant first.
    let (above, below) = match words::is_term(&name) {
        true => (explained, Vec::new()),
        false => (Vec::new(), explained),
    };
    parts.write_sections(above)?;
    let is_family = !full && benchmarks.as_ref().is_some_and(|it| it.definitions.len() > 1);
    if let (true, Some(benchmarks), Some(catalog)) = (is_family, &benchmarks, &catalog) {
        let definitions: Vec<&Definition> = benchmarks.definitions.iter().collect();
        parts.write(&report::catalog::overview(catalog, &definitions))?;
    } else if let Some(benchmarks) = benchmarks {
        let sections = benchmarks.definitions.iter().flat_map(report::catalog::explanation);
        parts.write_sections(sections.collect())?;
        if let Some(here) = observe(benchmarks, &Terminal::new(parts.output))? {
            parts.write_sections(here_sections(here))?;
        }
    }
    parts.write_sections(below)?;
    Ok(ExitStatus::Success)
}

/// Whether the last run may have examples of a name: not of one that is a benchmark alone.
fn has_examples(found: &Explanation, name: &str) -> bool {
    let is_axis = |catalog| !words::axes::sections(catalog, name, None).is_empty();
    words::is_word(name)
        || !words::words_in(name).is_empty()
        || !found.treatments.is_empty()
        || found.study.is_some()
        || found.catalog.as_ref().is_some_and(is_axis)
}

/// The parts of an explanation, with an empty line between two.
struct Parts<'a> {
    output: &'a mut Output,
    has_some: bool,
}

impl Parts<'_> {
    fn write(&mut self, part: &View) -> anyhow::Result<()> {
        let above = if self.has_some { "\n" } else { "" };
        self.has_some = true;
        self.output.write(&format!("{above}{}", display::text(part)))
    }

    fn write_sections(&mut self, sections: Vec<Section>) -> anyhow::Result<()> {
        if sections.is_empty() { Ok(()) } else { self.write(&View::of(sections)) }
    }
}

/// The last run for examples, which are left out where the store cannot be read; the meaning of a
/// word is not.
fn example_run() -> Option<Record> {
    last_run().unwrap_or_else(|error| {
        report_line(&format!("note: no example from the last run: {error}"));
        None
    })
}

/// What describes words besides their table.
struct WordSources {
    record: Vec<RecordWord>,
    command: clap::Command,
}

impl WordSources {
    fn of(command: clap::Command) -> Self {
        Self { record: report::record_words(), command }
    }

    /// Whether a name is one of an option.
    fn has_option(&self, name: &str) -> bool {
        command_words::find(&self.command, name).iter().any(|it| !it.is_subcommand)
    }

    /// What a text means as it is printed: as one word, or by the words in it.
    fn sections_of_printed(
        &self,
        found: &Explanation,
        text: &str,
        last: Option<&Record>,
    ) -> Vec<Section> {
        let of_text = self.sections(found, text, last);
        if !of_text.is_empty() || found.benchmarks.is_some() {
            return of_text;
        }
        words::words_in(text).iter().flat_map(|word| self.sections(found, word, last)).collect()
    }

    /// What a name means as a word, most likely meanings first: a subcommand that is typed so, in
    /// reports, as an axis, elsewhere on the command line, in files.
    fn sections(&self, found: &Explanation, name: &str, last: Option<&Record>) -> Vec<Section> {
        let commands = command_words::find(&self.command, name);
        let is_typed_so =
            |it: &CommandWord| it.is_subcommand && it.syntax.strip_prefix("oscost ") == Some(name);
        let (typed, others): (Vec<&CommandWord>, Vec<&CommandWord>) =
            commands.iter().partition(|it| is_typed_so(it));
        let of_command = |word| words::command_section(word, last);
        let mut sections: Vec<Section> = typed.into_iter().map(of_command).collect();
        sections.extend(words::sections(name, last));
        sections.extend(found.study.as_ref().map(|study| words::study(study, last)));
        let axes = found.catalog.as_ref().map(|all| words::axes::sections(all, name, last));
        sections.extend(axes.into_iter().flatten());
        sections.extend(others.into_iter().map(of_command));
        sections.extend(words::files::column_sections(name));
        sections.extend(words::files::record_sections(&self.record, name));
        sections.extend(words::documents::sections(name));
        sections
    }

    /// Every name that can be explained.
    fn names(&self, catalog: Option<&Catalog>) -> Vec<String> {
        let of_catalog = catalog.map(report::catalog::names).into_iter().flatten();
        let mut names: Vec<String> = of_catalog.collect();
        names.extend(words::names().chain(other_names()).map(str::to_owned));
        names.extend(catalog.map(words::axes::names).into_iter().flatten());
        names.extend(words::files::column_names().map(str::to_owned));
        names.extend(self.record.iter().map(|word| word.name.clone()));
        names.extend(words::documents::names().map(str::to_owned));
        names.extend(command_words::names(&self.command));
        names
    }
}

/// The error about a name that means nothing, with the nearest that do.
fn unknown(name: &str, known: &[String]) -> UsageError {
    if name.is_empty() {
        let hint = "for example `oscost explain getppid`, `oscost explain floor`";
        return UsageError::with_hint("the name to explain is empty", hint);
    }
    let what = format!("`{name}` is neither a benchmark nor a word that is explained here");
    match &nearest_names(name, known.iter().map(String::as_str))[..] {
        [] => UsageError::with_hint(
            &what,
            "`oscost list -k TEXT` searches benchmarks, `oscost treat list` lists treatments, \
             docs/reference/GLOSSARY.md words",
        ),
        near => UsageError::with_hint(&what, &nearest_hint(near)),
    }
}

fn treatment(kind: &Kind) -> TreatmentExplanation {
    let compared = match kind.mechanism {
        Mechanism::Applied => {
            "As fork twins: one process forks two, one of them is treated, and they are timed in \
             alternation (docs/explanation/METHOD.md, section 12)."
        }
        Mechanism::Attached => {
            "By toggling: one process is timed while it is attached and while it is not, in \
             alternation (docs/explanation/METHOD.md, section 12)."
        }
        Mechanism::Wraps => {
            "In pairs: separate processes, in random order \
             (docs/explanation/METHOD.md, section 12)."
        }
    };
    let &Kind { name, value, effect, needs, why, source, .. } = kind;
    TreatmentExplanation { name, value, effect, needs, why, compared, source }
}

fn here_sections(ObservedBenchmark { definition, cases }: ObservedBenchmark) -> Vec<Section> {
    let shown =
        |ObservedCase { case, counted, last }| {
            let last = last.map(|LastFigure { row, started, class, other_kernel }| {
                PreviousFigure { row, started, quiet: class, other_kernel }
            });
            CaseDetails { case, counted, last }
        };
    match cases {
        Ok(cases) => {
            let shown: Vec<CaseDetails> = cases.into_iter().map(shown).collect();
            report::explain::sections(&definition, &shown)
        }
        Err(why) => report::explain::nothing(&why),
    }
}

#[cfg(test)]
mod tests;
