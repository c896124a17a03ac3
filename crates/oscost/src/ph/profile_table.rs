//! The holder's books: which slot is which executable's, and what the rules say of each.

use std::collections::BTreeMap;

use super::constants::Constants;
use super::event::{Event, Kind};
use super::executable_path;
use super::monitor::{Action, Control, Monitor, PairMap, RareCounts, UNTRACKED_SLOT};
use super::monitor_process::{Anomaly, MonitorEvent, StateChange};
use super::profile::{Profile, State};
use super::rules::{Step, judge};
use super::training_progress::{SlotCounts, TrainingProgress};

/// All slots.
#[derive(Debug)]
pub struct ProfileTable {
    rules: Constants,
    tracks: BTreeMap<u32, TrainingProgress>,
    /// State changes that the programs have made, and that nobody was told of.
    pending_events: Vec<MonitorEvent>,
}

/// What was seen, all executables together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorTotals {
    /// The calls.
    pub calls: u64,
    /// What was not looked at, or not said, for lack of room.
    pub lost: u64,
}

impl ProfileTable {
    /// The books of a monitor that was loaded with these profiles.
    pub fn new(rules: Constants, known: Vec<Profile>) -> Self {
        let tracks = (1..).zip(known.iter().map(TrainingProgress::from_profile)).collect();
        Self { rules, tracks, pending_events: Vec::new() }
    }

    /// Takes up an event; says what is to be told of it.
    pub fn record_event(&mut self, event: &Event) -> Option<MonitorEvent> {
        match &event.kind {
            Kind::Born { key, path } => {
                let executable = executable_path::absolute_path(*key, path);
                let track = TrainingProgress::new(*key, executable.clone(), &self.rules);
                // A slot that was found without its event has its counts already.
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

    /// Does what the rules say at this time, in seconds since 1970; says what has changed.
    pub fn judge(&mut self, monitor: &Monitor, now_s: u64) -> Result<Vec<MonitorEvent>, String> {
        self.find_unreported(monitor)?;
        for (slot, track) in &mut self.tracks {
            let was = track.state;
            judge_one(&self.rules, monitor, *slot, track, now_s)?;
            if track.state != was {
                let became = StateChange::new(track.executable.clone(), track.state);
                self.pending_events.push(MonitorEvent::StateChanged(became));
            }
        }
        Ok(std::mem::take(&mut self.pending_events))
    }

    /// An executable whose event was lost has a slot all the same.
    fn find_unreported(&mut self, monitor: &Monitor) -> Result<(), String> {
        if monitor.slots_in_use()?.len() > self.tracks.len() {
            for (key, slot) in monitor.executables()? {
                let track = || TrainingProgress::new(key, String::new(), &self.rules);
                self.tracks.entry(slot).or_insert_with(track);
            }
        }
        Ok(())
    }

    /// The state of a slot's profile, when it was judged last.
    pub fn state(&self, slot: u32) -> Option<State> {
        self.tracks.get(&slot).map(|track| track.state)
    }

    /// All calls that were seen.
    pub fn totals(&self, monitor: &Monitor) -> Result<MonitorTotals, String> {
        let strangers = monitor.counts(UNTRACKED_SLOT)?;
        let mut seen =
            MonitorTotals { calls: strangers.calls, lost: strangers.lost + strangers.dropped };
        for slot in monitor.slots_in_use()? {
            seen.calls += monitor.counts(slot)?.calls;
        }
        Ok(seen)
    }

    /// The profiles of the executables that were seen; of the others nothing has changed.
    pub fn profiles(&self, monitor: &Monitor) -> Result<Vec<Profile>, String> {
        let mut all = Vec::new();
        for (slot, track) in &self.tracks {
            let (raw, rare) = raw(monitor, *slot)?;
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

/// The counts of a slot; the rare ones first, so that no change is counted from before its call.
fn raw(monitor: &Monitor, slot: u32) -> Result<(SlotCounts, RareCounts), String> {
    let rare = monitor.rare(slot)?;
    let counts = monitor.counts(slot)?;
    let raw = SlotCounts {
        calls: counts.calls,
        trained: counts.trained,
        changes: rare.changes,
        changed_at: rare.changed_at,
    };
    Ok((raw, rare))
}

fn judge_one(
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
        // Only this process ever says so, and it does not look meanwhile.
        Action::Paused => return Ok(()),
    }
    let (raw, rare) = raw(monitor, slot)?;
    match judge(rules, &track.counts(raw), now_s) {
        Some(Step::Freeze) => {
            let to = |state| Control { action: Action::ByState(state), ..control };
            monitor.set_control(slot, to(State::Frozen))?;
            // Something new may have come meanwhile, and found nothing frozen.
            if monitor.rare(slot)?.changes == raw.changes {
                track.state = State::Frozen;
                track.frozen_at_s = Some(now_s);
            } else {
                monitor.set_control(slot, to(State::Training))?;
            }
        }
        Some(Step::StartNormal) => {
            let held = Control { action: Action::Paused, ..control };
            monitor.set_control(slot, held)?;
            monitor.copy(PairMap::Train, PairMap::Test, slot)?;
            monitor.set_rare(slot, RareCounts { anomalies: 0, ..rare })?;
            track.begin(raw);
            track.state = State::Normal;
            track.frozen_at_s = None;
            let does = Action::ByState(State::Normal);
            monitor.set_control(
                slot,
                Control { action: does, epoch: control.epoch.wrapping_add(1) },
            )?;
        }
        None => {}
    }
    Ok(())
}

/// A task did so much that is not normal that it is no new habit: what was learnt since the profile
/// became normal is forgotten.
fn unlearn(
    monitor: &Monitor,
    slot: u32,
    track: &mut TrainingProgress,
    control: Control,
) -> Result<(), String> {
    monitor.copy(PairMap::Test, PairMap::Train, slot)?;
    let (raw, _) = raw(monitor, slot)?;
    track.begin(raw);
    // Meanwhile it may have had more anomalies than a normal one has, and is trained again.
    if monitor.control(slot)? == control {
        monitor.set_control(slot, Control { action: Action::ByState(State::Normal), ..control })?;
    }
    Ok(())
}
