//! Comparisons of rows: of runs measured apart, one or several a side (docs/explanation/METHOD.md,
//! section 11), and of one run in which they were measured side by side ([`interleaved`]).
//!
//! `comparability` decides which rows may be compared, `verdict` what follows from their values.

mod comparability;
mod exact_counts;
pub mod interleaved;
pub mod threshold;
pub mod verdict;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use oscost_model::clock::ClockKind;
use oscost_model::record::{
    AddedCost, Comparison, Ratio, Record, ReferenceCases, Row, RowOutcome, TargetInfo,
};
use oscost_model::unit::Better;

use self::comparability::{
    has_flag, incomparable_reason, is_cost, machine, method_differences, not_claimable_reason,
    system_differences,
};
pub use self::exact_counts::is_count;
use self::exact_counts::{CountSide, compare_counts};
pub use self::verdict::MIN_PAIRS;
use self::verdict::{EffectEstimate, Verdict, min_pairs_for_discovery, neighbours, verdicts};
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;

/// A difference of less is not worth mentioning, however sure.
const MIN_EFFECT: f64 = 0.01;

/// What a comparison of runs has to say.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The rows of all runs that were compared, which `comparisons` points into.
    pub results: Vec<Row>,
    /// The pairs of rows.
    pub comparisons: Vec<Comparison>,
    /// For each of them, how many pairs would show the margin; `None` where nobody can tell.
    pub pairs_needed: Vec<Option<f64>>,
    /// What was not compared.
    pub not_compared: Vec<NotCompared>,
    /// What differs between the sides and may be what is compared.
    pub differences: Vec<String>,
    /// What must be known of the comparison as a whole, a sentence each.
    pub notes: Vec<String>,
}

/// A case at a place that was not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCompared {
    /// The case.
    pub case: String,
    /// The place.
    pub target: String,
    /// Why not.
    pub why: String,
}

/// A row in the list of all rows, and the run that it is of.
#[derive(Clone, Copy)]
struct RunRow<'a> {
    run: &'a Record,
    row: &'a Row,
    index: u32,
}

/// A row by its place, its case and the machine of its other end: a run may have the same case with
/// both ends here, and with one of them there.
type RowKey<'a> = (&'a str, &'a str, Option<&'a str>);
/// All rows of a list of runs.
type RowsByKey<'a> = BTreeMap<RowKey<'a>, Vec<RunRow<'a>>>;

/// Compares two runs, or where either side has several, their values run by run.
pub fn compare(base: &[Record], new: &[Record]) -> RunComparison {
    match (base, new) {
        ([base], [new]) => compare_two(base, new),
        _ => compare_several(base, new),
    }
}

fn compare_two(base: &Record, new: &Record) -> RunComparison {
    let mut compared = RunComparison::of_runs(&[base, new]);
    compared.differences = system_differences(base, new);
    compared.notes = method_differences(base, new);
    let counting = [base, new].into_iter().any(counts_instructions);
    let same_system = compared.differences.is_empty();
    // Reference cases that are counted do not move by themselves.
    let moved = if counting { None } else { reference_drift(base, new, same_system) };
    if let Some((by, reference_case)) = &moved
        && *by > (1.0 + MIN_EFFECT).ln()
    {
        compared.notes.push(format!(
            "the reference cases moved by up to {:.0} % ({reference_case}): each interval is wider by as much",
            100.0 * by.exp_m1()
        ));
    }
    let mut barred = false;
    for (side, run) in [("base", base), ("new run", new)] {
        if let Some(why) = not_claimable_reason(run) {
            barred = true;
            compared.notes.push(format!("no verdict is given: of the {side}, {why}"));
        }
    }
    let span_s = span(start_time(base), start_time(new));
    let moved = moved.map_or(0.0, |(by, _)| by);
    let found = RowsByKey::from_iter(
        rows_of(&[base, new]).into_iter().filter(|(_, rows)| was_requested(rows.iter().copied())),
    );
    let mut judged = Vec::new();
    for (key, rows) in &found {
        let of = |run: &Record| rows.iter().copied().find(|it| it.run.id == run.id);
        let (one, other) = match (of(base), of(new)) {
            (Some(one), Some(other)) => (one, other),
            (one, _) => {
                let side = if one.is_some() { "new run" } else { "base" };
                compared.exclude(rows[0].row, missing_reason(&found, *key, side));
                continue;
            }
        };
        if let Some(why) = incomparable_reason((base, one.row), (new, other.row)) {
            compared.exclude(rows[0].row, why);
            continue;
        }
        if is_count(one.row) && is_count(other.row) {
            compared.compare_counts(rows[0].row, ([one].as_slice(), &[other]), ("stored", span_s));
            continue;
        }
        let nominal = [base, new].map(|run| Nominal::from_run_level(run.settings.nominal));
        let Some(mut it) =
            verdict::unpaired_effect(&logs(one.row), &logs(other.row), nominal, moved)
        else {
            let why = "fewer than six repetitions on a side: there is no interval";
            compared.exclude(rows[0].row, why.to_owned());
            continue;
        };
        if barred || has_flag(one.row, "NOT_CLAIMABLE") || has_flag(other.row, "NOT_CLAIMABLE") {
            it.flags.push("NOT_CLAIMABLE");
            it.p = 1.0;
        }
        let (from, to) = (median(one.row), median(other.row));
        // The ratio's interval, laid on the base's figure: the run-to-run part of it is a share.
        let added = AddedCost {
            value: to - from,
            ci95: it.interval.map(|Interval { lo, hi }| [from * lo.exp_m1(), from * hi.exp_m1()]),
            unit: one.row.unit,
        };
        judged.push(JudgedPair {
            base: one,
            new: other,
            design: "stored",
            pairs: 1,
            span_s,
            it,
            added,
        });
    }
    compared.conclude(judged);
    compared
}

