//! Targets that were measured interleaved: comparisons of each pair, and what they mean.

mod remarks;

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::counters::is_work;
use oscost_model::journal::Design;
use oscost_model::program::CPU;
use oscost_model::record::{Comparison, Record, Row, RowOutcome};

use self::remarks::design;
pub(in crate::report::view) use self::remarks::remarks;
pub use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::report::figures::added;
use crate::report::text::{plain, plural, shell_command, shorten};
use crate::report::view::answer::comparison::{Group, of_run};
use crate::report::view::comparison::compare::{compared, is_secondary};
use crate::report::view::comparison::counts;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::parameter_ratios;
use crate::report::view::comparison::separate_medians;
use crate::report::view::document::{Answer, Block, Section, View};
use crate::report::view::run::headline::{headline, title};
use crate::report::view::run::row::is_requested;
use crate::report::view::run::{curves, instructions, programs};
use crate::report::view::sections::{not_measured, notes_of, origin, section_of_cases};

/// The most characters of a command.
const MAX_COMMAND_CHARS: usize = 200;
/// Of one that is the subject of a sentence.
const MAX_NAME_CHARS: usize = 40;

/// The comparisons of a run as a screen shows them.
pub fn view(record: &Record) -> View {
    let pairs = TargetComparisons::all(record).into_iter().enumerate();
    let mut sections: Vec<Section> =
        pairs.map(|(number, compared)| pair(record, number, compared)).collect();
    sections.extend(curves::section_of_commands(record, |group| {
        parameter_ratios::table(record, group).map(Block::Table)
    }));
    sections.extend(summary(record));
    let answer = answer(record);
    View { title: title(record), lead: headline(record), answer, sections, ..View::default() }
}

/// What the comparisons of a run found, those of each pair of targets apart.
pub(in crate::report::view) fn answer(record: &Record) -> Option<Answer> {
    let pairs = TargetComparisons::all(record);
    let commands = match &pairs[..] {
        [only] => command_names(record, only),
        _ => None,
    };
    let groups = pairs.into_iter().map(|it| {
        let [base, new] = [it.targets.base, it.targets.new].map(str::to_owned);
        let SideNames { base, new } = commands.clone().unwrap_or(SideNames { base, new });
        Group { new, base, comparisons: it.requested }
    });
    of_run(record, &groups.collect::<Vec<_>>())
}

/// The names of two sides in sentences.
#[derive(Clone)]
struct SideNames {
    base: String,
    new: String,
}

/// Two commands by their words, in backquotes; `None` if targets were compared, and if the words do not
/// tell them apart.
fn command_names(record: &Record, compared: &TargetComparisons<'_>) -> Option<SideNames> {
    let it = compared.requested.first()?;
    let row = |index: u32| record.results.get(index as usize);
    let (base, new) = (row(it.base)?, row(it.new)?);
    let name = |row: &Row| {
        let command = plain(&shell_command(row.command.as_ref()?));
        Some(format!("`{}`", shorten(&command, MAX_NAME_CHARS).trim_end()))
    };
    let names = SideNames { base: name(base)?, new: name(new)? };
    (base.case != new.case && names.base != names.new).then_some(names)
}

/// The same in short, with the run that it comes from.
pub fn brief(record: &Record) -> View {
    let mut view = view(record);
    view.sections.push(origin(record));
    view
}

/// A pair of targets: its comparisons, and what the new target adds to the reference cases.
fn pair(record: &Record, number: usize, compared_targets: TargetComparisons<'_>) -> Section {
    let TargetComparisons { targets, requested, reference_cases, work } = compared_targets;
    let row = |index: u32| record.results.get(index as usize);
    let pairs = requested.iter().chain(&work);
    let pairs: Vec<Pair<'_>> =
        pairs.filter_map(|it| Some(Pair::of(it, row(it.base)?, row(it.new)?))).collect();
    let mut blocks: Vec<Block> = commands(&pairs).map(Block::Text).into_iter().collect();
    blocks.extend(compared(number, &pairs));
    blocks.extend(separate_medians::note(&pairs).map(Block::Text));
    let sides: BTreeSet<u32> = requested.iter().flat_map(|it| [it.base, it.new]).collect();
    blocks.extend(programs::spreads(&sides.into_iter().filter_map(row).collect::<Vec<&Row>>()));
    blocks.extend(added_to_reference_cases(record, &reference_cases).map(Block::Text));
    Section { title: pair_title(targets, &requested), blocks, ..Section::default() }
}

