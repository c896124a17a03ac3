//! The training counts of a profile, from the counts of its slot in the kernel.
//!
//! The kernel's counts only increase. The counts of a profile restart when it becomes normal, and
//! continue those of a stored profile.

use crate::ph::constants::Constants;
use crate::ph::profiles::profile::{Key, Profile, State};
use crate::ph::rules;

/// The counts of a slot at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that were examined in training.
    pub trained: u64,
    /// The number of calls with new pairs.
    pub changes: u64,
    /// `trained` at the last of them.
    pub changed_at: u64,
}

/// The profile of a slot without its pairs, and where its counts began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingProgress {
    /// The executable.
    pub key: Key,
    /// Its path; empty if unknown.
    pub executable: String,
    /// The last known state.
    pub state: State,
    /// When it was frozen, in seconds since 1970.
    pub frozen_at_s: Option<u64>,
    /// The window that its pairs were learned with.
    window: u32,
    /// The number of calls before this monitor began.
    calls: u64,
    /// The counts of the profile when those of the slot were `base`.
    train_count: u64,
    last_mod_count: u64,
    base: SlotCounts,
}

impl TrainingProgress {
    /// Of an executable without a profile.
    pub fn new(key: Key, executable: String, rules: &Constants) -> Self {
        Self { window: rules.window, ..Self::from_profile(&Profile::new(key, executable)) }
    }

    /// Of an executable with a profile.
    pub fn from_profile(profile: &Profile) -> Self {
        Self {
            key: profile.key,
            executable: profile.executable.clone(),
            state: profile.state,
            frozen_at_s: profile.frozen_at_s,
            window: profile.learned_with.window,
            calls: profile.calls,
            train_count: profile.train_count,
            last_mod_count: profile.last_mod_count,
            base: SlotCounts::default(),
        }
    }

    /// Restarts the training counts.
    pub fn restart(&mut self, now: SlotCounts) {
        (self.train_count, self.last_mod_count, self.base) = (0, 0, now);
    }

    /// The counts that the rules depend on.
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

    /// The profile as it is saved, without its pairs. If it was learned with two windows, it has
    /// the smaller one, for which its pairs are complete.
    pub fn profile(&self, now: SlotCounts, anomalies: u64, rules: &Constants) -> Profile {
        let counts = self.counts(now);
        let mut profile = Profile::new(self.key, self.executable.clone());
        let window = self.window.min(rules.window);
        profile.learned_with = Constants { window, ..*rules };
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

    fn slot_counts(trained: u64, changes: u64, changed_at: u64) -> SlotCounts {
        SlotCounts { calls: trained + 1, trained, changes, changed_at }
    }

    fn training_counts(progress: &TrainingProgress, now: SlotCounts) -> (u64, u64) {
        let counts = progress.counts(now);
        (counts.train_count, counts.last_mod_count)
    }

    #[test]
    fn a_new_profile_counts_from_zero() {
        let progress = TrainingProgress::new(KEY, String::new(), &rules());
        assert_eq!(training_counts(&progress, slot_counts(0, 0, 0)), (0, 0));
        assert_eq!(training_counts(&progress, slot_counts(100, 3, 40)), (100, 60));
    }

    #[test]
    fn the_counts_of_a_stored_profile_continue() {
        let mut stored = Profile::new(KEY, "/x".to_owned());
        (stored.calls, stored.train_count, stored.last_mod_count) = (2_000, 1_000, 900);
        let progress = TrainingProgress::from_profile(&stored);
        assert_eq!(
            training_counts(&progress, slot_counts(50, 0, 0)),
            (1_050, 950),
            "no new pair since"
        );
        assert_eq!(training_counts(&progress, slot_counts(50, 1, 30)), (1_050, 20), "a new pair");
        assert_eq!(progress.profile(slot_counts(50, 1, 30), 7, &rules()).calls, 2_051);
        assert_eq!(progress.profile(slot_counts(50, 1, 30), 7, &rules()).anomalies, 7);
    }

    #[test]
    fn a_restarted_training_keeps_the_number_of_calls() {
        let mut progress = TrainingProgress::new(KEY, String::new(), &rules());
        progress.restart(slot_counts(100, 3, 40));
        assert_eq!(training_counts(&progress, slot_counts(100, 3, 40)), (0, 0));
        assert_eq!(training_counts(&progress, slot_counts(150, 3, 40)), (50, 50));
        assert_eq!(training_counts(&progress, slot_counts(150, 4, 120)), (50, 30));
        assert_eq!(progress.profile(slot_counts(150, 4, 120), 0, &rules()).calls, 151);
    }

    #[test]
    fn a_profile_has_the_smallest_window_that_it_was_learned_with() {
        let window = |progress: &TrainingProgress| {
            progress.profile(SlotCounts::default(), 0, &rules()).learned_with.window
        };
        assert_eq!(window(&TrainingProgress::new(KEY, String::new(), &rules())), 7);
        let mut stored = Profile::new(KEY, String::new());
        assert_eq!(window(&TrainingProgress::from_profile(&stored)), 7, "it was 9");
        stored.learned_with.window = 5;
        assert_eq!(window(&TrainingProgress::from_profile(&stored)), 5);
    }

    #[test]
    fn counts_read_at_different_times_make_a_consistent_profile() {
        let progress = TrainingProgress::new(KEY, String::new(), &rules());
        let profile = progress.profile(slot_counts(10, 1, 12), 0, &rules());
        assert!(profile.last_mod_count <= profile.train_count);
        let late = progress.profile(
            SlotCounts { calls: 5, trained: 5, changes: 0, changed_at: 9 },
            0,
            &rules(),
        );
        assert_eq!((late.train_count, late.last_mod_count), (5, 5));
    }
}
