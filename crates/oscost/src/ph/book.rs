//! The holder's books: which slot is which executable's, and what the rules say of each.

use std::collections::BTreeMap;

use super::constants::Constants;
use super::event::{Event, Kind};
use super::holder::{Anomaly, Became, Said};
use super::monitor::{Control, Does, Monitor, Rare, STRANGER, Which};
use super::profile::{Profile, State};
use super::rules::{Step, judge};
use super::target;
use super::track::{Raw, Track};

/// All slots.
#[derive(Debug)]
pub struct Book {
    rules: Constants,
    tracks: BTreeMap<u32, Track>,
    /// State changes that the programs have made, and that nobody was told of.
    untold: Vec<Said>,
}

/// What was seen, all executables together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The calls.
    pub calls: u64,
    /// What was not looked at, or not said, for lack of room.
    pub lost: u64,
}

impl Book {
    /// The books of a monitor that was loaded with these profiles.
    pub fn new(rules: Constants, known: Vec<Profile>) -> Self {
        let tracks = (1..).zip(known.iter().map(Track::of)).collect();
        Self { rules, tracks, untold: Vec::new() }
    }

    /// Takes up an event; says what is to be told of it.
    pub fn hear(&mut self, event: &Event) -> Option<Said> {
        match &event.kind {
            Kind::Born { key, path } => {
                let executable = target::whole(*key, path);
                let track = Track::new(*key, executable.clone(), &self.rules);
                // A slot that was found without its event has its counts already.
                self.tracks.entry(event.slot).or_insert(track).executable = executable.clone();
                Some(Said::Became(Became::new(executable, State::Training)))
            }
            Kind::Anomaly { pair, anomalies, .. } => Some(Said::Anomaly(Anomaly {
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
                Some(Said::Became(Became::new(track.executable.clone(), State::Training)))
            }
            Kind::Stopped | Kind::Tolerised | Kind::Marked { .. } => None,
        }
    }

    fn executable(&self, slot: u32) -> String {
        self.tracks.get(&slot).map_or_else(String::new, |track| track.executable.clone())
    }

    /// Does what the rules say at this time, in seconds since 1970; says what has changed.
    pub fn judge(&mut self, monitor: &Monitor, now_s: u64) -> Result<Vec<Said>, String> {
        self.find_unsaid(monitor)?;
        for (slot, track) in &mut self.tracks {
            let was = track.state;
            judge_one(&self.rules, monitor, *slot, track, now_s)?;
            if track.state != was {
                let became = Became::new(track.executable.clone(), track.state);
                self.untold.push(Said::Became(became));
            }
        }
        Ok(std::mem::take(&mut self.untold))
    }

    /// An executable whose event was lost has a slot all the same.
    fn find_unsaid(&mut self, monitor: &Monitor) -> Result<(), String> {
        if monitor.given()?.len() > self.tracks.len() {
            for (key, slot) in monitor.executables()? {
                let track = || Track::new(key, String::new(), &self.rules);
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
    pub fn seen(&self, monitor: &Monitor) -> Result<Seen, String> {
        let strangers = monitor.counts(STRANGER)?;
        let mut seen = Seen { calls: strangers.calls, lost: strangers.lost + strangers.unsaid };
        for slot in monitor.given()? {
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
            profile.train = monitor.pairs(Which::Train, *slot)?;
            profile.test = monitor.pairs(Which::Test, *slot)?;
            all.push(profile);
        }
        Ok(all)
    }
}

/// The counts of a slot; the rare ones first, so that no change is counted from before its call.
fn raw(monitor: &Monitor, slot: u32) -> Result<(Raw, Rare), String> {
    let rare = monitor.rare(slot)?;
    let counts = monitor.counts(slot)?;
    let raw = Raw {
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
    track: &mut Track,
    now_s: u64,
) -> Result<(), String> {
    let control = monitor.control(slot)?;
    match control.does {
        Does::Plainly(state) => track.state = state,
        Does::Unlearn => return unlearn(monitor, slot, track, control),
        // Only this process ever says so, and it does not look meanwhile.
        Does::Held => return Ok(()),
    }
    let (raw, rare) = raw(monitor, slot)?;
    match judge(rules, &track.counts(raw), now_s) {
        Some(Step::Freeze) => {
            let to = |state| Control { does: Does::Plainly(state), ..control };
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
            let held = Control { does: Does::Held, ..control };
            monitor.set_control(slot, held)?;
            monitor.copy(Which::Train, Which::Test, slot)?;
            monitor.set_rare(slot, Rare { anomalies: 0, ..rare })?;
            track.begin(raw);
            track.state = State::Normal;
            track.frozen_at_s = None;
            let does = Does::Plainly(State::Normal);
            monitor.set_control(slot, Control { does, epoch: control.epoch.wrapping_add(1) })?;
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
    track: &mut Track,
    control: Control,
) -> Result<(), String> {
    monitor.copy(Which::Test, Which::Train, slot)?;
    let (raw, _) = raw(monitor, slot)?;
    track.begin(raw);
    // Meanwhile it may have had more anomalies than a normal one has, and is trained again.
    if monitor.control(slot)? == control {
        monitor.set_control(slot, Control { does: Does::Plainly(State::Normal), ..control })?;
    }
    Ok(())
}
