//! The table of profiles in the monitor process: the executable and the training progress of each
//! slot, and applying the rules to them.

use std::collections::BTreeMap;

use super::constants::Constants;
use super::event::{Event, Kind};
use super::executable_path;
use super::monitor::{Action, Control, Monitor, PairMap, RareCounts, UNTRACKED_SLOT};
use super::monitor_process::{Anomaly, MonitorEvent, StateChange};
use super::profile::{Profile, State};
use super::rules::{Step, judge};
use super::training_progress::{SlotCounts, TrainingProgress};

/// The profiles by slot.
#[derive(Debug)]
pub struct ProfileTable {
    rules: Constants,
    tracks: BTreeMap<u32, TrainingProgress>,
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
    pub fn new(rules: Constants, known: Vec<Profile>) -> Self {
        let tracks = (1..).zip(known.iter().map(TrainingProgress::from_profile)).collect();
        Self { rules, tracks, pending_events: Vec::new() }
    }

    /// Records an event of the BPF programs; returns the event to report.
    pub fn record_event(&mut self, event: &Event) -> Option<MonitorEvent> {
        match &event.kind {
            Kind::Born { key, path } => {
                let executable = executable_path::absolute_path(*key, path);
                let track = TrainingProgress::new(*key, executable.clone(), &self.rules);
                // If the slot was found before its event, its counts are kept.
                self.tracks.entry(event.slot).or_insert(track).executable = executable.clone();
                Some(MonitorEvent::StateChanged(StateChange::new(executable, State::Training)))
            }
            Kind::Anomaly { pair, anomalies, .. } => Some(MonitorEvent::Anomaly(Anomaly {
                pid: event.process,
                comm: event.comm.clone(),
                executable: self.executable(event.slot),
                current: pair.current,
                previous: pair.previous,
                position: pair.position,
                locality: u32::from(event.locality_count),
                anomalies: *anomalies,
            })),
            Kind::Aborted { .. } => {
                let track = self.tracks.get_mut(&event.slot)?;
                track.state = State::Training;
                Some(MonitorEvent::StateChanged(StateChange::new(
                    track.executable.clone(),
                    State::Training,
                )))
            }
            Kind::Stopped | Kind::Tolerised | Kind::Marked { .. } => None,
        }
    }

    fn executable(&self, slot: u32) -> String {
        self.tracks.get(&slot).map_or_else(String::new, |track| track.executable.clone())
    }

    /// Applies the rules at a time, in seconds since 1970; returns the changes.
    pub fn apply_rules(
        &mut self,
        monitor: &Monitor,
        now_s: u64,
    ) -> Result<Vec<MonitorEvent>, String> {
        self.find_unreported(monitor)?;
        for (slot, track) in &mut self.tracks {
            let before = track.state;
            apply_rules(&self.rules, monitor, *slot, track, now_s)?;
            if track.state != before {
                let change = StateChange::new(track.executable.clone(), track.state);
                self.pending_events.push(MonitorEvent::StateChanged(change));
            }
        }
        Ok(std::mem::take(&mut self.pending_events))
    }

    /// Adds executables whose event was lost, but which have a slot.
    fn find_unreported(&mut self, monitor: &Monitor) -> Result<(), String> {
        if monitor.slots_in_use()?.len() > self.tracks.len() {
            for (key, slot) in monitor.executables()? {
                let track = || TrainingProgress::new(key, String::new(), &self.rules);
                self.tracks.entry(slot).or_insert_with(track);
            }
        }
        Ok(())
    }

    /// The state of a slot's profile when the rules were last applied.
    pub fn state(&self, slot: u32) -> Option<State> {
        self.tracks.get(&slot).map(|track| track.state)
    }

    /// The totals of all slots.
    pub fn totals(&self, monitor: &Monitor) -> Result<MonitorTotals, String> {
        let untracked = monitor.counts(UNTRACKED_SLOT)?;
        let mut totals =
            MonitorTotals { calls: untracked.calls, lost: untracked.lost + untracked.dropped };
        for slot in monitor.slots_in_use()? {
            totals.calls += monitor.counts(slot)?.calls;
        }
        Ok(totals)
    }

    /// The profiles of the executables that made calls; the others are unchanged.
    pub fn profiles(&self, monitor: &Monitor) -> Result<Vec<Profile>, String> {
        let mut all = Vec::new();
        for (slot, track) in &self.tracks {
            let SlotReading { counts: raw, rare } = read_slot(monitor, *slot)?;
            if raw.calls == 0 {
                continue;
            }
            let mut profile = track.profile(raw, rare.anomalies, &self.rules);
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
    rare: RareCounts,
}

/// Reads the counts of a slot; the rare ones first, so that no change precedes its call.
fn read_slot(monitor: &Monitor, slot: u32) -> Result<SlotReading, String> {
    let rare = monitor.rare(slot)?;
    let counts = monitor.counts(slot)?;
    let counts = SlotCounts {
        calls: counts.calls,
        trained: counts.trained,
        changes: rare.changes,
        changed_at: rare.changed_at,
    };
    Ok(SlotReading { counts, rare })
}

fn apply_rules(
    rules: &Constants,
    monitor: &Monitor,
    slot: u32,
    track: &mut TrainingProgress,
    now_s: u64,
) -> Result<(), String> {
    let control = monitor.control(slot)?;
    match control.action {
        Action::ByState(state) => track.state = state,
        Action::Unlearn => return unlearn(monitor, slot, track, control),
        // Only this process sets it, during a copy.
        Action::Paused => return Ok(()),
    }
    let SlotReading { counts: raw, rare } = read_slot(monitor, slot)?;
    match judge(rules, &track.counts(raw), now_s) {
        Some(Step::Freeze) => {
            let to = |state| Control { action: Action::ByState(state), ..control };
            monitor.set_control(slot, to(State::Frozen))?;
            // A new pair may have been learnt meanwhile, before the slot was frozen.
            if monitor.rare(slot)?.changes == raw.changes {
                track.state = State::Frozen;
                track.frozen_at_s = Some(now_s);
            } else {
                monitor.set_control(slot, to(State::Training))?;
            }
        }
        Some(Step::StartNormal) => {
            let paused = Control { action: Action::Paused, ..control };
            monitor.set_control(slot, paused)?;
            monitor.copy(PairMap::Train, PairMap::Test, slot)?;
            monitor.set_rare(slot, RareCounts { anomalies: 0, ..rare })?;
            track.begin(raw);
            track.state = State::Normal;
            track.frozen_at_s = None;
            let action = Action::ByState(State::Normal);
            monitor.set_control(slot, Control { action, epoch: control.epoch.wrapping_add(1) })?;
        }
        None => {}
    }
    Ok(())
}

/// A task had too many anomalies: what was learnt since the profile became normal is discarded.
fn unlearn(
    monitor: &Monitor,
    slot: u32,
    track: &mut TrainingProgress,
    control: Control,
) -> Result<(), String> {
    monitor.copy(PairMap::Test, PairMap::Train, slot)?;
    let SlotReading { counts: raw, .. } = read_slot(monitor, slot)?;
    track.begin(raw);
    // Meanwhile it may have exceeded the anomaly limit, and is trained again.
    if monitor.control(slot)? == control {
        monitor.set_control(slot, Control { action: Action::ByState(State::Normal), ..control })?;
    }
    Ok(())
}
