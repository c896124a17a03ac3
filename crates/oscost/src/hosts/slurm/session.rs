//! A session with a node through srun(1), whose standard streams are those of the task.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use oscost_model::protocol::{Event, Hello, Order};

use super::SlurmSpec;
use super::queue_guard::QueueGuard;
use crate::hosts::session::ChildEnd;
use crate::hosts::shell_login::{LoginFailure, Transport, tail};
use crate::hosts::shell_session::{ShellCommand, ShellSession};
use crate::hosts::worker_copy::WorkerCopy;
use crate::hosts::{HostError, Interrupt, Session, WorkerBinary};

/// The time limit from the allocation of a node to the shell's answer; srun waits as long as this
/// for a configuration that cannot be read, and then says so.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// The time in which a node must be free where nobody waits for it. Slurm plans every few seconds.
const MAX_WAIT_S: u32 = 10;
/// The time in which srun takes a job out of the queue or ends its task: a controller answers late.
/// An srun that is killed leaves its job in the queue.
const END_LIMIT: Duration = Duration::from_secs(15);

/// What srun says of a job, or of a step of a job, that waits ...
const QUEUED: [&str; 3] = [
    "queued and waiting for resources",
    "step creation temporarily disabled",
    "step creation still disabled",
];
/// ... and what it says when it waits no longer.
const STARTED: [&str; 2] = ["has been allocated resources", "tep created for"];
/// What it says of a node that does not come by waiting.
const NODE_IS_DOWN: &str = "Required node not available (down, drained or reserved)";
/// What it says on every cluster that binds no tasks to CPUs, which is what was asked for.
const NOT_BOUND: &str = "srun: cluster configuration lacks support for cpu binding";

/// What a session is opened with.
pub struct SlurmJob<'b> {
    /// The target's host as text.
    pub host: &'b str,
    /// What is asked of Slurm.
    pub spec: &'b SlurmSpec,
    /// Whether to wait until a node is free, however long that takes.
    pub waits: bool,
    /// Called once if the job is queued, with Slurm's words.
    pub on_queued: &'b dyn Fn(&str),
}

/// A supervisor on a node of Slurm.
pub struct SlurmSession<'a>(ShellSession<'a>);

impl<'a> SlurmSession<'a> {
    /// Waits for a node, copies the worker if needed, and starts the supervisor.
    pub fn open(
        job: &SlurmJob<'_>,
        program: &WorkerBinary,
        interrupt: &'a Interrupt,
    ) -> Result<Self, HostError> {
        let copy = WorkerCopy::read(program)?;
        let mut command = srun(job);
        command.args(["/bin/sh", "-c", &copy.script()]);
        let shell = ShellCommand { command, copy, end_limit: END_LIMIT };
        let not_started = |_: &Command, error: &std::io::Error| not_started(job.host, error);
        let mut transport = SrunLogin { job, was_queued: false, _guard: None };
        ShellSession::open(shell, &mut transport, program, interrupt, not_started).map(Self)
    }
}

impl Session for SlurmSession<'_> {
    fn hello(&self) -> &Hello {
        self.0.hello()
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.0.send(order).map_err(in_slurms_words)
    }

    fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        self.0.next(timeout).map_err(in_slurms_words)
    }
}

/// The error of a session whose srun has ended: a time limit, a node that failed, a cancelled job.
fn in_slurms_words(error: HostError) -> HostError {
    match error {
        HostError::SupervisorEnded(how) => HostError::SupervisorEnded(of_interest(&how)),
        other => other,
    }
}

/// The srun command.
///
/// * One task on one node. Its standard streams are srun's, without labels and without a terminal
///   between them, and end with srun's.
/// * Of the environment only what finds programs and the cache of the user travels: variables of
///   this machine, such as TMPDIR or LD_PRELOAD, mean something else there.
/// * The limits of processes are those of the node, not of this shell, and the task is not bound to
///   CPUs: workers choose theirs among those that the job has.
/// * No MPI is prepared, and the working folder exists everywhere.
/// * What the target names is not taken from variables.
fn srun(job: &SlurmJob<'_>) -> Command {
    let mut command = Command::new("srun");
    command
        .args(["--nodes=1", "--ntasks=1", "--job-name=oscost", "--chdir=/", "--mpi=none"])
        .args(["--input=all", "--output=all", "--error=all"])
        .args(["--export=HOME,PATH,XDG_CACHE_HOME", "--propagate=NONE", "--cpu-bind=none"])
        .args(job.spec.arguments());
    if !job.waits {
        command.arg(format!("--immediate={MAX_WAIT_S}"));
    }
    for name in job.spec.removed_variables() {
        command.env_remove(name);
    }
    // The tool handles Ctrl-C, and ends srun by the end of its input: a signal kills the task there
    // before it has undone its changes.
    command.stderr(Stdio::piped()).process_group(0);
    command
}

