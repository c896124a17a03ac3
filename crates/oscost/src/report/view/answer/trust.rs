//! How far runs can be trusted: one grade with its reasons.

use oscost_model::record::{Conditions, Record, Row};

use crate::advice::record_trust::evidence_of;
use crate::advice::trust::{CPU_CONTENTION, FlaggedRow, Grade, Trust, trust};
use crate::advice::words::Kind;
use crate::report::text::plain_paragraph;
use crate::report::view::run::flags::unusable;
use crate::report::view::run::row::is_requested;

/// The flag of a run whose control is not known to be equivalent.
const CONTROL_WIDE: &str = "CONTROL_WIDE";
/// The flag of a run whose compared effects changed.
const EFFECT_DRIFTS: &str = "EFFECT_DRIFTS";

/// The grade of a run; `None` if it has no figures.
pub(in crate::report) fn of_record(record: &Record) -> Option<Trust> {
    trust(&evidence_of(record))
}

/// The grade of a run in a sentence.
pub(super) fn sentence(found: &Trust) -> String {
    let Trust { grade, reasons } = found;
    match &reasons[..] {
        [] => format!("Trust: {}.", grade.text()),
        reasons => format!("Trust: {}: {}.", grade.text(), plain_paragraph(&reasons.join("; "))),
    }
}

/// The grade of the worst of several runs in a sentence; `None` if none has figures.
pub(super) fn sentence_of_all<'a>(runs: impl Iterator<Item = &'a Record>) -> Option<String> {
    let found: Vec<Trust> = runs.filter_map(of_record).collect();
    let worst = found.iter().max_by_key(|it| it.grade)?;
    let as_bad = found.iter().filter(|it| it.grade == worst.grade).count();
    Some(match (found.len(), as_bad, worst.grade) {
        (1, ..) => sentence(worst),
        (2, _, Grade::Good) => "Trust: good in both runs.".to_owned(),
        (all, _, Grade::Good) => format!("Trust: good in all {all} runs."),
        (all, 1, grade) => {
            let reasons = plain_paragraph(&worst.reasons.join("; "));
            format!("Trust: {} in 1 of {all} runs: {reasons}.", grade.text())
        }
        (all, count, grade) => format!(
            "Trust: {} in {count} of {all} runs, in the first of them: {}.",
            grade.text(),
            plain_paragraph(&first_reasons(&found, grade))
        ),
    })
}

/// The reasons of the first run with this grade.
fn first_reasons(found: &[Trust], grade: Grade) -> String {
    let first = found.iter().find(|it| it.grade == grade);
    first.map(|it| it.reasons.join("; ")).unwrap_or_default()
}

/// What to do about the grade of a run; nothing for a good one.
pub(super) fn next(record: &Record) -> Option<String> {
    let found = of_record(record).filter(|it| it.grade != Grade::Good);
    // An effect may drift, and a control be short, on a machine that is quiet.
    let is_of_machine = |flag: &String| ![EFFECT_DRIFTS, CONTROL_WIDE].contains(&flag.as_str());
    let is_disturbed = |it: &Conditions| {
        it.class.as_deref().is_some_and(|class| class != "quiet")
            || it.flags.iter().any(is_of_machine)
    };
    let waited_for_cpu =
        |row: &Row| is_requested(row) && row.flags.iter().any(|flag| flag == CPU_CONTENTION);
    let is_noisy =
        record.conditions.iter().any(is_disturbed) || record.results.iter().any(waited_for_cpu);
    let is_unusable = |row: &Row| {
        is_requested(row) && row.estimate.is_some() && unusable(Kind::RowFlag, &row.flags).is_some()
    };
    let is_control_wide =
        record.conditions.iter().any(|it| it.flags.iter().any(|flag| flag == CONTROL_WIDE));
    let is_between_runs = |row: &Row| {
        let estimate = row.estimate.as_ref();
        is_requested(row) && estimate.is_some_and(|it| it.between_run_ci95.is_some())
    };
    let is_wide_between_runs = evidence_of(record).rows.iter().any(FlaggedRow::has_wide_interval)
        && record.results.iter().any(is_between_runs);
    let text = if is_noisy {
        "Next: `oscost doctor` names what disturbs here, and the fix."
    } else if is_control_wide && record.settings.profile == "quick" {
        "Next: measure again without `--quick`: its control is longer."
    } else if is_control_wide {
        "Next: measure again with `--thorough`: its control is longer."
    } else if !record.complete {
        "Next: measure again, with more time (`--budget`) if that was too short."
    } else if record.results.iter().any(is_unusable) {
        "Next: the flags of such rows say what to do; `oscost explain FLAG` says more."
    } else if is_wide_between_runs {
        "Next: more runs, in the same store, narrow an interval between runs; a longer one does not."
    } else {
        "Next: for narrower intervals give the run more time (`--budget`)."
    };
    found.map(|_| text.to_owned())
}
