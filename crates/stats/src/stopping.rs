//! When a case has been repeated enough: three rules, for three kinds of run.
//!
//! Each sees how often a case was repeated and how wide its interval is, and nothing else. A rule
//! that saw the estimate, its sign or a p value would stop when it likes what it sees.

/// The number of repetitions of a quick run, fixed beforehand.
///
/// Six is the fewest that have a 95 % interval at all: all six fall on one side of the median
/// with probability 2/64, all of five with 2/32, which is more than 5 %. Its interval is
/// [`FIXED`](super::interval::Nominal::FIXED).
pub const QUICK_REPETITIONS: usize = 6;

/// The number of repetitions of the first phase of a thorough run.
///
/// The second phase is as long as the first one's width says, and the interval over ten values
/// ends at a value that one disturbance in ten repetitions often reaches: in simulation the second
/// phase was then fourteen times as long as after a first phase of thirty, for the same goal.
pub const THOROUGH_FIRST_PHASE: usize = 30;

/// The repetitions at the first look of an adaptive run.
///
/// The interval over six values is their whole range, and its width a poor guess: looking from six
/// on, the same rule holds the truth up to half a point less often in simulation.
const FIRST_LOOK: usize = 10;

/// The fewest repetitions in the second phase of a thorough run: from here on an interval covers
/// within half a point of its nominal share whatever the shape of the values, and it reaches
/// 1.3 % to either side where they spread by 2 % (docs/METHOD.md, sections 3 and 4).
const FEWEST_THOROUGH: usize = 15;

/// What a run asks of each of its cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Half the width of the interval as a fraction of the estimate: 0.02 is 2 % to either side.
    pub relative_half_width: f64,
    /// The repetitions at which it ends whatever the width.
    pub most_repetitions: usize,
}

/// What a rule may see of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The repetitions made so far. Those that failed count, or a case that always fails would
    /// never come to its end.
    pub repetitions: usize,
    /// Half the width of the interval as a fraction of the estimate; `None` while there is no
    /// interval, or no estimate that a width could be a fraction of.
    pub relative_half_width: Option<f64>,
}

/// What to do after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Repeat the case until it has been repeated this often in all, then look again.
    Continue {
        /// Always more than the repetitions at this look.
        until: usize,
    },
    /// No more repetitions.
    Stop {
        /// Whether the interval at this look is as narrow as the goal. When it is not, the most
        /// repetitions have been made.
        converged: bool,
    },
}

/// The adaptive rule, for an ordinary run: looks at 10 repetitions and then at half as many again
/// each time, and stops when two consecutive looks are narrow enough.
///
/// One narrow look is often luck, two in a row seldom; what luck remains is paid for by
/// [`ADAPTIVE`](super::interval::Nominal::ADAPTIVE), the interval that belongs to this rule.
/// Steps by half keep the number of looks, and so that price, logarithmic in the repetitions.
#[derive(Clone, Debug)]
pub struct Stopping {
    goal: Goal,
    last_look_was_narrow: bool,
}

impl Stopping {
    /// A rule that has not looked yet.
    pub fn new(goal: Goal) -> Self {
        Self { goal, last_look_was_narrow: false }
    }

    /// The repetitions to make before the first look.
    pub fn first_look(&self) -> usize {
        FIRST_LOOK.min(self.goal.most_repetitions)
    }

    /// Takes one look, and says what to do next.
    pub fn look(&mut self, look: Look) -> Next {
        let narrow =
            look.relative_half_width.is_some_and(|now| now <= self.goal.relative_half_width);
        let narrow_before = std::mem::replace(&mut self.last_look_was_narrow, narrow);
        if (narrow && narrow_before) || look.repetitions >= self.goal.most_repetitions {
            return Next::Stop { converged: narrow };
        }
        let half_as_many_again = look.repetitions + look.repetitions.div_ceil(2);
        let until = half_as_many_again.max(FIRST_LOOK).min(self.goal.most_repetitions);
        Next::Continue { until }
    }
}

