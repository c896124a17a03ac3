//! The claims of a study and the configuration of its machine, each with whether it is so here.

use crate::report::text::{plain, plain_paragraph};
use crate::report::view::document::{Block, Cell, Column, Layout, Section, Table, TableRow};
use crate::report::view::study::claim_values::{added_text, number, required, time, values};
use crate::studies::Study;
use crate::studies::claims::claim::Criterion;
use crate::studies::claims::judgement::{
    Basis, IntervalBasis, JudgedClaim, Judgement, OwnJudgement, PlacedJudgement,
};
use crate::studies::claims::published_result::PublishedResult;
use crate::studies::claims::quantity::Measure;
use crate::studies::claims::verdict::Verdict;
use crate::studies::machine::condition::JudgedCondition;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_the_runs_that_it_rests_on_if_they_are_several() {
        assert_eq!(verdict_text(&Verdict::Holds, 1, None), "holds");
        assert_eq!(verdict_text(&Verdict::Holds, 4, Some("so")), "holds over 4 runs: so");
        let open = Verdict::Undecided("why".to_owned());
        assert_eq!(verdict_text(&open, 2, None), "undecided over 2 runs: why");
    }
}
