//! The programs that are billed: the whole workloads that come with oscost, and five commands that
//! exist everywhere.

use anyhow::ensure;

/// A program, and how a bill of it is asked for.
#[derive(Clone, Debug)]
pub(super) struct BilledProgram {
    /// What it is called here.
    pub(super) name: String,
    subject: Subject,
}

#[derive(Clone, Debug)]
enum Subject {
    /// A workload, and whether a folder is prepared for it once.
    Workload {
        name: &'static str,
        is_prepared: bool,
    },
    Command(Vec<String>),
}

/// The workloads that are whole programs: the last one takes minutes a bill.
const WORKLOADS: [(&str, bool); 7] = [
    ("find", false),
    ("compile", false),
    ("tar", true),
    ("sqlite", false),
    ("http", false),
    ("frames", false),
    ("kernel-build", true),
];
/// Processes that only exit.
const FORKS: &str = "i=0; while [ $i -lt 500 ]; do (exit 0); i=$((i+1)); done";
/// The commands, by what they are called here: two workloads have the names of their programs.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("find-names", &["find", "/usr", "-xdev", "-name", "*.zzz"]),
    ("python-import", &["python3", "-c", "import json"]),
    ("git-status", &["git", "-C", ".", "status"]),
    ("tar-names", &["tar", "cf", "/dev/null", "/usr/share"]),
    ("sh-forks", &["sh", "-c", FORKS]),
];

/// The word for the commands that are tried last.
const HELD_OUT: &str = "held-out";
/// Commands that no rule and no price was made or changed by: they are tried once, when all else is
/// done, and what they show is told as it is. They are no part of the bars.
const HELD_OUT_COMMANDS: [(&str, &[&str]); 6] = [
    ("cksum", &["sh", "-c", "cksum /usr/bin/* > /dev/null 2>&1; true"]),
    ("dd", &["dd", "if=/dev/zero", "of=/dev/null", "bs=4k", "count=200000", "status=none"]),
    ("stat", &["sh", "-c", "stat /usr/bin/* /usr/lib/*/* > /dev/null"]),
    ("expr", &["sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$(expr $i + 1); done"]),
    ("od", &["sh", "-c", "od -An -c /usr/bin/od > /dev/null"]),
    ("head", &["sh", "-c", "head -c 300000000 /dev/zero | cat > /dev/null"]),
];

/// All programs, those that are named by one of these words, or the command behind `--`.
pub(super) fn chosen_programs(words: &[String]) -> anyhow::Result<Vec<BilledProgram>> {
    if let Some(at) = words.iter().position(|word| word == "--") {
        return Ok(vec![BilledProgram::command("command", &words[at + 1..])]);
    }
    if words.iter().any(|word| word == HELD_OUT) {
        ensure!(words.len() == 1, "`{HELD_OUT}` is asked for alone");
        let commands = HELD_OUT_COMMANDS.iter();
        return Ok(commands.map(|&(name, words)| BilledProgram::command(name, words)).collect());
    }
    let workloads = WORKLOADS.iter().map(|&(name, is_prepared)| BilledProgram {
        name: name.to_owned(),
        subject: Subject::Workload { name, is_prepared },
    });
    let commands = COMMANDS.iter().map(|&(name, words)| BilledProgram::command(name, words));
    let is_chosen = |program: &BilledProgram| words.is_empty() || words.contains(&program.name);
    let chosen: Vec<BilledProgram> = commands.chain(workloads).filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "no program is called {}", words.join(" or "));
    Ok(chosen)
}

impl BilledProgram {
    /// A command.
    pub(super) fn command<S: AsRef<str>>(name: &str, words: &[S]) -> Self {
        let words = words.iter().map(|word| word.as_ref().to_owned()).collect();
        Self { name: name.to_owned(), subject: Subject::Command(words) }
    }

    /// The arguments of `oscost bill` that name it.
    pub(super) fn arguments(&self) -> Vec<&str> {
        match &self.subject {
            Subject::Workload { name, .. } => vec!["--workload", *name],
            Subject::Command(words) => {
                std::iter::once("--").chain(words.iter().map(String::as_str)).collect()
            }
        }
    }

    /// The workload whose folder is prepared once, before it runs.
    pub(super) fn workload_to_prepare(&self) -> Option<&'static str> {
        match self.subject {
            Subject::Workload { name, is_prepared: true } => Some(name),
            _ => None,
        }
    }
}
