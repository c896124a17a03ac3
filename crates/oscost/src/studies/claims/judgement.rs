//! The judgement of a claim: its verdict by the figures that decide, and by oscost's own where they
//! say something else.

use oscost_model::record::Row;
use oscost_stats::interval::Interval;

use super::claim::Claim;
use super::equal_added_cost::AddedCost;
use super::published_result::PublishedResult;
use super::verdict::Verdict;
use crate::studies::figures::rounds::IntervalEstimate;
use crate::studies::study::Placement;

/// A claim and the verdict on it.
#[derive(Clone, Debug)]
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The verdict.
    pub verdict: Verdict,
    /// How many runs it rests on: this one, and earlier ones of the same study on the same system.
    pub runs: usize,
    /// What decides it, where the figures do not show it at once.
    pub because: Option<String>,
    /// The figures by which it is judged.
    pub basis: Basis,
    /// What its intervals contain; `None` of counts, and of claims on two targets, which were measured
    /// side by side.
    pub interval_basis: Option<IntervalBasis>,
    /// What is added to its cases on average; `None` for claims of other kinds, and without rounds.
    pub added: Option<AddedCost>,
    /// The value of each of its cases, in the order of the claim: the difference of its added cost
    /// from the mean, as a share of that mean; or its ratio. Of a claim on one target, the value of
    /// each quantity, in the first of its placements.
    pub values: Vec<Option<IntervalEstimate>>,
    /// Of a claim on one target, for each quantity what decides on it, where its value and interval do
    /// not show it.
    pub deciding: Vec<Option<DecidingPart>>,
    /// The verdict by oscost's own estimates, where the study's statistic decides and says
    /// something else.
    pub own: Option<OwnJudgement>,
    /// The judgement in each placement, where the study does not state where its rows ran.
    pub placements: Vec<PlacedJudgement>,
    /// What the study's own figures say, if it has them all.
    pub published: Option<PublishedResult>,
}

/// The figures by which a claim is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The study's statistic in each round.
    StudyStatistic,
    /// oscost's own estimates: the study has no statistic for all rows, or too few rounds of it
    /// were made.
    OwnEstimates,
    /// Counts, which need no statistic.
    Counts,
}

/// What the intervals of a verdict contain beside what the rounds of this run leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalBasis {
    /// Nothing: how far some of its rows vary between runs is not known, or it is a number of a series.
    Rounds,
    /// What its rows vary by between runs.
    VariationOfRows,
    /// What several runs differ by.
    SeveralRuns,
}

impl IntervalBasis {
    /// Its name in a list for programs.
    pub fn name(self) -> &'static str {
        match self {
            IntervalBasis::Rounds => "rounds",
            IntervalBasis::VariationOfRows => "rows",
            IntervalBasis::SeveralRuns => "runs",
        }
    }
}

/// A verdict with the values that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// How many runs it rests on.
    pub runs: usize,
    /// What decides it, where the values do not show it at once.
    pub because: Option<String>,
    /// What its intervals contain; `None` of counts.
    pub interval_basis: Option<IntervalBasis>,
    /// The value of each quantity.
    pub values: Vec<Option<IntervalEstimate>>,
    /// For each quantity what decides on it, where its value and interval do not show it.
    pub deciding: Vec<Option<DecidingPart>>,
}

/// What decides on a quantity beside its value and the interval of that.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidingPart {
    /// The ratio, where the quantity is the largest or the smallest of several and this is another one.
    pub ratio: Option<RatioRows>,
    /// Its value, with the interval alone.
    pub estimate: Option<IntervalEstimate>,
    /// Its correction, where the interval alone would refute the claim and the corrected one does not.
    pub correction: Option<Correction>,
}

/// The rows of a ratio, by their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatioRows {
    /// The row whose figure is divided.
    pub of: String,
    /// The row by whose figure it is divided.
    pub over: String,
}

/// The interval of one of several comparisons that is valid together with those of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// How many they are.
    pub comparisons: usize,
    /// The interval; `None` if there are too few rounds for it.
    pub interval: Option<Interval>,
}

/// A verdict by oscost's own estimates that differs from that by the study's statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnJudgement {
    /// The judgement.
    pub judgement: Judgement,
    /// Why the two differ, as a sentence.
    pub difference: String,
}

/// A claim in one placement of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedJudgement {
    /// The placement.
    pub placement: Placement,
    /// The figures by which it is judged.
    pub basis: Basis,
    /// The judgement by them.
    pub judgement: Judgement,
    /// The judgement by oscost's own estimates, where the study's statistic decides.
    pub own: Option<Judgement>,
}

/// One verdict on several placements: theirs if they agree; if each is decided and they differ, the
/// placement decides; else undecided.
pub(super) fn common_verdict(placed: &[(Placement, &Verdict)]) -> Verdict {
    let [(_, first), others @ ..] = placed else {
        return Verdict::Undecided("none of its rows is known".to_owned());
    };
    if others.iter().all(|(_, verdict)| verdict.is_same(first)) {
        return (*first).clone();
    }
    let each: Vec<String> = placed
        .iter()
        .map(|(placement, verdict)| match verdict.reason().filter(|_| !verdict.is_decided()) {
            Some(why) => format!("{} {} ({why})", placement.text(), verdict.sentence()),
            None => format!("{} {}", placement.text(), verdict.sentence()),
        })
        .collect();
    let text = format!("{}: the study does not say where they ran", each.join(", "));
    match placed.iter().any(|(_, verdict)| !verdict.is_decided()) {
        true => Verdict::Undecided(text),
        false => Verdict::DependsOnPlacement(text),
    }
}

/// The flag of a row that no claim may rest on.
pub(in crate::studies) fn unsound_flag(row: &Row) -> Option<String> {
    const UNSOUND: [&str; 2] = ["UNRELIABLE", "CALLS_UNEXPECTED"];
    row.flags.iter().find(|flag| UNSOUND.contains(&flag.as_str())).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_agree_or_decide_or_leave_the_claim_undecided() {
        let both = |one: &Verdict, two: &Verdict| {
            common_verdict(&[(Placement::OneCpu, one), (Placement::TwoCpus, two)])
        };
        let open = Verdict::Undecided("its interval contains a bound".to_owned());
        assert_eq!(both(&Verdict::Holds, &Verdict::Holds), Verdict::Holds);
        assert_eq!(both(&Verdict::DoesNotHold, &Verdict::DoesNotHold), Verdict::DoesNotHold);
        assert_eq!(both(&open, &open), open);
        let why = "on one CPU it holds, on two CPUs it does not hold: the study does not say where \
                   they ran";
        let expected = Verdict::DependsOnPlacement(why.to_owned());
        assert_eq!(both(&Verdict::Holds, &Verdict::DoesNotHold), expected);
        let Verdict::Undecided(why) = both(&Verdict::Holds, &open) else { panic!() };
        assert!(why.contains("on two CPUs it is undecided (its interval contains a bound)"));
        assert_eq!(
            common_verdict(&[(Placement::Stated, &Verdict::NoDifference)]),
            Verdict::NoDifference
        );
    }
}
