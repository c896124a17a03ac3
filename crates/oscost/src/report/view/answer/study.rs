//! What a repeated study found: how many of its claims hold here, and which do not.

use oscost_model::record::Record;

use crate::report::text::{plain, plain_paragraph};
use crate::report::view::answer::run::treatments;
use crate::report::view::answer::trust;
use crate::report::view::document::Answer;
use crate::report::view::study::list::Tally;
use crate::studies::Study;
use crate::studies::claims::judgement::JudgedClaim;
use crate::studies::claims::verdict::Verdict;

/// Of more claims with a verdict, the first are quoted.
const MAX_QUOTED: usize = 2;

/// What to do about claims without a verdict.
const CLAIMS_SAY: &str = "claims say what they lack; those of one target are judged by up to ten runs \
                          together.";

/// The answer of a run of a study.
pub(in crate::report::view) fn answer(
    study: &Study,
    judged: &[JudgedClaim<'_>],
    record: &Record,
) -> Answer {
    let id = plain(&study.id);
    let mut findings: Vec<String> = treatments(record).into_iter().collect();
    findings.push(match judged {
        [] => format!("Study {id} makes no claims: its tables have its figures, then and here."),
        [one] => format!("The only claim of study {id}: {}.", plain(one.verdict.sentence())),
        several => {
            format!("Of {} claims of study {id} {}.", several.len(), Tally::of(several).text())
        }
    });
    let is_against =
        |verdict: &Verdict| matches!(verdict, Verdict::DoesNotHold | Verdict::NoDifference);
    findings.extend(quoted("Here it is otherwise", judged, is_against));
    let depends = |verdict: &Verdict| matches!(verdict, Verdict::DependsOnPlacement(_));
    findings.extend(quoted("One CPU or two decides", judged, depends));
    findings.extend(withheld(judged));
    let is_undecided = judged.iter().any(|it| it.verdict.is_undecided());
    let next = match trust::next(record) {
        Some(next) if is_undecided => Some(format!("{next} Undecided {CLAIMS_SAY}")),
        None if is_undecided => Some(format!("Next: undecided {CLAIMS_SAY}")),
        next => next,
    };
    Answer {
        findings,
        trust: trust::of_record(record).map(|found| trust::sentence(&found)),
        next: next.into_iter().collect(),
    }
}

/// How many claims would have a verdict if one might rest on the figures; `None` if none would.
fn withheld(judged: &[JudgedClaim<'_>]) -> Option<String> {
    let count = |said: &str| judged.iter().filter(|it| it.verdict.would_be() == Some(said)).count();
    let (hold, not_hold) = (count("it would hold"), count("it would not hold"));
    (hold + not_hold > 0).then(|| {
        format!(
            "By figures on which no verdict may rest {hold} would hold and {not_hold} would not: the \
             claims say why."
        )
    })
}

/// The first claims with some verdict; `None` if there are none.
fn quoted(
    what: &str,
    judged: &[JudgedClaim<'_>],
    is_meant: impl Fn(&Verdict) -> bool,
) -> Option<String> {
    let meant: Vec<&JudgedClaim<'_>> = judged.iter().filter(|it| is_meant(&it.verdict)).collect();
    let first = meant
        .iter()
        .take(MAX_QUOTED)
        .map(|it| format!("\"{}\" ({})", plain(&it.claim.statement), plain(&it.claim.location)));
    let first = first.collect::<Vec<_>>().join("; ");
    let more = match meant.len().saturating_sub(MAX_QUOTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!meant.is_empty()).then(|| plain_paragraph(&format!("{what}: {first}{more}.")))
}
