//! `oscost fleet ab`

use super::table_exports::{ReportFormats, TableExports};
use crate::app::fleet::ab::{Request, ab as compare};
use crate::cli::display;
use crate::cli::exit::ExitStatus;
use crate::cli::output::Output;
use crate::cli::values::ScreenArguments;
use crate::report::fleet::sides;

/// Which fleet to analyse.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
FLEET is the name of a fleet in the store, or the folder of one. Its runs were
measured under treatments on some nodes and without them on others, or both on
each node. The node is the unit: two visits of a node are one value, and the
interval is over nodes.

Examples:
  oscost fleet ab kernel-update
  oscost fleet ab ./fleet-monday --treatment seccomp=docker
  oscost fleet ab kernel-update -o ab.html -o ab.csv")]
pub(super) struct Arguments {
    /// The fleet.
    #[arg(value_name = "FLEET")]
    fleet: String,
    /// Treatments of the new side [default: those of the fleet's runs, if these are one].
    #[arg(long, value_name = "TREATMENTS")]
    treatment: Option<String>,
    #[command(flatten)]
    exports: TableExports,
    #[command(flatten)]
    screen: ScreenArguments,
}

pub(super) fn ab(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { fleet, treatment, exports, screen } = arguments;
    exports.check()?;
    let compared = compare(&Request { fleet, treatments: treatment })?;
    let formats = ReportFormats {
        view: &|| sides::view(&compared),
        table: &|| sides::table(&compared),
        json: &|| sides::json(&compared),
        schema: sides::SCHEMA,
    };
    let screen = screen.screen();
    let text = || display::fitted_text(sides::view(&compared), screen);
    exports.write(&formats, text, output)?;
    Ok(ExitStatus::Success)
}
