//! Whether pH can run here, and what is kept.

use std::path::{Path, PathBuf};

pub use crate::ph::requirements::{Availability, Requirement};

use crate::app::results::profile_files::{Unreadable, unreadable};
use crate::app::results::user_data::profile_folder;
use crate::ph::profiles::profile::State;
use crate::ph::profiles::store::find_all;
use crate::ph::requirements::{BUILD, check_requirements};

/// The state of pH on this machine.
pub struct Status {
    /// What it needs, and whether that is here.
    pub needs: Vec<Requirement>,
    /// Where profiles are kept.
    pub folder: PathBuf,
    /// How many profiles are in each state.
    pub states: Vec<(&'static str, usize)>,
    /// Files that are not profiles.
    pub unreadable: Vec<Unreadable>,
}

impl Status {
    /// Whether a need is met; `None` if the system does not say.
    pub fn is_met(need: &Requirement) -> Option<bool> {
        match need.availability {
            Availability::Yes => Some(true),
            Availability::No => Some(false),
            Availability::Unknown => None,
        }
    }
}

/// Examines this machine.
pub fn status() -> anyhow::Result<Status> {
    let folder = profile_folder()?;
    let found = find_all(&folder)?;
    let count = |state| found.profiles.iter().filter(|profile| profile.state == state).count();
    Ok(Status {
        needs: check_requirements(BUILD, Path::new("/")),
        states: State::ALL.map(|state| (state.text(), count(state))).into(),
        unreadable: unreadable(&found),
        folder,
    })
}
