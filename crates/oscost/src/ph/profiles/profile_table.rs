//! The table of profiles in the monitor process: the executable and the training progress of each
//! slot, and applying the rules to them.

use std::collections::BTreeMap;

use crate::ph::constants::Constants;
use crate::ph::event::{Event, EventKind};
use crate::ph::executable_path;
use crate::ph::monitor::{
    Action, ChangeCounts, Control, Monitor, PairMap, SlotEntry, UNTRACKED_SLOT,
};
use crate::ph::processes::monitor_process::{Anomaly, MonitorEvent, StateChange};
use crate::ph::profiles::profile::{Profile, State};
use crate::ph::profiles::training_progress::{SlotCounts, TrainingProgress};
use crate::ph::rules::{Step, judge};

/// The profiles by slot.
#[derive(Debug)]
pub struct ProfileTable {
    rules: Constants,
    by_slot: BTreeMap<u32, TrainingProgress>,
    /// State changes by the BPF programs that were not reported yet.
    pending_events: Vec<MonitorEvent>,
}

/// The totals of all executables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorTotals {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls not observed and events not reported for lack of memory.
    pub lost: u64,
}

impl ProfileTable {
    /// The table of a monitor that was loaded with these profiles.
    pub fn new(rules: Constants, profiles: Vec<Profile>) -> Self {
        let by_slot = (1..).zip(profiles.iter().map(TrainingProgress::from_profile)).collect();
        Self { rules, by_slot, pending_events: Vec::new() }
    }

    /// Records an event of the BPF programs; returns the event to report.
    pub fn record_event(&mut self, event: &Event) -> Option<MonitorEvent> {
        match &event.kind {
            EventKind::NewExecutable { key, path } => {
                let executable = executable_path::absolute_path(*key, path);
                let progress = TrainingProgress::new(*key, executable.clone(), &self.rules);
                // If the slot was found before its event, its counts are kept.
                self.by_slot.entry(event.slot).or_insert(progress).executable = executable.clone();
                Some(MonitorEvent::StateChanged(StateChange::new(executable, State::Training)))
            }
            EventKind::Anomaly { pair, anomalies, .. } => Some(MonitorEvent::Anomaly(Anomaly {
                pid: event.process,
                comm: event.comm.clone(),
                executable: self.executable(event.slot),
                current: pair.current,
                previous: pair.previous,
                position: pair.position,
                locality: u32::from(event.locality_count),
                anomalies: *anomalies,
            })),
            EventKind::Retrained { .. } => {
                let progress = self.by_slot.get_mut(&event.slot)?;
                progress.state = State::Training;
                Some(MonitorEvent::StateChanged(StateChange::new(
                    progress.executable.clone(),
                    State::Training,
                )))
            }
            EventKind::Stopped | EventKind::Tolerised | EventKind::Marked { .. } => None,
        }
    }

    fn executable(&self, slot: u32) -> String {
        self.by_slot.get(&slot).map_or_else(String::new, |progress| progress.executable.clone())
    }

    /// Applies the rules at a time, in seconds since 1970; returns the changes.
    pub fn apply_rules(
        &mut self,
        monitor: &Monitor,
        now_s: u64,
    ) -> Result<Vec<MonitorEvent>, String> {
        self.find_unreported(monitor)?;
        for (slot, progress) in &mut self.by_slot {
            let before = progress.state;
            apply_rules(&self.rules, monitor, *slot, progress, now_s)?;
            if progress.state != before {
                let change = StateChange::new(progress.executable.clone(), progress.state);
                self.pending_events.push(MonitorEvent::StateChanged(change));
            }
        }
        Ok(std::mem::take(&mut self.pending_events))
    }

    /// Adds executables whose event was lost, but which have a slot.
    fn find_unreported(&mut self, monitor: &Monitor) -> Result<(), String> {
        if monitor.slots_in_use()?.len() > self.by_slot.len() {
            for SlotEntry { key, slot } in monitor.executables()? {
                let progress = || TrainingProgress::new(key, String::new(), &self.rules);
                self.by_slot.entry(slot).or_insert_with(progress);
            }
        }
        Ok(())
    }