fn compare_several(base: &[Record], new: &[Record]) -> RunComparison {
    let mut runs: Vec<(verdict::Side, &Record)> = Vec::new();
    runs.extend(base.iter().map(|run| (verdict::Side::Base, run)));
    runs.extend(new.iter().map(|run| (verdict::Side::New, run)));
    runs.sort_by_key(|(_, run)| start_time(run));
    let all: Vec<&Record> = runs.iter().map(|(_, run)| *run).collect();
    let mut compared = RunComparison::of_runs(&all);
    if let ([first, ..], [other, ..]) = (base, new) {
        compared.differences = system_differences(first, other);
        let all = all.iter().flat_map(|run| method_differences(first, run));
        compared.notes = all.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    }
    let mut fit = Vec::new();
    for &(side, run) in &runs {
        // Without its place in time a run has no neighbours.
        let untimed =
            start_time(run).is_none().then_some("when it began is no time of any calendar");
        match not_claimable_reason(run).or(untimed) {
            Some(why) => compared.notes.push(format!("run {} is left out: {why}", run.id)),
            None => fit.push((side, run)),
        }
    }
    let sides: Vec<verdict::Side> = fit.iter().map(|(side, _)| *side).collect();
    let pairs: Vec<[&Record; 2]> =
        neighbours(&sides).into_iter().map(|[b, n]| [fit[b].1, fit[n].1]).collect();
    let mut left_out: BTreeMap<String, u32> = BTreeMap::new();
    let found = RowsByKey::from_iter(
        rows_of(&all).into_iter().filter(|(_, rows)| was_requested(rows.iter().copied())),
    );
    let mut judged = Vec::new();
    for rows in found.values() {
        let of = |run: &Record| rows.iter().copied().find(|it| it.run.id == run.id);
        if rows.iter().all(|it| is_count(it.row)) {
            // Counts have no neighbours in time: each run is held against the first one.
            let measured = |it: &&RunRow<'_>| it.row.outcome == RowOutcome::Measured;
            let first = *rows.iter().find(measured).unwrap_or(&rows[0]);
            let why =
                |it: &RunRow<'_>| incomparable_reason((first.run, first.row), (it.run, it.row));
            rows.iter().filter_map(why).for_each(|why| *left_out.entry(why).or_default() += 1);
            let good: Vec<RunRow<'_>> =
                rows.iter().copied().filter(|it| why(it).is_none()).collect();
            let side = |runs: &[Record]| -> Vec<RunRow<'_>> {
                let is_of = |it: &&RunRow<'_>| runs.iter().any(|run| run.id == it.run.id);
                good.iter().filter(is_of).copied().collect()
            };
            let (base, new) = (side(base), side(new));
            let ends = base.first().zip(new.last());
            let span_s = ends.map_or(0.0, |(b, n)| span(start_time(b.run), start_time(n.run)));
            compared.compare_counts(rows[0].row, (&base, &new), ("boots", span_s));
            continue;
        }
        let both = pairs.iter().filter_map(|[b, n]| Some([of(b)?, of(n)?]));
        let (good, bad): (Vec<_>, Vec<_>) = both
            .map(|[b, n]| {
                (
                    [b, n],
                    incomparable_reason((rows[0].run, rows[0].row), (b.run, b.row))
                        .or_else(|| incomparable_reason((b.run, b.row), (n.run, n.row))),
                )
            })
            .partition(|(_, why)| why.is_none());
        for (_, why) in &bad {
            let why = why.as_deref().unwrap_or_default();
            *left_out.entry(why.to_owned()).or_insert(0u32) += 1;
        }
        let Some(&([first_base, first_new], _)) = good.first() else {
            let why = bad.into_iter().find_map(|(_, why)| why);
            let why = why.unwrap_or_else(|| "no pair of neighbouring runs has it".to_owned());
            compared.exclude(rows[0].row, why);
            continue;
        };
        let good: Vec<[RunRow<'_>; 2]> = good.into_iter().map(|(pair, _)| pair).collect();
        let values: Vec<[f64; 2]> =
            good.iter().map(|pair| pair.map(|found| median(found.row))).collect();
        let last = good.last().map_or(first_base.run, |[b, _]| b.run);
        let span_s = span(start_time(first_base.run), start_time(last));
        let it = verdict::paired_effect(&values, span_s, margin(first_base).ln_1p());
        let differences: Vec<f64> = values.iter().map(|[from, to]| to - from).collect();
        let differences = order::sorted(&differences);
        let added = AddedCost {
            value: order::median(&differences).unwrap_or(0.0),
            ci95: median_hs(&differences, Nominal::FIXED).map(|it| [it.lo, it.hi]),
            unit: first_base.row.unit,
        };
        let pairs = values.len() as u32;
        let (base, new) = (first_base, first_new);
        judged.push(JudgedPair { base, new, design: "boots", pairs, span_s, it, added });
    }
    let counting = all.iter().all(|run| counts_instructions(run));
    if !counting {
        compared.notes.push(describe_pairing(&sides, pairs.len()));
    }
    compared.notes.extend(
        left_out.iter().map(|(why, rows)| format!("in {rows} pairs of rows, one is unfit: {why}")),
    );
    compared.conclude(judged);
    let rows = compared.comparisons.len();
    let most = compared.comparisons.iter().map(|it| it.pairs).max();
    let needed = min_pairs_for_discovery(rows);
    let seen =
        compared.comparisons.iter().any(|it| it.verdict == "slower" || it.verdict == "faster");
    if let Some(most) = most.filter(|&most| most as usize >= MIN_PAIRS && most < needed)
        && !seen
        && !counting
    {
        compared.notes.push(format!(
            "{most} pairs cannot tell one row among {rows} from chance: that takes {needed}, or \
             fewer rows"
        ));
    }
    compared
}

