//! `oscost ph status`

use super::super::exit::ExitStatus;
use super::super::output::Output;
use super::profiles::refused_profiles;
use crate::app::ph::{CONSTANTS, Constants, Status, status};
use crate::report;

pub(super) fn write_status(json: bool, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Status { needs, folder, states, unreadable } = status()?;
    let needs = needs.into_iter().map(|need| report::ph::Need {
        name: need.name,
        met: Status::is_met(&need),
        detail: need.detail,
    });
    let published = Constants::default();
    let constants = CONSTANTS.iter().map(|constant| report::ph::Constant {
        name: constant.name,
        value: (constant.get)(&published),
        unit: constant.unit,
    });
    let status = report::ph::Status {
        schema: report::ph::Status::SCHEMA,
        needs: needs.collect(),
        folder: folder.to_string_lossy().into_owned(),
        states,
        refused: refused_profiles(unreadable),
        constants: constants.collect(),
    };
    match json {
        true => output.write(&status.json()?)?,
        false => output.show(&status.view())?,
    }
    Ok(ExitStatus::Success)
}
