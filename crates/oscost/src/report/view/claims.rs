//! What a study says of what it measured, and how it had its machine: beside what is so here.

use std::fmt::Write as _;

use oscost_model::unit::Unit;

use crate::report::figures::signed;
use crate::report::figures::{Style, times};
use crate::report::text::{fold, plain};
use crate::report::view::document::{Block, Section};
use crate::studies::claim::{Claim, Criterion, EQUAL_WITHIN_PCT};
use crate::studies::condition::{Condition, ConditionResult};
use crate::studies::equal_added::AddedCost;
use crate::studies::judgement::JudgedClaim;
use crate::studies::published_result::PublishedResult;
use crate::studies::quantity::{Measure, Quantity};
use crate::studies::verdict::Verdict;
use crate::studies::{IntervalEstimate, Study};

/// How a study had configured its machine and what it claims, each with whether it is so here.
pub(super) fn sections(
    study: &Study,
    conditions: &[(&Condition, ConditionResult)],
    judged: &[JudgedClaim<'_>],
) -> Vec<Section> {
    let condition = |(condition, found): &(&Condition, ConditionResult)| {
        plain(&format!("{}: {} ({})", condition.text, found.holds.text(), found.reason))
    };
    let section = |title: &str, block: Option<Block>| {
        let blocks = vec![block?];
        Some(Section { title: title.to_owned(), blocks, ..Section::default() })
    };
    let claims: String = judged.iter().map(|judged| claim(study, judged)).collect();
    let claims = (!claims.is_empty()).then_some(Block::Preformatted(claims));
    let sections = [
        section(CONDITIONS, Block::list(conditions.iter().map(condition))),
        section(CLAIMS, claims),
    ];
    sections.into_iter().flatten().collect()
}

/// The titles of both.
pub(super) const CONDITIONS: &str = "Configuration of the study's machine";
pub(super) const CLAIMS: &str = "Claims of the study, and whether they hold here";

/// What a claim's own figures say, and what this run says, each in parts.
pub(super) fn in_parts(study: &Study, judged: &JudgedClaim<'_>) -> [Vec<String>; 2] {
    let then = judged.published.as_ref().and_then(|then| then_words(judged.claim, then));
    let why = match &judged.verdict {
        Verdict::Undecided(why) => vec![why.clone()],
        Verdict::Holds | Verdict::DoesNotHold => vec![],
    };
    let here = [why, each(study, judged)].concat();
    [then.unwrap_or_else(|| vec!["not given".to_owned()]), here]
}

/// What each part of a claim came to.
fn each(study: &Study, judged: &JudgedClaim<'_>) -> Vec<String> {
    let claim = judged.claim;
    let name = |case: &str| study.row(case).map_or(case.to_owned(), |row| row.name.clone());
    let of_cases = |words: fn(&IntervalEstimate) -> String| -> Vec<String> {
        let each = claim.cases.iter().zip(&judged.values);
        let each = each.filter_map(|(case, spot)| Some((case, spot.as_ref()?)));
        each.map(|(case, spot)| format!("{}: {}", name(case), words(spot))).collect()
    };
    match &claim.criterion {
        Criterion::EqualAdded => of_cases(apart),
        Criterion::Ratio { .. } => of_cases(ratio),
        Criterion::Within(quantities) => {
            let each = quantities.iter().zip(&judged.values);
            each.map(|(quantity, spot)| measured(quantity, spot.as_ref())).collect()
        }
    }
}

/// A claim: what the study says, what its own figures say, and what this run says.
fn claim(study: &Study, judged: &JudgedClaim<'_>) -> String {
    let claim = judged.claim;
    let mut lines = vec![plain(&format!("\"{}\" ({})", claim.statement, claim.location))];
    if let Some(then) = judged.published.as_ref().and_then(|then| then_words(claim, then)) {
        // Each part is bounded by itself: together they are as long as the claim has quantities.
        let then: Vec<String> = then.iter().map(|part| plain(part)).collect();
        lines.push(format!("  then: {}", then.join("; ")));
    }
    let [verdict, stands_on] = here_words(judged);
    lines.push(format!("  here: {}", plain(&verdict)));
    lines.extend((!stands_on.is_empty()).then(|| format!("    {stands_on}")));
    lines.extend(each(study, judged).into_iter().map(|line| format!("    {}", plain(&line))));
    let mut out = String::new();
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        let folded = fold(&line, 76 - indent, &" ".repeat(indent + 4));
        let _ = writeln!(out, "  {:indent$}{folded}", "");
    }
    out
}