/// Two rows and what was found of them.
struct JudgedPair<'a> {
    base: RunRow<'a>,
    new: RunRow<'a>,
    design: &'static str,
    pairs: u32,
    span_s: f64,
    it: EffectEstimate,
    added: AddedCost,
}

impl RunComparison {
    fn of_runs(runs: &[&Record]) -> Self {
        Self {
            results: runs.iter().flat_map(|run| run.results.iter().cloned()).collect(),
            comparisons: Vec::new(),
            pairs_needed: Vec::new(),
            not_compared: Vec::new(),
            differences: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Compares the rows of either side, whose figures are counts.
    fn compare_counts(
        &mut self,
        row: &Row,
        (base, new): (&[RunRow<'_>], &[RunRow<'_>]),
        (design, span_s): (&str, f64),
    ) {
        let side = |of: &[RunRow<'_>]| CountSide::of(of.iter().map(|it| it.row));
        let ends = base.first().zip(new.first());
        let found = side(base).zip(side(new)).map(|(base, new)| compare_counts(&base, &new));
        match found.zip(ends) {
            Some((Some(found), (base, new))) => {
                let rows = ((base.index, base.row), (new.index, new.row));
                self.comparisons.push(found.comparison(rows, design, span_s));
            }
            Some((None, _)) => {
                let why = "one side is no instruction at all, or less: there is no ratio";
                self.exclude(row, why.to_owned());
            }
            None => self.exclude(row, "no run of one side has it".to_owned()),
        }
    }

    fn exclude(&mut self, row: &Row, why: String) {
        let (case, target) = (row.case.clone(), row.target.text.clone());
        self.not_compared.push(NotCompared { case, target, why });
    }

    /// Verdicts over all pairs, in the order of the base's rows.
    fn conclude(&mut self, mut pairings: Vec<JudgedPair<'_>>) {
        pairings.sort_by_key(|pairing| pairing.base.index);
        let counted = std::mem::take(&mut self.comparisons);
        let judged: Vec<EffectEstimate> =
            pairings.iter().map(|pairing| pairing.it.clone()).collect();
        let margins: Vec<f64> =
            pairings.iter().map(|pairing| margin(pairing.base).ln_1p()).collect();
        let said = verdicts(&judged, &margins);
        let needed = judged.iter().map(|it| it.pairs_needed);
        let judged: Vec<_> = pairings.into_iter().zip(said).map(comparison).zip(needed).collect();
        // What was counted is not judged among the others, and takes no more pairs.
        let mut all: Vec<(Comparison, Option<f64>)> =
            counted.into_iter().map(|it| (it, None)).chain(judged).collect();
        all.sort_by_key(|(it, _)| it.base);
        (self.comparisons, self.pairs_needed) = all.into_iter().unzip();
    }
}

fn comparison((pairing, (q, verdict)): (JudgedPair<'_>, (f64, Verdict))) -> Comparison {
    let JudgedPair { base, new, design, pairs, span_s, it, added } = pairing;
    let mut flags: Vec<String> = it.flags.iter().map(|&flag| flag.to_owned()).collect();
    let calls = |row: &Row| row.calls.as_ref().map(|calls| calls.per_op.clone());
    if let (Some(base), Some(new)) = (calls(base.row), calls(new.row))
        && base != new
    {
        flags.push("CALLS_DIFFER".to_owned());
    }
    Comparison {
        case: base.row.case.clone(),
        metric: interleaved::PRIMARY.to_owned(),
        base: base.index,
        new: new.index,
        design: design.to_owned(),
        pairs,
        span_s,
        ratio: Ratio {
            value: it.effect.exp(),
            ci95: it.interval.map(|it| [it.lo.exp(), it.hi.exp()]),
        },
        added,
        p: it.p,
        q,
        verdict: verdict_text(verdict, base.row.better).to_owned(),
        mde_pct: it.min_detectable.map(|it| 100.0 * it.exp_m1()),
        ties: 0,
        monitor_events_per_op: None,
        control: false,
        flags,
    }
}

fn verdict_text(verdict: Verdict, better: Better) -> &'static str {
    match (verdict, better) {
        (Verdict::Equivalent, _) => "equivalent",
        (Verdict::Inconclusive, _) => "inconclusive",
        (Verdict::Larger, Better::Lower) | (Verdict::Smaller, Better::Higher) => "slower",
        (Verdict::Smaller, Better::Lower) | (Verdict::Larger, Better::Higher) => "faster",
    }
}

/// Rows of several runs by place, case and peer, each with its index in the list of all.
///
/// The kernel of a machine that counts is part of its place's name, and what is compared: it is left
/// out of that name, unless a run has several.
fn rows_of<'a>(runs: &[&'a Record]) -> RowsByKey<'a> {
    let has_several = |run: &&Record| run.machines.iter().filter(|it| it.vm.is_some()).count() > 1;
    let has_several = runs.iter().any(has_several);
    let target = |row: &'a Row| {
        let TargetInfo { text, host, .. } = &row.target;
        let bare = text.strip_suffix(host.as_str()).filter(|_| is_count(row) && !has_several);
        bare.unwrap_or(text)
    };
    let mut found = RowsByKey::new();
    let all = runs.iter().flat_map(|run| run.results.iter().map(move |row| (*run, row)));
    for (index, (run, row)) in all.enumerate() {
        let peer = row.target.peer.as_deref();
        let rows = found.entry((target(row), row.case.as_str(), peer)).or_default();
        rows.push(RunRow { run, row, index: index as u32 });
    }
    found
}

