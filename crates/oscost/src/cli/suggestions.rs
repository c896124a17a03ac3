//! What was perhaps meant where arguments are refused.

/// Verbs of other tools, and those of oscost that do the same.
pub(super) const OTHER_VERBS: &[(&str, &str)] = &[
    ("bench", "oscost run"),
    ("benchmark", "oscost run"),
    ("measure", "oscost run"),
    ("test", "oscost run"),
    ("time", "oscost run -- COMMAND"),
    ("exec", "oscost treat TREATMENTS -- COMMAND"),
    ("diff", "oscost compare BASE NEW"),
    ("cmp", "oscost compare BASE NEW"),
    ("ls", "oscost list"),
    ("search", "oscost list -k TEXT"),
    ("find", "oscost list -k TEXT"),
    ("describe", "oscost explain NAME"),
    ("glossary", "oscost explain NAME"),
    ("info", "oscost machine"),
    ("check", "oscost doctor"),
    ("noise", "oscost doctor"),
    ("results", "oscost runs list"),
    ("log", "oscost history"),
    ("view", "oscost runs show RUN"),
    ("html", "oscost report RUN -o FILE.html"),
    ("page", "oscost report RUN -o FILE.html"),
    ("rm", "oscost runs delete RUN"),
    ("baseline", "oscost compare @LABEL last"),
    ("self-test", "oscost doctor --self"),
    ("selftest", "oscost doctor --self"),
    ("strace", "oscost bill -- COMMAND"),
    ("hyperfine", "oscost run -- COMMAND"),
    ("version", "oscost --version"),
];

/// A verb that a command of several verbs does not have, and the one that does the same.
pub(super) struct OtherNestedVerb {
    /// The command: `oscost fleet`.
    pub(super) command: &'static str,
    /// The verb that was typed.
    pub(super) typed: &'static str,
    /// What does the same.
    pub(super) meant: &'static str,
}

/// Such verbs: those of the same name elsewhere are of other things.
pub(super) const OTHER_NESTED_VERBS: &[OtherNestedVerb] = &[
    OtherNestedVerb { command: "oscost fleet", typed: "list", meant: "oscost fleet status FOLDER" },
    OtherNestedVerb { command: "oscost fleet", typed: "show", meant: "oscost fleet status FOLDER" },
    OtherNestedVerb {
        command: "oscost fleet",
        typed: "compare",
        meant: "oscost fleet report FOLDER --baseline FOLDER",
    },
    OtherNestedVerb { command: "oscost kernels", typed: "show", meant: "oscost kernels list" },
    OtherNestedVerb {
        command: "oscost kernels",
        typed: "install",
        meant: "oscost kernels fetch NAME",
    },
    OtherNestedVerb {
        command: "oscost workload",
        typed: "show",
        meant: "oscost explain workload/NAME",
    },
    OtherNestedVerb { command: "oscost runs", typed: "report", meant: "oscost report RUN" },
    OtherNestedVerb { command: "oscost runs", typed: "compare", meant: "oscost compare BASE NEW" },
    OtherNestedVerb { command: "oscost study", typed: "run", meant: "oscost run --study NAME" },
];

/// Options of other tools, and what does the same.
pub(super) const OTHER_OPTIONS: &[(&str, &str)] = &[
    ("--since", "'oscost history --last N' reads the newest N runs of a case"),
    ("--until", "'oscost history --last N' reads the newest N runs of a case"),
    ("--days", "'oscost history --last N' reads the newest N runs of a case"),
    ("--format", "'-o FILE.json' writes in the format of the file's ending"),
    ("--open", "'-o FILE.html' writes a page, which any browser shows"),
    ("--interactive", "'-o FILE.html' writes a page; it is live wherever scripts run"),
    ("--runs", "'--precision PCT' and '--budget SECONDS' decide how often a row is measured"),
    ("--iterations", "'--precision PCT' and '--budget SECONDS' decide how often a row is measured"),
    (
        "--repetitions",
        "'--precision PCT' and '--budget SECONDS' decide how often a row is measured",
    ),
    (
        "-n",
        "'--precision PCT' and '--budget SECONDS' of 'oscost run' decide how often a row is \
         measured; 'oscost history --last N' reads the newest N runs of a case",
    ),
];

/// Options without their value, with an example.
pub(super) const VALUE_EXAMPLES: &[(&str, &str)] = &[
    ("--output <FILE>", "for example '-o run.html'; its ending is the format"),
    ("--json <FILE>", "'--json run.json' writes a file, '--json -' prints it"),
    ("--csv <FILE>", "'--csv run.csv' writes a file, '--csv -' prints it"),
    ("--markdown <FILE>", "'--markdown run.md' writes a file, '--markdown -' prints it"),
    ("--html <FILE>", "for example '--html run.html'"),
    ("--parquet <FILE>", "for example '--parquet run.parquet'"),
    ("--keyword <TEXT>", "for example 'oscost list -k fork'"),
    ("--calls <CALL>", "for example 'oscost list --calls openat'"),
    ("--at <TARGET>", "for example '--at ssh:db1', '--at nice=5@local'"),
    ("--new <TARGET>", "for example 'oscost ab --new seccomp=docker'"),
    (
        "--treat <TREATMENTS>",
        "for example '--treat seccomp=docker'; 'oscost treat list' lists them",
    ),
    ("--study <STUDY>", "'oscost study list' lists the studies"),
    ("--budget <SECONDS>", "for example '--budget 60', in seconds"),
    ("--precision <PCT>", "for example '--precision 1', in per cent"),
];