/// Which commands were compared, and by what; `None` if targets were.
fn commands(pairs: &[Pair<'_>]) -> Option<String> {
    let first = pairs.first()?;
    let [base, new] = [first.base.command.as_ref()?, first.new.command.as_ref()?];
    let words = |command: &[String]| {
        let shown: String = shell_command(command).chars().take(MAX_COMMAND_CHARS).collect();
        format!("`{}`", plain(&shown))
    };
    let mut judged = pairs.iter().filter(|pair| !is_secondary(pair.it));
    let is_by_cpu = |pair: &Pair<'_>| pair.it.metric == CPU;
    let by_cpu = is_by_cpu(judged.next()?);
    let by = match judged.all(|pair| is_by_cpu(pair) == by_cpu) {
        false => "CPU time where both computed in their warm-up, otherwise wall time",
        true if by_cpu => "CPU time: both computed in their warm-up",
        true => "wall time: one of them waited in its warm-up",
    };
    let judged = format!("judged by {by}");
    let text = match base == new {
        true => judged,
        false => format!("base {}, new {}; {judged}", words(base), words(new)),
    };
    Some(match programs::sampled_ranges(first.new) {
        Some(sampled) => format!("{text}; {sampled}"),
        None => text,
    })
}

/// What follows all tables: rows without a figure or a comparison, flags, and the controls.
pub(in crate::report::view) fn summary(record: &Record) -> Vec<Section> {
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_requested(row)).collect();
    let mut sections = Vec::new();
    sections.extend(not_measured(&asked));
    sections.extend(not_compared(record, &asked));
    sections.push(notes_of(remarks(record).blocks()));
    sections
}

/// Two targets that were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report::view) struct Targets<'a> {
    /// The one that is compared with.
    pub(in crate::report::view) base: &'a str,
    /// The one that is compared.
    pub(in crate::report::view) new: &'a str,
}

/// The targets of a comparison; of two commands at one target, their cases.
fn targets_of<'a>(record: &'a Record, it: &Comparison) -> Option<Targets<'a>> {
    let [base, new] = [it.base, it.new].map(|row| record.results.get(row as usize));
    let (base, new) = (base?, new?);
    Some(match base.case == new.case {
        true => Targets { base: &base.target.text, new: &new.target.text },
        false => Targets { base: &base.case, new: &new.case },
    })
}

/// The comparisons of two targets.
pub(in crate::report::view) struct TargetComparisons<'a> {
    /// The targets.
    pub(in crate::report::view) targets: Targets<'a>,
    /// Those of requested cases.
    pub(in crate::report::view) requested: Vec<&'a Comparison>,
    /// Those of reference cases.
    pub(in crate::report::view) reference_cases: Vec<&'a Comparison>,
    /// Those of the instructions of requested cases.
    pub(in crate::report::view) work: Vec<&'a Comparison>,
}

impl<'a> TargetComparisons<'a> {
    /// The comparisons of all pairs of targets, in the order of the record.
    pub(in crate::report::view) fn all(record: &'a Record) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut known: BTreeMap<Targets<'a>, usize> = BTreeMap::new();
        for it in record.comparisons.iter().filter(|it| !it.control) {
            let Some(targets) = targets_of(record, it) else { continue };
            let at = *known.entry(targets).or_insert(found.len());
            if at == found.len() {
                found.push(Self::none(targets));
            }
            let is_of_request = is_requested(&record.results[it.base as usize]);
            match (is_of_request, is_work(&it.metric)) {
                (true, false) => found[at].requested.push(it),
                (true, true) => found[at].work.push(it),
                (false, false) => found[at].reference_cases.push(it),
                (false, true) => {}
            }
        }
        found
    }

