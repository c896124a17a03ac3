//! Things measured side by side against known truth: the whole of `oscost ab` but its words, on a
//! machine that is made up (docs/explanation/METHOD.md, section 12). Seeds are fixed.

use crate::sim::arms::{Arms, compare};
use oscost_model::journal::Design;
use oscost_model::record::Comparison;

/// Arms as fork twins on a shared machine: 0.4 % apart for no reason.
const EVEN: Arms =
    Arms { pair_sd: 0.004, effect: 0.0, bias: 0.0, drift_per_s: 0.0, forbids: false };

const DESIGNS: [Design; 3] = [Design::Twins, Design::Toggle, Design::Pairs];

/// The rows alone, and the controls alone.
fn apart(all: Vec<Comparison>) -> (Vec<Comparison>, Vec<Comparison>) {
    all.into_iter().partition(|it| !it.control)
}

fn holds(it: &Comparison, truth: f64) -> bool {
    it.ratio.ci95.is_some_and(|[low, high]| (low..=high).contains(&truth))
}

#[test]
fn nothing_raises_no_alarm_in_any_design_on_a_machine_that_drifts() {
    for design in DESIGNS {
        // One per cent in a second: what is measured later is dearer.
        let arms = Arms { drift_per_s: 0.01, ..EVEN };
        let (rows, controls) = apart(compare(100, design, arms, 12, 7));
        let alarms = rows.iter().filter(|it| it.verdict == "slower" || it.verdict == "faster");
        assert_eq!(alarms.count(), 0, "{design:?}");
        // METHOD's L5, on a made-up machine: at most 16 of 200 significant, 2 beyond the margin.
        let significant = rows.iter().filter(|it| it.p <= 0.05).count();
        let beyond = |it: &&Comparison| {
            it.ratio.ci95.is_some_and(|[low, high]| low > 1.01 || high < 1.0 / 1.01)
        };
        let beyond = rows.iter().filter(beyond).count();
        println!("{design:?}: {significant} of 100 significant, {beyond} beyond 1 %");
        assert!(significant <= 8 && beyond <= 1, "{design:?}: {significant}, {beyond}");
        assert_eq!((rows.len(), controls.len()), (100, 1));
    }
}

#[test]
fn five_per_cent_are_found_in_every_design_and_intervals_hold_them() {
    for design in DESIGNS {
        let arms = Arms { effect: 0.05, ..EVEN };
        let (rows, controls) = apart(compare(100, design, arms, 16, 11));
        let found = rows.iter().filter(|it| it.verdict == "slower").count();
        let held = rows.iter().filter(|it| holds(it, 1.05)).count();
        println!("{design:?}: {found} found, {held} intervals hold 5 %");
        assert!(found >= 95, "{design:?}: {found}");
        assert!(rows.iter().all(|it| it.ratio.value > 1.0), "{design:?}: a wrong sign");
        assert!(held >= 90, "{design:?}: {held}");
        // The cost was 124 ns, and what is added is told in nanoseconds, too.
        assert!(rows.iter().all(|it| (it.added.value - 6.2).abs() < 1.5), "{design:?}");
        assert!(controls.iter().all(|it| it.verdict != "slower" && it.verdict != "faster"));
        assert_eq!(rows[0].design, design.text());
        assert!(rows.iter().all(|it| it.pairs == 16), "{design:?}");
    }
}

#[test]
fn what_favours_one_side_shows_in_the_control_and_nothing_is_said() {
    for design in [Design::Twins, Design::Toggle] {
        let arms = Arms { effect: 0.10, bias: 0.03, ..EVEN };
        let (rows, controls) = apart(compare(3, design, arms, 16, 13));
        assert_eq!(controls.len(), 1);
        assert_eq!(controls[0].verdict, "slower", "{design:?}: {controls:?}");
        for it in rows {
            assert_eq!(it.verdict, "inconclusive", "{design:?}");
            assert!(it.flags.iter().any(|flag| flag == "VOID"), "{design:?}");
        }
    }
}

#[test]
fn twins_of_which_one_may_not_speculate_are_marked() {
    for forbids in [true, false] {
        let (rows, controls) = apart(compare(3, Design::Twins, Arms { forbids, ..EVEN }, 16, 17));
        let marked = |it: &Comparison| it.flags.iter().any(|flag| flag == "SPECULATION_DIFFERS");
        assert_eq!(rows.iter().filter(|it| marked(it)).count(), if forbids { 3 } else { 0 });
        // Of a control both are the base.
        assert!(!controls.iter().any(marked));
    }
}

#[test]
fn pairs_within_a_minute_are_marked_and_never_called_equivalent() {
    let (rows, _) = apart(compare(2, Design::Twins, EVEN, 20, 17));
    for it in rows {
        assert_eq!(it.verdict, "inconclusive");
        assert!(it.flags.iter().any(|flag| flag == "SHORT_SPAN"), "{it:?}");
        assert!(it.mde_pct.is_some_and(|pct| pct < 1.0), "{it:?}");
    }
}