/// A job, or a step of the job that the tool is in, that is being started.
struct SrunLogin<'b> {
    job: &'b SlurmJob<'b>,
    was_queued: bool,
    /// Until the supervisor has said hello.
    _guard: Option<QueueGuard>,
}

impl Transport for SrunLogin<'_> {
    fn program(&self) -> &'static str {
        "srun"
    }

    fn host(&self) -> String {
        self.job.host.to_owned()
    }

    fn login_timeout(&self) -> Duration {
        START_TIMEOUT
    }

    fn hint(&self) -> String {
        format!("`{}` must work", plain_srun(self.job.spec))
    }

    fn started(&mut self, pid: u32) {
        // Where there is no shell, only a job whose tool is killed in the queue stays there.
        self._guard = QueueGuard::of_srun(pid).ok();
    }

    fn is_queued(&mut self, stderr: &str) -> Result<bool, LoginFailure> {
        if stderr.contains(NODE_IS_DOWN) {
            return Err(failure(self.job.spec, stderr));
        }
        let is_queued = is_queued(stderr);
        if is_queued && !self.was_queued {
            (self.job.on_queued)(&of_interest(stderr));
        }
        self.was_queued |= is_queued;
        Ok(is_queued)
    }

    fn diagnose(&self, end: &ChildEnd) -> LoginFailure {
        failure(self.job.spec, &end.stderr)
    }
}

/// Whether a job with this output waits for its node.
fn is_queued(stderr: &str) -> bool {
    let last = |words: &[&str]| words.iter().filter_map(|words| stderr.rfind(*words)).max();
    last(&QUEUED) > last(&STARTED)
}

/// An srun(1) that a user can try.
fn plain_srun(spec: &SlurmSpec) -> String {
    let arguments = spec.arguments();
    let words: String = arguments.iter().map(|argument| format!("{} ", quoted(argument))).collect();
    format!("srun {words}true")
}

/// An argument as it is typed into a shell.
fn quoted(argument: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.=:".contains(&byte);
    match argument.bytes().all(is_plain) {
        true => argument.to_owned(),
        // No value contains a quote.
        false => format!("'{argument}'"),
    }
}

/// What srun wrote, without what it always writes.
fn of_interest(text: &str) -> String {
    let others = text.replace(&format!("{NOT_BOUND}; "), "").replace(NOT_BOUND, "");
    others.trim_end_matches("; ").to_owned()
}

/// Why there is no task, and what to do.
fn failure(spec: &SlurmSpec, stderr: &str) -> LoginFailure {
    let has = |text: &str| stderr.contains(text);
    let words = tail(&of_interest(stderr));
    let (why, hint) = if has(NODE_IS_DOWN) {
        ("the node is not in service", "`sinfo --list-reasons` says why; name another node")
    } else if has("nvalid partition") {
        ("there is no such partition", "`sinfo --summarize` lists the partitions")
    } else if has("Invalid node name") {
        ("there is no such node", "`sinfo --Node` lists the nodes")
    } else if has("nvalid account") || has("nvalid qos") {
        let hint = "`sacctmgr show associations user=$USER` lists your accounts and their QOS";
        ("Slurm refuses the job", hint)
    } else if has("eservation is invalid") {
        ("Slurm refuses the job", "`scontrol show reservations` lists the reservations")
    } else if has("Invalid feature specification") {
        ("no node has these features", "`sinfo --Node --format='%N %f'` lists the features")
    } else if has("nodes are busy") {
        (
            "no node is free",
            "`squeue` lists who has them; a run without `--no-wait` queues, its peer never does",
        )
    } else if has("has been revoked") || has("ancelled") || has("CANCELLED") {
        ("the job was cancelled", "`scontrol show job` tells of jobs that ended a moment ago")
    } else if has("establish a configuration source") || has("fetch_config") {
        let hint =
            "start oscost on a login node, or name the cluster's configuration in SLURM_CONF";
        ("this machine belongs to no cluster of Slurm", hint)
    } else if has("contact slurm controller") || has("process configuration file") {
        let hint = "`sinfo` must work here; SLURM_CONF names another configuration";
        ("no controller of Slurm answers", hint)
    } else {
        let hint = format!("`{}` must work", plain_srun(spec));
        return LoginFailure { why: format!("no reply from the task's shell: {words}"), hint };
    };
    LoginFailure { why: format!("{why}: {words}"), hint: hint.to_owned() }
}

