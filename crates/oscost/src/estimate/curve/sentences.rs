//! Sentences about a curve and about a crossing.

use oscost_model::crossing::{AddedCostPerItem, Crossing};
use oscost_model::curve::{BoundedValue, Break, Curve, Scaling};
use oscost_model::unit::Better;

use super::number_format::{bytes, count, three_digits, time, time_scale};
use oscost_stats::scaling::MIN_SIZES;
use oscost_stats::segments::MIN_SEGMENT_POINTS;

/// Further constants are given as their number.
const MAX_CONSTANTS: usize = 3;
/// The minimum number of points that can show two breaks.
const MIN_POINTS_FOR_TWO_BREAKS: usize = 3 * MIN_SEGMENT_POINTS;

/// The sentences about a curve of which `usable` points have an interval and a logarithm.
pub(super) fn curve_sentences(
    curve: &Curve,
    usable: usize,
    in_bytes: bool,
    refined: bool,
) -> Vec<String> {
    let size = |value: f64| if in_bytes { bytes(value) } else { count(value) };
    let points = curve.points.len();
    let mut sentences = Vec::new();
    if let Some(breaks) = &curve.breaks {
        let law = curve.scaling.as_ref().filter(|law| law.fits);
        match (&breaks[..], law) {
            ([], Some(law)) => sentences.push(law_sentence(law, &size)),
            ([], None) => sentences.push("no break".to_owned()),
            (breaks, _) => sentences.extend(breaks.iter().map(|it| break_sentence(it, &size))),
        }
    }
    if let Some(saturation) = &curve.saturation {
        sentences.push(format!("saturates from {}", size(saturation.from as f64)));
    } else if curve.better == Better::Higher {
        sentences.extend(peak_sentence(curve, &size));
    }
    let missing = curve.points.iter().filter(|point| point.figure.is_none()).count();
    if missing > 0 {
        sentences.push(format!("{missing} of {points} points not measured"));
    }
    let bare = curve.points.iter().filter(|it| it.figure.is_some() && it.ci95.is_none()).count();
    if bare > 0 {
        let s = if bare == 1 { "" } else { "s" };
        sentences.push(format!("{bare} point{s} without an interval, not used for breaks"));
    }
    let maybe_zero = points - missing - bare - usable;
    if maybe_zero > 0 {
        let s = if maybe_zero == 1 { "" } else { "s" };
        sentences.push(format!("{maybe_zero} point{s} that may be 0, not used for breaks"));
    }
    let breaks = curve.breaks.as_deref().unwrap_or_default();
    if usable < MIN_SIZES {
        sentences
            .push(format!("no search for breaks: that takes {MIN_SIZES} points with intervals"));
    } else if usable < MIN_POINTS_FOR_TWO_BREAKS {
        sentences.push(format!("{usable} points show one break at most, since a segment has {MIN_SEGMENT_POINTS} or more"));
    }
    if breaks.iter().any(|it| !it.refinement_values.is_empty()) && !refined {
        sentences.push("`--refine` measures eight more sizes around each break".to_owned());
    }
    sentences
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

/// A law that fits the whole curve.
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
            format!(
                "{law_text}; the growing part is larger than the fixed one from {} on",
                size(*value)
            )
        }
        None => law_text,
    }
}

/// Which of two curves is cheaper, from which number on, and how much more a further item costs.
/// `alternates`: they cross more than once.
pub(super) fn crossing_sentence(it: &Crossing, alternates: bool) -> String {
    let Crossing { costlier, cheaper, item, .. } = it;
    let difference = it.added_cost.as_ref().and_then(|more| difference_sentence(more, it));
    let is_known = it.costlier_wins_until.is_some() || it.cheaper_wins_from.is_some();
    match (difference, is_known) {
        (Some(more), _) => format!("{more}; {}", cheaper_sentence(it, alternates, false)),
        (None, true) => cheaper_sentence(it, alternates, true),
        (None, false) => format!(
            "{costlier} and {cheaper}: the measurements show neither which is cheaper nor with which \
             a further {item} costs more"
        ),
    }
}

/// How much more a further item costs on one of two curves; `None` if the difference may be 0.
fn difference_sentence(more: &AddedCostPerItem, it: &Crossing) -> Option<String> {
    let Crossing { costlier, cheaper, item, range, .. } = it;
    let [low, high] = more.ci95;
    let (one, other, value, ends) = match more.value < 0.0 {
        true => (cheaper, costlier, -more.value, [-high, -low]),
        false => (costlier, cheaper, more.value, [low, high]),
    };
    if ends[0] <= 0.0 {
        return None;
    }
    let average = match more.by.as_str() {
        "laws" => String::new(),
        _ => {
            let [first, last] = range.map(|number| axis_number(it, number as f64));
            format!(" (between {first} and {last}, on average)")
        }
    };
    let scale = time_scale(value);
    let digits = |ns: f64| three_digits(ns / scale.ns);
    let ends = ends.map(digits);
    let value = digits(value);
    Some(format!(
        "{one} costs {value} {} [{}..{}] more for each {item} than {other}{average}",
        scale.name, ends[0], ends[1]
    ))
}

/// Which of two curves is the cheaper one, and where. `names_other`: whether it names the other
/// one.
fn cheaper_sentence(it: &Crossing, alternates: bool, names_other: bool) -> String {
    let Crossing { costlier, cheaper, item, .. } = it;
    let [first, last] = it.range.map(|number| axis_number(it, number as f64));
    let number = |number: u64| axis_number(it, number as f64);
    let than = if names_other { format!(" than {costlier}") } else { String::new() };
    let at = it.crossover.as_ref().map(|BoundedValue { value, ci95: [low, high] }| {
        let [value, low, high] = [*value, *low, *high].map(|at| axis_number(it, at.round()));
        let items = if *item == it.axis { String::new() } else { format!(" {item}s") };
        format!("{value} [{low}..{high}]{items}")
    });
    match (it.costlier_wins_until, it.cheaper_wins_from, at) {
        (None, None, _) => "the measurements do not show which of the two is cheaper".to_owned(),
        (Some(until), None, _) => {
            let than = if names_other { format!(" than {cheaper}") } else { String::new() };
            let until = number(until);
            format!("{costlier} is cheaper{than} at {until}, unknown beyond that")
        }
        (_, Some(from), at) if from == it.range[0] => {
            let at = at.map(|at| format!(" (by their laws from {at} on)")).unwrap_or_default();
            format!("{cheaper} is cheaper{than} at every number from {first} to {last}{at}")
        }
        (_, Some(_), Some(at)) => format!("from {at} on {cheaper} is cheaper{than}"),
        (Some(until), Some(from), None) => {
            let again = if alternates { "; they cross more than once" } else { "" };
            let (until, from) = (number(until), number(from));
            format!("{costlier} is cheaper at {until}, {cheaper} from {from} on{again}")
        }
        (None, Some(from), None) => {
            let from = number(from);
            format!("from {from} on {cheaper} is cheaper{than}, unknown below that")
        }
    }
}

/// A number of an axis.
fn axis_number(it: &Crossing, number: f64) -> String {
    if it.item == "byte" { bytes(number) } else { count(number) }
}

/// Where a rate that does not saturate is largest.
fn peak_sentence(curve: &Curve, size: &dyn Fn(f64) -> String) -> Option<String> {
    let measured: Vec<(u64, f64)> =
        curve.points.iter().filter_map(|it| Some((it.value, it.figure?))).collect();
    // Without intervals, rates cannot be compared.
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
