//! `oscost kernels`

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use super::terminal::Terminal;
use crate::app::kernels::{self, AvailablePackage, FetchedKernel, Kernels, LocalKernel};
use crate::report;
use crate::report::kernels::{Kernel, Package};

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
            let fetched = kernels::fetch(name, &Terminal::new(output).announcing())?;
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

/// What was fetched, and how it is booted.
fn write_fetched(fetched: FetchedKernel, output: &mut Output) -> anyhow::Result<()> {
    let FetchedKernel { version, package, build, .. } = fetched;
    match fetched.already_present {
        true => report_line(&format!("{package} {build} is already downloaded")),
        false => report_line(&format!("fetched {package} {build} to {}", fetched.file.display())),
    }
    if fetched.was_damaged {
        report_line("note: the file that was there was damaged");
    }
    for old in fetched.replaced {
        report_line(&format!("note: it replaced {old}, which has the same name"));
    }
    output.write(&format!("oscost run --at vm:{version}\n"))
}

/// The packages that apt offers.
fn write_available(pattern: Option<&str>, output: &mut Output) -> anyhow::Result<()> {
    let package = |kernel: AvailablePackage| Package {
        name: kernel.package,
        is_downloaded: kernel.is_downloaded,
    };
    let packages: Vec<Package> = kernels::available(pattern)?.into_iter().map(package).collect();
    if packages.is_empty() {
        output.write("apt offers no such kernel\n")?;
        report_line("hint: `sudo apt-get update` updates its package lists");
        return Ok(());
    }
    output.show(&report::kernels::packages(&packages))
}

fn row(kernel: &LocalKernel) -> Kernel {
    let flaw = kernel.flaw.as_ref();
    Kernel {
        name: format!("vm:{}", kernel.version),
        version: kernel.version.clone(),
        build: kernel.build.clone(),
        state: if kernel.is_downloaded { "downloaded" } else { "installed" },
        file: kernel.file.display().to_string(),
        bytes: kernel.bytes,
        reason: flaw.map(|flaw| flaw.why.clone()),
        hint: flaw.map(|flaw| flaw.hint.clone()),
    }
}

fn write_list(kernels: &Kernels, json: bool, output: &mut Output) -> anyhow::Result<()> {
    let Kernels { folder, kernels } = kernels;
    let kernels: Vec<Kernel> = kernels.iter().map(row).collect();
    if json {
        let folder = folder.as_ref().map(|folder| folder.display().to_string());
        return output.write(&report::kernels::json(folder.as_deref(), &kernels)?);
    }
    if kernels.is_empty() {
        output.write("no kernels are installed or downloaded here\n")?;
        report_line(
            "hint: `oscost kernels fetch linux-image-cloud-amd64` gets Debian's for virtual \
             machines,\n      `oscost kernels list --available` lists others; `vm:./bzImage` names \
             a file",
        );
        return Ok(());
    }
    output.show(&report::kernels::view(&kernels))
}
