//! `oscost kernels`

use anyhow::Context;
use oscost_model::unit::Unit;
use serde::Serialize;

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use super::terminal::Terminal;
use crate::app::kernels::{self, FetchedKernel, Kernels, LocalKernel};
use crate::report::figures::rough;

/// What to do with kernels.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Installed kernels can be booted as they are, if they are readable. Others come
from apt, as packages that are not installed; they are in
~/.cache/oscost/kernels, or below $XDG_CACHE_HOME. No root is needed.

`vm:` takes a version, the beginning of one (the newest is taken), or a file
with a `/` in its path: a bzImage, or a Debian package.

Examples:
  oscost kernels list                            those of this machine
  oscost kernels list --available 6.12           those that apt offers
  oscost kernels fetch linux-image-cloud-amd64   the newest for virtual machines
  oscost kernels fetch 6.1.0-56-cloud-amd64      one version
  oscost kernels delete 6.1.0-56-cloud-amd64     free its space
  oscost kernels list --json | jq -r '.kernels[].name'")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the kernels that are installed or downloaded, or those that apt offers.
    #[command(after_help = "\
Examples:
  oscost kernels list                        those of this machine
  oscost kernels list --available            all that apt offers, newest first
  oscost kernels list --available cloud      those with that in their names
  oscost kernels list --available '*-56-*'   a glob, of the whole name")]
    List {
        /// List the kernels that apt offers.
        #[arg(long, conflicts_with = "json")]
        available: bool,
        /// A part of their names, or a glob.
        #[arg(requires = "available")]
        pattern: Option<String>,
        /// Print one JSON object (`oscost.kernels/1`).
        #[arg(long)]
        json: bool,
    },
    /// Fetch a kernel's package through apt, without installing it.
    #[command(after_help = "\
Examples:
  oscost kernels fetch linux-image-6.1.0-56-cloud-amd64
  oscost kernels fetch 6.1.0-56-cloud-amd64   the same
  oscost kernels fetch linux-image-amd64      the one that it depends on")]
    Fetch {
        /// A package, with or without `linux-image-`, or one that depends on the kernel's.
        name: String,
    },
    /// Delete a kernel that was downloaded.
    #[command(after_help = "\
Examples:
  oscost kernels delete 6.1.0-56-cloud-amd64")]
    Delete {
        /// Its version, or its package.
        name: String,
    },
}

pub(super) fn kernels(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match &arguments.verb {
        Verb::List { available: true, pattern, .. } => {
            write_available(pattern.as_deref(), output)?;
        }
        Verb::List { json, .. } => write_list(&kernels::list(), *json, output)?,
        Verb::Fetch { name } => {
            let fetched = kernels::fetch(name, &Terminal::announcing())?;
            write_fetched(fetched, output)?;
        }
        Verb::Delete { name } => {
            for file in kernels::delete(name)? {
                report_line(&format!("deleted {}", file.display()));
            }
        }
    }
    Ok(ExitStatus::Success)
}

/// The target of a kernel that was fetched.
fn write_fetched(fetched: FetchedKernel, output: &mut Output) -> anyhow::Result<()> {
    let FetchedKernel { version, package, build, file, already_present, replaced } = fetched;
    match already_present {
        true => report_line(&format!("{package} {build} is there already")),
        false => report_line(&format!("fetched {package} {build} to {}", file.display())),
    }
    for old in replaced {
        report_line(&format!("note: it replaced {old}, which has the same name"));
    }
    output.write(&format!("oscost run --at vm:{version}\n"))
}

/// The packages that apt offers, a line each.
fn write_available(pattern: Option<&str>, output: &mut Output) -> anyhow::Result<()> {
    let kernels = kernels::available(pattern)?;
    if kernels.is_empty() {
        report_line(
            "apt offers no such kernel\n  hint: `sudo apt-get update` updates its package lists",
        );
        return Ok(());
    }
    let width = kernels.iter().map(|kernel| kernel.package.len()).max().unwrap_or(0);
    let line = |kernel: &kernels::AvailablePackage| match kernel.is_downloaded {
        true => format!("{:width$}  downloaded\n", kernel.package),
        false => format!("{}\n", kernel.package),
    };
    output.write(&kernels.iter().map(line).collect::<String>())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// Where downloaded ones are.
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
    /// Why it cannot be used; null if it can.
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

fn write_list(kernels: &Kernels, json: bool, output: &mut Output) -> anyhow::Result<()> {
    let Kernels { folder, kernels } = kernels;
    let kernels: Vec<Row<'_>> = kernels.iter().map(Row::of).collect();
    if json {
        let folder = folder.as_ref().map(|folder| folder.display().to_string());
        let document = Document { schema: "oscost.kernels/1", folder, kernels };
        let text = serde_json::to_string_pretty(&document).context("cannot write JSON")?;
        return output.write(&(text + "\n"));
    }
    if kernels.is_empty() {
        report_line(
            "no kernel is installed or downloaded here\n  hint: `oscost kernels fetch \
             linux-image-cloud-amd64` gets Debian's for virtual machines,\n        `oscost kernels \
             list --available` lists others; `vm:./bzImage` names a file",
        );
        return Ok(());
    }
    output.write(&table(&kernels))
}

fn table(kernels: &[Row<'_>]) -> String {
    let build = |row: &Row<'_>| row.build.unwrap_or("-").to_owned();
    let width = |of: &dyn Fn(&Row<'_>) -> usize, title: &str| {
        kernels.iter().map(of).max().unwrap_or(0).max(title.len())
    };
    let names = width(&|row| row.name.len(), "kernel");
    let builds = width(&|row| build(row).len(), "build");
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
