//! Does the counter in the kernel count what `strace -c -f` counts?
//!
//! Both run the same command, with the same environment, in the same folder: a process has only one
//! tracer, but a command that does the same each time makes the same calls. strace runs it twice; calls
//! whose number then differs, such as waits for other threads, are told and not judged. Calls that
//! never return are not compared.
//!
//! Bar: the counts of all other calls are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::programs::BilledProgram;
use super::tool::Tool;

/// Calls that never return: strace does not count them.
const NEVER_RETURN: [&str; 2] = ["exit", "exit_group"];
/// Both have this environment alone.
const CLEAN: [&str; 4] = ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"];
/// Threads that each read a file.
const THREADS: &str = "
import threading
def read():
    for _ in range(20):
        open('0/0').read()
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
";
/// The commands; they run in a folder with ten folders of ten files.
const COMMANDS: [&[&str]; 10] = [
    &["true"],
    &["cat", "0/0", "1/1"],
    &["ls", "-nR", "."],
    &["find", ".", "-name", "*.zzz"],
    &["tar", "cf", "/dev/null", "."],
    &["grep", "-rn", "needle", "."],
    &["sort", "--parallel=1", "0/0"],
    &["sh", "-c", "i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done"],
    &["sh", "-c", "i=0; while [ $i -lt 50 ]; do (exit 0); i=$((i+1)); done"],
    &["python3", "-I", "-c", THREADS],
];

/// So much of a command is printed.
const MAX_NAME: usize = 60;

/// How often each call was made, by its name.
type Counts = BTreeMap<String, u64>;

/// Counts all commands both ways; whether no count differs.
pub(super) fn holds(tool: &Tool) -> anyhow::Result<bool> {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        println!("counts of strace: skipped: strace is not installed");
        return Ok(true);
    }
    tool.measure_one_price()?;
    let folder = folder_of_files(tool.folder()).context("cannot create files to work on")?;
    println!("| command | calls | differences | not judged |");
    println!("| --- | --- | --- | --- |");
    let (mut judged, mut equal) = (0, 0);
    for command in COMMANDS {
        let text = command.join(" ");
        let name: String = text.lines().next().unwrap_or_default().chars().take(MAX_NAME).collect();
        match Both::of(tool, &folder, command) {
            Ok(both) => {
                println!("| {name} | {} |", both.row());
                judged += 1;
                equal += usize::from(both.differences().is_empty());
            }
            Err(why) => println!("| {name} | skipped: {why:#} | | |"),
        }
    }
    let verdict = match (equal < judged, judged < COMMANDS.len()) {
        (true, _) => "FAILS",
        (false, true) => "open: too few were judged",
        (false, false) => "holds",
    };
    println!(
        "\n{:<44} {equal:>3} of {judged:<3} {verdict}\n",
        "commands with the counts of strace"
    );
    Ok(equal == judged)
}

/// Ten folders of ten files.
fn folder_of_files(parent: &Path) -> std::io::Result<PathBuf> {
    let folder = parent.join("files");
    for number in 0..10 {
        let below = folder.join(number.to_string());
        fs::create_dir_all(&below)?;
        for file in 0..10 {
            fs::write(below.join(file.to_string()), "a line\n".repeat(50 * (file + 1)))?;
        }
    }
    Ok(folder)
}

/// What both have counted of a command.
struct Both {
    ours: Counts,
    /// Those of two runs.
    of_strace: [Counts; 2],
}

impl Both {
    fn of(tool: &Tool, folder: &Path, command: &[&str]) -> anyhow::Result<Self> {
        let words = [&CLEAN[..], command].concat();
        let of_strace = [strace(tool, folder, &words)?, strace(tool, folder, &words)?];
        Ok(Self { ours: ours(tool, folder, &words)?, of_strace })
    }

    /// The names of all calls that return.
    fn names(&self) -> BTreeSet<&str> {
        let all = [&self.ours, &self.of_strace[0], &self.of_strace[1]];
        let names = all.into_iter().flat_map(Counts::keys).map(String::as_str);
        names.filter(|name| !NEVER_RETURN.contains(name)).collect()
    }

    /// Our count of a call, and both of strace.
    fn counts(&self, name: &str) -> (u64, [u64; 2]) {
        let count = |counts: &Counts| counts.get(name).copied().unwrap_or(0);
        (count(&self.ours), [count(&self.of_strace[0]), count(&self.of_strace[1])])
    }

    /// Calls whose number is not the same in both runs of strace.
    fn varying(&self) -> Vec<String> {
        let of = |name: &str| {
            let (ours, [first, second]) = self.counts(name);
            (first != second).then(|| format!("{name} {ours} ({first}, {second})"))
        };
        self.names().into_iter().filter_map(of).collect()
    }

    /// Calls whose number differs from that of strace, which is the same in both of its runs.
    fn differences(&self) -> Vec<String> {
        let of = |name: &str| {
            let (ours, [first, second]) = self.counts(name);
            (first == second && ours != first).then(|| format!("{name} {ours} ({first})"))
        };
        self.names().into_iter().filter_map(of).collect()
    }

    /// All calls, differences, and what is not judged.
    fn row(&self) -> String {
        let all: u64 = self.names().into_iter().map(|name| self.counts(name).0).sum();
        let listed = |list: Vec<String>| match list.is_empty() {
            true => "none".to_owned(),
            false => list.join(", "),
        };
        format!("{all} | {} | {}", listed(self.differences()), listed(self.varying()))
    }
}

/// The counts of a bill: of each form the median of three counted runs.
fn ours(tool: &Tool, folder: &Path, words: &[&str]) -> anyhow::Result<Counts> {
    let options =
        ["--counter", "ebpf", "--trials", "6", "--price-seconds", "0", "--ignore-failure"];
    let program = BilledProgram::command("command", words);
    let bill = tool.bill_in(folder, &options, &program)?;
    let counted = bill.counted.context("nothing was counted")?;
    ensure!(counted.lost_events == 0, "{} events were lost", counted.lost_events);
    let mut counts = Counts::new();
    for form in &counted.calls.forms {
        let name = form.form.split(' ').next().unwrap_or_default();
        *counts.entry(name.to_owned()).or_default() += form.calls;
    }
    Ok(counts)
}

/// The counts of strace.
fn strace(tool: &Tool, folder: &Path, words: &[&str]) -> anyhow::Result<Counts> {
    let table = tool.folder().join("strace.txt");
    // With the signals that oscost's programs have: sort(1) and shells make fewer calls about those that they
    // find ignored, as they are in the background of a script.
    let mut command = Command::new("env");
    command
        .args(["--default-signal", "strace", "-f", "-c", "-o"])
        .arg(&table)
        .arg("--")
        .args(words)
        .current_dir(folder);
    // Its table has a decimal point then.
    // The descriptors of oscost's programs are the null device and, for what they report, a pipe: an interpreter
    // asks for the position of each.
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let status = command.output().context("cannot start strace")?.status;
    let text = fs::read_to_string(&table).context("strace wrote no table")?;
    let counts: Counts = text.lines().filter_map(count_of_line).collect();
    ensure!(!counts.is_empty(), "strace counted nothing ({status})");
    Ok(counts)
}

/// A line of the table: per cent, seconds, microseconds a call, calls, errors if any, name.
fn count_of_line(line: &str) -> Option<(String, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, calls) = (words.last()?, words.get(3)?.parse().ok()?);
    (words.len() >= 5 && *name != "total").then(|| ((*name).to_owned(), calls))
}