/// Commands that measure a program: where it stands with its own options.
pub(super) const PROGRAM_EXAMPLES: &[(&str, &str)] = &[
    ("oscost run", "a command to measure stands behind '--': 'oscost run -- ls -l'"),
    ("oscost ab", "commands to compare stand behind '--': 'oscost ab -- ls -- ls -l'"),
    ("oscost bill", "a command to bill stands behind '--': 'oscost bill -- find /usr'"),
];

/// Commands that refuse a word too many: what takes several.
pub(super) const WORDS_TOO_MANY: &[(&str, &str)] = &[
    (
        "oscost compare",
        "it compares two sides, and commas join the runs of one: 'oscost compare A,B C'; 'oscost \
         table A B C' puts them side by side",
    ),
    ("oscost report", "it is of one run: 'oscost table A B' puts several side by side"),
    ("oscost runs show", "it shows one run: 'oscost table A B' puts several side by side"),
    ("oscost runs import", "it imports one file at a time"),
    ("oscost runs delete", "it deletes one run at a time"),
    (
        "oscost treat",
        "treatments are one word, the command stands behind '--', and there is no 'run': 'oscost \
         treat nice=5+ptrace -- ls'; 'oscost treat list' lists treatments",
    ),
];

/// Arguments that are required where others are not given, with these.
pub(super) const ALTERNATIVES: &[(&str, &str)] =
    &[("--slurm <OPTIONS>", "--slurm <OPTIONS>, or --ssh <FILE>, or --retry")];

/// Commands without what they need, with an example.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    (
        "oscost compare",
        "it compares two runs, for example the last two: 'oscost compare last~1 last'",
    ),
    (
        "oscost table",
        "it puts two runs or more side by side, for example 'oscost table last~1 last'",
    ),
    (
        "oscost report",
        "'last' is the newest run, 'last~1' that before, 'oscost runs list' lists all",
    ),
    (
        "oscost explain",
        "for example 'oscost explain getppid', 'oscost explain floor', 'oscost explain --precision'",
    ),
    ("oscost study show", "'oscost study list' lists the studies that come with oscost"),
    ("oscost predict", "for example 'oscost predict syscall/getppid:via=raw 100ns'"),
    ("oscost runs show", "'last' is the newest run, 'last~1' that before"),
    ("oscost runs delete", "'oscost runs list' lists all runs, 'last' is the newest"),
    ("oscost runs export", "for example 'oscost runs export last run.json'"),
    ("oscost runs import", "for example 'oscost runs import ./theirs.json'"),
    (
        "oscost fleet run",
        "for example 'oscost fleet run ./lab --ssh hosts.txt', 'oscost fleet run /shared/lab --slurm \
         partition=debug'",
    ),
    ("oscost workload prepare", "'oscost workload list' lists the workloads"),
    ("oscost kernels fetch", "'oscost kernels list' lists the kernels"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_verbs_are_none_of_ours_and_what_is_suggested_exists() {
        let command = crate::cli::command();
        let own: Vec<String> =
            command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
        for (other, meant) in OTHER_VERBS {
            assert!(!own.iter().any(|it| it == other), "`oscost {other}` exists");
            let verb = meant.split(' ').nth(1).unwrap();
            assert!(verb == "--version" || own.iter().any(|it| it == verb), "`{meant}`");
        }
    }

    /// The command of that name.
    fn found(path: &str) -> Option<clap::Command> {
        let mut command = crate::cli::command();
        for verb in path.split(' ').skip(1) {
            command = command.find_subcommand(verb)?.clone();
        }
        Some(command)
    }

    #[test]
    fn nested_verbs_are_none_of_their_commands_and_what_is_meant_exists() {
        for OtherNestedVerb { command, typed, meant } in OTHER_NESTED_VERBS {
            let parent = found(command).unwrap_or_else(|| panic!("there is no `{command}`"));
            assert!(parent.find_subcommand(typed).is_none(), "`{command} {typed}` exists");
            let is_verb = |word: &&str| word.chars().all(|it| it.is_ascii_lowercase());
            let path: Vec<&str> = meant.split(' ').take_while(is_verb).collect();
            assert!(found(&path.join(" ")).is_some(), "`{meant}`");
        }
    }

    #[test]
    fn options_with_examples_exist() {
        fn options(command: &clap::Command, found: &mut Vec<String>) {
            found.extend(command.get_arguments().map(ToString::to_string));
            command.get_subcommands().for_each(|it| options(it, found));
        }
        let mut command = crate::cli::command();
        // Before that no option says what it takes.
        command.build();
        let mut known = Vec::new();
        options(&command, &mut known);
        for (option, _) in VALUE_EXAMPLES.iter().chain(ALTERNATIVES) {
            assert!(known.iter().any(|it| it == option), "there is no `{option}`: {known:?}");
        }
    }

    #[test]
    fn commands_with_examples_exist_and_take_something() {
        for (path, _) in EXAMPLES.iter().chain(WORDS_TOO_MANY).chain(PROGRAM_EXAMPLES) {
            let command = found(path).unwrap_or_else(|| panic!("there is no `{path}`"));
            let needs = command.get_positionals().count();
            assert!(needs > 0, "`{path}` takes no argument");
        }
    }
}
