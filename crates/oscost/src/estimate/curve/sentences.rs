//! What is said of a curve, in sentences.

use oscost_model::crossing::{AddedCostPerItem, Crossing};
use oscost_model::curve::{BoundedValue, Break, Curve, Scaling};
use oscost_model::unit::Better;

use super::number_format::{bytes, count, scale, three_digits, time};
use oscost_stats::scaling::MIN_SIZES;
use oscost_stats::segments::MIN_SEGMENT_POINTS as A_PIECE;

/// More constants than these are told as their number.
const MAX_CONSTANTS: usize = 3;
/// With fewer points than these more sizes would show more.
const MIN_POINTS_FOR_TWO_BREAKS: usize = 3 * A_PIECE;

/// The sentences of a curve of which `usable` points have an interval and a logarithm, and that
/// may have been refined already.
pub(super) fn curve_sentences(
    curve: &Curve,
    usable: usize,
    in_bytes: bool,
    refined: bool,
) -> Vec<String> {
    let size = |value: f64| if in_bytes { bytes(value) } else { count(value) };
    let there = curve.points.len();
    let mut said = Vec::new();
    if let Some(breaks) = &curve.breaks {
        let law = curve.scaling.as_ref().filter(|law| law.fits);
        match (&breaks[..], law) {
            ([], Some(law)) => said.push(law_sentence(law, &size)),
            ([], None) => said.push("no break".to_owned()),
            (breaks, _) => said.extend(breaks.iter().map(|it| break_sentence(it, &size))),
        }
    }
    if let Some(saturation) = &curve.saturation {
        said.push(format!("saturates from {}", size(saturation.from as f64)));
    } else if curve.better == Better::Higher {
        said.extend(peak_sentence(curve, &size));
    }
    let missing = curve.points.iter().filter(|point| point.figure.is_none()).count();
    if missing > 0 {
        said.push(format!("{missing} of {there} points not measured"));
    }
    let bare = curve.points.iter().filter(|it| it.figure.is_some() && it.ci95.is_none()).count();
    if bare > 0 {
        let s = if bare == 1 { "" } else { "s" };
        said.push(format!("{bare} point{s} without an interval, and so without a say in breaks"));
    }
    let nothing = there - missing - bare - usable;
    if nothing > 0 {
        let s = if nothing == 1 { "" } else { "s" };
        said.push(format!("{nothing} point{s} that may be nothing: no ratio to it has a meaning"));
    }
    let breaks = curve.breaks.as_deref().unwrap_or_default();
    if usable < MIN_SIZES {
        said.push(format!("no break is looked for: that takes {MIN_SIZES} points with intervals"));
    } else if usable < MIN_POINTS_FOR_TWO_BREAKS {
        said.push(format!("{usable} points, {A_PIECE} to a piece, show one break at most"));
    }
    if breaks.iter().any(|it| !it.refinement_values.is_empty()) && !refined {
        said.push("`--refine` measures eight more sizes around each break".to_owned());
    }
    said
}

/// A break and what may explain it.
fn break_sentence(it: &Break, size: &dyn Fn(f64) -> String) -> String {
    let [first, last] = it.interval.map(|value| size(value as f64));
    let at = size(it.position as f64);
    let (shown, left) = it.constants.split_at(it.constants.len().min(MAX_CONSTANTS));
    let named = shown.join(", ");
    match (shown.len(), left.len()) {
        (0, _) => format!("unexplained break at {at} in [{first}..{last}]"),
        (1, _) => format!("break at {at} in [{first}..{last}]: {named}"),
        (_, 0) => format!("break at {at} in [{first}..{last}]: one of {named}"),
        (_, more) => {
            format!("break at {at} in [{first}..{last}]: one of {named} and {more} more")
        }
    }
}

/// A law that accounts for the whole curve.
fn law_sentence(law: &Scaling, size: &dyn Fn(f64) -> String) -> String {
    let Some(b) = &law.marginal_cost else {
        return format!("no break: {} at every size", time(law.fixed_cost.value));
    };
    let or = match &law.alternative_model {
        Some(second) => format!(" (or {second})"),
        None => String::new(),
    };
    let model = if law.model == "N" { "N".to_owned() } else { format!("({})", law.model) };
    let fixed = match law.fixed_cost.value {
        0.0 => String::new(),
        ns => format!("{} + ", time(ns)),
    };
    let law_text = format!("no break: {fixed}{} x {model}{or}", time(b.value));
    match &law.crossover {
        Some(BoundedValue { value, .. }) => {
            format!("{law_text}; the growing part is the larger from {} on", size(*value))
        }
        None => law_text,
    }
}

