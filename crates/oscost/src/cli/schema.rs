//! `oscost schema`

use super::exit::ExitStatus;
use super::output::Output;
use crate::report;

pub(super) fn schema(output: &mut Output) -> anyhow::Result<ExitStatus> {
    output.write(&report::json::schema()?)?;
    Ok(ExitStatus::Success)
}
