//! The last part of `oscost explain`: the calls of a benchmark as counted on this machine, and its last
//! figures.

use std::collections::BTreeSet;

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::definition::Definition;
use oscost_model::record::Row;
use oscost_model::unit::Unit;

use crate::estimate;
use crate::report::figures::{per_cent, per_op, rough, times};
use crate::report::text::{class_text, minute, plain};
use crate::report::view::document::{Block, Section};
use crate::report::view::run::row;
use crate::report::view::run::{counters, instructions, one_way};

/// A case on this machine.
#[derive(Clone, Debug)]
pub struct CaseDetails {
    /// The case.
    pub case: Case,
    /// The calls counted just now, or why none could be counted.
    pub counted: Result<CallCount, String>,
    /// Its last figure from this machine.
    pub last: Option<PreviousFigure>,
}

/// A figure that was measured before.
#[derive(Clone, Debug)]
pub struct PreviousFigure {
    /// Its row.
    pub row: Row,
    /// When its run began, RFC 3339.
    pub started: String,
    /// How quiet the machine was: the class of the run.
    pub quiet: Option<String>,
    /// The release of its kernel, if that is not the running one.
    pub other_kernel: Option<String>,
}

/// The title of the part.
const TITLE: &str = "On this machine";

/// The part for some cases of a benchmark.
pub fn sections(definition: &Definition, shown: &[CaseDetails]) -> Vec<Section> {
    let mut head = Vec::new();
    let ops = shown.iter().find_map(|shown| shown.counted.as_ref().ok()).map(|count| count.ops);
    if let Some(ops) = ops {
        head.push(format!(
            "Counted by ptrace over {ops} untimed ops; a few more ops were single-stepped."
        ));
    }
    let errors = shown.iter().map(|shown| shown.counted.as_ref().err());
    let shared_error = match errors.collect::<Option<Vec<&String>>>().as_deref() {
        // A reason that holds for all of them is given once.
        Some([first, rest @ ..]) if rest.iter().all(|other| other == first) => Some(*first),
        _ => None,
    };
    head.extend(shared_error.map(|error| nothing_counted(error)));
    // Only figures of one run are compared.
    let figures: Vec<&PreviousFigure> =
        shown.iter().filter_map(|shown| shown.last.as_ref()).collect();
    let runs: BTreeSet<&str> = figures.iter().map(|figure| figure.started.as_str()).collect();
    for run in runs {
        let rows = figures.iter().filter(|figure| figure.started == run).map(|figure| &figure.row);
        head.extend(estimate::half_round_trips(rows).iter().map(one_way::line));
    }
    let head = Section::of(TITLE, Block::list(head.iter().map(|text| plain(text))));
    let cases = shown.iter().map(|shown| of_case(definition, shown, shared_error.is_some()));
    [head].into_iter().chain(cases).collect()
}

/// A case: what was counted, and its last figure.
fn of_case(definition: &Definition, shown: &CaseDetails, is_reason_given: bool) -> Section {
    let CaseDetails { case, counted, last } = shown;
    let is_other = case.benchmark != definition.id;
    let title = if is_other { format!("for comparison: {case}") } else { point(case) };
    let mut lines = Vec::new();
    match counted {
        Ok(count) => {
            lines.push(entries(count));
            let surprises = count.unexpected(&definition.calls, &case.point);
            if !is_other && !surprises.is_empty() {
                lines.push(format!("differs from its definition: {}", surprises.join("; ")));
            }
        }
        Err(_) if is_reason_given => {}
        Err(error) => lines.push(format!("nothing was counted: {error}")),
    }
    match last {
        Some(last) => lines.extend(figure(last)),
        None => lines.push("not measured on this machine yet".to_owned()),
    }
    Section::of(plain(&title), Block::list(lines.iter().map(|line| plain(line))))
}

/// The part if no benchmark could be counted.
pub fn nothing(reason: &str) -> Vec<Section> {
    vec![Section::of(TITLE, [Block::Text(plain(&nothing_counted(reason)))])]
}

fn nothing_counted(reason: &str) -> String {
    format!("Nothing was counted: {reason}")
}

/// The point of a case, or its name if it has no axes.
fn point(case: &Case) -> String {
    if case.point.is_empty() { case.to_string() } else { case.point.to_string() }
}