/// Whether anybody asked for the case, on either side: reference cases and parts of floors are measured all
/// the same.
fn was_requested<'a>(mut rows: impl Iterator<Item = RunRow<'a>>) -> bool {
    rows.any(|it| !has_flag(it.row, "REFERENCE") && !has_flag(it.row, "PRIMITIVE"))
}

/// Why a case at a place has no partner.
fn missing_reason(found: &RowsByKey<'_>, (target, case, peer): RowKey<'_>, side: &str) -> String {
    let named = |it: &&RowKey<'_>| it.1 == case;
    if found.keys().filter(named).any(|it| it.0 == target && it.2 != peer) {
        let ends = |far: bool| if far { "on two machines" } else { "on one machine" };
        let (here, there) = (ends(peer.is_some()), ends(peer.is_none()));
        return format!("another peer: its ends are {here} here, {there} in the {side}");
    }
    let other = found.keys().filter(named).find(|it| it.0 != target);
    let text = |key: &RowKey<'_>| found[key][0].row.target.text.clone();
    match other {
        Some(other) => {
            let (here, there) = (text(&(target, case, peer)), text(other));
            format!("another target: `{here}` here, `{there}` in the {side}")
        }
        None => format!("not measured in the {side}"),
    }
}

/// How the runs of the two sides took turns, and what follows.
fn describe_pairing(sides: &[verdict::Side], pairs: usize) -> String {
    let count = |side| sides.iter().filter(|&&it| it == side).count();
    let (base, new) = (count(verdict::Side::Base), count(verdict::Side::New));
    let left = sides.len() - 2 * pairs;
    let mut text = format!("{base} and {new} runs, in turns: {pairs} pairs of neighbours");
    if left > 0 {
        text.push_str(&format!(
            "; {left} runs have no neighbour of the other side, and are in no figure"
        ));
    }
    if pairs < MIN_PAIRS {
        text.push_str(&format!(
            "; a verdict needs {MIN_PAIRS} pairs: what drifts from run to run is otherwise \
             taken for an effect"
        ));
    }
    text
}

