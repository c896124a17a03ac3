//! `oscost kernels`

use std::io::IsTerminal;

use anyhow::Context;
use oscost_model::unit::Unit;
use serde::Serialize;
use wildmatch::WildMatch;

use super::output::{Output, remark};
use super::{Done, UsageError};
use crate::hosts::Interrupt;
use crate::hosts::vm::{FetchError, FetchedKernel, LocalKernel, LocalKernels};
use crate::report::figures::rough;
use crate::report::progress::Progress;

/// What to do about kernels.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Kernels that are installed can be booted as they are, if they may be read.
Others come from apt, as packages that are not installed: they lie in
~/.cache/oscost/kernels, or below $XDG_CACHE_HOME. No root is needed.

Behind `vm:` stands a version, the beginning of one (the newest is taken), or
a file with a `/` in its path: a bzImage, or a Debian package.

Examples:
  oscost kernels                                 those that are here
  oscost kernels available 6.12                  those that apt offers
  oscost kernels fetch linux-image-cloud-amd64   the newest for virtual machines
  oscost kernels fetch 6.1.0-56-cloud-amd64      a certain one
  oscost kernels remove 6.1.0-56-cloud-amd64     give its space back
  oscost kernels --json | jq -r '.kernels[].name'"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print one JSON object (`oscost.kernels/1`).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Fetch a kernel's package through apt, without installing it.
    #[command(after_help = "\
Examples:
  oscost kernels fetch linux-image-6.1.0-56-cloud-amd64
  oscost kernels fetch 6.1.0-56-cloud-amd64   the same
  oscost kernels fetch linux-image-amd64      the one that it depends on")]
    Fetch {
        /// A package, with or without `linux-image-`; one that depends on the kernel's will do.
        name: String,
    },
    /// List the kernels that apt offers.
    #[command(after_help = "\
Examples:
  oscost kernels available             all of them, the newest first
  oscost kernels available cloud       those with that in their names
  oscost kernels available '*-56-*'    a glob, over the whole name")]
    Available {
        /// What is in their names, or a glob.
        pattern: Option<String>,
    },
    /// Remove a kernel that was downloaded.
    #[command(after_help = "\
Examples:
  oscost kernels remove 6.1.0-56-cloud-amd64")]
    Remove {
        /// Its version, or its package.
        name: String,
    },
}

pub(super) fn kernels(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let shelf = LocalKernels::of_this_machine();
    match &arguments.verb {
        None => list(&shelf, arguments.json, output),
        Some(Verb::Fetch { name }) => done(fetch(&shelf, name), output, told_fetched),
        Some(Verb::Available { pattern }) => {
            done(available(&shelf, pattern.as_deref()), output, |lines, output| {
                match lines.is_empty() {
                    true => remark(
                        "apt offers no such kernel\n  hint: `sudo apt-get update` renews its lists",
                    ),
                    false => output.write(&lines)?,
                }
                Ok(())
            })
        }
        Some(Verb::Remove { name }) => done(shelf.remove(name), output, |files, _| {
            files.iter().for_each(|file| remark(&format!("removed {}", file.display())));
            Ok(())
        }),
    }
}

/// Says what came of it.
fn done<T>(
    came: Result<T, FetchError>,
    output: &mut Output,
    tell: impl FnOnce(T, &mut Output) -> anyhow::Result<()>,
) -> anyhow::Result<Done> {
    match came {
        Ok(it) => tell(it, output).map(|()| Done::Well),
        Err(FetchError::Interrupted) => Ok(Done::Interrupted),
        Err(FetchError::Name(error)) => Err(UsageError(error.to_string()).into()),
        Err(FetchError::Failed(error)) => Err(error.into()),
    }
}

/// Fetches it, and says how far that is where it takes over a second.
fn fetch(shelf: &LocalKernels, name: &str) -> Result<FetchedKernel, FetchError> {
    let interrupt = listen()?;
    let mut line: Option<Progress> = None;
    shelf.fetch(name, &interrupt, &mut |what| match &line {
        Some(line) => line.say(what),
        None => {
            if !std::io::stderr().is_terminal() {
                remark(what);
            }
            line = Some(Progress::saying(what));
        }
    })
}