fn not_started(host: &str, error: &std::io::Error) -> HostError {
    let (host, why) = (host.to_owned(), format!("`srun` cannot be started: {error}"));
    let hint = "start oscost where the programs of Slurm are: a login node, or a node of a job";
    let hint = hint.to_owned();
    match error.kind() {
        ErrorKind::NotFound => HostError::Unavailable { host, why, hint },
        _ => HostError::Unreachable { host, why, hint },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) {}

    fn words_of(job: &SlurmJob<'_>) -> Vec<String> {
        srun(job).get_args().map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_job_is_one_task_on_one_node_with_the_options_of_the_target() {
        let spec = SlurmSpec::parse("partition=debug,nodes=n[7],exclusive").unwrap();
        let job = |waits| SlurmJob { host: "slurm:x", spec: &spec, waits, on_queued: &nothing };
        let words = words_of(&job(true));
        for word in ["--nodes=1", "--ntasks=1", "--partition=debug", "--nodelist=n[7]"] {
            assert!(words.iter().any(|it| it == word), "{word}: {words:?}");
        }
        assert_eq!(words.last().map(String::as_str), Some("--exclusive"));
        assert_eq!(words_of(&job(false)).last().map(String::as_str), Some("--immediate=10"));
        assert_eq!(plain_srun(&spec), "srun --partition=debug '--nodelist=n[7]' --exclusive true");
        let command = srun(&job(true));
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        for (name, is_removed) in
            [("SLURM_PARTITION", true), ("SLURM_LABELIO", true), ("SLURM_ACCOUNT", false)]
        {
            assert_eq!(removed.iter().any(|(it, _)| *it == name), is_removed, "{name}");
        }
    }

    #[test]
    fn a_job_waits_until_its_node_is_allocated() {
        let queued = "srun: job 7 queued and waiting for resources";
        let step = "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are \
                    busy)";
        assert!(!is_queued(""));
        assert!(is_queued(queued) && is_queued(step));
        for (waits, started) in [
            (queued, "srun: job 7 has been allocated resources"),
            (step, "srun: Step created for StepId=7.1"),
        ] {
            assert!(!is_queued(&format!("{waits}; {started}")), "{started}");
            assert!(is_queued(&format!("{started}; {waits}")), "{started}");
        }
        let told = std::cell::RefCell::new(Vec::new());
        let on_queued = |words: &str| told.borrow_mut().push(words.to_owned());
        let spec = SlurmSpec::default();
        let job = SlurmJob { host: "slurm:", spec: &spec, waits: true, on_queued: &on_queued };
        let mut login = SrunLogin { job: &job, was_queued: false, _guard: None };
        for _ in 0..3 {
            assert_eq!(login.is_queued(&format!("{NOT_BOUND}; {queued}")), Ok(true));
        }
        assert_eq!(*told.borrow(), [queued], "it is told once");
        let down = format!("srun: {NODE_IS_DOWN}; {queued}");
        assert!(login.is_queued(&down).unwrap_err().why.contains("not in service"));
    }

    #[test]
    fn a_failure_has_the_words_of_slurm_and_the_next_step() {
        let spec = SlurmSpec::parse("partition=debug").unwrap();
        for (stderr, why, hint) in [
            ("srun: error: invalid partition specified: nope", "no such partition", "sinfo"),
            (
                "srun: error: Unable to allocate resources: Invalid node name specified",
                "no such node",
                "sinfo --Node",
            ),
            (
                "srun: error: Unable to allocate resources: Requested nodes are busy",
                "no node is free",
                "a run without `--no-wait`",
            ),
            ("srun: Job allocation 11 has been revoked", "was cancelled", "scontrol"),
            (
                "srun: error: Unable to allocate resources: Unable to contact slurm controller \
                 (connect failure)",
                "no controller",
                "SLURM_CONF",
            ),
            (
                "srun: fatal: Could not establish a configuration source",
                "belongs to no cluster",
                "a login node",
            ),
            (
                "slurmstepd: error: execve(): /bin/sh",
                "no reply from",
                "`srun --partition=debug true`",
            ),
        ] {
            let told = failure(&spec, &format!("{NOT_BOUND}; {stderr}"));
            assert!(told.why.contains(why) && told.why.contains(stderr), "{told:?}");
            assert!(told.hint.contains(hint), "{told:?}");
            assert!(!told.why.contains("cpu binding"), "{told:?}");
        }
    }

    #[test]
    fn the_end_of_a_task_is_told_in_the_words_of_slurm() {
        let how = "ended with exit status 1: srun: cluster configuration lacks support for cpu \
                   binding; srun: error: Node failure on n2";
        let error = in_slurms_words(HostError::SupervisorEnded(how.to_owned())).to_string();
        assert!(error.contains("ended with exit status 1: srun: error: Node failure"), "{error}");
    }
}