/// The thorough rule, for figures that are published: the number of repetitions of a second phase,
/// fixed beforehand from the width that a first phase reached (Stein 1945).
///
/// A width shrinks with the square root of the repetitions, so the count is that of the first
/// phase times the square of the ratio of widths, at least 15 and at most what the goal allows,
/// which is also the answer when the first phase has no interval.
///
/// The second phase starts afresh: the values of the first are not used again. Both intervals are
/// [`FIXED`](super::interval::Nominal::FIXED). The first width is an estimate, so up to half of
/// all second phases miss the goal, one in ten by half of it or more; the width reached is
/// reported, never assumed.
pub fn thorough_repetitions(first_phase: Look, goal: Goal) -> usize {
    let wanted = first_phase.relative_half_width.map_or(goal.most_repetitions, |reached| {
        let ratio = reached / goal.relative_half_width;
        (first_phase.repetitions as f64 * ratio * ratio).ceil() as usize
    });
    wanted.max(FEWEST_THOROUGH).min(goal.most_repetitions)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOAL: Goal = Goal { relative_half_width: 0.02, most_repetitions: 60 };

    fn seen(repetitions: usize, relative_half_width: f64) -> Look {
        Look { repetitions, relative_half_width: Some(relative_half_width) }
    }

    #[test]
    fn looks_are_at_ten_and_then_at_half_as_many_again() {
        let mut rule = Stopping::new(GOAL);
        let mut at = rule.first_look();
        let mut looks = vec![at];
        while let Next::Continue { until } = rule.look(seen(at, 1.0)) {
            looks.push(until);
            at = until;
        }
        assert_eq!(looks, [10, 15, 23, 35, 53, 60]);
    }

    #[test]
    fn two_consecutive_narrow_looks_end_it() {
        let mut rule = Stopping::new(GOAL);
        assert_eq!(rule.look(seen(10, 0.02)), Next::Continue { until: 15 });
        assert_eq!(rule.look(seen(15, 0.02)), Next::Stop { converged: true });
    }

    #[test]
    fn a_wide_look_between_two_narrow_ones_starts_the_count_again() {
        let mut rule = Stopping::new(GOAL);
        assert_eq!(rule.look(seen(10, 0.01)), Next::Continue { until: 15 });
        assert_eq!(rule.look(seen(15, 0.03)), Next::Continue { until: 23 });
        assert_eq!(rule.look(seen(23, 0.01)), Next::Continue { until: 35 });
        assert_eq!(rule.look(seen(35, 0.01)), Next::Stop { converged: true });
    }

    #[test]
    fn the_most_repetitions_end_it_and_say_whether_the_goal_was_met() {
        for (width, converged) in [(Some(0.03), false), (None, false), (Some(0.02), true)] {
            let look = Look { repetitions: 60, relative_half_width: width };
            assert_eq!(Stopping::new(GOAL).look(look), Next::Stop { converged }, "{width:?}");
        }
    }

    #[test]
    fn a_case_that_has_no_interval_goes_on() {
        let mut rule = Stopping::new(GOAL);
        let look = |repetitions| Look { repetitions, relative_half_width: None };
        assert_eq!(rule.look(look(10)), Next::Continue { until: 15 });
        assert_eq!(rule.look(look(15)), Next::Continue { until: 23 });
    }

    #[test]
    fn a_small_allowance_is_one_look() {
        let goal = Goal { most_repetitions: 7, ..GOAL };
        let mut rule = Stopping::new(goal);
        assert_eq!(rule.first_look(), 7);
        assert_eq!(rule.look(seen(7, 0.01)), Next::Stop { converged: true });
    }

    #[test]
    fn a_thorough_run_scales_its_count_by_the_square_of_the_widths() {
        assert_eq!(thorough_repetitions(seen(10, 0.04), GOAL), 40);
        assert_eq!(thorough_repetitions(seen(10, 0.041), GOAL), 43);
        assert_eq!(thorough_repetitions(seen(10, 0.001), GOAL), 15, "never fewer than 15");
        assert_eq!(thorough_repetitions(seen(10, 0.9), GOAL), 60, "never more than allowed");
        let goal = Goal { most_repetitions: 12, ..GOAL };
        assert_eq!(thorough_repetitions(seen(10, 0.001), goal), 12, "the allowance comes first");
        let blind = Look { repetitions: 10, relative_half_width: None };
        assert_eq!(thorough_repetitions(blind, GOAL), 60, "unknown is not narrow");
        assert_eq!(thorough_repetitions(seen(10, f64::INFINITY), GOAL), 60);
    }

    proptest! {
        #[test]
        fn every_run_of_looks_ends_within_the_allowance(
            most_repetitions in 1usize..500,
            widths in prop::collection::vec(prop::option::of(0.0..0.04), 20),
        ) {
            let mut rule = Stopping::new(Goal { most_repetitions, ..GOAL });
            let mut repetitions = rule.first_look();
            let mut ended = false;
            for relative_half_width in widths {
                prop_assert!(repetitions <= most_repetitions);
                match rule.look(Look { repetitions, relative_half_width }) {
                    Next::Continue { until } => {
                        prop_assert!(until > repetitions);
                        repetitions = until;
                    }
                    Next::Stop { .. } => {
                        ended = true;
                        break;
                    }
                }
            }
            prop_assert!(ended);
        }
    }
}
