//! What a comparison found: what is added to each case and relatively, on what nothing shows, and how
//! large an effect could hide there.

use oscost_model::counters::is_work;
use oscost_model::program::{CPU, REAL};
use oscost_model::record::{Comparison, Record};
use oscost_model::unit::Unit;

use crate::advice::words::Kind;
use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::estimate::comparison::{MACHINES_DIFFER, RunComparison};
use crate::report::figures::{added, per_cent, rough_count, rough_range, times};
use crate::report::text::plain;
use crate::report::view::answer::quote::{
    MAX_DETECTABLE_PCT, MIN_TIMES, cases, joined, range, relative, warning,
};
use crate::report::view::answer::{empty_comparison, trust};
use crate::report::view::comparison::verdicts::is_too_short;
use crate::report::view::document::Answer;
use crate::report::view::run::row::is_requested;

/// The flag of a run whose control is not known to be equivalent.
const CONTROL_WIDE: &str = "CONTROL_WIDE";
/// The flag of a comparison whose effect is not one figure.
const EFFECT_DRIFTS: &str = "EFFECT_DRIFTS";
/// What is said in place of that figure.
const DRIFTED: &str = "the size of the difference changed during the run";
/// A few cases are told one by one.
const MAX_EACH: usize = 2;
/// Differences whose largest is at most this multiple of their smallest are one price.
const ONE_PRICE: f64 = 1.25;
/// Of more pairs of targets, the first are told.
const MAX_GROUPS: usize = 5;

/// The comparisons of a new side with a base.
pub(in crate::report::view) struct Group<'a> {
    /// What was compared, as the subject of sentences.
    pub(in crate::report::view) new: String,
    /// What it was compared with.
    pub(in crate::report::view) base: String,
    /// The comparisons of requested cases.
    pub(in crate::report::view) comparisons: Vec<&'a Comparison>,
}

/// The answer of targets or commands that one run compared; `None` without any.
pub(in crate::report::view) fn of_run(record: &Record, groups: &[Group<'_>]) -> Option<Answer> {
    if groups.is_empty() {
        return None;
    }
    let findings: Vec<String> = match groups {
        [one] => findings(one),
        several => {
            let told = several.iter().take(MAX_GROUPS).map(|group| findings(group).join(" "));
            told.chain(more_groups(several.len())).collect()
        }
    };
    let judged: Vec<&Comparison> = groups.iter().flat_map(judged).collect();
    let trust = trust::of_record(record).map(|found| trust::sentence(&found));
    let trust = match (trust, control(record)) {
        (Some(trust), Some(control)) => Some(format!("{trust} {control}")),
        (trust, control) => trust.or(control),
    };
    let has = |flag: &str| judged.iter().any(|it| it.flags.iter().any(|own| own == flag));
    let next = match judged.iter().any(|it| it.verdict == "inconclusive") {
        _ if has("VOID") || has("UNRELIABLE") => Some("Next: measure again."),
        true => Some("Next: fewer cases, or `--thorough`, show smaller effects."),
        false => None,
    };
    let next = next.map(str::to_owned);
    Some(Answer { findings, trust, next: next.into_iter().chain(trust::next(record)).collect() })
}

/// The answer of runs that were compared; `None` of runs without rows.
pub(in crate::report::view) fn of_runs(
    compared: &RunComparison,
    runs: [&[Record]; 2],
) -> Option<Answer> {
    let RunComparison { results, comparisons, .. } = compared;
    if results.is_empty() {
        return None;
    }
    let is_of_request = |it: &&Comparison| results.get(it.base as usize).is_some_and(is_requested);
    let requested: Vec<&Comparison> = comparisons.iter().filter(is_of_request).collect();
    if requested.is_empty() {
        return Some(empty_comparison::answer(compared, runs));
    }
    let [base, new] = runs;
    let runs_of = |side: &str, runs: &[Record]| match runs.len() {
        1 => format!("the {side} run"),
        count => format!("the {count} {side} runs"),
    };
    let group =
        Group { new: runs_of("new", new), base: runs_of("base", base), comparisons: requested };
    let mut flags = comparisons.iter().flat_map(|it| &it.flags);
    let are_two_machines = flags.any(|flag| flag == MACHINES_DIFFER);
    let next = match are_two_machines {
        true => "Next: two machines, two moments: `oscost table` shows several runs of each.",
        false => {
            "Next: `oscost ab` measures both side by side, where one run can: it shows smaller \
             differences."
        }
    };
    Some(Answer {
        findings: findings(&group),
        trust: trust::sentence_of_all(base.iter().chain(new)),
        next: vec![next.to_owned()],
    })
}

fn more_groups(count: usize) -> Option<String> {
    match count.saturating_sub(MAX_GROUPS) {
        0 => None,
        1 => Some("1 more pair was compared: its table says what it found.".to_owned()),
        more => Some(format!("{more} more pairs were compared: their tables say what they found.")),
    }
}

/// The comparisons that have a verdict of their own: no other metric of the same rows, and no
/// instructions beside a figure.
fn judged<'a>(group: &Group<'a>) -> impl Iterator<Item = &'a Comparison> {
    let is_secondary = |it: &Comparison| it.flags.iter().any(|flag| flag == SECONDARY);
    let all = group.comparisons.clone().into_iter();
    all.filter(move |it| !is_secondary(it) && !is_work(&it.metric))
}

