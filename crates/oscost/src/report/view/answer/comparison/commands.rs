//! What one command takes in comparison with another.

use oscost_model::program::{CPU, REAL};
use oscost_model::record::Comparison;

use super::wording::{DRIFTED, addition, drifts, one_sided};
use crate::advice::words::Kind;
use crate::report::figures::{per_cent, times};
use crate::report::view::answer::quote::{MAX_DETECTABLE_PCT, MIN_TIMES, range, relative, warning};
use crate::report::view::comparison::verdicts::is_too_short;

/// Whether a side is named by the words of its command.
pub(super) fn is_command(name: &str) -> bool {
    name.starts_with('`')
}

/// What a command takes, by the metric of which it is; `None` of one that is no time.
pub(super) fn resource(metric: &str) -> Option<&'static str> {
    match metric {
        CPU => Some("CPU time"),
        REAL => Some("wall time"),
        _ => None,
    }
}

/// What a command takes in comparison with another one.
pub(super) fn of_commands(new: &str, base: &str, it: &Comparison, resource: &str) -> String {
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
