//! `oscost ph`

mod constants;
mod monitor;
mod profiles;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;

use super::exit::ExitStatus;
use super::output::Output;
use constants::ConstantArguments;

/// What to do with pH.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
pH learns, for each executable, which system calls follow which. A profile that
has not grown for long becomes normal; calls outside it are anomalies. It is the
monitor of the study ph-2000 as an eBPF program. It needs root, and observes the
calls made while `train`, `watch` or the treatment `ph` runs.

Examples:
  oscost ph status                  can it run here, and what is kept?
  sudo oscost ph train -- make      learn what a build does
  oscost ph profiles list           what was learnt
  oscost ph profiles show make      the pairs of calls of an executable
  sudo oscost ph watch              anomalies as they happen
  oscost ph save profiles.txt       all profiles as one file")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Learn the call sequences of executables.
    Train(Train),
    /// Show whether pH can run here, and what is kept.
    Status(Status),
    /// List, show and delete learnt profiles.
    Profiles(Profiles),
    /// Write all profiles into one file.
    Save(Save),
    /// Load profiles from such a file.
    Load(Load),
    /// Print anomalies as they happen.
    Watch(Watch),
    /// Monitor for another process, until the input ends.
    #[command(hide = true)]
    Monitor(Monitor),
    /// Continue the processes that a monitor process has stopped, when it has ended.
    #[cfg(feature = "ebpf")]
    #[command(hide = true)]
    Cleanup,
}

/// Which processes to learn from.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With a command, it monitors the calls of the command, of all that it starts, and
of oscost, which waits for it; without one, all processes until Ctrl-C. Profiles
are kept when it ends. A profile that has learnt enough becomes normal by
itself, by the constants above: as published, after a week.

Exit status: the command's own; 3 if pH cannot run here; 130 after Ctrl-C, 143
after SIGTERM: the command is asked to end too, and what was learnt is kept.

Examples:
  sudo oscost ph train                                    all processes
  sudo oscost ph train -- make -j2                        one command
  sudo oscost ph train --normal-wait 0s -- ./job          normal without a wait")]
struct Train {
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    constants: ConstantArguments,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Which processes to watch.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With a command, it monitors the command and its descendants; without one, all
processes until Ctrl-C. It learns meanwhile. Processes are delayed only with
--delay-factor, and never killed.

An anomaly is a call and an earlier call that is not normal before it, with the
distance in calls. `locality` counts the anomalies among the last calls of that
process, `anomalies` those of the executable since its profile became normal.

Exit status: the command's own; 3 if pH cannot run here; 130 after Ctrl-C, 143
after SIGTERM: the command is asked to end too, and what was learnt is kept.

Examples:
  sudo oscost ph watch                         all processes
  sudo oscost ph watch -- ./job                one command
  sudo oscost ph watch --json | jq -r .executable
  sudo oscost ph watch --delay-factor 1        delays anomalous processes")]
struct Watch {
    /// Print each as a line of JSON (`oscost.ph-anomaly/1`).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    constants: ConstantArguments,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Whether to report the states of executables.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Messages {
    /// Report on standard error when an executable is new, frozen, normal or trained again.
    #[arg(long)]
    messages: bool,
}

/// How to show the status.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each missing requirement is shown with a way to meet it. The exit status is 0
even if pH cannot run here.

Examples:
  oscost ph status
  oscost ph status --json | jq -c '.needs[] | select(.met == false)'")]
struct Status {
    /// Print one JSON object (`oscost.ph-status/1`).
    #[arg(long)]
    json: bool,
}

/// What to do with profiles.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A pair is a call, an earlier one, and how many calls earlier; `pairs` counts
those learnt. `last new pair` is the number of the call that added it.

Examples:
  oscost ph profiles list
  oscost ph profiles show dash             its pairs; a name or a whole path
  oscost ph profiles delete --gone         of executables that were replaced
  oscost ph profiles list --json | jq -r '.profiles[].executable'")]
struct Profiles {
    #[command(subcommand)]
    verb: ProfileVerb,
}

#[derive(Debug, clap::Subcommand)]
enum ProfileVerb {
    /// List the profiles, by executable.
    #[command(after_help = "\
Examples:
  oscost ph profiles list
  oscost ph profiles list --json | jq -r '.profiles[].executable'")]
    List {
        /// Print one JSON object (`oscost.ph-profiles/1`).
        #[arg(long)]
        json: bool,
    },
    /// Show the pairs of calls of an executable.
    #[command(after_help = "\
Examples:
  oscost ph profiles show dash             by the end of its path
  oscost ph profiles show /usr/bin/dash    by its whole path")]
    Show {
        /// Its path, or the end of it.
        executable: String,
        /// Print one JSON object (`oscost.ph-profiles/1`).
        #[arg(long)]
        json: bool,
    },
    /// Delete the profiles of executables that are gone, or were replaced.
    #[command(after_help = "\
An executable that was built or installed again is a new one, which does not use
the profile of the old one. Profiles of executables in containers are deleted,
too, if their files are not visible here.

Examples:
  oscost ph profiles delete --gone")]
    Delete {
        /// Delete those whose executable is gone, or has been replaced.
        #[arg(long, required = true)]
        gone: bool,
    },
}

/// Where to write the profiles.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is text, to be read and compared; `oscost ph load` loads it again.

Examples:
  oscost ph save profiles.txt
  oscost ph save - | gzip >profiles.gz")]
struct Save {
    /// The file; `-` is standard output.
    file: String,
}

/// The file to load.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each profile replaces the one of the same executable; others stay. A file that
is damaged, or from another kind of processor, is refused as a whole. An
executable is identified by its device and inode: profiles of another machine
match files here only by accident.

Examples:
  oscost ph load profiles.txt
  gunzip -c profiles.gz | oscost ph load -")]
struct Load {
    /// The file; `-` is standard input.
    file: String,
}

/// Options of the process that started the monitor.
#[derive(Debug, clap::Args)]
struct Monitor {
    /// The process whose tree is monitored.
    #[arg(long, value_name = "PID")]
    tree: Option<u32>,
    /// Begin without profiles, and keep none.
    #[arg(long, conflicts_with = "unchanged")]
    fresh: bool,
    /// Begin with the profiles of a folder, and keep no others.
    #[arg(long, value_name = "FOLDER")]
    unchanged: Option<PathBuf>,
    /// Report nothing between the first and the last event.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    constants: ConstantArguments,
}

pub(super) fn ph(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::Train(Train { messages, constants, command }) => {
            monitor::train(&monitor::request(constants, command, messages.messages), output)
        }
        Verb::Watch(Watch { json, messages, constants, command }) => {
            let request = monitor::request(constants, command, messages.messages);
            monitor::watch(&request, json, output)
        }
        Verb::Status(Status { json }) => status::write_status(json, output),
        Verb::Profiles(Profiles { verb }) => match verb {
            ProfileVerb::List { json } => profiles::write_list(json, output),
            ProfileVerb::Show { executable, json } => {
                profiles::write_pairs(&executable, json, output)
            }
            ProfileVerb::Delete { .. } => profiles::delete_gone(output),
        },
        Verb::Save(Save { file }) => profiles::save(&file, output),
        Verb::Load(Load { file }) => profiles::load(&file, output),
        Verb::Monitor(Monitor { tree, fresh, unchanged, quiet, constants }) => {
            let constants = constants.0;
            monitor::serve(crate::app::ph::ServeRequest {
                tree,
                fresh,
                unchanged,
                quiet,
                constants,
            })
        }
        #[cfg(feature = "ebpf")]
        Verb::Cleanup => monitor::clean_up(),
    }
}
