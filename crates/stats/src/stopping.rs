//! Stopping rules: how often a case is repeated, for three kinds of run.
//!
//! A rule sees only the number of repetitions and the width of the interval. A rule that saw the
//! estimate, its sign or a p value would be biased.

/// The fixed number of repetitions of a quick run.
///
/// Six is the minimum for a 95 % interval: all six values are on one side of the median with
/// probability 2/64, all of five with 2/32, which is more than 5 %. The interval is
/// [`FIXED`](super::interval::Nominal::FIXED).
pub const QUICK_REPETITIONS: usize = 6;

/// The number of repetitions of the first phase of a thorough run.
///
/// The width after the first phase determines the length of the second. With ten values, one
/// disturbed repetition often widens the interval: in simulation the second phase was then fourteen
/// times as long as after a first phase of thirty, for the same goal.
pub const THOROUGH_FIRST_PHASE: usize = 30;

/// The repetitions at the first look of an adaptive run.
///
/// The interval of six values is their whole range, and a poor estimate of the width: with looks
/// from six on, coverage is up to half a percentage point lower in simulation.
const FIRST_LOOK_REPETITIONS: usize = 10;

/// The minimum number of repetitions in the second phase of a thorough run: from here on coverage
/// is within half a percentage point of the nominal level for all distributions, and the half-width
/// is 1.3 % at a spread of 2 % (docs/explanation/METHOD.md, sections 3 and 4).
const MIN_THOROUGH_REPETITIONS: usize = 15;

/// The precision goal of a run for each case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Half the width of the interval as a fraction of the estimate: 0.02 is ±2 %.
    pub relative_half_width: f64,
    /// The number of repetitions at which it stops regardless of the width.
    pub max_repetitions: usize,
}

/// The state of a case at an interim look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The repetitions so far, including failed ones, so that a case that always fails ends.
    pub repetitions: usize,
    /// Half the width of the interval as a fraction of the estimate; `None` without an interval, or
    /// with an estimate of 0.
    pub relative_half_width: Option<f64>,
}

/// The decision after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Repeat the case up to this total number of repetitions, then look again.
    Continue {
        /// The total; always more than at this look.
        until: usize,
    },
    /// No more repetitions.
    Stop {
        /// Whether the interval reached the goal; otherwise the maximum number of repetitions was
        /// reached.
        converged: bool,
    },
}

/// The adaptive rule, for a default run: it looks at 10 repetitions and then after 50 % more each
/// time, and stops when two consecutive intervals are narrow enough.
///
/// One narrow interval is often chance, two in a row rarely; the remaining bias is compensated by
/// the level [`ADAPTIVE`](super::interval::Nominal::ADAPTIVE), which belongs to this rule. The
/// growing steps keep the number of looks logarithmic.
#[derive(Clone, Debug)]
pub struct AdaptiveStopping {
    goal: Goal,
    last_look_was_narrow: bool,
}

impl AdaptiveStopping {
    /// A rule before its first look.
    pub fn new(goal: Goal) -> Self {
        Self { goal, last_look_was_narrow: false }
    }

    /// The number of repetitions at which it stops regardless of the width.
    pub fn max_repetitions(&self) -> usize {
        self.goal.max_repetitions
    }

    /// The number of repetitions before the first look.
    pub fn first_look(&self) -> usize {
        FIRST_LOOK_REPETITIONS.min(self.goal.max_repetitions)
    }

    /// Evaluates a look.
    pub fn look(&mut self, look: Look) -> Decision {
        let narrow =
            look.relative_half_width.is_some_and(|now| now <= self.goal.relative_half_width);
        let narrow_before = std::mem::replace(&mut self.last_look_was_narrow, narrow);
        if (narrow && narrow_before) || look.repetitions >= self.goal.max_repetitions {
            return Decision::Stop { converged: narrow };
        }
        let half_as_many_again = look.repetitions + look.repetitions.div_ceil(2);
        let until = half_as_many_again.max(FIRST_LOOK_REPETITIONS).min(self.goal.max_repetitions);
        Decision::Continue { until }
    }
}

