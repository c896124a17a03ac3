//! `oscost man`

use super::exit::ExitStatus;
use super::output::Output;
use crate::app::UsageError;

/// Which page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost man | man -l -
  oscost man run > oscost-run.1")]
pub(super) struct Arguments {
    /// A subcommand [default: the page of oscost itself].
    verb: Option<String>,
}

/// Prints the manual page of a subcommand of `command`.
pub(super) fn man(
    arguments: &Arguments,
    mut command: clap::Command,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    command.build();
    let page = match &arguments.verb {
        None => command,
        Some(verb) => {
            let found = command.get_subcommands().find(|found| found.get_name() == verb);
            let found = found.ok_or_else(|| {
                let what = format!("there is no subcommand `{verb}`");
                UsageError::with_hint(&what, "`oscost --help` lists the subcommands")
            })?;
            let name = format!("oscost-{verb}");
            found.clone().name(name.clone()).display_name(name)
        }
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff)?;
    output.write(&roff)?;
    Ok(ExitStatus::Success)
}
