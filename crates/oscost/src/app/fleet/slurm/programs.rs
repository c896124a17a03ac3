//! The programs of Slurm: started with words, never by a shell; their output is bounded.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use oscost_model::untrusted_text::display_text;

use super::variables::changes_answers;

/// `squeue --json` writes 4 KB for each job of the cluster.
const MAX_OUTPUT_BYTES: u64 = 1 << 30;
const MAX_ERROR_BYTES: u64 = 1 << 20;
const MAX_ERROR_CHARS: usize = 600;

/// Slurm's programs give up by themselves, in less, if their server does not answer; a program in
/// their place may not.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the end of a program is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// How a program of Slurm ended.
pub(in crate::app::fleet) struct SlurmOutput {
    pub(in crate::app::fleet) stdout: Vec<u8>,
    /// Its messages in one line, without its name.
    pub(in crate::app::fleet) message: String,
    status: ExitStatus,
}

impl SlurmOutput {
    /// Whether it did what it was asked for.
    pub(in crate::app::fleet) fn is_success(&self) -> bool {
        self.status.success()
    }

    /// Its output as a text, if it was successful; `act` says what it was for.
    pub(in crate::app::fleet) fn text(self, act: &str) -> anyhow::Result<String> {
        match self.is_success() {
            true => Ok(String::from_utf8_lossy(&self.stdout).into_owned()),
            false => Err(refusal(act, &self.why())),
        }
    }

    /// Why it failed.
    pub(in crate::app::fleet) fn why(&self) -> String {
        match self.message.is_empty() {
            true => format!("it ended with {}", self.status),
            false => self.message.clone(),
        }
    }
}

/// What Slurm's programs say where no file and no server tells them of a cluster.
const NO_CONFIGURATION: [&str; 3] =
    ["establish a configuration source", "fetch_config", "process configuration file"];

/// An error with Slurm's own reason.
pub(in crate::app::fleet) fn refusal(act: &str, why: &str) -> anyhow::Error {
    if NO_CONFIGURATION.iter().any(|text| why.contains(text)) {
        return anyhow::anyhow!(
            "cannot {act}: this machine belongs to no cluster of Slurm ({why})\n  hint: start \
             oscost on a login node of the cluster, or name its configuration in SLURM_CONF; \
             `--ssh hosts.txt` needs no Slurm"
        );
    }
    anyhow::anyhow!(
        "cannot {act}: {why}\n  hint: `sinfo` lists partitions and nodes, `scontrol ping` says \
         whether Slurm answers"
    )
}

/// Runs a program of Slurm to its end, with these lines as its input.
pub(in crate::app::fleet) fn run(
    program: &str,
    arguments: &[String],
    input: &str,
) -> anyhow::Result<SlurmOutput> {
    execute(program, arguments, input, None)
}

/// Runs a program of Slurm that changes nothing. One that does not answer within a minute is killed.
pub(in crate::app::fleet) fn ask(
    program: &str,
    arguments: &[String],
) -> anyhow::Result<SlurmOutput> {
    execute(program, arguments, "", Some(ANSWER_TIMEOUT))
}

fn execute(
    program: &str,
    arguments: &[String],
    input: &str,
    limit: Option<Duration>,
) -> anyhow::Result<SlurmOutput> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        // Long lists of tasks are cut otherwise.
        .env("SLURM_BITSTR_LEN", "0")
        // Times and messages are read.
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if limit.is_some() {
        // It is killed with all that it has started.
        command.process_group(0);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(changes_answers) {
            command.env_remove(name);
        }
    }
    let child = command.spawn().map_err(|error| failure(program, &error))?;
    exchange(child, program, input, limit).map_err(|error| failure(program, &error))
}

fn exchange(
    mut child: Child,
    program: &str,
    input: &str,
    limit: Option<Duration>,
) -> io::Result<SlurmOutput> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (status, stdout, messages) = thread::scope(|scope| {
        let output = scope.spawn(|| read_whole(stdout, MAX_OUTPUT_BYTES));
        let messages = scope.spawn(|| read_whole(stderr, MAX_ERROR_BYTES));
        scope.spawn(|| {
            if let Some(mut stdin) = stdin {
                // It may end before it has read all, and says why.
                let _ = stdin.write_all(input.as_bytes());
            }
        });
        let has_ended = || output.is_finished() && messages.is_finished();
        let status = wait(&mut child, limit, &has_ended);
        (status, read_by(output), read_by(messages))
    });
    let message = message(program, &String::from_utf8_lossy(&messages?));
    Ok(SlurmOutput { stdout: stdout?, message, status: status? })
}

