//! `oscost schema`

use super::exit::ExitStatus;
use super::output::Output;
use crate::report;

/// Of which record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
docs/reference/RECORDS.md describes every key.

Examples:
  oscost schema | jq '.properties | keys'
  oscost schema bill > bill.schema.json")]
pub(super) struct Arguments {
    /// The kind of record.
    #[arg(value_name = "KIND", default_value = "run")]
    kind: Kind,
}

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// A run, `oscost.run/1`.
    Run,
    /// A bill, `oscost.bill/1`.
    Bill,
}

pub(super) fn schema(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let schema = match arguments.kind {
        Kind::Run => report::json::schema()?,
        Kind::Bill => report::json::bill_schema()?,
    };
    output.write(&schema)?;
    Ok(ExitStatus::Success)
}
