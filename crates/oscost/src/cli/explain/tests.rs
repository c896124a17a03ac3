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
    round trip|standard deviation|do not use|cool prices|residual|each|TLB|trials|warm-ups";

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
        let has_word =
            |cell: &&str| cell.contains(|it: char| it.is_ascii_alphabetic() || "!?%".contains(it));
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
        texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect::<Vec<_>>()
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