/// Waits for a program, whose output ends first; kills one that takes longer than it may.
fn wait(
    child: &mut Child,
    limit: Option<Duration>,
    has_ended_output: &dyn Fn() -> bool,
) -> io::Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        // Until it is waited for, its id is that of no other process.
        if has_ended_output()
            && let Some(status) = child.try_wait()?
        {
            return Ok(status);
        }
        if let Some(limit) = limit.filter(|limit| begun.elapsed() >= *limit) {
            if let Ok(group) = i32::try_from(child.id()) {
                // It fails if all of the group have ended.
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            child.wait()?;
            let why = format!("it did not answer within {limit:?}");
            return Err(io::Error::new(ErrorKind::TimedOut, why));
        }
        thread::sleep(LOOK);
    }
}

/// What a thread has read.
fn read_by(reader: ScopedJoinHandle<'_, io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    reader.join().unwrap_or_else(|_| Ok(Vec::new()))
}

/// Reads to the end, and keeps at most `max_bytes`: a writer is not stopped by a full pipe.
fn read_whole(source: Option<impl Read>, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut source) = source {
        source.by_ref().take(max_bytes).read_to_end(&mut bytes)?;
        io::copy(&mut source, &mut io::sink())?;
    }
    Ok(bytes)
}

/// The messages of a program in one line: `sbatch: error: ` is before each of them.
fn message(program: &str, text: &str) -> String {
    let strip = |line: &str| {
        let line = line.trim().to_owned();
        let line = line.strip_prefix(&format!("{program}: ")).unwrap_or(&line).to_owned();
        ["error: ", "fatal: "]
            .iter()
            .fold(line, |line, prefix| line.strip_prefix(*prefix).unwrap_or(&line).to_owned())
    };
    let lines: Vec<String> = text.lines().map(strip).filter(|line| !line.is_empty()).collect();
    display_text(&lines.join("; "), MAX_ERROR_CHARS)
}

/// Why a program was not started, or has not answered.
fn failure(program: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!(
            "cannot use Slurm: there is no program `{program}` here\n  hint: start oscost on a \
             login node of the cluster; `--ssh hosts.txt` needs no Slurm"
        ),
        ErrorKind::TimedOut => anyhow::anyhow!(
            "cannot ask Slurm: {program} was killed, since {error}\n  hint: `scontrol ping` says \
             whether Slurm answers; if it does, `command -v {program}` names the program that hangs"
        ),
        _ => anyhow::anyhow!(
            "cannot run {program}: {error}\n  hint: `{program} --version` says whether it works in \
             this shell"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_answer_is_killed_with_what_it_has_started() {
        let words = ["-c", "sleep 600 & echo begun; sleep 600"].map(str::to_owned);
        let ran = execute("sh", &words, "", Some(Duration::from_millis(100)));
        let Err(error) = ran else { panic!("it has answered") };
        assert_eq!(
            error.to_string(),
            "cannot ask Slurm: sh was killed, since it did not answer within 100ms\n  hint: \
             `scontrol ping` says whether Slurm answers; if it does, `command -v sh` names the \
             program that hangs"
        );
        let words = ["-c", "read word; echo $word; echo 'sh: error: no' >&2"].map(str::to_owned);
        let ran = execute("sh", &words, "yes\n", None).unwrap();
        assert_eq!((ran.stdout.as_slice(), ran.message.as_str()), (&b"yes\n"[..], "no"));
        assert!(ask("true", &[]).unwrap().is_success());
    }

    #[test]
    fn messages_are_one_line_without_the_name_of_the_program() {
        let text = "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job \
                    submission failed: Invalid partition\n";
        let line = "invalid partition specified: x; Batch job submission failed: Invalid partition";
        assert_eq!(message("sbatch", text), line);
        assert_eq!(message("scontrol", "10_0: Invalid\u{1b}[1m\n"), "10_0: Invalid[1m");
    }

    #[test]
    fn input_and_output_of_any_length_do_not_block_each_other() {
        let input = "a line that comes back\n".repeat(50_000);
        let ran = run("cat", &[], &input).unwrap();
        assert!(ran.is_success());
        assert_eq!(ran.stdout.len(), input.len());
        let deaf = run("true", &[], &input).unwrap();
        assert_eq!(deaf.text("x").unwrap(), "");
    }

    #[test]
    fn a_failure_has_its_message_and_a_missing_program_its_name() {
        let words = ["-c".to_owned(), "echo 'sh: error: no' >&2; exit 1".to_owned()];
        let error = run("sh", &words, "").unwrap().text("list nodes").unwrap_err().to_string();
        assert!(error.starts_with("cannot list nodes: no\n  hint: "), "{error}");
        let words =
            ["-c".to_owned(), "echo 'fetch_config: DNS SRV lookup failed' >&2; exit 1".into()];
        let error = run("sh", &words, "").unwrap().text("list nodes").unwrap_err().to_string();
        let begin =
            "cannot list nodes: this machine belongs to no cluster of Slurm (fetch_config: ";
        assert!(error.starts_with(begin) && error.contains("a login node"), "{error}");
        let missing = run("oscost-no-such-program", &[], "").map(drop).unwrap_err();
        assert!(missing.to_string().contains("no program `oscost-no-such-program`"), "{missing}");
    }
}
