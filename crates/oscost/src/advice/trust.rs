//! The grade of a run: how far its figures can be believed, and why.
//!
//! The rule, by the worst that holds:
//!
//! * poor: the machine was very noisy, the clock changed its rate, or a quarter of the rows have a
//!   flag that says that their figures should not be used;
//! * fair: the machine was noisy, the run was cut short, a row should not be used, or half of the
//!   rows have an interval that is wider than it says or than was asked for;
//! * good: none of these.
//!
//! What a flag says is its [`Severity`] in the table of words.

use super::words::{Kind, Severity, of_kind};

/// From this share of the rows on, unusable figures make a run poor.
const POOR_FROM_SHARE: f64 = 0.25;
/// From this share of the rows on, wide intervals make a run fair.
const FAIR_FROM_SHARE: f64 = 0.5;

/// How far the figures of a run can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Use them with their intervals.
    Good,
    /// Some are wide, or a few should not be used.
    Fair,
    /// They should not be used as they are.
    Poor,
}

impl Grade {
    /// Every grade, best first.
    pub const ALL: [Grade; 3] = [Grade::Good, Grade::Fair, Grade::Poor];

    /// The grade as it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Grade::Good => "good",
            Grade::Fair => "fair",
            Grade::Poor => "poor",
        }
    }
}

/// What is known of a run besides its figures.
#[derive(Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// The noise classes of its machines: `quiet`, `noisy`, `very-noisy`.
    pub classes: Vec<&'a str>,
    /// Whether the clock changed its rate.
    pub clock_drifted: bool,
    /// Whether everything that was requested was done.
    pub complete: bool,
    /// The flags of each row that has a figure.
    pub rows: Vec<&'a [String]>,
}

/// A grade with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The grade.
    pub grade: Grade,
    /// What it rests on, in words; empty for a good run.
    pub reasons: Vec<String>,
}

/// The grade of a run; `None` if it has no figures.
pub fn trust(evidence: &Evidence<'_>) -> Option<Trust> {
    let Evidence { classes, clock_drifted, complete, rows } = evidence;
    if rows.is_empty() {
        return None;
    }
    let with = |severity: Severity| rows.iter().filter(|flags| worst(flags) == severity).count();
    let (unusable, wide) = (with(Severity::Unusable), with(Severity::Wide));
    let reaches = |count: usize, share: f64| count as f64 >= share * rows.len() as f64;
    let of_rows = |count: usize| format!("{count} of {} rows", rows.len());
    let judged = [
        (
            Grade::Poor,
            classes.contains(&"very-noisy"),
            "over 10 % of the time was lost: the machine was very noisy".to_owned(),
        ),
        (Grade::Poor, *clock_drifted, "the clock changed its rate during the run".to_owned()),
        (
            if reaches(unusable, POOR_FROM_SHARE) { Grade::Poor } else { Grade::Fair },
            unusable > 0,
            format!("{} have figures that should not be used", of_rows(unusable)),
        ),
        (
            Grade::Fair,
            classes.contains(&"noisy"),
            "1 % to 10 % of the time was lost: the machine was noisy".to_owned(),
        ),
        (Grade::Fair, !complete, "the run was cut short".to_owned()),
        (
            Grade::Fair,
            reaches(wide, FAIR_FROM_SHARE),
            format!("{} have wide intervals", of_rows(wide)),
        ),
    ];
    let (mut grade, mut reasons) = (Grade::Good, Vec::new());
    for (at_best, holds, reason) in judged {
        if holds {
            grade = grade.max(at_best);
            reasons.push(reason);
        }
    }
    Some(Trust { grade, reasons })
}

/// The worst that the flags of a row say of its figure. A flag of a newer oscost says nothing here.
fn worst(flags: &[String]) -> Severity {
    let severity = |flag: &String| of_kind(Kind::RowFlag, flag).map(|word| word.severity);
    flags.iter().filter_map(severity).max().unwrap_or(Severity::Information)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grade(evidence: &Evidence<'_>) -> (Grade, usize) {
        let found = trust(evidence).unwrap();
        (found.grade, found.reasons.len())
    }

    #[test]
    fn the_worst_reason_makes_the_grade() {
        let common = ["PROCESSES_DIFFER".to_owned()];
        let wide = ["NOT_CONVERGED".to_owned()];
        let unusable = ["PROCESSES_DIFFER".to_owned(), "CALLS_UNEXPECTED".to_owned()];
        let quiet = Evidence {
            classes: vec!["quiet"],
            clock_drifted: false,
            complete: true,
            rows: vec![&common; 8],
        };
        assert_eq!(grade(&quiet), (Grade::Good, 0));
        assert_eq!(grade(&Evidence { complete: false, ..quiet.clone() }), (Grade::Fair, 1));
        assert_eq!(grade(&Evidence { classes: vec!["noisy"], ..quiet.clone() }), (Grade::Fair, 1));
        let very_noisy = Evidence { classes: vec!["very-noisy"], ..quiet.clone() };
        assert_eq!(grade(&very_noisy), (Grade::Poor, 1));
        assert_eq!(grade(&Evidence { clock_drifted: true, ..quiet.clone() }), (Grade::Poor, 1));
        let rows = |bad: &'static str, of_eight: usize| {
            let flags: &[String] = if bad == "wide" { &wide } else { &unusable };
            let rows = (0..8).map(|at| if at < of_eight { flags } else { &common[..] }).collect();
            grade(&Evidence { rows, ..quiet.clone() })
        };
        assert_eq!((rows("wide", 3), rows("wide", 4)), ((Grade::Good, 0), (Grade::Fair, 1)));
        assert_eq!((rows("bad", 1), rows("bad", 2)), ((Grade::Fair, 1), (Grade::Poor, 1)));
        assert_eq!(trust(&Evidence { rows: Vec::new(), ..quiet }), None);
    }

    #[test]
    fn each_grade_is_a_word_that_is_explained() {
        for grade in Grade::ALL {
            assert!(of_kind(Kind::Trust, grade.text()).is_some(), "{grade:?}");
        }
    }
}
