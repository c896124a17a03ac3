//! `oscost fleet run`

use std::path::PathBuf;

use crate::app::fleet::{
    Preview, QueueEnd, Reach, RunRequest, SlurmOptions, Started, Submission, retry, run as begin,
};
use crate::cli::exit::ExitStatus;
use crate::cli::output::{Output, report_line};
use crate::cli::terminal::Terminal;
use crate::cli::values::{effort, positive};
use oscost_model::fleet::FleetSides;

/// The most refused tasks that are named.
const MAX_NAMED: usize = 10;

/// Which machines to measure, and with what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
FOLDER must be new or empty. The plan in it says which node is measured when:
each visit of all nodes has an order of its own, by the seed, so that the hour
and the node are not confounded. With --slurm the tasks are one batch array,
each bound to its node; it goes on when oscost has ended. With --ssh oscost
keeps the queue itself, and after a kill --retry goes on with the rest.

LIST is a host list of Slurm (`n[1-4,7]`); with --ssh and --retry names with
commas. Options of --slurm: partition, account, qos, reservation, constraint,
time, mem, licenses, nodes.

With --treatment the fleet is measured with and without treatments, and
`oscost fleet ab FOLDER` says what they cost: with --sides both each node is
measured on both sides, interleaved; with --sides split half of the nodes are
measured under the treatments and the others without them, by lot.

A machine with several NUMA nodes is measured on one of them at each visit, in
turn: visit it twice as often as it has some (--repeat 4 for two sockets), and
a slow one is a finding.

Examples:
  oscost fleet run /shared/lab --slurm partition=debug syscall process
  oscost fleet run /shared/lab --slurm partition=debug --repeat 3 --apart 4h
  oscost fleet run /shared/lab --slurm account=ops --nodes 'n[1-64]' --dry-run
  oscost fleet run ./lab --ssh hosts.txt --at-once 8 --quick
  oscost fleet run ./docker --ssh hosts.txt --treatment seccomp=docker syscall
  oscost fleet run /shared/ab --slurm time=30 --treatment nice=5 --sides split
  oscost fleet run /shared/lab --retry          what has no record, again")]
pub(super) struct Arguments {
    /// The folder of the fleet, which all nodes see at this path.
    folder: PathBuf,
    /// A family, a benchmark, a case or a glob [default: the price list].
    #[arg(value_name = "SELECTOR", conflicts_with = "retry")]
    selectors: Vec<String>,
    /// Submit a batch array to Slurm with these options; there may be none (`--slurm ''`).
    #[arg(
        long,
        value_name = "OPTIONS",
        value_parser = slurm,
        required_unless_present_any = ["ssh", "retry"]
    )]
    slurm: Option<SlurmOptions>,
    /// Measure these hosts by ssh: a file with one `[user@]HOST` a line.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["slurm", "retry"])]
    ssh: Option<PathBuf>,
    /// Measure what has no record in the folder, and neither waits nor runs.
    #[arg(long, conflicts_with = "slurm")]
    retry: bool,
    /// The nodes [default: all of the partition, or of the plan].
    #[arg(long, value_name = "LIST", conflicts_with = "ssh")]
    nodes: Option<String>,
    /// How often each node is visited.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "retry")]
    repeat: u32,
    /// The least time between the planned beginnings of two visits of a node.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds,
          conflicts_with = "retry")]
    apart: f64,
    /// How many visits there are at one time [default: 64 by Slurm, 16 by ssh].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with = "retry")]
    at_once: Option<u32>,
    /// The least that gives figures: six repetitions of each row.
    #[arg(long, conflicts_with_all = ["thorough", "retry"])]
    quick: bool,
    /// For figures to publish.
    #[arg(long, conflicts_with = "retry")]
    thorough: bool,
    /// Stop each measurement after this many seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        value_parser = positive,
        conflicts_with = "retry"
    )]
    budget: Option<f64>,
    /// Also measure under these treatments, joined by `+`, to compare (`oscost treat list`).
    #[arg(long, value_name = "TREATMENTS", conflicts_with = "retry")]
    treatment: Option<String>,
    /// Which sides a node is measured on: both of them, or one by lot [default: both].
    #[arg(long, value_name = "SIDES", requires = "treatment", conflicts_with = "retry")]
    sides: Option<Sides>,
    /// The name of the fleet [default: that of the folder].
    #[arg(long, value_name = "NAME", conflicts_with = "retry")]
    name: Option<String>,
    /// The seed of the order of visits [default: a fresh one].
    #[arg(long, value_name = "N", conflicts_with = "retry")]
    seed: Option<u64>,
    /// Do not lock the machines: measure also beside other runs, which disturbs both.
    #[arg(long, conflicts_with = "retry")]
    no_lock: bool,
    /// Let a task share its node with other jobs.
    #[arg(long, conflicts_with_all = ["ssh", "retry"])]
    shared: bool,
    /// The path of oscost on the nodes [default: that of this one].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ssh", "retry"])]
    program: Option<PathBuf>,
    /// Only show the batch script and what would be submitted.
    #[arg(long, conflicts_with = "retry")]
    dry_run: bool,
    /// Show notes and errors only.
    #[arg(short, long)]
    quiet: bool,
}