/// The thorough rule, for published figures: the number of repetitions of a second phase, fixed
/// beforehand by the width after a first phase (Stein 1945).
///
/// The width shrinks with the square root of the repetitions, so the count is that of the first
/// phase times the square of the ratio of widths, at least 15 and at most the goal's maximum, which
/// is also the result if the first phase has no interval.
///
/// The values of the first phase are not used again. Both intervals are
/// [`FIXED`](super::interval::Nominal::FIXED). Since the first width is an estimate, up to half of
/// all second phases miss the goal, one in ten by 50 % or more; the reached width is reported.
pub fn thorough_repetitions(first_phase: Look, goal: Goal) -> usize {
    let needed = first_phase.relative_half_width.map_or(goal.max_repetitions, |reached| {
        let ratio = reached / goal.relative_half_width;
        (first_phase.repetitions as f64 * ratio * ratio).ceil() as usize
    });
    needed.max(MIN_THOROUGH_REPETITIONS).min(goal.max_repetitions)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOAL: Goal = Goal { relative_half_width: 0.02, max_repetitions: 60 };

    fn look(repetitions: usize, relative_half_width: f64) -> Look {
        Look { repetitions, relative_half_width: Some(relative_half_width) }
    }

    #[test]
    fn looks_are_at_ten_and_then_at_half_as_many_again() {
        let mut rule = AdaptiveStopping::new(GOAL);
        let mut at = rule.first_look();
        let mut looks = vec![at];
        while let Decision::Continue { until } = rule.look(look(at, 1.0)) {
            looks.push(until);
            at = until;
        }
        assert_eq!(looks, [10, 15, 23, 35, 53, 60]);
    }

    #[test]
    fn two_consecutive_narrow_looks_stop_it() {
        let mut rule = AdaptiveStopping::new(GOAL);
        assert_eq!(rule.look(look(10, 0.02)), Decision::Continue { until: 15 });
        assert_eq!(rule.look(look(15, 0.02)), Decision::Stop { converged: true });
    }

    #[test]
    fn a_wide_look_between_two_narrow_ones_resets_the_count() {
        let mut rule = AdaptiveStopping::new(GOAL);
        assert_eq!(rule.look(look(10, 0.01)), Decision::Continue { until: 15 });
        assert_eq!(rule.look(look(15, 0.03)), Decision::Continue { until: 23 });
        assert_eq!(rule.look(look(23, 0.01)), Decision::Continue { until: 35 });
        assert_eq!(rule.look(look(35, 0.01)), Decision::Stop { converged: true });
    }

    #[test]
    fn the_maximum_ends_it_and_reports_whether_the_goal_was_reached() {
        for (width, converged) in [(Some(0.03), false), (None, false), (Some(0.02), true)] {
            let look = Look { repetitions: 60, relative_half_width: width };
            assert_eq!(
                AdaptiveStopping::new(GOAL).look(look),
                Decision::Stop { converged },
                "{width:?}"
            );
        }
    }

    #[test]
    fn a_case_without_an_interval_continues() {
        let mut rule = AdaptiveStopping::new(GOAL);
        let look = |repetitions| Look { repetitions, relative_half_width: None };
        assert_eq!(rule.look(look(10)), Decision::Continue { until: 15 });
        assert_eq!(rule.look(look(15)), Decision::Continue { until: 23 });
    }

    #[test]
    fn a_small_maximum_has_one_look() {
        let goal = Goal { max_repetitions: 7, ..GOAL };
        let mut rule = AdaptiveStopping::new(goal);
        assert_eq!(rule.first_look(), 7);
        assert_eq!(rule.look(look(7, 0.01)), Decision::Stop { converged: true });
    }

    #[test]
    fn a_thorough_run_scales_its_count_by_the_square_of_the_widths() {
        assert_eq!(thorough_repetitions(look(10, 0.04), GOAL), 40);
        assert_eq!(thorough_repetitions(look(10, 0.041), GOAL), 43);
        assert_eq!(thorough_repetitions(look(10, 0.001), GOAL), 15, "never fewer than 15");
        assert_eq!(thorough_repetitions(look(10, 0.9), GOAL), 60, "never more than allowed");
        let goal = Goal { max_repetitions: 12, ..GOAL };
        assert_eq!(thorough_repetitions(look(10, 0.001), goal), 12, "the allowance comes first");
        let blind = Look { repetitions: 10, relative_half_width: None };
        assert_eq!(thorough_repetitions(blind, GOAL), 60, "unknown is not narrow");
        assert_eq!(thorough_repetitions(look(10, f64::INFINITY), GOAL), 60);
    }

    proptest! {
        #[test]
        fn every_sequence_of_looks_ends_within_the_maximum(
            max_repetitions in 1usize..500,
            widths in prop::collection::vec(prop::option::of(0.0..0.04), 20),
        ) {
            let mut rule = AdaptiveStopping::new(Goal { max_repetitions, ..GOAL });
            let mut repetitions = rule.first_look();
            let mut ended = false;
            for relative_half_width in widths {
                prop_assert!(repetitions <= max_repetitions);
                match rule.look(Look { repetitions, relative_half_width }) {
                    Decision::Continue { until } => {
                        prop_assert!(until > repetitions);
                        repetitions = until;
                    }
                    Decision::Stop { .. } => {
                        ended = true;
                        break;
                    }
                }
            }
            prop_assert!(ended);
        }
    }
}