/// How often an op enters the kernel, whether it runs vDSO code, and the work that was counted.
fn entries(count: &CallCount) -> String {
    let an_op = |times: u64| per_op(times as f64 / count.ops.max(1) as f64);
    let named = |(call, &times): (&String, &u64)| match an_op(times).as_str() {
        "1" => call.clone(),
        times => format!("{times} {call}"),
    };
    let names: Vec<String> = count.own.iter().map(named).collect();
    let mut parts = vec![match per_op(count.entries_per_op()).as_str() {
        "0" if names.is_empty() => "no kernel entry".to_owned(),
        "1" => format!("1 kernel entry per op: {}", names.join(", ")),
        entries => format!("{entries} kernel entries per op: {}", names.join(", ")),
    }];
    let where_it_runs = match (count.vdso, count.own.is_empty()) {
        (Some(true), true) => "runs vDSO code",
        (Some(true), false) => "through the vDSO",
        (Some(false), true) => "only the program's own code",
        (Some(false), false) => "no vDSO code",
        (None, _) => "whether it runs vDSO code could not be observed",
    };
    if !count.peer.is_empty() {
        let names: Vec<String> = count.peer.iter().map(named).collect();
        parts.push(format!("the peer makes: {}", names.join(", ")));
    }
    parts.push(where_it_runs.to_owned());
    if let Some(instructions) = count.instructions {
        parts.push(format!("{instructions:.0} instructions in user mode, loop included"));
    }
    let work = [
        (count.tasks, "task", " created"),
        (count.faults, "fault", ""),
        (count.bytes, "byte", " copied"),
    ];
    for (times, noun, participle) in work {
        if let Some(times) = times.filter(|&times| times > 0) {
            parts.push(format!("{}{participle}", numbered(&an_op(times), noun)));
        }
    }
    parts.join("; ")
}

/// A figure with its class; how it compares, and what the kernel charged for it.
fn figure(last: &PreviousFigure) -> Vec<String> {
    let PreviousFigure { row, started, quiet, other_kernel } = last;
    let Some(figure) = row::figure(row) else { return Vec::new() };
    let mut text = match figure.interval_text() {
        _ if instructions::is_counted(row) => instructions::figure_and_exactness(row),
        Some(interval) => format!("{} ({interval})", figure.text),
        None => figure.text,
    };
    if let Some(class) = &row.class {
        text += &format!(", {class}");
    }
    text += &format!(", of {} UTC", minute(started));
    if let Some(release) = other_kernel {
        text += &format!(" under Linux {release}");
    }
    if let Some(quiet) = quiet.as_deref().filter(|quiet| *quiet != "quiet") {
        text += &format!(", a {} run", class_text(quiet));
    }
    // These flags only say why a row was measured.
    let is_remarkable = |flag: &&str| !["ADDED", "REFERENCE", "PRIMITIVE"].contains(flag);
    let flags: Vec<&str> = row.flags.iter().map(String::as_str).filter(is_remarkable).collect();
    let multiples = row.multiples.iter().filter(|(base, _)| **base != row.case);
    let multiples = multiples.map(|(base, ratio)| format!("{} times {base}", times(*ratio)));
    let [counted, misses] =
        [counters::sentence(row), counters::misses(row)].map(Option::unwrap_or_default);
    let others = multiples.chain([charged(row).join(", "), counted, misses, flags.join(", ")]);
    let others = others.filter(|text| !text.is_empty());
    [format!("last figure: {text}")].into_iter().chain(others).collect()
}

/// What the kernel charged for an op: CPU time, and the counts that are at least `MIN_TIMES`.
fn charged(row: &Row) -> Vec<String> {
    const MIN_TIMES: f64 = 0.01;
    /// A hundred ticks of 4 ms: with fewer, the kernel's split of CPU time is too coarse.
    const MIN_CPU_NS: f64 = 400e6;
    let metric = |name: &str| Some(&row.metrics.get(name)?.estimate);
    let mut parts = Vec::new();
    if let (Some(user), Some(system)) = (metric("user"), metric("system")) {
        let each_ns = user.median + system.median;
        let ops = f64::from(user.repetitions) * user.ops_per_sample as f64;
        let split = match each_ns * ops > MIN_CPU_NS {
            true => format!(", {} of it in the kernel", per_cent(100.0 * system.median / each_ns)),
            false => String::new(),
        };
        parts.push(format!("CPU time {} per op{split}", rough(each_ns, Unit::NsPerOp)));
    }
    for name in ["minor-faults", "major-faults", "voluntary-switches", "involuntary-switches"] {
        if let Some(times) = metric(name).map(|it| it.median).filter(|&it| it >= MIN_TIMES) {
            let noun = name.replace('-', " ");
            let noun = noun
                .strip_suffix("es")
                .filter(|noun| noun.ends_with("ch"))
                .or(noun.strip_suffix('s'))
                .unwrap_or(&noun);
            parts.push(numbered(&per_op(times), noun));
        }
    }
    parts
}

