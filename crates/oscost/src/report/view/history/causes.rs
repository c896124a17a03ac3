//! Why figures changed, by what the processor counted of their ops.

use oscost_model::record::{Cause, CountedMedians};

use crate::estimate::history::{Change, CountedRuns, Series};
use crate::report::text::{day, plain};
use crate::report::view::document::timeline::ratio_text;

/// Of more changes than these that are explained, the first are listed.
const MAX_LISTED: usize = 10;

/// Why a figure changed, or why its counts do not say so; `None` if nothing was counted.
pub(super) fn explanation(of: &Change) -> Option<String> {
    let text = match (&of.decomposition, &of.not_decomposed) {
        (Some(found), _) => format!("Counted in {}: {}.", runs(of), plain(&found.sentence)),
        (None, Some(why)) => {
            format!("The counts of runs before and since are not compared: {}.", plain(why))
        }
        (None, None) => return None,
    };
    Some(text)
}

/// The runs by which a change is explained.
fn runs(of: &Change) -> String {
    match of.counted_runs {
        Some(CountedRuns { before: 1, since: 1 }) | None => "the two runs around it".to_owned(),
        Some(CountedRuns { before, since }) => format!("{before} runs before and {since} since"),
    }
}

/// The changes that are explained, a sentence each.
pub(super) fn explanations(all: &[Series]) -> Vec<String> {
    let changes = all.iter().flat_map(|series| series.changes.iter().map(move |it| (series, it)));
    let mut sentences: Vec<String> =
        changes.filter_map(|(series, it)| change_explanation(series, it)).collect();
    let more = sentences.len().saturating_sub(MAX_LISTED);
    sentences.truncate(MAX_LISTED);
    if more > 0 {
        sentences.push(format!("{more} more changes are explained by counts: name their cases"));
    }
    sentences
}

fn change_explanation(series: &Series, it: &Change) -> Option<String> {
    let found = it.decomposition.as_ref()?;
    let since = series.points.get(it.point).map(|point| format!("since {} ", day(&point.started)));
    Some(format!(
        "{}: {}{} times the time: {}",
        plain(&series.case),
        since.unwrap_or_default(),
        times(it.ratio),
        plain(&found.sentence)
    ))
}

/// The cause of a change in a word or two; `None` if it is not known.
pub(in crate::report::view) fn short_cause(of: &Change) -> Option<&'static str> {
    match of.decomposition.as_ref()?.cause {
        Cause::Work => Some("instructions"),
        Cause::Core => Some("cycles per instruction"),
        Cause::Clock => Some("the clock"),
        Cause::Waiting => Some("waiting"),
        Cause::None | Cause::Unknown => None,
    }
}

/// What was counted in a run; `None` if that is no number of instructions.
pub(super) fn counts_text(of: &CountedMedians) -> Option<String> {
    let work = match (of.insn, of.insn_user) {
        (Some(both), _) => format!("{:.1} instructions", both.median),
        (None, Some(user)) => format!("{:.1} instructions in user mode", user.median),
        (None, None) => return None,
    };
    let cpi = of.cpi.map(|it| format!("{:.3} cycles each", it.median));
    let ghz = of.ghz.map(|it| format!("{:.2} GHz", it.median));
    Some([Some(work), cpi, ghz].into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// A ratio, before the word "times".
pub(super) fn times(ratio: f64) -> String {
    ratio_text(ratio).trim_start_matches('x').to_owned()
}
