//! `oscost ph`

mod hold;
mod profiles;
mod rules;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;

use super::output::{Output, remark};
use super::{Done, UsageError};
use crate::ph::store::find_all;
use crate::store::Store;
use rules::Rules;

/// What to do with pH.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
pH learns, for each executable, which system calls follow which; when it has
seen nothing new for long, it takes that for normal, and reports what is not.
It is the monitor of study 001 (ph-2000) as an eBPF program. It needs root, and
sees what is called while `train`, `watch` or the treatment `ph` runs.

Examples:
  oscost ph status                  can it run here, and what is kept?
  sudo oscost ph train -- make      learn what a build does
  oscost ph profiles                what it learnt
  oscost ph profiles /usr/bin/make  its pairs of calls, in words
  sudo oscost ph watch              what is not normal, as it happens
  oscost ph save profiles.txt       all profiles as one file")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Learn what executables do.
    Train(Train),
    /// Say whether pH can run here, and what is kept.
    Status(Status),
    /// List what was learnt, or show one profile's pairs of calls.
    Profiles(Profiles),
    /// Write all profiles into one file.
    Save(Save),
    /// Keep the profiles of such a file.
    Load(Load),
    /// Print what is not normal, as it happens.
    Watch(Watch),
    /// Hold the monitor for another process, until the input ends.
    #[command(hide = true)]
    Hold(Hold),
    /// Continue what a holder has stopped, when that has ended.
    #[cfg(feature = "ebpf")]
    #[command(hide = true)]
    Guard,
}

/// What to learn from.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With a command, its calls are looked at, and those of all that it starts (those
of oscost itself, which waits for it, too); without one, all processes until
Ctrl-C. Its profiles are kept when it ends. A profile that has learnt enough
becomes normal by itself, by the constants above: as published, after a week.

Exit status: the command's own; 1 if pH cannot run here; 130 after Ctrl-C, 143
after SIGTERM: the command is asked to end too, and what was learnt is kept.

Examples:
  sudo oscost ph train                                    all processes
  sudo oscost ph train -- make -j2                        one command
  sudo oscost ph train --normal-wait 0s -- ./job          normal without a wait")]
struct Train {
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    rules: Rules,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What to watch.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With a command, its calls are looked at, and those of all that it starts;
without one, all processes until Ctrl-C. It learns meanwhile. Nothing is delayed
unless --delay-factor says so, and nothing is ever killed.

PAIR is a call and an earlier one that is not normal before it, with how many
calls earlier. LOCALITY counts the anomalies among the last calls of that
process, ANOMALIES those of the executable since it was found normal.

Exit status: the command's own; 1 if pH cannot run here; 130 after Ctrl-C, 143
after SIGTERM: the command is asked to end too, and what was learnt is kept.

Examples:
  sudo oscost ph watch                         all processes
  sudo oscost ph watch -- ./job                one command
  sudo oscost ph watch --json | jq -r .executable
  sudo oscost ph watch --delay-factor 1        slows down what it distrusts")]
struct Watch {
    /// Print each as a line of JSON (`oscost.ph-anomaly/1`).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    rules: Rules,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Whether to tell what becomes of profiles.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Messages {
    /// Tell on standard error when an executable is new, frozen, normal or trained again.
    #[arg(long)]
    messages: bool,
}

/// How to show what is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whatever is lacking is told with the way out, a line each. Exit status 0 also
where pH cannot run: nothing was asked of it.

Examples:
  oscost ph status
  oscost ph status --json | jq -c '.needs[] | select(.met == false)'")]
struct Status {
    /// Print one JSON object (`oscost.ph-status/1`).
    #[arg(long)]
    json: bool,
}

/// Which profiles to show, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A pair is a call, an earlier one, and how many calls earlier; PAIRS counts those
that were learnt. LAST NEW AT is the number of the call that brought the last.
An executable that was built or installed anew is another one: what was learnt
of the old one is of no use, and --prune removes it. Those of containers go too
where their files cannot be seen from here.

Examples:
  oscost ph profiles
  oscost ph profiles dash                  its pairs; a name or a whole path
  oscost ph profiles --json | jq -r '.profiles[].executable'")]
struct Profiles {
    /// One executable, by its path or the end of it: its pairs of calls, in words.
    executable: Option<String>,
    /// Remove the profiles whose executable is gone, or is another one by now.
    #[arg(long, conflicts_with_all = ["executable", "json"])]
    prune: bool,
    /// Print one JSON object (`oscost.ph-profiles/1`).
    #[arg(long)]
    json: bool,
}

/// Where to write the profiles.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is text, to be read and compared; `oscost ph load` keeps it again.

Examples:
  oscost ph save profiles.txt
  oscost ph save - | gzip >profiles.gz")]
struct Save {
    /// The file; `-` is standard output.
    file: String,
}

/// What to keep.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each profile takes the place of the one that its executable had; others stay. A
file that is damaged, or of another kind of processor, is refused as a whole,
and nothing is changed. An executable is known by its device and inode: profiles
of another machine fit files here by accident only.

Examples:
  oscost ph load profiles.txt
  gunzip -c profiles.gz | oscost ph load -")]
struct Load {
    /// The file; `-` is standard input.
    file: String,
}

/// What another process asks for.
#[derive(Debug, clap::Args)]
struct Hold {
    /// The process whose tree is looked at.
    #[arg(long, value_name = "PID")]
    tree: Option<u32>,
    /// Begin without profiles, and keep none.
    #[arg(long, conflicts_with = "unchanged")]
    fresh: bool,
    /// Begin with the profiles of a folder, and keep no others.
    #[arg(long, value_name = "FOLDER")]
    unchanged: Option<PathBuf>,
    /// Say nothing between the first word and the last.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    rules: Rules,
}

pub(super) fn ph(arguments: Arguments, output: &mut Output) -> anyhow::Result<Done> {
    match arguments.verb {
        Verb::Train(Train { messages, rules, command }) => hold::train(rules, &command, messages),
        Verb::Status(Status { json }) => status::status(json, output),
        Verb::Profiles(Profiles { prune: true, .. }) => profiles::prune(output),
        Verb::Profiles(Profiles { executable, json, .. }) => {
            profiles::profiles(executable.as_deref(), json, output)
        }
        Verb::Save(Save { file }) => profiles::save(&file, output),
        Verb::Load(Load { file }) => profiles::load(&file),
        Verb::Watch(Watch { json, messages, rules, command }) => {
            hold::watch(rules, &command, messages, json, output)
        }
        Verb::Hold(asked) => hold::hold(asked, output),
        #[cfg(feature = "ebpf")]
        Verb::Guard => hold::guard(),
    }
}

/// Tells which files of the folder are no profiles, before a monitor goes on without them.
pub(super) fn tell_refused() {
    // A folder that cannot be read is the monitor's own error.
    if let Some(found) = folder().ok().and_then(|folder| find_all(&folder).ok()) {
        profiles::refused(&found).iter().for_each(|refused| remark(&refused.text()));
    }
}

/// The folder of profiles, beside the user's store.
pub(super) fn folder() -> anyhow::Result<PathBuf> {
    let store = Store::default_path();
    store.as_deref().and_then(|store| Some(store.parent()?.join("ph"))).ok_or_else(|| {
        let what = "cannot find the profiles: neither XDG_DATA_HOME nor HOME names a folder";
        UsageError(what.to_owned()).into()
    })
}
