//! `oscost ph status`

use std::path::Path;

use super::super::Done;
use super::super::output::Output;
use super::{folder, profiles};
use crate::ph::constants::{ALL, Constants};
use crate::ph::here::{BUILD, Met, look};
use crate::ph::profile::State;
use crate::ph::store::find_all;
use crate::report;

pub(super) fn status(json: bool, output: &mut Output) -> anyhow::Result<Done> {
    let folder = folder()?;
    let found = find_all(&folder)?;
    let many = |state| found.profiles.iter().filter(|profile| profile.state == state).count();
    let needs = look(BUILD, Path::new("/")).into_iter().map(|need| report::ph::Need {
        of: need.of,
        met: match need.met {
            Met::Yes => Some(true),
            Met::No => Some(false),
            Met::Unknown => None,
        },
        words: need.words,
    });
    let published = Constants::default();
    let constants = ALL.iter().map(|constant| report::ph::Constant {
        name: constant.name,
        value: (constant.get)(&published),
        unit: constant.unit,
    });
    let status = report::ph::Status {
        schema: report::ph::Status::SCHEMA,
        needs: needs.collect(),
        folder: folder.to_string_lossy().into_owned(),
        states: State::ALL.map(|state| (state.text(), many(state))).into(),
        refused: profiles::refused(&found),
        constants: constants.collect(),
    };
    match json {
        true => output.write(&status.json()?)?,
        false => output.write(&status.text())?,
    }
    Ok(Done::Well)
}
