//! The comparisons of two sides, and what they say.

use oscost_model::counters::is_work;
use oscost_model::record::Comparison;

use super::commands::{is_command, of_commands, resource};
use super::differences::{faster, slower};
use super::no_difference::{equivalent, inconclusive};
use super::wording::capitalized;
use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::report::text::plain;

/// The comparisons of a new side with a base.
pub(in crate::report::view) struct Group<'a> {
    /// What was compared, as the subject of sentences.
    pub(in crate::report::view) new: String,
    /// What it was compared with.
    pub(in crate::report::view) base: String,
    /// The comparisons of requested cases.
    pub(in crate::report::view) comparisons: Vec<&'a Comparison>,
}

/// The comparisons that have a verdict of their own: no other metric of the same rows, and no
/// instructions beside a figure.
pub(super) fn judged<'a>(group: &Group<'a>) -> impl Iterator<Item = &'a Comparison> {
    let is_secondary = |it: &Comparison| it.flags.iter().any(|flag| flag == SECONDARY);
    let all = group.comparisons.clone().into_iter();
    all.filter(move |it| !is_secondary(it) && !is_work(&it.metric))
}

/// What the comparisons of a new side say, in sentences.
pub(super) fn findings(group: &Group<'_>) -> Vec<String> {
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
        equivalent(&new, &base, &of("equivalent"), all),
        inconclusive(&of("inconclusive"), all),
    ];
    sentences.into_iter().flatten().collect()
}