/// What the comparisons of a new side say, in sentences.
fn findings(group: &Group<'_>) -> Vec<String> {
    let Group { new, base, .. } = group;
    let (new, base) = (capitalized(&plain(new)), plain(base));
    let judged: Vec<&Comparison> = judged(group).collect();
    if judged.is_empty() {
        return vec![format!("{new} against {base}: no case could be compared.")];
    }
    let all_have = |flag: &str| judged.iter().all(|it| it.flags.iter().any(|own| own == flag));
    if all_have("VOID") {
        return vec![format!(
            "{new} against {base}: no verdict, since the control shows an effect where nothing differs."
        )];
    }
    if all_have("UNRELIABLE") {
        return vec![format!(
            "{new} against {base}: no verdict, since too much time was lost or the clock drifted."
        )];
    }
    if let [it] = &judged[..]
        && is_command(&new)
        && let Some(resource) = resource(&it.metric)
    {
        return vec![of_commands(&new, &base, it, resource)];
    }
    let of = |verdict: &str| -> Vec<&Comparison> {
        judged.iter().copied().filter(|it| it.verdict == verdict).collect()
    };
    let all = judged.len();
    let sentences = [
        slower(&new, &base, of("slower"), all),
        faster(&new, &base, of("faster"), all),
        equivalent(&of("equivalent"), all),
        inconclusive(&of("inconclusive"), all),
    ];
    sentences.into_iter().flatten().collect()
}

/// Whether a side is named by the words of its command.
fn is_command(name: &str) -> bool {
    name.starts_with('`')
}

/// What a command takes, by the metric of which it is; `None` of one that is no time.
fn resource(metric: &str) -> Option<&'static str> {
    match metric {
        CPU => Some("CPU time"),
        REAL => Some("wall time"),
        _ => None,
    }
}

/// What a command takes in comparison with another one.
fn of_commands(new: &str, base: &str, it: &Comparison, resource: &str) -> String {
    let ratio = it.ratio.value;
    let share = per_cent(100.0 * (ratio - 1.0).abs());
    let text = match it.verdict.as_str() {
        "slower" if drifts(it) => format!("{new} takes more {resource} than {base}; {DRIFTED}"),
        "faster" if drifts(it) => format!("{new} takes less {resource} than {base}; {DRIFTED}"),
        "slower" if ratio >= MIN_TIMES => {
            format!(
                "{new} takes {} times the {resource} of {base} ({})",
                times(ratio),
                addition(it)
            )
        }
        "slower" => format!("{new} takes {share} more {resource} than {base} ({})", addition(it)),
        "faster" => format!("{new} takes {share} less {resource} than {base} ({})", addition(it)),
        "equivalent" => format!("{new} and {base} take the same {resource} (within 3 %)"),
        _ => undecided_commands(new, base, it, resource),
    };
    format!("{text}{}.", warning(Kind::ComparisonFlag, &it.flags))
}

fn undecided_commands(new: &str, base: &str, it: &Comparison, resource: &str) -> String {
    if let Some(ends) = one_sided(it) {
        let [low, high] = ends.map(relative);
        let by = range(&low, &high);
        return format!("Not enough for a verdict: {new} takes {by} {resource} against {base}");
    }
    let nothing = format!("No difference of {resource} shows between {new} and {base}");
    if is_too_short(it) {
        return format!(
            "{nothing}: they are within 3 %, but not called equivalent, since all pairs lie within a \
             minute"
        );
    }
    match it.mde_pct.filter(|pct| pct.is_finite()) {
        Some(pct) if pct > MAX_DETECTABLE_PCT => {
            format!(
                "{nothing}: one below {} could hide, which is too noisy to compare",
                per_cent(pct)
            )
        }
        Some(pct) => format!("{nothing}: one below {} could hide", per_cent(pct)),
        None => format!("{nothing}: how large a one could hide is not known"),
    }
}

