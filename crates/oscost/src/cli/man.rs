//! `oscost man`

use super::exit::ExitStatus;
use super::output::Output;
use crate::app::UsageError;

/// Which page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost man | man -l -
  oscost man run > oscost-run.1
  oscost man runs list | man -l -")]
pub(super) struct Arguments {
    /// A subcommand, with those below it [default: the page of oscost itself].
    #[arg(value_name = "VERB")]
    verbs: Vec<String>,
}

/// The version in the foot of a page.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the manual page of `command`, or of a subcommand of it.
pub(super) fn man(
    arguments: &Arguments,
    mut command: clap::Command,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    command.build();
    let page = page_of(&command, &arguments.verbs)?.unwrap_or(command);
    let mut roff = Vec::new();
    // Without it the foot of a page has the name of the subcommand, as if that had a version.
    let source = format!("oscost {VERSION}");
    clap_mangen::Man::new(page).source(source).render(&mut roff)?;
    output.write(&roff)?;
    Ok(ExitStatus::Success)
}

/// The subcommand that is named by these words, each of one or several verbs (`runs list`).
fn page_of(command: &clap::Command, words: &[String]) -> Result<Option<clap::Command>, UsageError> {
    let (mut found, mut name) = (None, "oscost".to_owned());
    for verb in words.iter().flat_map(|word| word.split(' ')) {
        let parent = found.unwrap_or(command);
        let mut below = parent.get_subcommands().filter(|it| !it.is_hide_set());
        found = Some(below.find(|it| it.get_name() == verb).ok_or_else(|| {
            let what = format!("there is no subcommand `{name} {verb}`");
            UsageError::with_hint(&what, &format!("`{name} --help` lists the subcommands"))
        })?);
        name = format!("{name} {verb}");
    }
    let name = name.replace(' ', "-");
    Ok(found.map(|it| it.clone().version(VERSION).name(name.clone()).display_name(name)))
}
