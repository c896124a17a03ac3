//! The command line, made of its own help with faults: whatever is typed ends within bounds, with a
//! right status and a next step, and never in a panic.
//!
//! `OSCOST_LINES` is the number of lines, `OSCOST_SEED` gives others.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::{Child, Stdio};
use std::time::Duration;

use clap::Command;
use oscost_model::seed::Seed;

use crate::attack::{Attack, Effort, Outcome, all_are_made, make, number};
use crate::common::ended::Ended;
use crate::common::{Ran, Sandbox, scenario_file};
use crate::oracles::{fault, next_step_fault};

/// A line that takes longer hangs: none measures this machine.
const LIMIT: Duration = Duration::from_secs(10);

/// The pairs of two commands span 61 s, also on a made-up machine.
const LIMIT_OF_PAIRS: Duration = Duration::from_secs(75);

/// A store grows with the lines: a new one after so many.
const LINES_OF_A_STORE: u64 = 250;

/// Subcommands that fetch, prepare, monitor the machine or wait for input: they are given an option
/// that does not exist, so that their arguments are read, and refused.
const NEVER_DONE: [&[&str]; 4] = [&["kernels", "fetch"], &["workload"], &["ph"], &["treat"]];
/// Those of them that only read.
const DONE: [&[&str]; 4] =
    [&["ph", "status"], &["ph", "profiles"], &["ph", "save"], &["ph", "load"]];

/// What is typed for a value. None is a host, a treatment or a program of this machine, or a path
/// that root could create outside of the test's folder.
const VALUES: [&str; 36] = [
    "",
    " ",
    "-",
    "0",
    "-1",
    "1",
    "3.5",
    "1e308",
    "NaN",
    "inf",
    "4294967295",
    "18446744073709551615",
    "18446744073709551616",
    "0x10",
    "last",
    "last~1",
    "last~99999999999999999999",
    "@",
    "+",
    "=",
    ":",
    "%",
    "%2B%zz",
    "fake:no-such-file",
    "ssh:-oProxyCommand=x",
    "vm:",
    "syscall/getppid",
    "syscall/getppid:via=raw",
    "*/*",
    "[",
    "no/such/folder/x.json",
    "x.html",
    "x.csv",
    "/dev/full",
    "\u{1b}[2J",
    "\u{202e}\u{feff}\u{1f600}",
];

/// A subcommand: the names that lead to it, and itself.
struct Subcommand {
    path: Vec<String>,
    command: Command,
}

/// All subcommands, with those of subcommands.
fn subcommands(command: &Command, path: &[String]) -> Vec<Subcommand> {
    let mut found = vec![Subcommand { path: path.to_vec(), command: command.clone() }];
    for below in command.get_subcommands() {
        let path = [path, &[below.get_name().to_owned()]].concat();
        found.extend(subcommands(below, &path));
    }
    found
}

/// Makes command lines.
struct Lines {
    seed: Seed,
    subcommands: Vec<Subcommand>,
    fake: String,
}

impl Lines {
    fn new(seed: u64) -> Self {
        let subcommands = subcommands(&oscost::cli::command(), &[]);
        let fake = format!("fake:{}", scenario_file("measured").display());
        Self { seed: Seed::new(seed), subcommands, fake }
    }

    fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.seed.below(all.len() as u64) as usize]
    }

    /// Whether something happens once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.seed.below(times) == 0
    }

    /// The arguments of a command line.
    fn line(&mut self) -> Vec<OsString> {
        let at = self.seed.below(self.subcommands.len() as u64) as usize;
        let Subcommand { path, command } = &self.subcommands[at];
        let (path, command) = (path.clone(), command.clone());
        let mut line: Vec<OsString> = path.iter().map(OsString::from).collect();
        line.extend(self.safe_arguments(&path, &command));
        let fixed = line.len();
        for _ in 0..self.seed.below(6) {
            let more = self.arguments(&command);
            line.extend(more);
        }
        if line.len() > fixed && self.once_in(4) {
            // The same again, or at another place.
            let from = fixed + self.seed.below((line.len() - fixed) as u64) as usize;
            let to = fixed + self.seed.below((line.len() - fixed) as u64) as usize;
            let again = line[from].clone();
            line.insert(to, again);
        }
        if self.once_in(20) && !line.is_empty() {
            // A misspelt word: what follows it is then of another command, or of none.
            line[0] = self.misspelt(&line[0].clone());
            line.insert(1, "--no-such-option".into());
        }
        line
    }

    /// What keeps a line from measuring this machine or from changing it.
    fn safe_arguments(&self, path: &[String], command: &Command) -> Vec<OsString> {
        let is_below = |all: &[&[&str]]| {
            let begins = |names: &&[&str]| path.iter().zip(*names).all(|(a, b)| a == b);
            all.iter().filter(|names| names.len() <= path.len()).any(begins)
        };
        let has_option = |name: &str| command.get_arguments().any(|it| it.get_long() == Some(name));
        let fake = OsString::from(&self.fake);
        if is_below(&NEVER_DONE) && !is_below(&DONE) {
            vec!["--no-such-option".into()]
        } else if has_option("base") {
            let treated = OsString::from(format!("env=A=b@{}", self.fake));
            vec!["--base".into(), fake, "--new".into(), treated]
        } else if has_option("at") {
            vec!["--at".into(), fake]
        } else {
            Vec::new()
        }
    }

    /// Some arguments: an option with or without a value, a value, or what separates a command.
    fn arguments(&mut self, command: &Command) -> Vec<OsString> {
        let options: Vec<String> = command
            .get_arguments()
            .flat_map(|it| {
                let long = it.get_long().map(|name| format!("--{name}"));
                let short = it.get_short().map(|name| format!("-{name}"));
                long.into_iter().chain(short)
            })
            .collect();
        let value = self.value();
        match self.seed.below(10) {
            0..=2 if !options.is_empty() => vec![self.one(&options).into(), value],
            3 if !options.is_empty() => vec![self.one(&options).into()],
            4 if !options.is_empty() => {
                let mut joined = OsString::from(self.one(&options));
                joined.push("=");
                joined.push(value);
                vec![joined]
            }
            5 if !options.is_empty() => {
                let option = OsString::from(self.one(&options));
                vec![self.misspelt(&option), value]
            }
            6 => vec!["--".into(), value],
            7 => vec!["--help".into()],
            _ => vec![value],
        }
    }

    fn value(&mut self) -> OsString {
        match self.seed.below(12) {
            // As long as one argument may be (MAX_ARG_STRLEN is 128 KiB).
            0 => "x".repeat(100_000).into(),
            1 => OsString::from_vec(vec![0xff, 0xfe, b'.', b'c', b's', b'v']),
            2 => (0..self.seed.below(20))
                .map(|_| char::from(b'!' + self.seed.below(94) as u8))
                .fold(OsString::from("x"), |mut text, letter| {
                    text.push(letter.to_string());
                    text
                }),
            _ => self.one(&VALUES).into(),
        }
    }

    /// A word with one byte less, more, or another one.
    fn misspelt(&mut self, word: &OsStr) -> OsString {
        let mut bytes = word.as_bytes().to_vec();
        let at = self.seed.below(bytes.len().max(1) as u64) as usize;
        match self.seed.below(3) {
            0 if !bytes.is_empty() => drop(bytes.remove(at)),
            1 if !bytes.is_empty() => bytes[at] = 0x80 | self.seed.below(128) as u8,
            _ => bytes.insert(at, b'-'),
        }
        OsString::from_vec(bytes)
    }
}

/// Waits for the end of a line; `None` if it hangs. What is no UTF-8 in its output shows as U+FFFD.
fn end(child: Child, limit: Duration) -> Option<Ran> {
    let ended = Ended::of(child, limit).ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&ended.stdout), text(&ended.stderr));
    Some(Ran { code: ended.status.code(), stdout, stderr })
}