/// Which sides of a comparison a node is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sides {
    Both,
    Split,
}

fn slurm(text: &str) -> Result<SlurmOptions, String> {
    SlurmOptions::parse(text).map_err(|error| error.to_string())
}

/// A time, as `90s`, `2h 30m`, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let parsed = humantime::parse_duration(text).map(|time| time.as_secs_f64());
    parsed.map_err(|_| "it must be a time, as 30m or 4h".to_owned())
}

pub(super) fn run(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::new(output).quiet_if(arguments.quiet);
    let quiet = arguments.quiet;
    let folder = arguments.folder.display().to_string();
    let started = if arguments.retry {
        retry(&arguments.folder, arguments.nodes.as_deref(), &terminal)?
    } else {
        begin(&request(arguments)?, &terminal)?
    };
    match started {
        Started::Preview(preview) => {
            output.write(&preview_text(&preview))?;
            Ok(ExitStatus::Success)
        }
        Started::Submitted(submission) => Ok(report_submission(&submission, &folder, quiet)),
        Started::Done(QueueEnd { measured, failed, still_running }) => {
            if !quiet {
                let running = match still_running {
                    0 => String::new(),
                    count => format!(", {count} still running"),
                };
                report_line(&format!(
                    "{measured} visits measured, {failed} failed{running}, in {folder}"
                ));
            }
            let is_whole = failed + still_running == 0;
            Ok(if is_whole { ExitStatus::Success } else { ExitStatus::NotMeasured })
        }
    }
}

fn request(arguments: Arguments) -> anyhow::Result<RunRequest> {
    let reach = match arguments.ssh {
        Some(hosts) => Reach::Ssh { hosts },
        None => {
            let mut options = arguments.slurm.unwrap_or_default();
            if let Some(nodes) = &arguments.nodes {
                options.set_nodes(nodes)?;
            }
            Reach::Slurm { options, exclusive: !arguments.shared, program: arguments.program }
        }
    };
    let sides = match (&arguments.treatment, arguments.sides) {
        (None, _) => FleetSides::Alone,
        (Some(_), None | Some(Sides::Both)) => FleetSides::Both,
        (Some(_), Some(Sides::Split)) => FleetSides::Split,
    };
    Ok(RunRequest {
        folder: arguments.folder,
        name: arguments.name,
        reach,
        selectors: arguments.selectors,
        effort: effort(arguments.quick, arguments.thorough),
        budget_s: arguments.budget,
        treatments: arguments.treatment,
        sides,
        respects_lock: !arguments.no_lock,
        visits: arguments.repeat,
        apart_s: arguments.apart,
        at_once: arguments.at_once,
        seed: arguments.seed,
        is_preview: arguments.dry_run,
    })
}

/// The script, and below it the commands as comments of a shell.
fn preview_text(Preview { plan, script, commands }: &Preview) -> String {
    let mut text = script.clone().unwrap_or_default();
    text += &format!(
        "\n# {} visits of {} nodes, {} each, seed {}\n",
        plan.tasks.len(),
        plan.nodes.len(),
        plan.visits,
        plan.seed
    );
    if !commands.is_empty() {
        text += "# held, bound to their nodes and times by scontrol, and released:\n";
    }
    for words in commands {
        text += &format!("# {}\n", words.join(" "));
    }
    text
}

fn report_submission(submission: &Submission, folder: &str, quiet: bool) -> ExitStatus {
    let Submission { jobs, tasks, not_in_array, refused } = submission;
    if let Some(why) = not_in_array {
        report_line(&format!(
            "note: tasks are jobs of their own, and `--at-once` does not limit them: {why}"
        ));
    }
    for failure in refused.iter().take(MAX_NAMED) {
        report_line(&format!("note: node {}: {}", failure.node, failure.why));
    }
    if refused.len() > MAX_NAMED {
        report_line(&format!("note: and {} more", refused.len() - MAX_NAMED));
    }
    if !quiet {
        let jobs = match jobs.as_slice() {
            [] => String::new(),
            [job] => format!(" as job {job}"),
            [first, .., last] => format!(" as jobs {first} to {last}"),
        };
        report_line(&format!("{tasks} visits submitted{jobs}: `oscost fleet status {folder}`"));
    }
    if refused.is_empty() { ExitStatus::Success } else { ExitStatus::NotMeasured }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(seconds("1h 30m"), Ok(5_400.0));
        assert_eq!(seconds("0s"), Ok(0.0));
        assert!(seconds("60").is_err() && seconds("-1h").is_err());
    }
}