/// What the study's own figures say, where it gives them, in parts.
fn then_words(claim: &Claim, then: &PublishedResult) -> Option<Vec<String>> {
    Some(match then {
        PublishedResult::EqualAdded { mean_ns, furthest } => vec![format!(
            "{} were added on average, and each within {:.1} % of that",
            time(*mean_ns),
            100.0 * furthest
        )],
        PublishedResult::Ratio { min: least, max: most } if least == most => {
            vec![format!("a ratio of {least:.2}")]
        }
        PublishedResult::Ratio { min: least, max: most } => {
            vec![format!("ratios of {least:.2} to {most:.2}")]
        }
        PublishedResult::Within(each) => {
            let Criterion::Within(quantities) = &claim.criterion else { return None };
            let each = quantities.iter().zip(each);
            each.filter_map(|(quantity, value)| Some((quantity, (*value)?)))
                .map(|(quantity, value)| format!("{} {}", quantity.name, number(quantity, value)))
                .collect()
        }
    })
}

/// The verdict here, and what it stands on.
fn here_words(judged: &JudgedClaim<'_>) -> [String; 2] {
    let verdict = match &judged.verdict {
        Verdict::Undecided(why) => format!("undecided: {why}"),
        said => said.text().to_owned(),
    };
    let stands_on = match (&judged.claim.criterion, judged.added) {
        (Criterion::Within(_), _) | (Criterion::EqualAdded, None) => String::new(),
        (Criterion::Ratio { min: least, max: most }, _) => {
            format!("asked: from {least} to {most}, with the whole interval")
        }
        (Criterion::EqualAdded, Some(AddedCost { mean, rounds })) => {
            let interval = mean.interval.map(|it| format!(" [{} .. {}]", time(it.lo), time(it.hi)));
            format!(
                "{}{} are added on average, over {rounds} rounds; asked: within \
                 {EQUAL_WITHIN_PCT} % of that, with the whole interval",
                time(mean.value),
                interval.unwrap_or_default()
            )
        }
    };
    [verdict, stands_on]
}

/// A quantity of a claim: what it came to, and what was asked of it.
fn measured(quantity: &Quantity, spot: Option<&IntervalEstimate>) -> String {
    let bounds = match (quantity.min, quantity.max) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(most)) => format!("{most} or less"),
        (None, None) => String::new(),
    };
    let Some(spot) = spot else {
        return format!("{}: not measured; asked: {bounds}", quantity.name);
    };
    let interval = spot.interval.filter(|_| !quantity.measure.is_count());
    let interval =
        interval.map(|it| format!(" [{} .. {}]", number(quantity, it.lo), number(quantity, it.hi)));
    let figure = number(quantity, spot.value);
    let what = match &quantity.measure {
        Measure::Exponent(_) => ", as an exponent".to_owned(),
        Measure::Spread(_) => ", the dearest over the cheapest".to_owned(),
        Measure::Saturation(_) => ", from where on there is nothing to gain".to_owned(),
        Measure::Slope { per, unit, .. } => format!(", in {} for each {per}", unit.text()),
        Measure::Ratio(..) | Measure::Gap(..) | Measure::FromMean(_) | Measure::Calls(_) => {
            String::new()
        }
    };
    format!("{}: {figure}{}{what}; asked: {bounds}", quantity.name, interval.unwrap_or_default())
}

/// What a quantity came to, in the digits that count of it.
fn number(quantity: &Quantity, value: f64) -> String {
    match quantity.measure {
        Measure::Saturation(_) | Measure::Calls(_) => format!("{value:.0}"),
        Measure::Exponent(_) | Measure::Slope { .. } => signed(value, 2),
        Measure::FromMean(_) => signed(value, 1),
        // What lies close to a bound of 1 must not look as if it were it.
        Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) if value < 9.95 => {
            format!("{value:.2}")
        }
        Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) => times(value),
    }
}

fn time(ns: f64) -> String {
    Style::of(ns, Unit::NsPerOp).with_unit(ns)
}

/// By how much what is added to a case differs from the mean.
fn apart(spot: &IntervalEstimate) -> String {
    let pct = |share: f64| {
        let digits = signed(100.0 * share, 1);
        let sign = if digits.starts_with('-') || digits == "0.0" { "" } else { "+" };
        format!("{sign}{digits}")
    };
    let interval = spot.interval.map(|it| format!(" [{} .. {}]", pct(it.lo), pct(it.hi)));
    format!("{} %{}", pct(spot.value), interval.unwrap_or_default())
}

fn ratio(spot: &IntervalEstimate) -> String {
    let interval = spot.interval.map(|it| format!(" [{:.2} .. {:.2}]", it.lo, it.hi));
    format!("{:.2}{}", spot.value, interval.unwrap_or_default())
}
