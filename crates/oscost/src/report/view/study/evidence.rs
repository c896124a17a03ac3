//! The figure that decides on a claim, in a line.

use oscost_stats::interval::Interval;

use crate::report::view::study::claim_values::{bounds, quantity_text, required, values};
use crate::studies::claims::claim::{Claim, Criterion};
use crate::studies::claims::judgement::{DecidingPart, JudgedClaim, Judgement, PlacedJudgement};
use crate::studies::claims::quantity::Quantity;
use crate::studies::claims::verdict::Verdict;
use crate::studies::{IntervalEstimate, Study};

/// The figure that decides on a claim and what is required of it, in each placement; where there is none,
/// or it does not show why a claim is undecided, the reason. `None` where nothing is known.
pub(super) fn evidence(study: &Study, judged: &JudgedClaim<'_>) -> Option<String> {
    let JudgedClaim { claim, verdict, values, deciding, .. } = judged;
    if judged.placements.is_empty() {
        return placement_evidence(study, claim, verdict, Figures { values, deciding });
    }
    let in_placement = |placed: &PlacedJudgement| {
        let Judgement { verdict, values, deciding, .. } = &placed.judgement;
        let figure = placement_evidence(study, claim, verdict, Figures { values, deciding })?;
        Some(format!("{} {}, {figure}", placed.placement.text(), verdict.text()))
    };
    let each: Vec<String> = judged.placements.iter().filter_map(in_placement).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// The values of a claim's quantities or cases, and what decides on each beside them.
#[derive(Clone, Copy)]
struct Figures<'a> {
    values: &'a [Option<IntervalEstimate>],
    deciding: &'a [Option<DecidingPart>],
}

/// The figure that decides on a claim, as text.
struct DecidingFigure {
    text: String,
    /// Whether it shows why the claim is undecided.
    is_open: bool,
}

fn placement_evidence(
    study: &Study,
    claim: &Claim,
    verdict: &Verdict,
    figures: Figures<'_>,
) -> Option<String> {
    let figure = match (verdict, &claim.criterion) {
        (Verdict::NotMeasured(_), _) => None,
        (_, Criterion::Within(quantities)) => quantity_figure(study, quantities, verdict, figures),
        _ => case_figure(study, claim, figures),
    };
    let is_open = figure.as_ref().is_some_and(|it| it.is_open);
    let is_shown = matches!(verdict, Verdict::Undecided(_)) && is_open;
    let why = verdict.reason().filter(|_| !is_shown);
    let parts: Vec<String> = why.into_iter().chain(figure.map(|it| it.text)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Of several quantities the first that decides: one that fails, one without a difference, or one that
/// is open; the first of all where each holds.
fn quantity_figure(
    study: &Study,
    quantities: &[Quantity],
    verdict: &Verdict,
    Figures { values, deciding }: Figures<'_>,
) -> Option<DecidingFigure> {
    let interval = |at: usize| values.get(at)?.as_ref()?.interval;
    let decides = |at: usize| deciding.get(at).and_then(Option::as_ref);
    let is_refuted =
        *verdict == Verdict::DoesNotHold || verdict.would_be() == Some("it would not hold");
    let is_meant = |at: usize| {
        let is = |judge: fn(&Quantity, &Interval) -> bool| {
            interval(at).is_some_and(|it| judge(&quantities[at], &it))
        };
        match verdict {
            _ if is_refuted => decides(at).is_some() || is(Quantity::fails),
            Verdict::NoDifference => is(Quantity::is_equal),
            _ => !is(Quantity::holds) && !is(Quantity::is_equal),
        }
    };
    let at = (0..quantities.len()).find(|at| is_meant(*at)).unwrap_or(0);
    let (quantity, estimate) = (quantities.get(at)?, values.get(at)?.as_ref()?);
    let decides = decides(at);
    let text = quantity_text(study, quantity, Some(estimate), decides);
    let reaches_a_bound =
        interval(at).is_some_and(|it| !quantity.holds(&it) && !quantity.is_outside(&it));
    Some(DecidingFigure {
        text: format!("{text}; required: {}{}", bounds(quantity), and_more(quantities.len())),
        is_open: decides.is_some() || reaches_a_bound,
    })
}

/// Of a claim on two targets the figure of its first case.
fn case_figure(
    study: &Study,
    claim: &Claim,
    Figures { values: figures, deciding }: Figures<'_>,
) -> Option<DecidingFigure> {
    let texts = values(study, claim, figures, deciding);
    let first = texts.first()?;
    let text = format!("{first}; required: {}{}", required(claim), and_more(texts.len()));
    Some(DecidingFigure { text, is_open: false })
}

/// How many figures a claim has beside the one that is shown.
fn and_more(count: usize) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        more => format!("; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::claims::judgement::Correction;
    use crate::studies::find_built_in;

    /// The evidence of a claim with these intervals of its first quantities; the others hold.
    fn shown(verdict: &Verdict, first: [f64; 2], correction: Option<Correction>) -> String {
        let study = find_built_in("cse221-2014").unwrap();
        let is_order = |claim: &&Claim| match &claim.criterion {
            Criterion::Within(quantities) => quantities.len() == 1 && quantities[0].is_order(),
            _ => false,
        };
        let claim = study.claims.iter().find(is_order).unwrap();
        let interval = Some(Interval { lo: first[0], hi: first[1] });
        let value = f64::midpoint(first[0], first[1]);
        let estimate = Some(IntervalEstimate { value, interval });
        let part =
            correction.map(|it| DecidingPart { ratio: None, estimate, correction: Some(it) });
        let figures = Figures { values: &[estimate], deciding: &[part] };
        placement_evidence(&study, claim, verdict, figures).unwrap()
    }

    #[test]
    fn a_claim_is_shown_with_its_figure_and_what_is_required() {
        let holds = shown(&Verdict::Holds, [1.5, 2.5], None);
        assert!(holds.ends_with(": 2.00 [1.50 .. 2.50]; required: 1 or more"), "{holds}");
        let why = "the run is very noisy".to_owned();
        let withheld = Verdict::Withheld { would_be: "it would hold", why };
        let text = shown(&withheld, [1.5, 2.5], None);
        assert!(text.starts_with("it would hold, but the run is very noisy; "), "{text}");
        let missing = Verdict::NotMeasured("not all of its rows were measured".to_owned());
        let text = shown(&missing, [1.5, 2.5], None);
        assert_eq!(text, "not all of its rows were measured");
    }

    #[test]
    fn an_undecided_claim_has_its_reason_where_the_figure_does_not_show_it() {
        let open = Verdict::Undecided("so".to_owned());
        let text = shown(&open, [0.5, 2.5], None);
        assert!(!text.contains("so; ") && text.contains(": 1.50 [0.50 .. 2.50]; "), "{text}");
        let text = shown(&open, [1.5, 2.5], None);
        assert!(text.starts_with("so; "), "{text}");
        let corrected = Correction { comparisons: 3, interval: None };
        let text = shown(&open, [0.2, 0.4], Some(corrected));
        assert!(!text.contains("so; "), "{text}");
        assert!(text.contains("corrected for 3 comparisons it has no interval"), "{text}");
    }
}
