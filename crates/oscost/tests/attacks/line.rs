//! Attacks that are one command of a shell: a line of a table each.

use std::process::Command;

use crate::attack::{Attack, Effort, Outcome, withstood};
use crate::common::{Ran, Sandbox, scenario_file};
use crate::oracles::{check_end, next_step_fault};

/// What a shell executes to become the tool.
const TOOL: &str = r#"exec "$0" "$@""#;

/// What an attack needs of the machine.
#[derive(Clone, Copy)]
pub(crate) enum Needs {
    Nothing,
    /// File systems of its own.
    Mounts,
    /// File systems and a network of its own.
    Network,
    /// A namespace of users.
    Users,
    /// A namespace of processes.
    Processes,
}

impl Needs {
    /// Why it is missing.
    fn lacking(self) -> Option<String> {
        let options: &[&str] = match self {
            Needs::Nothing => return None,
            Needs::Mounts => &["--mount"],
            Needs::Network => &["--mount", "--net"],
            Needs::Users => &["--user"],
            Needs::Processes => &["--pid", "--fork"],
        };
        let tried = Command::new("unshare").args(options).arg("true").output();
        match tried {
            Ok(tried) if tried.status.success() => None,
            Ok(tried) => Some(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
            Err(error) => Some(format!("unshare(1): {error}")),
        }
    }
}

/// An attack by one command.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) effort: Effort,
    pub(crate) needs: Needs,
    /// Whether a run is in the store, and is the last.
    pub(crate) has_run: bool,
    /// What a shell does: the tool is `"$0"`, its arguments are `"$@"`, the folder for files is
    /// `$FILES` and the folder of the store `$DATA`.
    pub(crate) script: &'static str,
    /// The tool's arguments: `FAKE` and `TREATED` are targets that measure nothing, the second one
    /// with treatments that cost something; `FILES` is a folder.
    pub(crate) arguments: &'static [&'static str],
    /// The exit statuses that are right.
    pub(crate) statuses: &'static [i32],
    /// What standard error says, besides other things.
    pub(crate) stderr: &'static [&'static str],
    /// What else must hold.
    pub(crate) check: fn(&Sandbox, &Ran),
}

impl Line {
    /// A plain command, which succeeds.
    pub(crate) const DEFAULT: Line = Line {
        name: "",
        effort: Effort::Short,
        needs: Needs::Nothing,
        has_run: false,
        script: TOOL,
        arguments: &[],
        statuses: &[0],
        stderr: &[],
        check: |_, _| (),
    };

    /// The attack of this line.
    pub(crate) fn attack(self) -> Attack {
        Attack::in_sandbox(self.name, self.effort, move |sandbox| self.attempt(sandbox))
    }

    fn attempt(&self, sandbox: &Sandbox) -> Outcome {
        if let Some(why) = self.needs.lacking() {
            return Outcome::NotHere(why);
        }
        if self.has_run {
            sandbox.fake("measured", &["syscall"]).exits(0);
        }
        let files = sandbox.folder("files");
        let target = |scenario| format!("fake:{}", scenario_file(scenario).display());
        let places = [
            ("FAKE", target("measured")),
            ("TREATED", target("treated")),
            ("FILES", files.display().to_string()),
        ];
        let placed = |text: &&str| {
            places.iter().fold((*text).to_owned(), |text, (name, place)| text.replace(name, place))
        };
        let arguments: Vec<String> = self.arguments.iter().map(placed).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = sandbox.command_in_shell(self.script, &arguments);
        command.env("FILES", &files).env("DATA", sandbox.folder("data"));
        let ran = Ran::of(&mut command);
        check_end(&ran);
        let code = ran.code.unwrap_or_default();
        let output = || format!("stdout:\n{}\nstderr:\n{}", ran.stdout, ran.stderr);
        assert!(self.statuses.contains(&code), "status {code}\n{}", output());
        for words in self.stderr {
            assert!(ran.stderr.contains(words), "`{words}` is missing\n{}", output());
        }
        let is_error = ran.stderr.lines().any(|line| line.starts_with("error:"));
        let fault = next_step_fault(&ran.stderr).filter(|_| is_error);
        assert!(fault.is_none(), "{fault:?}\n{}", output());
        (self.check)(sandbox, &ran);
        withstood()
    }
}
