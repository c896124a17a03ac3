//! What the machine at hand shows of a benchmark: the last part of `oscost explain`.

use std::fmt::Write as _;

use oscost_model::calls::CallCount;
use oscost_model::case::Case;
use oscost_model::definition::Definition;
use oscost_model::record::Row;
use oscost_model::unit::Unit;

use crate::estimate;
use crate::report::figures::{each, per_cent, rough, times};
use crate::report::text::{fold, plain};
use crate::report::view::row;
use crate::report::view::{instructions, one_way};

/// A case, and what there is to say of it here and now.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The case.
    pub case: Case,
    /// What was counted just now, or why nothing was.
    pub counted: Result<CallCount, String>,
    /// The last figure of it from this machine.
    pub last: Option<Last>,
}

/// A figure that was measured before.
#[derive(Clone, Debug)]
pub struct Last {
    /// Its row.
    pub row: Row,
    /// When its run began, RFC 3339.
    pub started: String,
    /// How quiet the machine was: the class of the run.
    pub quiet: Option<String>,
    /// The kernel that it was measured under, where that was another one.
    pub other_kernel: Option<String>,
}

/// The heading of the part.
const TITLE: &str = "\nHere, now\n";

/// The part for some cases of a benchmark.
pub fn text(definition: &Definition, shown: &[Shown]) -> String {
    let mut out = TITLE.to_owned();
    let ops = shown.iter().find_map(|shown| shown.counted.as_ref().ok()).map(|count| count.ops);
    if let Some(ops) = ops {
        let how =
            format!("Counted on {ops} ops of an untimed copy; a few more were stepped through.");
        paragraph(&mut out, "  ", &how);
    }
    let whys = shown.iter().map(|shown| shown.counted.as_ref().err());
    let why = match whys.collect::<Option<Vec<&String>>>().as_deref() {
        // What stopped all of them is told once.
        Some([first, rest @ ..]) if rest.iter().all(|other| other == first) => Some(*first),
        _ => None,
    };
    if let Some(why) = why {
        paragraph(&mut out, "  ", &format!("Nothing was counted: {why}"));
    }
    for Shown { case, counted, last } in shown {
        let is_other = case.benchmark != definition.id;
        let name = if is_other { format!("beside it {case}") } else { point(case) };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {}", plain(&name));
        match counted {
            Ok(count) => {
                paragraph(&mut out, "    ", &kernel(count));
                let surprises = count.unexpected(&definition.calls, &case.point);
                if !is_other && !surprises.is_empty() {
                    let text = format!("not what its definition says: {}", surprises.join("; "));
                    paragraph(&mut out, "    ", &text);
                }
            }
            Err(_) if why.is_some() => {}
            Err(why) => paragraph(&mut out, "    ", &format!("nothing was counted: {why}")),
        }
        match last {
            Some(last) => figure(&mut out, last),
            None => paragraph(&mut out, "    ", "no figure of this machine is kept"),
        }
    }
    // Only figures of one run are held against each other.
    let lasts: Vec<&Last> = shown.iter().filter_map(|shown| shown.last.as_ref()).collect();
    let mut runs: Vec<&str> = lasts.iter().map(|last| last.started.as_str()).collect();
    runs.sort_unstable();
    runs.dedup();
    for run in runs {
        let rows = lasts.iter().filter(|last| last.started == run).map(|last| &last.row);
        for it in estimate::half_round_trips(rows) {
            paragraph(&mut out, "  ", &one_way::line(&it));
        }
    }
    out
}

/// The part where nothing could be looked at.
pub fn nothing(why: &str) -> String {
    let mut out = TITLE.to_owned();
    paragraph(&mut out, "  ", &format!("Nothing was counted: {why}"));
    out
}

fn paragraph(out: &mut String, indent: &str, text: &str) {
    let room = 80 - 2 * indent.len();
    let more = format!("{indent}  ");
    let _ = writeln!(out, "{indent}{}", fold(&plain(text), room, &more));
}

/// The point of a case, or its name where it has no axes.
fn point(case: &Case) -> String {
    if case.point.is_empty() { case.to_string() } else { case.point.to_string() }
}

/// How often an op enters the kernel, where its code runs otherwise, and what work shows.
fn kernel(count: &CallCount) -> String {
    let an_op = |times: u64| each(times as f64 / count.ops.max(1) as f64);
    let named = |(call, &times): (&String, &u64)| match an_op(times).as_str() {
        "1" => call.clone(),
        times => format!("{times} {call}"),
    };
    let names: Vec<String> = count.own.iter().map(named).collect();
    let mut parts = vec![match each(count.entries_per_op()).as_str() {
        "0" if names.is_empty() => "no entry of the kernel".to_owned(),
        "1" => format!("1 entry of the kernel an op: {}", names.join(", ")),
        entries => format!("{entries} entries of the kernel an op: {}", names.join(", ")),
    }];
    let where_it_runs = match (count.vdso, count.own.is_empty()) {
        (Some(true), true) => "it runs code of the vDSO",
        (Some(true), false) => "by way of the vDSO",
        (Some(false), true) => "all of it the program's own code",
        (Some(false), false) => "not by way of the vDSO",
        (None, _) => "whether it runs code of the vDSO could not be seen",
    };
    if !count.peer.is_empty() {
        let names: Vec<String> = count.peer.iter().map(named).collect();
        parts.push(format!("its peer {}", names.join(", ")));
    }
    parts.push(where_it_runs.to_owned());
    if let Some(instructions) = count.instructions {
        parts.push(format!("{instructions:.0} instructions in user mode, loop included"));
    }
    let work =
        [(count.tasks, "tasks made"), (count.faults, "faults"), (count.bytes, "bytes copied")];
    for (times, what) in work {
        if let Some(times) = times.filter(|&times| times > 0) {
            parts.push(format!("{} {what}", an_op(times)));
        }
    }
    parts.join("; ")
}

