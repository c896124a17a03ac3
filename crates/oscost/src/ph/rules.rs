//! The published rules: when a profile is frozen, when it becomes normal, and how long a process
//! with anomalies is delayed.
//!
//! The BPF programs (bpf/ph.bpf.c) do what must be exact at each call: detecting and learning new
//! pairs, anomalies, the locality frame, and both limits of anomalies. The rules here depend on
//! counts, and the monitor process evaluates them ten times a second.

use std::time::Duration;

use super::constants::Constants;
use super::profiles::profile::State;

/// The counts of a profile that decide its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Its state.
    pub state: State,
    /// The number of calls it was trained with.
    pub train_count: u64,
    /// The number of these since the last new pair.
    pub last_mod_count: u64,
    /// When it was frozen, in seconds since 1970.
    pub frozen_at_s: Option<u64>,
}

/// A change of the state of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// No new pairs were found for long enough.
    Freeze,
    /// It was frozen for long enough: what was learned is normal.
    StartNormal,
}

/// The change of state that is due at a time, in seconds since 1970.
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

/// Whether the number of calls since the last new pair is large compared with the number before it.
fn is_settled(rules: &Constants, it: &Counts) -> bool {
    // The two counts are not read at the same time.
    let Some(until_change) = it.train_count.checked_sub(it.last_mod_count) else { return false };
    let trained = u128::from(it.train_count) * u128::from(rules.normal_factor_den);
    let wanted = u128::from(until_change) * u128::from(rules.normal_factor);
    it.last_mod_count >= u64::from(rules.mod_min)
        && until_change >= u64::from(rules.normal_min.max(1))
        && trained > wanted
}

/// The unit of delays: a tick of the clock of the study's kernel.
const JIFFY: Duration = Duration::from_millis(10);
/// The largest exponent of a delay: with a factor of 1, three hours. Larger ones would be years,
/// and the process continues when the monitor ends.
const MAX_EXPONENT: u32 = 20;

/// The delay of a process with this many anomalies in its locality frame.
pub fn delay(rules: &Constants, locality_count: u8) -> Duration {
    let exponent = u32::from(locality_count).min(MAX_EXPONENT);
    JIFFY.saturating_mul(rules.delay_factor).saturating_mul(1 << exponent)
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
    fn a_profile_freezes_after_four_times_the_calls_up_to_its_last_new_pair() {
        // The last new pair came with call 1000.
        assert_eq!(judged(training(4_000, 3_000)), None);
        assert_eq!(judged(training(4_001, 3_001)), Some(Step::Freeze));
        assert_eq!(judged(training(400_001, 300_001)), Some(Step::Freeze));
    }

    #[test]
    fn a_profile_of_few_calls_waits_for_more() {
        assert_eq!(judged(training(100, 90)), None, "fewer than 500 without a new pair");
        assert_eq!(judged(training(510, 500)), Some(Step::Freeze));
        assert_eq!(judged(training(504, 500)), None, "fewer than 5 up to the last new pair");
        assert_eq!(judged(training(600, 600)), None, "nothing was learned");
        let none = Constants { normal_min: 0, ..Constants::default() };
        assert_eq!(judge(&none, &training(600, 600), 0), None);
    }

    #[test]
    fn inconsistent_counts_decide_nothing() {
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
    fn a_normal_profile_stays_normal() {
        let it = Counts { state: State::Normal, ..training(400_001, 300_001) };
        assert_eq!(judged(it), None);
    }

    #[test]
    fn a_delay_doubles_with_each_anomaly_in_the_frame_and_is_off_by_default() {
        assert_eq!(delay(&Constants::default(), 128), Duration::ZERO);
        let on = Constants { delay_factor: 1, ..Constants::default() };
        assert_eq!(delay(&on, 0), Duration::from_millis(10));
        assert_eq!(delay(&on, 1), Duration::from_millis(20));
        assert_eq!(delay(&on, 12), Duration::from_millis(40_960));
        assert_eq!(delay(&on, 128), delay(&on, 20));
        assert!(delay(&Constants { delay_factor: u32::MAX, ..on }, 255) > delay(&on, 255));
    }
}
