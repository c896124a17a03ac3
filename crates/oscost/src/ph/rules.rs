//! The published rules: when a profile is frozen, when it is found normal, how long a process with
//! anomalies waits.
//!
//! What must be exact at each call is in the programs (bpf/ph.bpf.c): what is new, what is learnt,
//! anomalies, the locality frame, and both limits of anomalies. What is judged from counts is here,
//! and the holder asks for it ten times a second.

use std::time::Duration;

use super::constants::Constants;
use super::profile::State;

/// What a judgement needs to know of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// What is done with its calls.
    pub state: State,
    /// The calls that it was trained with.
    pub train_count: u64,
    /// Those among them since the last new pair.
    pub last_mod_count: u64,
    /// When it was frozen, in seconds since 1970.
    pub frozen_at_s: Option<u64>,
}

/// What is to be done with a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing new has come for long.
    Freeze,
    /// It has been frozen for long enough: what was learnt is normal.
    StartNormal,
}

/// What is to be done with a profile at this time, in seconds since 1970.
pub fn judge(rules: &Constants, it: &Counts, now_s: u64) -> Option<Step> {
    match it.state {
        State::Training => is_settled(rules, it).then_some(Step::Freeze),
        State::Frozen => {
            // A clock that was set back makes the wait longer, not shorter.
            let frozen_s = it.frozen_at_s.map_or(0, |at| now_s.saturating_sub(at));
            (frozen_s >= u64::from(rules.normal_wait_s)).then_some(Step::StartNormal)
        }
        State::Normal => None,
    }
}

/// Whether so many calls have come since the last new pair, in comparison with those before it,
/// that the next one would be a surprise.
fn is_settled(rules: &Constants, it: &Counts) -> bool {
    // The two counts are not read at one moment.
    let Some(until_change) = it.train_count.checked_sub(it.last_mod_count) else { return false };
    let trained = u128::from(it.train_count) * u128::from(rules.normal_factor_den);
    let wanted = u128::from(until_change) * u128::from(rules.normal_factor);
    it.last_mod_count >= u64::from(rules.mod_min)
        && until_change >= u64::from(rules.normal_min.max(1))
        && trained > wanted
}

/// The unit of delays: a tick of the clock of the study's kernel.
const JIFFY: Duration = Duration::from_millis(10);
/// The largest power of two that is waited for: with a factor of 1, three hours. Above, a process
/// would wait for years, and whoever ends the monitor continues it anyway.
const LARGEST_POWER: u32 = 20;

/// How long a process is stopped that has this many anomalies in its locality frame.
pub fn delay(rules: &Constants, locality_count: u8) -> Duration {
    let power = u32::from(locality_count).min(LARGEST_POWER);
    JIFFY.saturating_mul(rules.delay_factor).saturating_mul(1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training(train_count: u64, last_mod_count: u64) -> Counts {
        Counts { state: State::Training, train_count, last_mod_count, frozen_at_s: None }
    }

    fn judged(it: Counts) -> Option<Step> {
        judge(&Constants::default(), &it, 0)
    }

    #[test]
    fn a_profile_freezes_when_it_was_trained_with_four_times_what_brought_its_pairs() {
        // The last new pair came with call 1000.
        assert_eq!(judged(training(4_000, 3_000)), None);
        assert_eq!(judged(training(4_001, 3_001)), Some(Step::Freeze));
        assert_eq!(judged(training(400_001, 300_001)), Some(Step::Freeze));
    }

    #[test]
    fn a_profile_of_few_calls_waits_for_more() {
        assert_eq!(judged(training(100, 90)), None, "fewer than 500 without a new pair");
        assert_eq!(judged(training(510, 500)), Some(Step::Freeze));
        assert_eq!(judged(training(504, 500)), None, "fewer than 5 brought pairs");
        assert_eq!(judged(training(600, 600)), None, "nothing was learnt at all");
        let none = Constants { normal_min: 0, ..Constants::default() };
        assert_eq!(judge(&none, &training(600, 600), 0), None);
    }

    #[test]
    fn counts_that_do_not_go_together_decide_nothing() {
        assert_eq!(judged(training(600, 601)), None);
        assert_eq!(judged(training(u64::MAX, u64::MAX - 10)), Some(Step::Freeze));
    }

    #[test]
    fn a_frozen_profile_becomes_normal_after_a_week() {
        let week = 7 * 24 * 60 * 60;
        let at = |now_s| {
            let it =
                Counts { state: State::Frozen, frozen_at_s: Some(1_000), ..training(4_001, 3_001) };
            judge(&Constants::default(), &it, now_s)
        };
        assert_eq!(at(1_000 + week - 1), None);
        assert_eq!(at(1_000 + week), Some(Step::StartNormal));
        assert_eq!(at(500), None, "the clock was set back");
    }

    #[test]
    fn a_normal_profile_stays_what_it_is() {
        let it = Counts { state: State::Normal, ..training(400_001, 300_001) };
        assert_eq!(judged(it), None);
    }

    #[test]
    fn a_delay_doubles_with_each_anomaly_in_the_frame_and_is_off_as_published() {
        assert_eq!(delay(&Constants::default(), 128), Duration::ZERO);
        let on = Constants { delay_factor: 1, ..Constants::default() };
        assert_eq!(delay(&on, 0), Duration::from_millis(10));
        assert_eq!(delay(&on, 1), Duration::from_millis(20));
        assert_eq!(delay(&on, 12), Duration::from_millis(40_960));
        assert_eq!(delay(&on, 128), delay(&on, 20));
        assert!(delay(&Constants { delay_factor: u32::MAX, ..on }, 255) > delay(&on, 255));
    }
}