/// What is wrong with the end of a line.
fn wrong(ran: Option<&Ran>, limit: Duration) -> Option<String> {
    let Some(ran) = ran else { return Some(format!("no end within {limit:?}")) };
    if let Some(fault) = fault(ran) {
        return Some(format!("{fault}: {:?}", ran.code));
    }
    match ran.code {
        // A gate that failed; a program that was not found or cannot be executed, as in shells.
        Some(0 | 1 | 126 | 127) => None,
        Some(2..=4) if ran.stderr.trim().is_empty() && ran.stdout.trim().is_empty() => {
            Some("a failure without a word".to_owned())
        }
        // Where nothing was measured the table has the reasons.
        Some(3) if !ran.stdout.is_empty() => None,
        Some(2..=4) => next_step_fault(&ran.stderr).map(str::to_owned),
        Some(code) => Some(format!("the status {code}, which no table of statuses has")),
        None => Some("a signal".to_owned()),
    }
}

/// A line as it can be read.
fn shown(line: &[OsString]) -> String {
    let short = |word: &OsString| {
        let text = word.to_string_lossy();
        let begin: String = text.chars().take(60).collect();
        format!("{begin:?}{}", if begin.len() < text.len() { "..." } else { "" })
    };
    line.iter().map(short).collect::<Vec<_>>().join(" ")
}

fn fuzz(count: u64, seed: u64) -> Outcome {
    let mut lines = Lines::new(seed);
    let mut sandbox = Sandbox::new();
    let mut found = Vec::new();
    for at in 0..count {
        if at % LINES_OF_A_STORE == 0 {
            sandbox = Sandbox::new();
            sandbox.fake("measured", &["syscall/getppid"]).exits(0);
        }
        let line = lines.line();
        let mut command = sandbox.command(&[]);
        command.args(&line).current_dir(sandbox.folder("files"));
        // No program is found, whatever a line names.
        command.env("PATH", sandbox.folder("files").join("no-such-folder"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_of_pairs = line.first().is_some_and(|verb| verb == "ab");
        let limit = if is_of_pairs { LIMIT_OF_PAIRS } else { LIMIT };
        let ran = end(child, limit);
        if let Some(wrong) = wrong(ran.as_ref(), limit) {
            let words = ran.map(|ran| ran.stderr).unwrap_or_default();
            let words: Vec<&str> = words.lines().take(3).collect();
            found.push(format!("line {at}: {wrong}\n  {}\n  {}", shown(&line), words.join("\n  ")));
        }
    }
    sandbox.nothing_is_left();
    assert!(found.is_empty(), "{} of {count} lines:\n{}", found.len(), found.join("\n"));
    Outcome::Withstood(format!("{count} lines"))
}

#[test]
fn whatever_is_typed_ends_with_a_status_and_a_next_step() {
    let seed = number("OSCOST_SEED", 29);
    let count = number("OSCOST_LINES", if all_are_made() { 5_000 } else { 100 });
    let name = format!("command lines of its own help, seed {seed}");
    make("command lines", [Attack::new(name, Effort::Short, move || fuzz(count, seed))]);
}

#[test]
fn a_line_is_the_same_for_the_same_seed_and_measures_no_machine() {
    let lines = |seed| {
        let mut lines = Lines::new(seed);
        (0..2_000).map(|_| lines.line()).collect::<Vec<_>>()
    };
    let some = lines(1);
    assert_eq!(some, lines(1));
    assert_ne!(some, lines(2));
    let is_fake =
        |line: &[OsString]| line.iter().any(|word| word.to_string_lossy().contains("fake:"));
    let is_refused = |line: &[OsString]| line.iter().any(|word| word == "--no-such-option");
    for line in &some {
        let measures = line.first().is_some_and(|verb| verb == "run" || verb == "ab");
        assert!(!measures || is_fake(line) || is_refused(line), "{}", shown(line));
    }
}

#[test]
fn a_hang_a_crash_and_an_error_without_next_step_are_wrong() {
    let ended = |code: i32, stderr: &str| {
        let ran = Ran { code: Some(code), stdout: String::new(), stderr: stderr.to_owned() };
        wrong(Some(&ran), LIMIT).is_some()
    };
    assert!(wrong(None, LIMIT).is_some());
    assert!(ended(134, "") && ended(0, "error: x") && ended(2, "error: x") && ended(99, "hint: x"));
    assert!(!ended(0, "") && !ended(2, "error: x\n  hint: y") && !ended(127, "error: x"));
}
