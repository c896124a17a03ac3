//! What the counts of a slot in the kernel mean for its profile.
//!
//! The kernel's counts only ever rise; what a profile says of its training begins anew when it
//! becomes normal, and goes on where a stored one left off.

use super::constants::Constants;
use super::profile::{Key, Profile, State};
use super::rules;

/// The counts of a slot at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Calls.
    pub calls: u64,
    /// Calls that were looked at to learn.
    pub trained: u64,
    /// Calls that brought new pairs.
    pub changes: u64,
    /// `trained` at the last of them.
    pub changed_at: u64,
}

/// A slot, as its holder knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingProgress {
    /// Which executable.
    pub key: Key,
    /// Its path; empty where that is not known.
    pub executable: String,
    /// The state that was told last.
    pub state: State,
    /// When it was frozen, in seconds since 1970.
    pub frozen_at_s: Option<u64>,
    /// The window that its pairs were learnt through.
    window: u32,
    /// Calls before this monitor.
    calls: u64,
    /// The training's counts at `base`.
    train_count: u64,
    last_mod_count: u64,
    base: SlotCounts,
}

impl TrainingProgress {
    /// Of an executable that was not known before.
    pub fn new(key: Key, executable: String, rules: &Constants) -> Self {
        Self { window: rules.window, ..Self::from_profile(&Profile::new(key, executable)) }
    }

    /// Of one that was.
    pub fn from_profile(profile: &Profile) -> Self {
        Self {
            key: profile.key,
            executable: profile.executable.clone(),
            state: profile.state,
            frozen_at_s: profile.frozen_at_s,
            window: profile.learnt_with.window,
            calls: profile.calls,
            train_count: profile.train_count,
            last_mod_count: profile.last_mod_count,
            base: SlotCounts::default(),
        }
    }

    /// Its training begins anew.
    pub fn begin(&mut self, now: SlotCounts) {
        (self.train_count, self.last_mod_count, self.base) = (0, 0, now);
    }

    /// What the rules judge by.
    pub fn counts(&self, now: SlotCounts) -> rules::Counts {
        let since = now.trained.saturating_sub(self.base.trained);
        let last_mod_count = match now.changes == self.base.changes {
            true => self.last_mod_count + since,
            false => now.trained.saturating_sub(now.changed_at),
        };
        rules::Counts {
            state: self.state,
            train_count: self.train_count + since,
            last_mod_count,
            frozen_at_s: self.frozen_at_s,
        }
    }

    /// Its profile, as it is kept; without its pairs. Of two windows that it was learnt through, the
    /// smaller one is told: through that no pair is lacking.
    pub fn profile(&self, now: SlotCounts, anomalies: u64, rules: &Constants) -> Profile {
        let counts = self.counts(now);
        let mut profile = Profile::new(self.key, self.executable.clone());
        let window = self.window.min(rules.window);
        profile.learnt_with = Constants { window, ..*rules };
        profile.state = self.state;
        profile.calls = self.calls.saturating_add(now.calls);
        profile.train_count = counts.train_count;
        profile.last_mod_count = counts.last_mod_count.min(counts.train_count);
        profile.anomalies = anomalies;
        profile.frozen_at_s = self.frozen_at_s.filter(|_| self.state == State::Frozen);
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { device: 1, inode: 2 };

    fn rules() -> Constants {
        Constants { window: 7, ..Constants::default() }
    }

    fn raw(trained: u64, changes: u64, changed_at: u64) -> SlotCounts {
        SlotCounts { calls: trained + 1, trained, changes, changed_at }
    }

    fn train(track: &TrainingProgress, now: SlotCounts) -> (u64, u64) {
        let counts = track.counts(now);
        (counts.train_count, counts.last_mod_count)
    }

    #[test]
    fn a_new_profile_counts_from_nothing() {
        let track = TrainingProgress::new(KEY, String::new(), &rules());
        assert_eq!(train(&track, raw(0, 0, 0)), (0, 0));
        assert_eq!(train(&track, raw(100, 3, 40)), (100, 60));
    }

    #[test]
    fn a_stored_profile_goes_on_where_it_left_off() {
        let mut stored = Profile::new(KEY, "/x".to_owned());
        (stored.calls, stored.train_count, stored.last_mod_count) = (2_000, 1_000, 900);
        let track = TrainingProgress::from_profile(&stored);
        assert_eq!(train(&track, raw(50, 0, 0)), (1_050, 950), "nothing new since");
        assert_eq!(train(&track, raw(50, 1, 30)), (1_050, 20), "something new");
        assert_eq!(track.profile(raw(50, 1, 30), 7, &rules()).calls, 2_051);
        assert_eq!(track.profile(raw(50, 1, 30), 7, &rules()).anomalies, 7);
    }

    #[test]
    fn a_training_that_begins_anew_forgets_its_counts_and_no_calls() {
        let mut track = TrainingProgress::new(KEY, String::new(), &rules());
        track.begin(raw(100, 3, 40));
        assert_eq!(train(&track, raw(100, 3, 40)), (0, 0));
        assert_eq!(train(&track, raw(150, 3, 40)), (50, 50));
        assert_eq!(train(&track, raw(150, 4, 120)), (50, 30));
        assert_eq!(track.profile(raw(150, 4, 120), 0, &rules()).calls, 151);
    }

    #[test]
    fn a_profile_tells_the_smallest_window_that_it_was_learnt_through() {
        let window = |track: &TrainingProgress| {
            track.profile(SlotCounts::default(), 0, &rules()).learnt_with.window
        };
        assert_eq!(window(&TrainingProgress::new(KEY, String::new(), &rules())), 7);
        let mut stored = Profile::new(KEY, String::new());
        assert_eq!(window(&TrainingProgress::from_profile(&stored)), 7, "it was 9");
        stored.learnt_with.window = 5;
        assert_eq!(window(&TrainingProgress::from_profile(&stored)), 5);
    }

    #[test]
    fn counts_of_two_moments_make_no_profile_that_cannot_be() {
        let track = TrainingProgress::new(KEY, String::new(), &rules());
        let profile = track.profile(raw(10, 1, 12), 0, &rules());
        assert!(profile.last_mod_count <= profile.train_count);
        let late = track.profile(
            SlotCounts { calls: 5, trained: 5, changes: 0, changed_at: 9 },
            0,
            &rules(),
        );
        assert_eq!((late.train_count, late.last_mod_count), (5, 5));
    }
}
