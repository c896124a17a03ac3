//! The claims of a study and the configuration of its machine, each with whether it is so here.

use oscost_model::unit::Unit;
use oscost_stats::interval::Interval;

use crate::report::figures::{Style, signed, times};
use crate::report::text::{plain, plain_paragraph};
use crate::report::view::document::{Block, Cell, Column, Layout, Section, Table, TableRow};
use crate::studies::claims::claim::{Claim, Criterion, EQUAL_WITHIN_PCT};
use crate::studies::claims::equal_added_cost::AddedCost;
use crate::studies::claims::judgement::{
    Basis, Correction, DecidingPart, IntervalBasis, JudgedClaim, Judgement, OwnJudgement,
    PlacedJudgement,
};
use crate::studies::claims::published_result::PublishedResult;
use crate::studies::claims::quantity::{Measure, Quantity};
use crate::studies::claims::verdict::Verdict;
use crate::studies::machine::condition::JudgedCondition;
use crate::studies::{IntervalEstimate, Study};

/// The title of the conditions, and that of the claims.
pub(in crate::report::view) const CONDITIONS: &str = "Configuration of the study's machine";
pub(in crate::report::view) const CLAIMS: &str = "Claims of the study, and whether they hold here";

/// How the study had configured its machine and what it claims, each with whether it is so here.
pub(super) fn sections(
    study: &Study,
    conditions: &[JudgedCondition<'_>],
    judged: &[JudgedClaim<'_>],
) -> Vec<Section> {
    let section = |title: &str, block: Option<Block>| {
        Some(Section { title: title.to_owned(), blocks: vec![block?], ..Section::default() })
    };
    let claims = table(study, judged).map(Block::Table);
    let sections = [section(CONDITIONS, list_of_conditions(conditions)), section(CLAIMS, claims)];
    sections.into_iter().flatten().collect()
}

/// The conditions, each with whether it holds here.
pub(in crate::report::view) fn list_of_conditions(
    conditions: &[JudgedCondition<'_>],
) -> Option<Block> {
    let text = |JudgedCondition { condition, result }: &JudgedCondition<'_>| {
        plain(&format!("{}: {} ({})", condition.text, result.holds.text(), result.reason))
    };
    Block::list(conditions.iter().map(text))
}

/// The claims, each with what the study's own figures say of it and what this run says.
pub(in crate::report::view) fn table(study: &Study, judged: &[JudgedClaim<'_>]) -> Option<Table> {
    let rows: Vec<TableRow> = judged.iter().map(|judged| row(study, judged)).collect();
    let columns = [
        Column::text("claim"),
        Column::words("then"),
        Column::words("here"),
        Column::text("required"),
        Column::text("measured"),
        Column::text("by oscost's own estimates"),
    ];
    let layout = Layout::Records;
    let id = "claims".to_owned();
    let notes = ratio_note(judged).into_iter().collect();
    let table = Table { id, columns: columns.into(), rows, notes, layout, ..Table::default() };
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

/// What a ratio by oscost's own estimates is, where a claim rests on one.
pub(super) fn ratio_note(judged: &[JudgedClaim<'_>]) -> Option<String> {
    let is_ratio = |of: &Measure| {
        matches!(
            of,
            Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) | Measure::Retention(_)
        )
    };
    let has_ratio = |it: &JudgedClaim<'_>| {
        let Criterion::Within(quantities) = &it.claim.criterion else { return false };
        let mut each = quantities.iter().zip(&it.values);
        it.basis == Basis::OwnEstimates
            && each.any(|(quantity, value)| value.is_some() && is_ratio(&quantity.measure))
    };
    judged.iter().any(has_ratio).then(|| {
        "Claims whose rows lack six rounds of the study's statistic are judged by oscost's own \
         estimates: a ratio of these is formed in each round of a run, and the median over the rounds \
         is taken. The ratio of two figures of a table may differ."
            .to_owned()
    })
}

fn row(study: &Study, judged: &JudgedClaim<'_>) -> TableRow {
    let claim = judged.claim;
    let parts = ClaimParts::of(study, judged);
    let then = parts.then.iter().map(|part| plain_paragraph(part)).collect::<Vec<_>>().join("; ");
    let verdict = verdict_text(&judged.verdict, judged.runs, judged.because.as_deref());
    let plain_parts =
        |parts: &[String]| Cell::parts(parts.iter().map(|it| plain_paragraph(it)).collect());
    TableRow::of(vec![
        Cell::text(plain(&format!("\"{}\" ({})", claim.statement, claim.location))),
        Cell::text(then),
        Cell::text(plain_paragraph(&verdict)).with_style(verdict_style(&judged.verdict)),
        Cell::text(required(claim)),
        plain_parts(&measured_parts(study, judged)),
        plain_parts(&own_parts(study, judged)),
    ])
}

/// The style of a verdict on a claim.
pub(super) fn verdict_style(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "faster",
        Verdict::DoesNotHold => "slower",
        Verdict::NoDifference
        | Verdict::DependsOnPlacement(_)
        | Verdict::Undecided(_)
        | Verdict::Withheld { .. }
        | Verdict::NotMeasured(_) => "inconclusive",
    }
}

/// A verdict, with the number of runs that it rests on if it is not this one alone.
pub(super) fn verdict_over_runs(verdict: &Verdict, runs: usize) -> String {
    match runs {
        0 | 1 => verdict.text().to_owned(),
        several => format!("{} over {several} runs", verdict.text()),
    }
}

/// A verdict with what decides it.
fn verdict_text(verdict: &Verdict, runs: usize, because: Option<&str>) -> String {
    let text = verdict_over_runs(verdict, runs);
    match verdict.reason().or(because.map(str::to_owned)) {
        Some(why) => format!("{text}: {why}"),
        None => text,
    }
}

/// The values of a claim, those of each placement for themselves, and what their intervals contain.
fn measured_parts(study: &Study, judged: &JudgedClaim<'_>) -> Vec<String> {
    let note = judged.claim.note.clone();
    if judged.placements.is_empty() {
        let added = judged.added.map(added_text);
        let values = values(study, judged.claim, &judged.values, &judged.deciding);
        let notes = note.into_iter().chain(interval_text(judged));
        return added.into_iter().chain(values).chain(notes).collect();
    }
    let of_placement = |placed: &PlacedJudgement| {
        let Judgement { verdict, runs, because, values: its, deciding, .. } = &placed.judgement;
        let verdict = verdict_text(verdict, *runs, because.as_deref());
        let each = values(study, judged.claim, its, deciding).join("; ");
        format!("{}: {verdict}; {each}", placed.placement.text())
    };
    let placed = judged.placements.iter().map(of_placement);
    placed.chain(note).chain(interval_text(judged)).collect()
}

/// What the intervals of a claim contain, where its verdict does not name several runs; `None` without
/// intervals.
fn interval_text(judged: &JudgedClaim<'_>) -> Option<String> {
    let has_interval = judged.values.iter().flatten().any(|it| it.interval.is_some());
    let text = match judged.interval_basis.filter(|_| has_interval)? {
        IntervalBasis::VariationOfRows => {
            "interval between runs, by the prior of the rows' classes, or earlier runs of the rows"
        }
        IntervalBasis::Rounds => {
            "interval of the rounds of this run: how far other runs differ is not known"
        }
        IntervalBasis::SeveralRuns => return None,
    };
    Some(text.to_owned())
}

/// The verdict by oscost's own estimates, where it differs, with its values and the reason.
fn own_parts(study: &Study, judged: &JudgedClaim<'_>) -> Vec<String> {
    let Some(OwnJudgement { judgement, difference }) = &judged.own else { return vec![] };
    let Judgement { verdict, runs, because, .. } = judgement;
    let verdict = verdict_text(verdict, *runs, because.as_deref());
    let own_values = |of: &Judgement| values(study, judged.claim, &of.values, &of.deciding);
    let of_placements = judged.placements.iter().filter_map(|placed| {
        let own = own_values(placed.own.as_ref()?).join("; ");
        Some(format!("{}: {own}", placed.placement.text()))
    });
    std::iter::once(verdict)
        .chain(if judged.placements.is_empty() { own_values(judgement) } else { vec![] })
        .chain(of_placements)
        .chain([format!("{difference}.")])
        .collect()
}

/// A claim in parts, for a table of many claims.
pub(super) struct ClaimParts {
    /// What the study's own figures say.
    pub(super) then: Vec<String>,
    /// What this run says.
    pub(super) here: Vec<String>,
}

impl ClaimParts {
    /// The parts of a claim.
    pub(super) fn of(study: &Study, judged: &JudgedClaim<'_>) -> Self {
        let then = match published(judged) {
            then if then.is_empty() => vec!["not given".to_owned()],
            then => then,
        };
        let why = judged.verdict.reason().or_else(|| judged.because.clone());
        let own = own_parts(study, judged).join("; ");
        let own = (!own.is_empty()).then(|| format!("by oscost's own estimates: {own}"));
        let measured = measured_parts(study, judged);
        Self { then, here: why.into_iter().chain(measured).chain(own).collect() }
    }
}

/// The value of each part of a claim, and what decides on it beside the value.
fn values(
    study: &Study,
    claim: &Claim,
    values: &[Option<IntervalEstimate>],
    deciding: &[Option<DecidingPart>],
) -> Vec<String> {
    let name = |case: &str| study.row(case).map_or(case.to_owned(), |row| row.name.clone());
    let of_cases = |text: fn(&IntervalEstimate) -> String| -> Vec<String> {
        let each = claim.cases.iter().zip(values);
        let each = each.filter_map(|(case, estimate)| Some((case, estimate.as_ref()?)));
        each.map(|(case, estimate)| format!("{}: {}", name(case), text(estimate))).collect()
    };
    match &claim.criterion {
        Criterion::EqualAdded => of_cases(deviation),
        Criterion::Added { .. } => of_cases(added_cost),
        Criterion::Ratio { .. } | Criterion::LargestRatio => of_cases(ratio),
        Criterion::Within(quantities) => {
            let each = quantities.iter().zip(values).enumerate();
            let measured = each.map(|(at, (quantity, estimate))| {
                let measured = measured_text(quantity, estimate.as_ref());
                let decides = deciding.get(at).and_then(Option::as_ref);
                let decides = decides.map(|it| deciding_text(study, quantity, it));
                format!("{measured}{}", decides.unwrap_or_default())
            });
            // Bounds that all of several have in common are said once.
            match &quantities[..] {
                [first, others @ ..]
                    if !others.is_empty() && others.iter().all(|it| has_same_bounds(it, first)) =>
                {
                    measured.chain([format!("required of each: {}", bounds(first))]).collect()
                }
                _ => {
                    let required = quantities.iter().map(bounds);
                    let both = measured.zip(required);
                    both.map(|(text, bounds)| format!("{text}; required: {bounds}")).collect()
                }
            }
        }
    }
}

fn has_same_bounds(one: &Quantity, other: &Quantity) -> bool {
    (one.min, one.max) == (other.min, other.max)
}

/// The bounds of a quantity.
fn bounds(quantity: &Quantity) -> String {
    match (quantity.min, quantity.max) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("{max} or less"),
        (None, None) => String::new(),
    }
}

/// What the study's text prints, and what its own figures say, in parts; none where it gives
/// neither.
fn published(judged: &JudgedClaim<'_>) -> Vec<String> {
    let printed = judged.claim.published.as_ref().map(|it| format!("printed: {}", it.text));
    printed.into_iter().chain(published_figures(judged)).collect()
}

/// What the study's own figures say, in parts; none where it does not give them.
fn published_figures(judged: &JudgedClaim<'_>) -> Vec<String> {
    match &judged.published {
        None => vec![],
        Some(PublishedResult::EqualAdded { mean_ns, furthest }) => vec![format!(
            "{} were added on average, and each within {:.1} % of that",
            time(*mean_ns),
            100.0 * furthest
        )],
        Some(PublishedResult::Added { min_ns, max_ns }) => {
            vec![format!("{} to {} were added", time(*min_ns), time(*max_ns))]
        }
        Some(PublishedResult::LargestRatio { first, next }) => {
            vec![format!("a ratio of {first:.2}, the next of {next:.2}")]
        }
        Some(PublishedResult::Ratio { min, max }) if min == max => {
            vec![format!("a ratio of {min:.2}")]
        }
        Some(PublishedResult::Ratio { min, max }) => {
            vec![format!("ratios of {min:.2} to {max:.2}")]
        }
        Some(PublishedResult::Within(each)) => {
            let Criterion::Within(quantities) = &judged.claim.criterion else { return vec![] };
            let each = quantities.iter().zip(each);
            each.filter_map(|(quantity, value)| Some((quantity, (*value)?)))
                .map(|(quantity, value)| format!("{} {}", quantity.name, number(quantity, value)))
                .collect()
        }
    }
}

/// The bounds that all cases of a claim have in common.
fn required(claim: &Claim) -> String {
    match &claim.criterion {
        Criterion::Within(_) => String::new(),
        Criterion::Added { min, max, unit } => {
            format!("from {min} to {max} {}, with the whole interval", unit.text())
        }
        Criterion::LargestRatio => {
            "the ratio of the first above all others, with the whole intervals; of rates the \
             inverse ratio"
                .to_owned()
        }
        Criterion::Ratio { min, max } => format!("from {min} to {max}, with the whole interval"),
        Criterion::EqualAdded => {
            format!("within {EQUAL_WITHIN_PCT} % of the mean, with the whole interval")
        }
    }
}

/// What is added to all cases on average.
fn added_text(AddedCost { mean, rounds }: AddedCost) -> String {
    let interval = mean.interval.map(|it| format!(" [{} .. {}]", time(it.lo), time(it.hi)));
    let interval = interval.unwrap_or_default();
    format!("{}{interval} are added on average, over {rounds} rounds", time(mean.value))
}

/// The value of a quantity of a claim.
fn measured_text(quantity: &Quantity, estimate: Option<&IntervalEstimate>) -> String {
    let Some(estimate) = estimate else {
        return format!("{}: not measured", quantity.name);
    };
    let interval = estimate.interval.filter(|_| !quantity.measure.is_count());
    let interval = interval.map(|it| format!(" {}", interval_of(quantity, it)));
    let figure = number(quantity, estimate.value);
    let meaning = match &quantity.measure {
        Measure::Exponent(_) => ", as an exponent".to_owned(),
        Measure::Spread(_) => ", the most expensive over the cheapest".to_owned(),
        Measure::Saturation(_) => ", above which there is nothing to gain".to_owned(),
        Measure::Retention(_) => ", the lowest over the largest".to_owned(),
        Measure::Slope { per, unit, .. } => format!(", in {} for each {per}", unit.text()),
        Measure::Ratio(..) | Measure::Gap(..) | Measure::FromMean(_) | Measure::Calls(_) => {
            String::new()
        }
    };
    format!("{}: {figure}{}{meaning}", quantity.name, interval.unwrap_or_default())
}

/// What decides on a quantity beside its value: another ratio of it, and the interval that is corrected
/// for the number of comparisons.
fn deciding_text(study: &Study, quantity: &Quantity, part: &DecidingPart) -> String {
    let DecidingPart { ratio, estimate, correction } = part;
    let name = |key: &str| study.row(key).map_or(key.to_owned(), |row| row.name.clone());
    let ratio = ratio.as_ref().zip(estimate.as_ref()).map(|(rows, estimate)| {
        let interval = estimate.interval.map(|it| format!(" {}", interval_of(quantity, it)));
        let figure = number(quantity, estimate.value);
        let (of, over) = (name(&rows.of), name(&rows.over));
        format!("; {of} over {over}: {figure}{}", interval.unwrap_or_default())
    });
    let correction = correction.map(|Correction { comparisons, interval }| match interval {
        Some(it) => {
            format!("; corrected for {comparisons} comparisons {}", interval_of(quantity, it))
        }
        None => format!("; corrected for {comparisons} comparisons it has no interval"),
    });
    [ratio, correction].into_iter().flatten().collect()
}

fn interval_of(quantity: &Quantity, it: Interval) -> String {
    format!("[{} .. {}]", number(quantity, it.lo), number(quantity, it.hi))
}

/// The value of a quantity, in its significant digits.
fn number(quantity: &Quantity, value: f64) -> String {
    match quantity.measure {
        Measure::Saturation(_) | Measure::Calls(_) => format!("{value:.0}"),
        Measure::Exponent(_) | Measure::Slope { .. } => signed(value, 2),
        Measure::FromMean(_) => signed(value, 1),
        // A value close to a bound of 1 must not look like 1.
        Measure::Retention(_) => format!("{value:.2}"),
        Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) if value < 9.95 => {
            format!("{value:.2}")
        }
        Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) => times(value),
    }
}

