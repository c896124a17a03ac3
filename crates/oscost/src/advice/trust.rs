//! The grade of a run: how far its figures can be believed, and why.
//!
//! The rule, by the worst that holds:
//!
//! * poor: the machine was very noisy, a flag of the run says that no figure of it should be used
//!   (its clock changed its rate, or something slowed every system call), or a quarter of the rows
//!   have a flag that says so of theirs, or a figure of the answer has an interval whose upper end is
//!   over three times the lower one;
//! * fair: the machine was noisy, a flag of the run says that intervals are wider than they say (its
//!   reference cases drifted, a quota stopped workers, they were not pinned, the control of a
//!   comparison is not known to be equivalent, or half of its effects drifted), the run was cut short,
//!   a row should not be used, a command waited for a CPU, a figure of the answer has an interval whose
//!   upper end is over one and a half times the lower one, or half of the rows have an interval that
//!   is wider than it says or than was asked for;
//! * good: none of these.
//!
//! What a flag says is its [`Severity`] in the table of words. One or two rows that should not be used
//! are named, and of wide intervals the reason says how many of them are so because processes differ.

use super::words::{Kind, Severity, of_kind};

/// From this share of the rows on, unusable figures make a run poor.
const POOR_FROM_SHARE: f64 = 0.25;
/// From this share of the rows on, wide intervals make a run fair.
const FAIR_FROM_SHARE: f64 = 0.5;
/// An interval whose upper end is over this many times the lower one makes a run fair ...
const FAIR_FROM_FACTOR: f64 = 1.5;
/// ... and poor.
const POOR_FROM_FACTOR: f64 = 3.0;
/// The flag of a row that is a reason of its own: its interval may be narrow, where every trial
/// waited for as long.
pub const CPU_CONTENTION: &str = "CPU_CONTENTION";
/// The flag of a row whose processes differ by more than their batches.
const PROCESSES_DIFFER: &str = "PROCESSES_DIFFER";
/// Up to so many rows that should not be used are named.
const MAX_NAMED: usize = 2;

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
    /// The time that workers lost, in per cent, of the machine that lost most; `None` if unknown.
    pub lost_pct: Option<f64>,
    /// The flags of the whole run, as far as they are known.
    pub run_flags: Vec<&'a str>,
    /// Whether everything that was requested was done.
    pub complete: bool,
    /// Each row that was requested and has a figure.
    pub rows: Vec<FlaggedRow<'a>>,
}

/// A row of a run with its flags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlaggedRow<'a> {
    /// Its case.
    pub case: &'a str,
    /// Its flags.
    pub flags: &'a [String],
    /// The interval that is told with its figure; `None` if the figure is one of many, or has none.
    pub interval: Option<[f64; 2]>,
}

impl FlaggedRow<'_> {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }

    /// Whether its interval keeps a run from being good.
    pub fn has_wide_interval(&self) -> bool {
        self.width_factor().is_some_and(|factor| factor > FAIR_FROM_FACTOR)
    }

    /// How many times the lower end of its interval the upper end is.
    fn width_factor(&self) -> Option<f64> {
        let [low, high] = self.interval?;
        (low > 0.0).then_some(high / low).filter(|factor| factor.is_finite())
    }
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
    let Evidence { classes, lost_pct, run_flags, complete, rows } = evidence;
    if rows.is_empty() {
        return None;
    }
    let with = |severity: Severity| -> Vec<&FlaggedRow<'_>> {
        rows.iter().filter(|row| worst(row.flags) == severity).collect()
    };
    let (unusable, wide) = (with(Severity::Unusable), with(Severity::Wide));
    let (named, differing) = (names(&unusable), differing(&wide));
    let (unusable, wide) = (unusable.len(), wide.len());
    let contended = rows.iter().filter(|row| row.has(CPU_CONTENTION)).count();
    let reaches = |count: usize, share: f64| count as f64 >= share * rows.len() as f64;
    let lost = |range: &str, class: &str| match lost_pct.filter(|pct| pct.is_finite()) {
        Some(pct) => format!("{pct:.0} % of the time was lost: the machine was {class}"),
        None => format!("{range} of the time was lost: the machine was {class}"),
    };
    let mut judged =
        vec![(Grade::Poor, classes.contains(&"very-noisy"), lost("over 10 %", "very noisy"))];
    judged.extend(
        run_flags
            .iter()
            .filter_map(|flag| of_run_flag(flag))
            .map(|(at_best, why)| (at_best, true, why.to_owned())),
    );
    judged.extend([
        (
            if reaches(unusable, POOR_FROM_SHARE) { Grade::Poor } else { Grade::Fair },
            unusable > 0,
            of_rows(
                unusable,
                rows.len(),
                "a figure that should not be used",
                "figures that should not be used",
            ) + &named,
        ),
        (Grade::Fair, classes.contains(&"noisy"), lost("1 % to 10 %", "noisy")),
        (Grade::Fair, !complete, "the run was cut short".to_owned()),
        (
            Grade::Fair,
            contended > 0,
            of_rows(
                contended,
                rows.len(),
                "a wall time with waits for a CPU",
                "wall times with waits for a CPU",
            ),
        ),
        (
            Grade::Fair,
            reaches(wide, FAIR_FROM_SHARE),
            of_rows(wide, rows.len(), "a wide interval", "wide intervals") + &differing,
        ),
    ]);
    judged.extend(widest(rows).map(|(at_best, why)| (at_best, true, why)));
    let (mut grade, mut reasons) = (Grade::Good, Vec::new());
    for (at_best, holds, reason) in judged {
        if holds {
            grade = grade.max(at_best);
            reasons.push(reason);
        }
    }
    Some(Trust { grade, reasons })
}

