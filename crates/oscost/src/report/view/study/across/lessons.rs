//! What the figures of acts say, in sentences.

use std::collections::BTreeMap;

use crate::report::figures::times;
use crate::report::text::plain;
use crate::studies::figures::unit::UnitKind;
use crate::studies::history::across::{Across, ActFigures};
use crate::studies::history::lesson::{Lesson, Ratios, SAME_WITHIN, Trend};

/// Which acts became cheaper with what, a sentence for each.
pub(super) fn summary(across: &Across<'_>) -> Vec<String> {
    if across.acts.iter().all(|act| act.lesson.in_time.is_none()) {
        return Vec::new();
    }
    let mut groups = grouped(across, |act| act.lesson.trend);
    // That no act follows the memory is an answer, too.
    if across.acts.iter().any(|act| act.lesson.in_loads.is_some()) {
        groups.entry(Trend::WithMemory).or_insert_with(|| vec!["none"]);
    }
    let sentence =
        |(trend, names): (Trend, Vec<&str>)| format!("{}: {}", head(trend), names.join("; "));
    groups.into_iter().map(sentence).collect()
}

fn head(trend: Trend) -> &'static str {
    match trend {
        Trend::WithCore => "cheaper with the core, about the same in its cycles",
        Trend::WithMemory => "cheaper with the memory, about the same in its latencies",
        Trend::WithBoth => "about the same in cycles and in memory latencies",
        Trend::FewerCycles => "cheaper than by the core alone, fewer cycles than then",
        Trend::MoreCycles => "not as much cheaper as the core, more cycles than then",
        Trend::Disagreement => "the studies disagree, some had far fewer cycles and some far more",
        Trend::Unknown => "not known, since a figure here or the frequency of a core is missing",
    }
}

/// What the figures of an act say, a sentence or two.
pub(super) fn of_act(act: &ActFigures<'_>) -> Vec<String> {
    let Lesson { in_time, in_cycles, in_loads, trend } = act.lesson;
    let Some(in_time) = in_time else { return vec!["not measured here".to_owned()] };
    let is_rate = act.act.kind == UnitKind::Rate;
    let measured = act.figures.iter().filter(|it| it.is_reference && it.here.is_some());
    let oldest = measured.map(|it| (it.year, it.study.id.as_str())).next();
    let (year, study) = oldest.unwrap_or_default();
    let less = if is_rate { "faster" } else { "cheaper" };
    let more = if is_rate { "slower" } else { "more expensive" };
    let since = match in_time.oldest >= 1.0 {
        true => format!("{} times {less}", times(in_time.oldest)),
        false => format!("{} times {more}", times(1.0 / in_time.oldest)),
    };
    let per = if is_rate { "cycles a byte" } else { "cycles" };
    let parts =
        [in_cycles.map(|it| spread(per, it)), in_loads.map(|it| spread("memory latencies", it))];
    let parts: String = parts.into_iter().flatten().collect();
    let sentence = format!(
        "since {year} ({}) {since} in time{parts}: {}",
        plain(study),
        trend_sentence(trend)
    );
    vec![sentence]
}

/// How many times as much it was then, of one figure or of several.
fn spread(what: &str, it: Ratios) -> String {
    match it.count {
        1 => format!("; {:.2} times as many {what} then as here", it.median),
        count => format!(
            "; {}..{} times as many {what} then as here (median {:.2} of {count} figures)",
            times(it.min),
            times(it.max),
            it.median
        ),
    }
}

fn trend_sentence(trend: Trend) -> &'static str {
    match trend {
        Trend::WithCore => "it follows the core",
        Trend::WithMemory => "it follows the memory",
        Trend::WithBoth => "the core and the memory both explain it",
        Trend::FewerCycles => "the core alone does not explain that",
        Trend::MoreCycles => "it did not keep up with the core",
        Trend::Disagreement => "the studies disagree",
        Trend::Unknown => "what it follows is not known",
    }
}

/// How the sentences are made, and what the columns are.
pub(super) fn notes() -> Vec<String> {
    vec![
        format!(
            "about the same is within a factor of {SAME_WITHIN}: the median over the studies of then \
             over here, in cycles or in memory latencies; a study of several systems counts once"
        ),
        "a published figure is compared with the same case here, by oscost's median and not by the \
         study's statistic; cycles are those of each core at its frequency"
            .to_owned(),
        "calls and loads are multiples of a procedure call and of a memory latency, where the same \
         study measured them on the same machine"
            .to_owned(),
    ]
}

/// The names of acts by what they have in common, in the order of the acts.
fn grouped<'a, K: Ord>(
    across: &Across<'a>,
    key: impl Fn(&ActFigures<'a>) -> K,
) -> BTreeMap<K, Vec<&'static str>> {
    let mut groups: BTreeMap<K, Vec<&'static str>> = BTreeMap::new();
    for act in &across.acts {
        groups.entry(key(act)).or_default().push(act.act.name);
    }
    groups
}