fn time(ns: f64) -> String {
    Style::of(ns, Unit::NsPerOp).with_unit(ns)
}

/// The difference of a case's added cost from the mean.
fn deviation(estimate: &IntervalEstimate) -> String {
    let pct = |share: f64| {
        let digits = signed(100.0 * share, 1);
        let sign = if digits.starts_with('-') || digits == "0.0" { "" } else { "+" };
        format!("{sign}{digits}")
    };
    let interval = estimate.interval.map(|it| format!(" [{} .. {}]", pct(it.lo), pct(it.hi)));
    format!("{} %{}", pct(estimate.value), interval.unwrap_or_default())
}

/// What is added to a case.
fn added_cost(estimate: &IntervalEstimate) -> String {
    let interval = estimate.interval.map(|it| format!(" [{} .. {}]", time(it.lo), time(it.hi)));
    format!("{}{}", time(estimate.value), interval.unwrap_or_default())
}

fn ratio(estimate: &IntervalEstimate) -> String {
    let interval = estimate.interval.map(|it| format!(" [{:.2} .. {:.2}]", it.lo, it.hi));
    format!("{:.2}{}", estimate.value, interval.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::claims::judgement::RatioRows;

    #[test]
    fn a_verdict_names_the_runs_that_it_rests_on_if_they_are_several() {
        assert_eq!(verdict_text(&Verdict::Holds, 1, None), "holds");
        assert_eq!(verdict_text(&Verdict::Holds, 4, Some("so")), "holds over 4 runs: so");
        let open = Verdict::Undecided("why".to_owned());
        assert_eq!(verdict_text(&open, 2, None), "undecided over 2 runs: why");
    }

    #[test]
    fn a_value_that_does_not_decide_stands_beside_what_does() {
        let study = crate::studies::find_built_in("cse221-2014").unwrap();
        let quantity = Quantity {
            name: "a to c".to_owned(),
            measure: Measure::Spread(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]),
            min: None,
            max: Some(1.5),
        };
        let text = |ratio: Option<RatioRows>, correction: Option<Correction>| {
            let interval = Some(Interval { lo: 2.0, hi: 3.0 });
            let estimate = Some(IntervalEstimate { value: 2.5, interval });
            deciding_text(&study, &quantity, &DecidingPart { ratio, estimate, correction })
        };
        let corrected = |interval| Some(Correction { comparisons: 6, interval });
        let wide = corrected(Some(Interval { lo: 1.4, hi: 12.0 }));
        assert_eq!(text(None, wide), "; corrected for 6 comparisons [1.40 .. 12]");
        let none = "; corrected for 6 comparisons it has no interval";
        assert_eq!(text(None, corrected(None)), none);
        let ratio = RatioRows { of: "a".to_owned(), over: "b".to_owned() };
        assert_eq!(text(Some(ratio), None), "; a over b: 2.50 [2.00 .. 3.00]");
    }
}