/// The best grade that the widest interval of these rows allows, and why; `None` of narrow ones.
fn widest(rows: &[FlaggedRow<'_>]) -> Option<(Grade, String)> {
    let factors = rows.iter().filter_map(|row| Some((row.width_factor()?, row.case)));
    let (factor, case) = factors.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let at_best = match factor {
        _ if factor > POOR_FROM_FACTOR => Grade::Poor,
        _ if factor > FAIR_FROM_FACTOR => Grade::Fair,
        _ => return None,
    };
    let decimals = usize::from(factor < 10.0);
    let times = format!("{factor:.decimals$} times the lower");
    Some((at_best, format!("the upper end of the 95 % interval of {case} is {times}")))
}

/// The names of a few rows in parentheses; nothing of more.
fn names(rows: &[&FlaggedRow<'_>]) -> String {
    let mut cases: Vec<&str> = rows.iter().map(|row| row.case).collect();
    // A case may have a row for each target.
    cases.dedup();
    match cases.len() {
        1..=MAX_NAMED => format!(" ({})", cases.join(", ")),
        _ => String::new(),
    }
}

/// How many of these rows are wide because their processes differ; nothing if none is.
fn differing(wide: &[&FlaggedRow<'_>]) -> String {
    match wide.iter().filter(|row| row.has(PROCESSES_DIFFER)).count() {
        0 => String::new(),
        1 if wide.len() == 1 => " (processes differ)".to_owned(),
        all if all == wide.len() => " (processes differ in all of them)".to_owned(),
        some => format!(" (processes differ in {some} of them)"),
    }
}

/// How many of the rows have something.
fn of_rows(count: usize, all: usize, one: &str, several: &str) -> String {
    match (count, all) {
        (1, 1) => format!("its only row has {one}"),
        (1, all) => format!("1 of {all} rows has {one}"),
        (count, all) => format!("{count} of {all} rows have {several}"),
    }
}

/// The best grade that a flag of a run allows, and why; `None` of a flag that says nothing of figures,
/// or that is of a newer oscost.
fn of_run_flag(flag: &str) -> Option<(Grade, &'static str)> {
    let word = of_kind(Kind::RunFlag, flag)?;
    let at_best = match word.severity {
        Severity::Unusable => Grade::Poor,
        Severity::Wide => Grade::Fair,
        Severity::Information => return None,
    };
    Some((
        at_best,
        match flag {
            "CLOCK_DRIFTED" => "the clock changed its rate during the run",
            "REFERENCE_DRIFT" => "reference cases drifted during the run",
            "THROTTLED" => "a CPU quota stopped workers while they were timing",
            "UNPINNED" => "workers could not be pinned to a CPU",
            "CONTROL_WIDE" => "the control, in which nothing differs, is not known to 3 %",
            "EFFECT_DRIFTS" => "the effect that was compared changed during the run",
            "TRACED" => "something that slows every system call was attached",
            _ => word.means,
        },
    ))
}

/// The worst that the flags of a row say of its figure, except one that is a reason of its own. A flag
/// of a newer oscost says nothing here.
fn worst(flags: &[String]) -> Severity {
    let severity = |flag: &String| of_kind(Kind::RowFlag, flag).map(|word| word.severity);
    let others = flags.iter().filter(|flag| *flag != CPU_CONTENTION);
    others.filter_map(severity).max().unwrap_or(Severity::Information)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(flags: &[String]) -> FlaggedRow<'_> {
        FlaggedRow { case: "a/x", flags, interval: None }
    }

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
            lost_pct: Some(0.2),
            run_flags: Vec::new(),
            complete: true,
            rows: vec![row(&common); 8],
        };
        assert_eq!(grade(&quiet), (Grade::Good, 0));
        assert_eq!(grade(&Evidence { complete: false, ..quiet.clone() }), (Grade::Fair, 1));
        assert_eq!(grade(&Evidence { classes: vec!["noisy"], ..quiet.clone() }), (Grade::Fair, 1));
        let very_noisy = Evidence { classes: vec!["very-noisy"], ..quiet.clone() };
        assert_eq!(grade(&very_noisy), (Grade::Poor, 1));
        for (flag, found) in [
            ("CLOCK_DRIFTED", (Grade::Poor, 1)),
            ("TRACED", (Grade::Poor, 1)),
            ("REFERENCE_DRIFT", (Grade::Fair, 1)),
            ("THROTTLED", (Grade::Fair, 1)),
            ("UNPINNED", (Grade::Fair, 1)),
            ("CONTROL_WIDE", (Grade::Fair, 1)),
            ("EFFECT_DRIFTS", (Grade::Fair, 1)),
            ("OF_A_NEWER_VERSION", (Grade::Good, 0)),
        ] {
            assert_eq!(
                grade(&Evidence { run_flags: vec![flag], ..quiet.clone() }),
                found,
                "{flag}"
            );
        }
        let rows = |bad: &'static str, of_eight: usize| {
            let flags: &[String] = if bad == "wide" { &wide } else { &unusable };
            let flags = (0..8).map(|at| if at < of_eight { flags } else { &common[..] });
            let rows = flags.map(row).collect();
            grade(&Evidence { rows, ..quiet.clone() })
        };
        assert_eq!((rows("wide", 3), rows("wide", 4)), ((Grade::Good, 0), (Grade::Fair, 1)));
        assert_eq!((rows("bad", 1), rows("bad", 2)), ((Grade::Fair, 1), (Grade::Poor, 1)));
        let contended = ["CPU_CONTENTION".to_owned()];
        let of_commands =
            trust(&Evidence { rows: vec![row(&contended), row(&common)], ..quiet.clone() });
        let Trust { grade, reasons } = of_commands.unwrap();
        assert_eq!(grade, Grade::Fair);
        assert_eq!(reasons, ["1 of 2 rows has a wall time with waits for a CPU"]);
        assert_eq!(trust(&Evidence { rows: Vec::new(), ..quiet }), None);
    }

    #[test]
    fn reasons_have_figures_where_they_are_known_and_agree_in_number() {
        let wide = ["NOT_CONVERGED".to_owned()];
        let bad = ["DRIFT".to_owned()];
        let none: [String; 0] = [];
        let noisy = |lost_pct, rows: Vec<&'static str>| {
            let flags = |name: &&str| match *name {
                "wide" => &wide[..],
                "bad" => &bad[..],
                _ => &none[..],
            };
            let rows = rows.iter().map(flags).map(row).collect();
            let classes = vec!["noisy"];
            let found =
                trust(&Evidence { classes, lost_pct, complete: true, rows, ..Evidence::default() });
            found.unwrap().reasons.join("; ")
        };
        assert_eq!(noisy(Some(6.3), vec![""]), "6 % of the time was lost: the machine was noisy");
        let unknown = noisy(Some(f64::NAN), vec!["wide"]);
        assert!(unknown.starts_with("1 % to 10 % of the time was lost"), "{unknown}");
        assert!(unknown.ends_with("its only row has a wide interval"), "{unknown}");
        let some = noisy(None, vec!["wide", "wide", "bad", ""]);
        assert!(some.contains("1 of 4 rows has a figure that should not be used (a/x)"), "{some}");
        assert!(some.ends_with("2 of 4 rows have wide intervals"), "{some}");
    }

    #[test]
    fn one_or_two_unusable_rows_are_named_and_wide_ones_have_their_cause() {
        let none: [String; 0] = [];
        let bad = ["DRIFT".to_owned()];
        let wide = ["NOT_CONVERGED".to_owned()];
        let spread = ["NOT_CONVERGED".to_owned(), "PROCESSES_DIFFER".to_owned()];
        let reasons = |rows: &[(&'static str, &[String])]| {
            let rows = rows
                .iter()
                .map(|&(case, flags)| FlaggedRow { case, flags, interval: None })
                .collect();
            let evidence = Evidence { complete: true, rows, ..Evidence::default() };
            trust(&evidence).unwrap().reasons.join("; ")
        };
        assert_eq!(
            reasons(&[("a/x", &bad[..]), ("a/y", &bad[..]), ("a/z", &none[..])]),
            "2 of 3 rows have figures that should not be used (a/x, a/y)"
        );
        assert_eq!(
            reasons(&[("a/x", &bad[..]), ("a/y", &bad[..]), ("a/z", &bad[..])]),
            "3 of 3 rows have figures that should not be used"
        );
        assert_eq!(
            reasons(&[("a/x", &spread[..]), ("a/y", &wide[..]), ("a/z", &spread[..])]),
            "3 of 3 rows have wide intervals (processes differ in 2 of them)"
        );
        assert_eq!(
            reasons(&[("a/x", &spread[..]), ("a/y", &spread[..])]),
            "2 of 2 rows have wide intervals (processes differ in all of them)"
        );
        assert_eq!(
            reasons(&[("a/x", &spread[..])]),
            "its only row has a wide interval (processes differ)"
        );
    }

    #[test]
    fn each_grade_is_a_word_that_is_explained() {
        for grade in Grade::ALL {
            assert!(of_kind(Kind::Trust, grade.text()).is_some(), "{grade:?}");
        }
    }
}