/// A figure, its class, how it compares, and what the kernel charged for it.
fn figure(out: &mut String, last: &Last) {
    let Last { row, started, quiet, other_kernel } = last;
    let Some(figure) = row::figure(row) else { return };
    let mut text = match figure.interval_text() {
        _ if instructions::is_counted(row) => instructions::figure_and_exactness(row),
        Some(interval) => format!("{} ({interval})", figure.text),
        None => figure.text,
    };
    if let Some(class) = &row.class {
        text += &format!(", {class}");
    }
    text += &format!(", of {} UTC", started.get(..16).unwrap_or(started).replace('T', " "));
    if let Some(release) = other_kernel {
        text += &format!(" under Linux {release}");
    }
    if let Some(quiet) = quiet.as_deref().filter(|quiet| *quiet != "quiet") {
        text += &format!(", a {quiet} run");
    }
    paragraph(out, "    ", &format!("last figure: {text}"));
    // Whether somebody asked for it then says nothing of the figure.
    let says = |flag: &&str| !["ADDED", "REFERENCE", "PRIMITIVE"].contains(flag);
    let flags: Vec<&str> = row.flags.iter().map(String::as_str).filter(says).collect();
    let multiples = row.multiples.iter().filter(|(base, _)| **base != row.case);
    let multiples = multiples.map(|(base, ratio)| format!("{} times {base}", times(*ratio)));
    for text in multiples.chain([charged(row).join(", "), flags.join(", ")]) {
        if !text.is_empty() {
            paragraph(out, "      ", &text);
        }
    }
}

/// What the kernel charged for an op: CPU time, and what was not next to nothing.
fn charged(row: &Row) -> Vec<String> {
    const SELDOM: f64 = 0.01;
    /// A hundred ticks of 4 ms: with fewer, the kernel's split of CPU time is a guess.
    const ENOUGH_NS: f64 = 400e6;
    let metric = |name: &str| Some(&row.metrics.get(name)?.estimate);
    let mut parts = Vec::new();
    if let (Some(user), Some(system)) = (metric("user"), metric("system")) {
        let each_ns = user.median + system.median;
        let ops = f64::from(user.repetitions) * user.ops_per_sample as f64;
        let split = match each_ns * ops > ENOUGH_NS {
            true => format!(", {} of it in the kernel", per_cent(100.0 * system.median / each_ns)),
            false => String::new(),
        };
        parts.push(format!("CPU time {} an op{split}", rough(each_ns, Unit::NsPerOp)));
    }
    for name in ["minor-faults", "major-faults", "voluntary-switches", "involuntary-switches"] {
        if let Some(times) = metric(name).map(|it| it.median).filter(|&it| it >= SELDOM) {
            parts.push(format!("{} {}", each(times), name.replace('-', " ")));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn count(own: &[(&str, u64)]) -> CallCount {
        let own: BTreeMap<String, u64> =
            own.iter().map(|&(call, times)| (call.to_owned(), times)).collect();
        CallCount { ops: 23, own, ..CallCount::default() }
    }

    #[test]
    fn evidence_is_told_in_words() {
        let none = CallCount { vdso: Some(false), instructions: Some(12.0), ..count(&[]) };
        assert_eq!(
            kernel(&none),
            "no entry of the kernel; all of it the program's own code; 12 instructions in user \
             mode, loop included"
        );
        let clock = CallCount { vdso: Some(true), ..count(&[]) };
        assert_eq!(kernel(&clock), "no entry of the kernel; it runs code of the vDSO");
        let pair = count(&[("close", 23), ("openat", 23)]);
        assert!(kernel(&pair).starts_with("2 entries of the kernel an op: close, openat; "));
        let odd = CallCount { faults: Some(46), ..count(&[("read", 46), ("write", 23)]) };
        assert!(kernel(&odd).starts_with("3 entries of the kernel an op: 2 read, write; whether"));
        assert!(kernel(&odd).ends_with("; 2 faults"));
        let both = CallCount { peer: count(&[("read", 23)]).own, ..count(&[("write", 23)]) };
        assert!(kernel(&both).starts_with("1 entry of the kernel an op: write; its peer read; "));
    }

    #[test]
    fn what_could_not_be_counted_fits_into_eighty_columns() {
        let why = "a reason of such a length that it does not fit into one line of eighty columns";
        let text = nothing(why);
        assert!(text.starts_with("\nHere, now\n  Nothing was counted: a reason"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