/// `1 fault`, `2 faults`, `3 voluntary switches`.
fn numbered(number: &str, noun: &str) -> String {
    let ending = match noun.ends_with("ch") {
        _ if number == "1" => "",
        true => "es",
        false => "s",
    };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oscost_model::record::{Metric, Record, RowCounters};

    use super::*;
    use crate::report::view::document::View;

    fn count(own: &[(&str, u64)]) -> CallCount {
        let own: BTreeMap<String, u64> =
            own.iter().map(|&(call, times)| (call.to_owned(), times)).collect();
        CallCount { ops: 23, own, ..CallCount::default() }
    }

    #[test]
    fn counts_are_described_in_words() {
        let none = CallCount { vdso: Some(false), instructions: Some(12.0), ..count(&[]) };
        assert_eq!(
            entries(&none),
            "no kernel entry; only the program's own code; 12 instructions in user mode, \
             loop included"
        );
        let clock = CallCount { vdso: Some(true), ..count(&[]) };
        assert_eq!(entries(&clock), "no kernel entry; runs vDSO code");
        let pair = count(&[("close", 23), ("openat", 23)]);
        assert!(entries(&pair).starts_with("2 kernel entries per op: close, openat; "));
        let odd = CallCount { faults: Some(46), ..count(&[("read", 46), ("write", 23)]) };
        assert!(entries(&odd).starts_with("3 kernel entries per op: 2 read, write; whether"));
        assert!(entries(&odd).ends_with("; 2 faults"));
        let both = CallCount { peer: count(&[("read", 23)]).own, ..count(&[("write", 23)]) };
        assert!(entries(&both).starts_with("1 kernel entry per op: write; the peer makes: read; "));
    }

    /// A row with these metrics, which three workers counted.
    fn counted_row(metrics: &[(&str, Unit, f64)]) -> Row {
        let text = include_str!("../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let mut row = record.results.into_iter().find(|row| row.estimate.is_some()).unwrap();
        for &(name, unit, median) in metrics {
            let mut estimate = row.estimate.clone().unwrap();
            estimate.median = median;
            row.metrics.insert(name.to_owned(), Metric { unit, better: unit.better(), estimate });
        }
        row.counters = Some(RowCounters {
            workers: 3,
            read_by: Some("read".to_owned()),
            kernel: true,
            inherited: false,
            insn_sd_pct: Some(0.01),
            repeats: Some(true),
            counted_time_ratio: Some(1.02),
            running_ns: None,
            waiting_ns: None,
            short_by: None,
            amortized: false,
            over_ticks: false,
            void: Vec::new(),
            repetitions: Vec::new(),
        });
        row
    }

    #[test]
    fn a_last_figure_has_its_counted_events() {
        let row = counted_row(&[
            ("insn", Unit::InstructionsPerOp, 305.0),
            ("insn_user", Unit::InstructionsPerOp, 12.0),
            ("insn_kernel", Unit::InstructionsPerOp, 293.0),
            ("cpi", Unit::CyclesPerInstruction, 1.41),
            ("ghz", Unit::Gigahertz, 2.6),
            ("branch_misses", Unit::TimesPerOp, 0.25),
            ("l1d_misses", Unit::TimesPerOp, 3.0),
        ]);
        let started = "2026-11-21T08:15:00Z".to_owned();
        let lines = figure(&PreviousFigure { row, started, quiet: None, other_kernel: None });
        let counted = "305.0 instructions (12.00 in user mode, 293.0 in the kernel), which repeat \
                       within 0.01 %, 1.41 cycles per instruction, 2.60 GHz, 1.02 times the timed \
                       figure if counted";
        assert!(lines.iter().any(|line| line == counted), "{lines:?}");
        let misses = "counted per op: 0.25 branch-misses, 3.00 L1-dcache-load-misses";
        assert!(lines.iter().any(|line| line == misses), "{lines:?}");
    }

    #[test]
    fn a_reason_for_no_counts_fits_80_columns() {
        let why = "a reason of such a length that it does not fit into one line of eighty columns";
        let text = crate::report::terminal(&View::of(nothing(why)));
        assert!(text.starts_with("On this machine\n  Nothing was counted: a reason"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