    fn none(targets: Targets<'a>) -> Self {
        Self { targets, requested: Vec::new(), reference_cases: Vec::new(), work: Vec::new() }
    }
}

/// The two targets, how many pairs there are, and how they were interleaved.
pub(in crate::report::view) fn pair_title(targets: Targets<'_>, rows: &[&Comparison]) -> String {
    let Targets { base, new } = targets;
    let designs: BTreeSet<&str> = rows.iter().map(|it| design(&it.design)).collect();
    let designs = designs.into_iter().collect::<Vec<_>>().join("; ");
    let pairs = rows.iter().map(|it| it.pairs);
    let (min, max) = (pairs.clone().min().unwrap_or(0), pairs.max().unwrap_or(0));
    let pairs = pair_count(min, max);
    let span = rows.iter().map(|it| it.span_s).fold(0.0, f64::max);
    let text = match rows {
        [] => format!("{new} against {base}"),
        rows if rows.iter().all(|it| it.design == Design::Boots.text()) => {
            format!("{new} against {base}: a boot of each")
        }
        _ => format!("{new} against {base}: {pairs} over {}, {designs}", span_text(span)),
    };
    plain(&text)
}

/// A time from the first pair to the last one, in whole seconds; a shorter one is not none.
fn span_text(seconds: f64) -> String {
    if seconds < 1.0 { "<1 s".to_owned() } else { format!("{seconds:.0} s") }
}

/// The numbers of pairs of some rows.
fn pair_count(min: u32, max: u32) -> String {
    match min == max {
        true => plural(max.into(), "pair"),
        false => format!("{min} to {max} pairs"),
    }
}

/// What a target adds to the reference cases, which are measured in every run.
pub(in crate::report::view) fn added_to_reference_cases(
    record: &Record,
    reference_cases: &[&Comparison],
) -> Option<String> {
    let one = |it: &&Comparison| {
        let row = &record.results[it.base as usize];
        let name = plain(&row.case);
        if instructions::is_counted(row) {
            return format!("{name} {}", counts::added(it));
        }
        let added = added(it.added.value, it.added.unit);
        let verdict = match it.verdict.as_str() {
            "slower" | "faster" => String::new(),
            verdict => format!(" ({})", plain(verdict)),
        };
        format!("{name} {added}{verdict}")
    };
    let differences: Vec<String> = reference_cases.iter().map(one).collect();
    (!differences.is_empty())
        .then(|| format!("added to reference cases: {}", differences.join(", ")))
}

/// Rows that have figures but are in no comparison, by reason.
pub(in crate::report::view) fn not_compared(record: &Record, asked: &[&Row]) -> Option<Section> {
    let sides = record.comparisons.iter().flat_map(|it| [it.base, it.new]);
    let rows = sides.filter_map(|index| record.results.get(index as usize));
    let compared: BTreeSet<*const Row> = rows.map(std::ptr::from_ref).collect();
    let is_compared = |row: &Row| compared.contains(&std::ptr::from_ref(row));
    let left = asked
        .iter()
        .copied()
        .filter(|row| row.outcome == RowOutcome::Measured && !is_compared(row));
    let reasons = left.map(|row| {
        let is_bound = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
        let why = match is_bound {
            _ if instructions::is_counted(row) => {
                "its other side has no figure, or one side has no instructions: there is no ratio"
            }
            true => "its figure cannot be distinguished from zero: there is no ratio",
            false => "its other side has no figure",
        };
        (format!("at {}: {why}", plain(&row.target.text)), row.case.as_str())
    });
    section_of_cases("not-compared", "Not compared", reasons)
}

#[cfg(test)]
mod tests;