    /// The state of a slot's profile when the rules were last applied.
    pub fn state(&self, slot: u32) -> Option<State> {
        self.by_slot.get(&slot).map(|progress| progress.state)
    }

    /// The totals of all slots.
    pub fn totals(&self, monitor: &Monitor) -> Result<MonitorTotals, String> {
        let untracked = monitor.call_counts(UNTRACKED_SLOT)?;
        let mut totals =
            MonitorTotals { calls: untracked.calls, lost: untracked.lost + untracked.dropped };
        for slot in monitor.slots_in_use()? {
            totals.calls += monitor.call_counts(slot)?.calls;
        }
        Ok(totals)
    }

    /// The profiles of the executables that made calls; the others are unchanged.
    pub fn profiles(&self, monitor: &Monitor) -> Result<Vec<Profile>, String> {
        let mut all = Vec::new();
        for (slot, progress) in &self.by_slot {
            let SlotReading { counts, changes } = read_slot(monitor, *slot)?;
            if counts.calls == 0 {
                continue;
            }
            let mut profile = progress.profile(counts, changes.anomalies, &self.rules);
            profile.train = monitor.pairs(PairMap::Train, *slot)?;
            profile.test = monitor.pairs(PairMap::Test, *slot)?;
            all.push(profile);
        }
        Ok(all)
    }
}

/// The counts of a slot at one moment.
struct SlotReading {
    counts: SlotCounts,
    changes: ChangeCounts,
}

/// Reads the counts of a slot; those of changes first, so that no change precedes its call.
fn read_slot(monitor: &Monitor, slot: u32) -> Result<SlotReading, String> {
    let changes = monitor.change_counts(slot)?;
    let calls = monitor.call_counts(slot)?;
    let counts = SlotCounts {
        calls: calls.calls,
        trained: calls.trained,
        changes: changes.changes,
        changed_at: changes.changed_at,
    };
    Ok(SlotReading { counts, changes })
}

fn apply_rules(
    rules: &Constants,
    monitor: &Monitor,
    slot: u32,
    progress: &mut TrainingProgress,
    now_s: u64,
) -> Result<(), String> {
    let control = monitor.control(slot)?;
    match control.action {
        Action::ByState(state) => progress.state = state,
        Action::Unlearn => return unlearn(monitor, slot, progress, control),
        // Only this process sets it, during a copy.
        Action::Paused => return Ok(()),
    }
    let SlotReading { counts, changes } = read_slot(monitor, slot)?;
    match judge(rules, &progress.counts(counts), now_s) {
        Some(Step::Freeze) => {
            let to = |state| Control { action: Action::ByState(state), ..control };
            monitor.set_control(slot, to(State::Frozen))?;
            // A new pair may have been learned meanwhile, before the slot was frozen.
            if monitor.change_counts(slot)?.changes == counts.changes {
                progress.state = State::Frozen;
                progress.frozen_at_s = Some(now_s);
            } else {
                monitor.set_control(slot, to(State::Training))?;
            }
        }
        Some(Step::StartNormal) => {
            let paused = Control { action: Action::Paused, ..control };
            monitor.set_control(slot, paused)?;
            monitor.copy(PairMap::Train, PairMap::Test, slot)?;
            monitor.set_change_counts(slot, ChangeCounts { anomalies: 0, ..changes })?;
            progress.restart(counts);
            progress.state = State::Normal;
            progress.frozen_at_s = None;
            let action = Action::ByState(State::Normal);
            monitor.set_control(slot, Control { action, epoch: control.epoch.wrapping_add(1) })?;
        }
        None => {}
    }
    Ok(())
}

/// A task had too many anomalies: what was learned since the profile became normal is discarded.
fn unlearn(
    monitor: &Monitor,
    slot: u32,
    progress: &mut TrainingProgress,
    control: Control,
) -> Result<(), String> {
    monitor.copy(PairMap::Test, PairMap::Train, slot)?;
    let SlotReading { counts, .. } = read_slot(monitor, slot)?;
    progress.restart(counts);
    // Meanwhile it may have exceeded the anomaly limit, and is trained again.
    if monitor.control(slot)? == control {
        monitor.set_control(slot, Control { action: Action::ByState(State::Normal), ..control })?;
    }
    Ok(())
}