/// Whether instructions are counted in a run, and no time is measured.
fn counts_instructions(run: &Record) -> bool {
    let clock = run.machines.first().and_then(|machine| machine.clock.as_ref());
    clock.is_some_and(|clock| clock.source == ClockKind::Instructions.text())
}

/// When a run began.
fn start_time(run: &Record) -> Option<SystemTime> {
    humantime::parse_rfc3339(&run.started.replace("+00:00", "Z")).ok()
}

fn span(one: Option<SystemTime>, other: Option<SystemTime>) -> f64 {
    let Some((one, other)) = one.zip(other) else { return 0.0 };
    let apart = other.duration_since(one).or_else(|_| one.duration_since(other));
    apart.unwrap_or(Duration::ZERO).as_secs_f64()
}

fn median(row: &Row) -> f64 {
    row.estimate.as_ref().map_or(0.0, |estimate| estimate.median)
}

/// The logarithms of a row's repetitions.
fn logs(row: &Row) -> Vec<f64> {
    row.repetitions.iter().filter_map(|it| it.value).map(f64::ln).collect()
}

/// What is worth mentioning, as a share: 1 %, or what two steps of the clock are of a batch.
fn margin(found: RunRow<'_>) -> f64 {
    let machine = machine(found.run, Some(&found.row.target.machine));
    let step = machine.and_then(|machine| machine.clock.as_ref()).map(|clock| clock.q_ns);
    let batch = found.row.disturbed.plan.as_ref().map(|plan| plan.batch_ns);
    let of_batch = step.zip(batch.filter(|&ns| ns > 0.0)).map(|(step, ns)| 2.0 * step / ns);
    of_batch.unwrap_or(0.0).max(MIN_EFFECT)
}

/// How far the reference cases moved over both runs, as a logarithm, and which moved most.
///
/// Within a run every reference case is a control, for nothing changes there on purpose. From run to run
/// one that enters the kernel is a control only while both sides name the same system: else what it
/// shows may be what was asked.
fn reference_drift(base: &Record, new: &Record, same_system: bool) -> Option<(f64, String)> {
    let reference_cases =
        |run: &Record| run.conditions.first().map(|it| it.reference_cases.clone());
    let (base_reference_cases, new_reference_cases) =
        (reference_cases(base)?, reference_cases(new)?);
    let ends = |of: &ReferenceCases, name: &str| -> Vec<f64> {
        let ends = [of.before.get(name), of.after.get(name)];
        ends.into_iter().flatten().copied().filter(|&value| is_cost(value)).collect()
    };
    let host = |values: &[f64]| {
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)));
        if low < high { (high / low).ln() } else { 0.0 }
    };
    let enters = |run: &Record, name: &str| {
        let row = run.results.iter().find(|row| row.case == name);
        let calls = row.and_then(|row| row.calls.as_ref());
        calls.is_some_and(|calls| calls.per_op.values().sum::<f64>() > 0.0)
    };
    let names = base_reference_cases.before.keys().chain(base_reference_cases.after.keys());
    let by_name = names.map(|name| {
        let (one, other) = (ends(&base_reference_cases, name), ends(&new_reference_cases, name));
        let by = match same_system || !(enters(base, name) || enters(new, name)) {
            true => host(&[one, other].concat()),
            false => host(&one).max(host(&other)),
        };
        (by, name.clone())
    });
    by_name.max_by(|(one, _), (other, _)| one.total_cmp(other))
}

#[cfg(test)]
mod tests;