/// A text as the beginning of a sentence; names of targets and cases stay as they are.
fn capitalized(text: &str) -> String {
    for (word, capital) in [("the ", "The "), ("all ", "All "), ("both ", "Both ")] {
        if let Some(rest) = text.strip_prefix(word) {
            return format!("{capital}{rest}");
        }
    }
    text.to_owned()
}

fn by_ratio(mut comparisons: Vec<&Comparison>) -> Vec<&Comparison> {
    comparisons.sort_by(|one, other| one.ratio.value.total_cmp(&other.ratio.value));
    comparisons
}

fn slower(new: &str, base: &str, slower: Vec<&Comparison>, all: usize) -> Option<String> {
    if let Some(price) = one_price(&slower) {
        let slower = by_ratio(slower);
        let (first, last) = (slower.first()?, slower.last()?);
        let adds = if are_several(new) { "add" } else { "adds" };
        return Some(format!(
            "{new} {adds} {price} to {}: from {} on {} to {} on {}.",
            of_all(slower.len(), all),
            relative(first.ratio.value),
            name(first),
            relative(last.ratio.value),
            name(last)
        ));
    }
    let differs = differs(new, &slower, ["slower", "more"]);
    list_differences(&format!("{new} {differs} {base}"), by_ratio(slower), all)
}

fn faster(new: &str, base: &str, faster: Vec<&Comparison>, all: usize) -> Option<String> {
    let differs = differs(new, &faster, ["faster", "fewer"]);
    list_differences(&format!("{new} {differs} {base}"), by_ratio(faster), all)
}

/// How a side differs from its base, as a verb. Instructions are not time: a side of which only these
/// were counted is not slower.
fn differs(new: &str, differences: &[&Comparison], [of_time, of_counts]: [&str; 2]) -> String {
    let is_counted = differences.iter().all(|it| it.added.unit == Unit::InstructionsPerOp);
    match (is_counted, are_several(new)) {
        (false, false) => format!("is {of_time} than"),
        (false, true) => format!("are {of_time} than"),
        (true, false) => format!("executes {of_counts} instructions than"),
        (true, true) => format!("execute {of_counts} instructions than"),
    }
}

/// Whether a side is several runs, which is a plural.
fn are_several(side: &str) -> bool {
    side.ends_with(" runs")
}

/// Whether the effect differed between the halves of its pairs, so that none of its figures is quoted.
fn drifts(it: &Comparison) -> bool {
    it.flags.iter().any(|flag| flag == EFFECT_DRIFTS)
}

