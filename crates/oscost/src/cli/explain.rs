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
it.

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
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use oscost_model::batch::Mode;
    use oscost_model::counters::{CORE_CYCLES, CPI, CounterEvent, GHZ, INSN};
    use oscost_model::noise_class::NoiseClass;
    use oscost_model::unit::Unit;

    use super::*;
    use crate::app::table::reference_records;
    use crate::report::figures::Style;
    use crate::report::run::{CountedEvents, FigureUnit, Plots};
    use crate::report::view::document::Block;

    /// The sources of a folder, without tests.
    fn sources(folder: &str) -> String {
        fn read(folder: &Path, texts: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                let is_test = path.file_stem().is_some_and(|name| name == "tests");
                if path.is_dir() && !is_test {
                    read(&path, texts);
                } else if path.extension().is_some_and(|it| it == "rs") && !is_test {
                    let text = fs::read_to_string(&path).unwrap();
                    texts.push(text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned());
                }
            }
        }
        let mut texts = Vec::new();
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder), &mut texts);
        texts.join("\n")
    }

    /// The texts of a group of a pattern, in which `Q` is a quote.
    fn matches(text: &str, pattern: &str) -> BTreeSet<String> {
        let pattern = regex::Regex::new(&pattern.replace('Q', "\"")).unwrap();
        pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
    }

    /// Every flag in the sources that give flags, where one other word has capitals: a limit of
    /// pipes by its name in C.
    fn flags() -> BTreeSet<String> {
        let mut found = matches(&sources("estimate"), "Q([A-Z][A-Z_]{3,})Q");
        found.remove("PIPE_BUF");
        found
    }

    /// Every heading of a table in the sources that make tables.
    fn columns() -> BTreeSet<String> {
        let text = sources("report/view");
        let kinds = "text|number|choice|prose|excerpt";
        let mut found = matches(&text, &format!(r"Column::(?:{kinds})\(\s*Q([^Q]*)Q"));
        // Those that are not written where the column is made.
        found.extend(matches(&text, r"CounterEvent::[A-Za-z0-9]+ => Q([^Q]*)Q"));
        found.extend(matches(&text, r"\btitle: Q([^Q]*)Q,"));
        let (_, headings) = text.split_once("const HEADINGS: [&str; 7] = [").unwrap();
        let (headings, _) = headings.split_once("];").unwrap();
        found.extend(matches(headings, "Q([^Q]*)Q"));
        let title = |heading: String| heading.replace("\\n", " ").trim().to_owned();
        found.into_iter().map(title).filter(|heading| !heading.is_empty()).collect()
    }

    /// Words that the record has as text, and those of verdicts, targets and findings.
    const OTHER_WORDS: &str = "user|vdso|light|heavy|blocking|slower|faster|equivalent|\
        inconclusive|twins|toggle|pairs|boots|stored|quick|default|thorough|holds|does not hold|\
        no difference|depends on the placement|undecided|not measured|held|did not hold|\
        invalidates|biases|noise|limitation|note|applied|attached|wraps|local|ssh:|vm:|\
        slurm:|fake:|good|fair|poor|bill|price list|charged in all|measured system time|\
        the difference|time waited|time stolen|cold caches|system|real|cpu|peak-memory|\
        minor-faults|child-minor-faults|major-faults|voluntary-switches|involuntary-switches|\
        throughput|\
        primary|peer_cpu=other|precision|time|rate|B/cycle|?|!|-|n/a|exact|not exact|cut short|\
        not counted|very noisy|fixed|Fixed|grows as|+- at most|+-|per|N|log N|N log N|p50|p90|p99|\
        p999|Ki|Mi|Gi|instructions|ps|ns|us|ms|tick|cycle|insn|confidence|context switch|exec|\
        function calls|grade|hypervisor|interrupts|mitigations|p value|page faults|PMU|raw batches|\
        round trip|standard deviation|TLB|trials|warm-ups";

    #[test]
    fn what_screens_print_is_explained_as_it_is_printed() {
        let sources = WordSources::of(crate::cli::command());
        let catalog = Some(oscost_worker::benchmarks::data());
        let found = Explanation { catalog, ..Explanation::default() };
        let printed: BTreeSet<String> =
            cells_of_screens().chain(texts_of_tables()).chain(units()).collect();
        assert!(printed.len() > 60, "{printed:?}");
        let is_unexplained =
            |text: &&String| sources.sections_of_printed(&found, text, None).is_empty();
        let unexplained: Vec<&String> = printed.iter().filter(is_unexplained).collect();
        assert!(unexplained.is_empty(), "printed without an explanation: {unexplained:#?}");
    }

    /// What golden screens have in their columns beside the first, but for numbers and drawings.
    fn cells_of_screens() -> impl Iterator<Item = String> {
        const SCREENS: [&str; 7] = [
            "all-outcomes",
            "classes",
            "counted",
            "screen-ab-80",
            "compare-slower",
            "treated",
            "predictions",
        ];
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        SCREENS.into_iter().flat_map(move |name| {
            let text = fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
            // Headings of several lines have no gaps between columns.
            let tables = text.split("\nTimers\n").next().unwrap();
            let lines = tables.lines().filter(|line| !line.contains(['|', '[']));
            let cells = lines.flat_map(|line| line.trim().split("  ").skip(1).map(str::trim));
            let has_word = |cell: &&str| {
                cell.contains(|it: char| it.is_ascii_alphabetic() || "!?%".contains(it))
            };
            let cells = cells.filter(has_word).filter(|cell| !cell.contains(", "));
            cells.map(str::to_owned).collect::<Vec<String>>()
        })
    }

    /// The headings of tables about the runs that come with oscost, and their cells that are words.
    fn texts_of_tables() -> impl Iterator<Item = String> {
        let events = CountedEvents { unit: FigureUnit::Own, all: true };
        let records = reference_records().into_iter().map(|it| it.record);
        let views = records.map(move |record| report::run::view(&record, Plots::None, events));
        let blocks = views.flat_map(|view| view.sections).flat_map(|section| section.blocks);
        let tables = blocks.filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        tables.flat_map(|table| {
            let headings = table.columns.iter().map(|it| it.title.replace('\n', " "));
            let cells = table.rows.iter().flat_map(|row| table.columns.iter().zip(&row.cells));
            let words = cells.filter(|(column, _)| column.has_words);
            let texts = headings.chain(words.map(|(_, cell)| cell.text.clone()));
            texts
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
        })
    }

    /// Figures of each unit, from tiny to huge.
    fn units() -> impl Iterator<Item = String> {
        const UNITS: [Unit; 12] = [
            Unit::NsPerOp,
            Unit::BytesPerSecond,
            Unit::OpsPerSecond,
            Unit::Seconds,
            Unit::FramesPerSecond,
            Unit::Bytes,
            Unit::InstructionsPerOp,
            Unit::CyclesPerOp,
            Unit::CyclesPerInstruction,
            Unit::Gigahertz,
            Unit::TicksPerCycle,
            Unit::TimesPerOp,
        ];
        UNITS.into_iter().flat_map(|unit| {
            let sizes = (-3..12).map(|power| 2.0 * 10f64.powi(power));
            sizes.map(move |size| Style::of(size, unit).with_unit(size))
        })
    }

    /// The keys of a document.
    fn keys(document: &serde_json::Value, found: &mut BTreeSet<String>) {
        for (key, value) in document.as_object().into_iter().flatten() {
            found.insert(key.clone());
            keys(value, found);
        }
        document.as_array().into_iter().flatten().for_each(|one| keys(one, found));
    }

    #[test]
    fn the_words_of_documents_that_are_no_records_are_explained() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/RECORDS.md");
        let page = fs::read_to_string(page).unwrap();
        let (_, page) = page.split_once("\nThese are not stored.\n").unwrap();
        let (page, _) = page.split_once("\n## The store\n").unwrap();
        let mut named = matches(page, "`([a-z][a-z0-9_-]*)`");
        assert!(named.len() > 250, "{named:?}");
        let catalog = oscost_worker::benchmarks::data();
        let definitions = serde_json::to_value(&catalog.benchmarks).unwrap();
        for definition in definitions.as_array().unwrap() {
            keys(definition, &mut named);
        }
        let sources = WordSources::of(crate::cli::command());
        let found = Explanation { catalog: Some(catalog), ..Explanation::default() };
        let unexplained: Vec<&String> =
            named.iter().filter(|word| sources.sections(&found, word, None).is_empty()).collect();
        assert!(unexplained.is_empty(), "words without an explanation: {unexplained:#?}");
    }

    #[test]
    fn every_word_of_tables_files_and_options_is_explained() {
        let catalog = oscost_worker::benchmarks::data();
        let (flags, columns) = (flags(), columns());
        assert!(flags.len() > 40 && columns.len() > 100, "{flags:?} {columns:?}");
        let mut words: Vec<String> = flags.into_iter().chain(columns).collect();
        words.extend(report::words::files::column_names().map(str::to_owned));
        let sources = WordSources::of(crate::cli::command());
        words.extend(sources.record.iter().map(|word| word.name.clone()));
        words.extend(report::words::documents::names().map(str::to_owned));
        words.extend(report::words::axes::names(&catalog));
        words.extend(command_words::names(&sources.command));
        let modes = [Mode::U, Mode::B, Mode::S, Mode::C, Mode::T, Mode::F].map(Mode::text);
        let classes = [NoiseClass::Quiet, NoiseClass::Noisy, NoiseClass::VeryNoisy];
        words.extend(modes.into_iter().chain(classes.map(NoiseClass::text)).map(str::to_owned));
        let events = CounterEvent::ALL.map(CounterEvent::metric);
        words.extend(events.into_iter().chain([INSN, CPI, GHZ, CORE_CYCLES]).map(str::to_owned));
        words.extend(OTHER_WORDS.split('|').map(str::to_owned));
        words.extend(oscost_model::bill::FAMILIES.map(str::to_owned));
        let found = Explanation { catalog: Some(catalog), ..Explanation::default() };
        let unexplained: BTreeSet<&String> =
            words.iter().filter(|word| sources.sections(&found, word, None).is_empty()).collect();
        assert!(unexplained.is_empty(), "words without an explanation: {unexplained:#?}");
    }
}