/// Which of two curves is cheaper, from where on, and how much more a further one costs. `often`:
/// they cross more than once.
pub(super) fn crossing_sentence(it: &Crossing, often: bool) -> String {
    let Crossing { costlier: dear, cheaper: cheap, item: of, .. } = it;
    let told = it.added_cost.as_ref().and_then(|more| difference_sentence(more, it));
    let sure = it.costlier_wins_until.is_some() || it.cheaper_wins_from.is_some();
    match (told, sure) {
        (Some(more), _) => format!("{more}; {}", cheaper_sentence(it, often, false)),
        (None, true) => cheaper_sentence(it, often, true),
        (None, false) => format!(
            "{dear} and {cheap}: neither which is cheaper can be told, nor for which of them a \
             further {of} costs more"
        ),
    }
}

/// How much more a further one costs on one of two curves; `None` where that may be nothing.
fn difference_sentence(more: &AddedCostPerItem, it: &Crossing) -> Option<String> {
    let Crossing { costlier: dear, cheaper: cheap, item: of, range: numbers, .. } = it;
    let [low, high] = more.ci95;
    let (one, other, value, ends) = match more.value < 0.0 {
        true => (cheap, dear, -more.value, [-high, -low]),
        false => (dear, cheap, more.value, [low, high]),
    };
    if ends[0] <= 0.0 {
        return None;
    }
    let average = match more.by.as_str() {
        "laws" => String::new(),
        _ => {
            let [first, last] = numbers.map(|number| axis_number(it, number as f64));
            format!(" (between {first} and {last}, on average)")
        }
    };
    let (factor, name) = scale(value);
    let digits = |ns: f64| three_digits(ns / factor);
    let ends = ends.map(digits);
    let value = digits(value);
    Some(format!(
        "{one} costs {value} {name} [{}..{}] more for each {of} than {other}{average}",
        ends[0], ends[1]
    ))
}

/// Which of two curves is the cheaper one, and where; where it is `alone` the other one is named.
fn cheaper_sentence(it: &Crossing, often: bool, alone: bool) -> String {
    let Crossing { costlier: dear, cheaper: cheap, item: of, .. } = it;
    let [first, last] = it.range.map(|number| axis_number(it, number as f64));
    let number = |number: u64| axis_number(it, number as f64);
    let than = if alone { format!(" than {dear}") } else { String::new() };
    let at = it.crossover.as_ref().map(|BoundedValue { value, ci95: [low, high] }| {
        let [value, low, high] = [*value, *low, *high].map(|at| axis_number(it, at.round()));
        let of = if *of == it.axis { String::new() } else { format!(" {of}s") };
        format!("{value} [{low}..{high}]{of}")
    });
    match (it.costlier_wins_until, it.cheaper_wins_from, at) {
        (None, None, _) => "which of the two is cheaper cannot be told".to_owned(),
        (Some(until), None, _) => {
            let than = if alone { format!(" than {cheap}") } else { String::new() };
            let until = number(until);
            format!("at {until} {dear} is cheaper{than}, beyond that it cannot be told")
        }
        (_, Some(from), at) if from == it.range[0] => {
            let at = at.map(|at| format!(" (by their laws from {at} on)")).unwrap_or_default();
            format!("{cheap} is cheaper{than} at every number from {first} to {last}{at}")
        }
        (_, Some(_), Some(at)) => format!("from {at} on {cheap} is cheaper{than}"),
        (Some(until), Some(from), None) => {
            let often = if often { "; they cross more than once" } else { "" };
            let (until, from) = (number(until), number(from));
            format!("at {until} {dear} still is cheaper, from {from} on {cheap} is{often}")
        }
        (None, Some(from), None) => {
            let from = number(from);
            format!("from {from} on {cheap} is cheaper{than}, below that it cannot be told")
        }
    }
}

/// A number of an axis.
fn axis_number(it: &Crossing, number: f64) -> String {
    if it.item == "byte" { bytes(number) } else { count(number) }
}

/// Where a rate is largest that does not stay there.
fn peak_sentence(curve: &Curve, size: &dyn Fn(f64) -> String) -> Option<String> {
    let measured: Vec<(u64, f64)> =
        curve.points.iter().filter_map(|it| Some((it.value, it.figure?))).collect();
    // Without intervals nothing is said of what is as large as what.
    if curve.points.iter().any(|it| it.figure.is_some() && it.ci95.is_none()) {
        return None;
    }
    let largest = measured.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let last = measured.last()?;
    Some(match largest.0 == last.0 {
        true => format!("does not saturate up to {}", size(last.0 as f64)),
        false => format!("does not saturate: the largest is at {}", size(largest.0 as f64)),
    })
}