/// Some differences, those that are one figure before those that are not.
fn list_differences(what: &str, differences: Vec<&Comparison>, all: usize) -> Option<String> {
    let (drifting, steady): (Vec<&Comparison>, Vec<&Comparison>) =
        differences.into_iter().partition(|it| drifts(it));
    let sentences = [list_steady(what, steady, all), list_drifting(what, &drifting, all)];
    let told: Vec<String> = sentences.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn list_drifting(what: &str, drifting: &[&Comparison], all: usize) -> Option<String> {
    let where_it_is = match drifting {
        [] => return None,
        few if few.len() <= MAX_EACH => {
            let names: Vec<String> = few.iter().map(|it| name(it)).collect();
            format!("on {}{}", joined(&names), out_of(few.len(), all))
        }
        many => format!("in {}", of_all(many.len(), all)),
    };
    Some(format!("{what} {where_it_is}; {DRIFTED}."))
}

/// A few differences one by one, of more the ends.
fn list_steady(what: &str, differences: Vec<&Comparison>, all: usize) -> Option<String> {
    let each = |it: &Comparison| {
        format!("{} on {} ({})", relative(it.ratio.value), name(it), addition(it))
    };
    match &differences[..] {
        [] => None,
        few if few.len() <= MAX_EACH => {
            let each: Vec<String> = few.iter().map(|it| each(it)).collect();
            Some(format!("{what}: {}{}.", joined(&each), out_of(few.len(), all)))
        }
        [first, .., last] => Some(format!(
            "{what} in {}: from {} to {}.",
            of_all(differences.len(), all),
            each(first),
            each(last)
        )),
        [_] => None,
    }
}

/// `3 of 7 cases`, `all 7 cases`.
fn of_all(count: usize, all: usize) -> String {
    match count == all {
        true if all == 2 => "both cases".to_owned(),
        true if all > 2 => format!("all {}", cases(all)),
        true => cases(all),
        false => format!("{count} of {}", cases(all)),
    }
}

/// Out of how many, where that is more.
fn out_of(count: usize, all: usize) -> String {
    if count < all { format!(", of {}", cases(all)) } else { String::new() }
}

fn name(it: &Comparison) -> String {
    format!("{}{}", plain(&it.case), warning(Kind::ComparisonFlag, &it.flags))
}

/// What is added, with its interval.
fn addition(it: &Comparison) -> String {
    let value = difference(it.added.value, it.added.unit);
    match it.added.ci95.filter(|ends| ends.iter().all(|end| end.is_finite())) {
        Some([low, high]) if low < high => {
            let [low, high] = [low, high].map(|end| difference(end, it.added.unit));
            format!("{value}, {}", range(&low, &high))
        }
        _ => value,
    }
}

/// A difference with its unit and its sign; instructions in as many digits as one reads.
fn difference(value: f64, unit: Unit) -> String {
    if unit != Unit::InstructionsPerOp {
        return added(value, unit);
    }
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{} insn", rough_count(value))
}

/// What several rows pay, if all pay about the same time.
fn one_price(slower: &[&Comparison]) -> Option<String> {
    let values = || slower.iter().map(|it| it.added.value);
    let is_of_time = slower.iter().all(|it| it.added.unit == Unit::NsPerOp);
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let is_steady = !slower.iter().any(|it| drifts(it));
    let is_one =
        slower.len() > MAX_EACH && is_of_time && is_steady && low > 0.0 && high <= ONE_PRICE * low;
    let texts = [low, high].map(|value| added(value, Unit::NsPerOp));
    let [low, high] = texts.each_ref().map(|text| text.trim_start_matches('+'));
    is_one.then(|| range(low, high))
}

fn equivalent(equivalent: &[&Comparison], all: usize) -> Option<String> {
    let is_counted = equivalent.iter().all(|it| it.added.unit == Unit::InstructionsPerOp);
    let how = if is_counted { "to the last instruction" } else { "within 3 %" };
    let text = match equivalent {
        [] => return None,
        [one] => format!("{} is equivalent ({how}).", name(one)),
        several => format!("{} are equivalent ({how}).", of_all(several.len(), all)),
    };
    Some(capitalized(&text))
}

/// On what nothing shows, and the largest effect that may hide there. Counts that are not exact have
/// ranges in place of such an effect.
fn inconclusive(inconclusive: &[&Comparison], all: usize) -> Option<String> {
    let (counted, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        inconclusive.iter().copied().partition(|it| it.added.unit == Unit::InstructionsPerOp);
    let is_apart = |it: &&Comparison| one_sided(it).is_some();
    let (apart, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        timed.into_iter().partition(is_apart);
    let sentences = [indicated(apart, all), hidden(&timed, all), inexact(&counted, all)];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The interval of a ratio on one side of 1.
fn one_sided(it: &Comparison) -> Option<[f64; 2]> {
    let [low, high] = it.ratio.ci95.filter(|ends| ends.iter().all(|end| end.is_finite()))?;
    (low > 1.0 || high < 1.0).then_some([low, high])
}

/// What is inconclusive although its interval is on one side of 1: a few one by one, of more the ends.
fn indicated(apart: Vec<&Comparison>, all: usize) -> Option<String> {
    let apart = by_ratio(apart);
    let each = |it: &Comparison| {
        let ends = one_sided(it).map(|ends| ends.map(relative));
        ends.map(|[low, high]| format!("{} on {}", range(&low, &high), name(it)))
    };
    match &apart[..] {
        [] => None,
        few if few.len() <= MAX_EACH => {
            let each: Vec<String> = few.iter().filter_map(|it| each(it)).collect();
            Some(format!("Not enough for a verdict: {}{}.", joined(&each), out_of(few.len(), all)))
        }
        [first, .., last] => Some(format!(
            "Not enough for a verdict in {}: from {} to {}.",
            of_all(apart.len(), all),
            each(first)?,
            each(last)?
        )),
        [_] => None,
    }
}

fn hidden(inconclusive: &[&Comparison], all: usize) -> Option<String> {
    let on = match inconclusive {
        [] => return None,
        [one] => name(one),
        several if several.len() == all => format!("any of {}", cases(all)),
        several => of_all(several.len(), all),
    };
    let limits = inconclusive.iter().filter_map(|it| it.mde_pct).filter(|pct| pct.is_finite());
    let limits: Vec<f64> = limits.collect();
    let [least, most] = limits
        .iter()
        .copied()
        .fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], pct| [least.min(pct), most.max(pct)]);
    let effect = format!("an effect below {} could hide", per_cent(most));
    let hidden = match inconclusive.len() - limits.len() {
        0 if inconclusive.len() == 1 => format!("{effect} there"),
        0 => format!("{effect} in each"),
        _ if limits.is_empty() => "how large an effect could hide there is not known".to_owned(),
        unknown => format!("{effect} in each; for {unknown} of them no limit is known"),
    };
    let is_too_noisy = !limits.is_empty() && least > MAX_DETECTABLE_PCT;
    let noise = if is_too_noisy { ", which is too noisy to compare" } else { "" };
    Some(format!("Nothing shows on {on}: {hidden}{noise}.{}", too_short(inconclusive)))
}

/// That time alone keeps some of these from being equivalent; nothing if it does of none.
fn too_short(inconclusive: &[&Comparison]) -> String {
    let short = inconclusive.iter().filter(|it| is_too_short(it)).count();
    let what = match (short, inconclusive.len()) {
        (0, _) => return String::new(),
        (1, 1) => "It is".to_owned(),
        (1, _) => "1 of them is".to_owned(),
        (short, all) if short == all => "They are".to_owned(),
        (short, _) => format!("{short} of them are"),
    };
    format!(" {what} within 3 %, but not called equivalent: all pairs lie within a minute.")
}

/// The counts that differ, and not by more than each side varies; with the range of the largest
/// difference, if it is known.
fn inexact(inconclusive: &[&Comparison], all: usize) -> Option<String> {
    let range_of = |it: &Comparison| {
        let ends = it.added.ci95.filter(|ends| ends.iter().all(|end| end.is_finite()))?;
        let signs = ends.map(|end| if end > 0.0 { "+" } else { "" });
        let [low, high] = rough_range(ends);
        Some(format!("{}{low} to {}{high} insn", signs[0], signs[1]))
    };
    let widest =
        |it: &Comparison| it.added.ci95.map_or(0.0, |[low, high]| low.abs().max(high.abs()));
    let largest =
        inconclusive.iter().copied().max_by(|one, other| widest(one).total_cmp(&widest(other)))?;
    let by = range_of(largest);
    Some(match (inconclusive.len(), by) {
        (1, Some(by)) => format!(
            "{} is inconclusive: its counts are not exact, and the difference is {by}.",
            name(largest)
        ),
        (1, None) => format!("{} is inconclusive: its counts are not exact.", name(largest)),
        (count, Some(by)) => format!(
            "Inconclusive, since counts are not exact, are {}: the largest difference, on {}, is {by}.",
            of_all(count, all),
            name(largest)
        ),
        (count, None) => {
            format!("Inconclusive, since counts are not exact, are {}.", of_all(count, all))
        }
    })
}

/// What the control shows, in which nothing differs; `None` without a control.
fn control(record: &Record) -> Option<String> {
    let mut controls = record.comparisons.iter().filter(|it| it.control).peekable();
    controls.peek()?;
    let is_void = record.comparisons.iter().any(|it| it.flags.iter().any(|flag| flag == "VOID"));
    let intervals: Option<Vec<[f64; 2]>> = controls.map(|it| it.ratio.ci95).collect();
    let is_wide = record.conditions.iter().any(|it| it.flags.iter().any(|own| own == CONTROL_WIDE));
    Some(match (is_void, intervals) {
        (true, _) => "The control, in which nothing differs, shows an effect.".to_owned(),
        (false, None) => "The control has too few pairs to show anything.".to_owned(),
        (false, Some(intervals)) if is_wide => {
            let low = intervals.iter().map(|[low, _]| *low).fold(f64::INFINITY, f64::min);
            let high = intervals.iter().map(|[_, high]| *high).fold(f64::NEG_INFINITY, f64::max);
            format!("The control's ratio, which should be 1, is between {low:.3} and {high:.3}.")
        }
        (false, Some(_)) => "The control, in which nothing differs, shows nothing.".to_owned(),
    })
}