/// The wish to stop, so that no half of a package stays.
fn listen() -> Result<Interrupt, FetchError> {
    Interrupt::listen().map_err(|error| {
        let why = format!("cannot listen for Ctrl-C: {error}");
        let (act, hint) = ("begin".to_owned(), "try again".to_owned());
        FetchError::Failed(crate::hosts::vm::ImageError { act, why, hint })
    })
}

fn told_fetched(fetched: FetchedKernel, output: &mut Output) -> anyhow::Result<()> {
    let FetchedKernel { version, package, build, file, was_there, replaced } = fetched;
    match was_there {
        true => remark(&format!("{package} {build} is there already")),
        false => remark(&format!("fetched {package} {build} to {}", file.display())),
    }
    for old in replaced {
        remark(&format!("note: it took the place of {old}, which has the same name"));
    }
    output.write(&format!("oscost run --at vm:{version}\n"))
}

/// The packages that apt offers and whose names meet a pattern, a line each.
fn available(shelf: &LocalKernels, pattern: Option<&str>) -> Result<String, FetchError> {
    let meets = |name: &str| match pattern {
        None => true,
        Some(glob) if glob.contains(['*', '?']) => WildMatch::new(glob).matches(name),
        Some(part) => name.contains(part),
    };
    let mut kernels = shelf.available(&listen()?)?;
    kernels.retain(|kernel| meets(&kernel.package));
    let widest = kernels.iter().map(|kernel| kernel.package.len()).max().unwrap_or(0);
    let line = |kernel: &crate::hosts::vm::AvailablePackage| match kernel.is_downloaded {
        true => format!("{:widest$}  downloaded\n", kernel.package),
        false => format!("{}\n", kernel.package),
    };
    Ok(kernels.iter().map(line).collect())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// Where downloaded ones lie.
    folder: Option<String>,
    kernels: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: String,
    version: &'a str,
    build: Option<&'a str>,
    /// `installed` or `downloaded`.
    state: &'static str,
    file: String,
    bytes: u64,
    /// Why it cannot be used; null where it can.
    why: Option<&'a str>,
    hint: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(offer: &'a LocalKernel) -> Self {
        let flaw = offer.flaw.as_ref();
        Self {
            name: format!("vm:{}", offer.version),
            version: &offer.version,
            build: offer.build.as_deref(),
            state: if offer.is_downloaded { "downloaded" } else { "installed" },
            file: offer.file.display().to_string(),
            bytes: offer.bytes,
            why: flaw.map(|flaw| flaw.why.as_str()),
            hint: flaw.map(|flaw| flaw.hint.as_str()),
        }
    }
}

fn list(shelf: &LocalKernels, json: bool, output: &mut Output) -> anyhow::Result<Done> {
    let offers = shelf.list();
    let kernels: Vec<Row<'_>> = offers.iter().map(Row::of).collect();
    if json {
        let folder = shelf.folder().map(|folder| folder.display().to_string());
        let document = Document { schema: "oscost.kernels/1", folder, kernels };
        let text = serde_json::to_string_pretty(&document).context("cannot write JSON")?;
        output.write(&(text + "\n"))?;
    } else if kernels.is_empty() {
        remark(
            "no kernel is installed or downloaded here\n  hint: `oscost kernels fetch \
             linux-image-cloud-amd64` gets Debian's for virtual machines,\n        `oscost kernels \
             available` lists what there is; `vm:./bzImage` names a file",
        );
    } else {
        output.write(&table(&kernels))?;
    }
    Ok(Done::Well)
}

fn table(kernels: &[Row<'_>]) -> String {
    let build = |row: &Row<'_>| row.build.unwrap_or("-").to_owned();
    let wide = |of: &dyn Fn(&Row<'_>) -> usize, title: &str| {
        kernels.iter().map(of).max().unwrap_or(0).max(title.len())
    };
    let names = wide(&|row| row.name.len(), "kernel");
    let builds = wide(&|row| build(row).len(), "build");
    let mut text =
        format!("{:names$}  {:builds$}  {:10}  {:>7}\n", "kernel", "build", "state", "size");
    for row in kernels {
        let size = rough(row.bytes as f64, Unit::Bytes);
        let (name, build, state) = (&row.name, build(row), row.state);
        text += &format!("{name:names$}  {build:builds$}  {state:10}  {size:>7}\n");
        if let (Some(why), Some(hint)) = (row.why, row.hint) {
            text += &format!("  cannot be used: {why}\n  hint: {hint}\n");
        }
    }
    text
}
