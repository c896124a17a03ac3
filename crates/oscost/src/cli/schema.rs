//! `oscost schema`

use super::Done;
use super::output::Output;
use crate::report;

pub(super) fn schema(output: &mut Output) -> anyhow::Result<Done> {
    output.write(&report::json::schema()?)?;
    Ok(Done::Well)
}
