//! `oscost fleet run --slurm`, with programs in Slurm's place that answer from a table: which commands
//! oscost gives, and what it makes of the answers. Slurm itself is in tests/slurm.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::{Ran, Sandbox};

/// Each argument on a line of a file, behind the name of the program.
const LOG: &str = "#!/bin/sh\nat=${0%/*}\nname=${0##*/}\n\
                   { printf '%s' \"$name\"; printf ' %s' \"$@\"; echo; } >> \"$at/log\"\n\
                   env >> \"$at/environment\"\n";

/// Keeps the tasks of arrays as `JOB INDEX NAME`.
const SBATCH: &str = r#"
if [ -e "$at/refuse" ] || { [ -e "$at/refuse-second" ] && [ -e "$at/count" ]; }; then
    echo "sbatch: error: Invalid account" >&2; exit 1
fi
echo x >> "$at/count"; job=$(( 70 + $(wc -l < "$at/count") ))
for word; do
    case "$word" in
    --job-name=*) job_name=${word#*=};;
    --array=*) array=${word#*=}; array=${array%%%*};;
    esac
done
for part in $(echo "$array" | tr , ' '); do
    i=${part%-*}
    while [ "$i" -le "${part#*-}" ]; do
        echo "$job $i $job_name" >> "$at/tasks"; i=$((i + 1))
    done
done
echo "$job"
"#;

/// Binds and releases tasks as it is told, unless it may not.
const SCONTROL: &str = r#"
case "$1 $2" in
"show config") echo "MaxArraySize            = 3"; exit;;
"show hostnames") echo "$3" | tr , '\n'; exit;;
esac
while read -r verb job node time; do
    [ -z "$time" ] && job=JobId=$job
    if [ -e "$at/refuse-$verb" ]; then
        echo "${job#*=}: Update of this parameter is not supported" >&2
        exit 1
    fi
    echo "$verb ${job#*=} ${node#*=} ${time#*=}" | sed 's/ *$//' >> "$at/commands"
done
"#;

/// The queue as `squeue --json` has it.
const SQUEUE: &str = r#"
touch "$at/tasks" "$at/commands"
printf '{"jobs": ['; comma=
while read -r job i job_name; do
    node=$(sed -n "s/^update ${job}_$i \([^ ]*\) .*/\1/p" "$at/commands")
    reason=JobHeldUser; grep -qx "release ${job}_$i" "$at/commands" && reason=Resources
    printf '%s{"name": "%s", "job_id": 9%s%s, "array_job_id": %s, "array_task_id": %s,' \
        "$comma" "$job_name" "$job" "$i" "$job" "$i"
    printf '"user_id": %s, "job_state": "PENDING", "state_reason": "%s", "required_nodes": "%s"}' \
        "$(id -u)" "$reason" "$node"
    comma=,
done < "$at/tasks"
echo ']}'
"#;

/// `debug` has what is asked for by its name; without a name there is more.
const SINFO: &str = r#"
printf 'n1 debug\nn2 debug\nn3 debug\nn4 debug\n'
case "$*" in *--partition=*) exit;; esac
[ -e "$at/no-default" ] || printf 'n8 long*\nn9 long*\n'
"#;
const SACCT: &str = "echo 'Slurm accounting storage is disabled' >&2; exit 1\n";
const SCANCEL: &str = r#"
if [ -e "$at/refuse-scancel" ]; then echo "scancel: error: Timed out" >&2; exit 1; fi
"#;

/// Programs in Slurm's place, and a folder for a fleet.
struct Fake {
    sandbox: Sandbox,
    programs: PathBuf,
}

impl Fake {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let programs = sandbox.file("slurm");
        fs::create_dir(&programs).unwrap();
        for (name, body) in [
            ("sbatch", SBATCH),
            ("scontrol", SCONTROL),
            ("squeue", SQUEUE),
            ("sinfo", SINFO),
            ("sacct", SACCT),
            ("scancel", SCANCEL),
        ] {
            let file = programs.join(name);
            fs::write(&file, format!("{LOG}{body}")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { sandbox, programs }
    }

    fn folder(&self) -> PathBuf {
        self.sandbox.file("lab")
    }

    fn command(&self, verb: &str, words: &[&str]) -> Command {
        let folder = self.folder();
        let arguments = [&["fleet", verb, folder.to_str().unwrap()][..], words].concat();
        let mut command = self.sandbox.command(&arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.programs.display()));
        command
    }

    fn fleet(&self, verb: &str, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(verb, words))
    }

    /// The lines of a file of the programs.
    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.programs.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn set(&self, file: &str) {
        fs::write(self.programs.join(file), "").unwrap();
    }

    fn unset(&self, file: &str) {
        fs::remove_file(self.programs.join(file)).unwrap();
    }

    fn plan(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder().join("plan.json")).unwrap()).unwrap()
    }

    /// The calls of a program, without its name.
    fn calls(&self, program: &str) -> Vec<String> {
        let own = |line: String| Some(line.strip_prefix(program)?.strip_prefix(' ')?.to_owned());
        self.lines("log").into_iter().filter_map(own).collect()
    }
}

const RUN: [&str; 6] =
    ["syscall/getppid", "--slurm", "partition=debug", "--seed", "7", "--at-once=8"];

#[test]
fn a_dry_run_shows_the_script_and_makes_nothing() {
    let fake = Fake::new();
    let words = [&RUN[..], &["--dry-run", "--name", "night"]].concat();
    let shown = fake.fleet("run", &words).exits(0).stdout;
    assert!(shown.starts_with("#!/bin/sh\n#SBATCH "), "{shown}");
    assert!(shown.contains("\n#SBATCH --partition=debug\n"), "{shown}");
    assert!(shown.contains("# 4 visits of 4 nodes, 1 each, seed 7\n"), "{shown}");
    assert!(shown.contains("# sbatch --hold --parsable --job-name=night-"), "{shown}");
    assert!(!fake.folder().exists());
    assert!(fake.calls("sbatch").is_empty());
}

#[test]
fn a_dry_run_of_named_nodes_needs_no_slurm() {
    let fake = Fake::new();
    let words = [&RUN[..], &["--dry-run", "--nodes", "n[08-10]"]].concat();
    let mut command = fake.command("run", &words);
    command.env("PATH", fake.sandbox.file("no-programs"));
    let ran = Ran::of(&mut command).exits(0).stderr_contains("MaxArraySize is taken to be 1001");
    assert!(ran.stdout.contains("# 3 visits of 3 nodes, 1 each, seed 7\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains(" --array=0-2"), "{}", ran.stdout);
    assert!(!fake.folder().exists());
}

#[test]
fn tasks_are_submitted_held_bound_to_their_nodes_and_released() {
    let fake = Fake::new();
    fake.fleet("run", &RUN)
        .exits(0)
        .no_data()
        .stderr_contains("4 visits submitted as jobs 71 to 72");
    let submitted = fake.calls("sbatch");
    // Three tasks fit into an array of this Slurm; the limit is that of both.
    assert!(submitted[0].contains(" --array=0-2%4 "), "{submitted:?}");
    assert!(submitted[1].contains(" --array=0%4 ") && submitted[1].ends_with("visit.sbatch 3"));
    let plan = fake.plan();
    let node = |task: usize| {
        let index = plan["tasks"][task]["node"].as_u64().unwrap() as usize;
        plan["nodes"][index].as_str().unwrap().to_owned()
    };
    let bound: Vec<String> =
        fake.lines("commands").into_iter().filter(|line| line.starts_with("update")).collect();
    let expected: Vec<String> = ["71_0", "71_1", "71_2", "72_0"]
        .iter()
        .enumerate()
        .map(|(task, job)| format!("update {job} {} now+0", node(task)))
        .collect();
    assert_eq!(bound, expected);
    let released = fake.lines("commands").iter().filter(|it| it.starts_with("release")).count();
    assert_eq!(released, 4);
    let status =
        fake.fleet("status", &[]).exits(0).stderr_contains("accounting storage is disabled");
    assert!(
        status.stdout.starts_with("lab: 4 visits of 4 nodes: 4 waiting\n"),
        "{}",
        status.stdout
    );
    assert!(status.stdout.contains("waiting: Resources"), "{}", status.stdout);
    // Nothing is missing that is not on its way.
    fake.fleet("run", &["--retry"]).exits(0).stderr_contains("0 visits submitted");
    assert_eq!(fake.calls("sbatch").len(), 2);
    fake.fleet("cancel", &[]).exits(0).stderr_contains("cancelled 71, 72");
    assert_eq!(fake.calls("scancel"), ["71 72"]);
}

#[test]
fn visits_at_different_hours_have_their_times() {
    let fake = Fake::new();
    let words = [&RUN[..], &["--repeat", "2", "--apart", "2h", "--nodes", "n1,n2"]].concat();
    fake.fleet("run", &words).exits(0);
    let times: Vec<u64> = fake
        .lines("commands")
        .iter()
        .filter_map(|line| line.split("now+").nth(1)?.parse().ok())
        .collect();
    assert_eq!(times[..2], [0, 0]);
    // Binding takes some seconds, which have gone by then.
    assert!(times[2..].iter().all(|time| (7_100..=7_200).contains(time)), "{times:?}");
}

#[test]
fn what_was_submitted_and_not_released_is_told_and_released_later() {
    let fake = Fake::new();
    fake.set("refuse-release");
    let refused = fake.fleet("run", &RUN).exits(3);
    assert!(refused.stderr.contains("cannot release the tasks: "), "{}", refused.stderr);
    let status = fake.fleet("status", &[]).exits(0).stdout;
    assert!(status.contains(": 4 held\n") && status.contains("--retry` lets it go"), "{status}");
    fake.unset("refuse-release");
    // Also if oscost had been killed before it wrote the job down.
    fs::remove_file(fake.folder().join("jobs.jsonl")).unwrap();
    fake.fleet("run", &["--retry"]).exits(0).stderr_contains("4 visits submitted");
    assert_eq!(fake.calls("sbatch").len(), 2, "nothing is submitted twice");
    assert!(fake.fleet("status", &[]).exits(0).stdout.contains(": 4 waiting\n"));
}

#[test]
fn tasks_that_slurm_does_not_bind_are_jobs_of_their_own() {
    let fake = Fake::new();
    fake.set("refuse-update");
    let words = [&RUN[..], &["--nodes", "n1"]].concat();
    let ran = fake.fleet("run", &words).exits(0);
    assert!(ran.stderr.contains("jobs of their own"), "{}", ran.stderr);
    assert!(ran.stderr.contains("this parameter is not supported"), "{}", ran.stderr);
    assert_eq!(fake.calls("scancel"), ["71_0"]);
    let own = &fake.calls("sbatch")[1];
    assert!(own.contains(" --nodelist=n1 --begin=now+0 ") && own.ends_with(" 0"), "{own}");
    assert!(fake.lines("commands").is_empty(), "no unbound task is released");
}

#[test]
fn a_task_that_slurm_keeps_is_refused_alone() {
    let fake = Fake::new();
    fake.set("refuse-update");
    fake.set("refuse-scancel");
    let words = [&RUN[..], &["--nodes", "n1,n2"]].concat();
    let ran = fake.fleet("run", &words).exits(3);
    let told = ran.stderr.matches("Slurm keeps its task of an array: Timed out").count();
    assert_eq!(told, 2, "{}", ran.stderr);
    assert_eq!(fake.calls("sbatch").len(), 1, "no task has two jobs");
}

#[test]
fn without_a_partition_the_nodes_are_those_of_the_default_one() {
    let fake = Fake::new();
    let words = ["syscall/getppid", "--slurm", "", "--seed", "7"];
    fake.fleet("run", &words).exits(0).stderr_contains("2 visits submitted");
    let mut nodes: Vec<Value> = fake.plan()["nodes"].as_array().unwrap().clone();
    nodes.sort_by_key(Value::to_string);
    assert_eq!(nodes, ["n8", "n9"]);
    let fake = Fake::new();
    fake.set("no-default");
    fake.fleet("run", &words).exits(2).stderr_contains("no default partition");
    assert!(!fake.folder().exists());
}

#[test]
fn options_of_the_user_s_own_commands_do_not_reach_slurm() {
    let fake = Fake::new();
    let mut command = fake.command("run", &RUN);
    let own = ["SQUEUE_STATES", "SINFO_PARTITION", "SBATCH_WAIT", "SBATCH_TIMELIMIT"];
    for name in own.into_iter().chain(["SACCT_FORMAT", "SCONTROL_ALL", "SLURM_CLUSTERS"]) {
        command.env(name, "7");
    }
    command.env("SBATCH_ACCOUNT", "ops").env("SLURM_CONF", "/etc/own.conf");
    Ran::of(&mut command)
        .exits(0)
        .stderr_contains("the jobs have `account=ops`, by SBATCH_ACCOUNT")
        .stderr_contains("not used: SBATCH_TIMELIMIT, SBATCH_WAIT;");
    let variables = fake.lines("environment");
    let has = |prefix: &str| variables.iter().any(|line| line.starts_with(prefix));
    for prefix in ["SQUEUE_", "SINFO_", "SACCT_", "SCONTROL_", "SBATCH_WAIT", "SBATCH_TIMELIMIT"] {
        assert!(!has(prefix), "{prefix}");
    }
    assert!(!has("SLURM_CLUSTERS="));
    assert!(has("SBATCH_ACCOUNT=ops") && has("SLURM_CONF=/etc/own.conf"));
}

#[test]
fn what_the_plan_names_precedes_the_user_s_variables() {
    let fake = Fake::new();
    fake.set("refuse-update");
    let options = "partition=debug,account=lab,qos=high";
    let words = [&RUN[..2], &[options], &RUN[3..]].concat();
    let mut command = fake.command("run", &words);
    command.env("SBATCH_ACCOUNT", "ops").env("SBATCH_QOS", "high");
    let told = "the jobs have `account=lab`, as planned, and not `ops` of SBATCH_ACCOUNT";
    let ran = Ran::of(&mut command).exits(0).stderr_contains(told);
    assert!(!ran.stderr.contains("SBATCH_QOS"), "{}", ran.stderr);
    // Arrays, and the jobs of their own that take the place of tasks.
    let submitted = fake.calls("sbatch");
    assert!(submitted.iter().any(|call| call.contains(" --array=")), "{submitted:?}");
    assert!(submitted.iter().any(|call| call.contains(" --nodelist=")), "{submitted:?}");
    let is_as_planned = |call: &String| call.contains(" --account=lab --qos=high ");
    assert!(submitted.iter().all(is_as_planned), "{submitted:?}");
}

#[test]
fn blocks_at_other_hours_share_no_limit_and_a_small_one_is_told() {
    let fake = Fake::new();
    let words = [&RUN[..5], &["--at-once=6", "--repeat", "2", "--apart", "2h"]].concat();
    fake.fleet("run", &words).exits(0);
    // Eight tasks in three arrays: the first block has tasks in two of them, the second in two.
    let submitted = fake.calls("sbatch");
    assert_eq!(submitted.len(), 3, "{submitted:?}");
    assert!(submitted.iter().all(|call| call.contains("%3 ")), "{submitted:?}");
    // A limit that cannot be divided is not exceeded.
    let fake = Fake::new();
    fake.fleet("run", &[&RUN[..5], &["--at-once=3"]].concat()).exits(0);
    assert!(fake.calls("sbatch").iter().all(|call| call.contains("%1 ")));
    let fake = Fake::new();
    let words = [&RUN[..5], &["--at-once=1"]].concat();
    let ran = fake.fleet("run", &words).exits(0);
    assert!(ran.stderr.contains("2 visits may run at one time, not 1"), "{}", ran.stderr);
}

#[test]
fn what_was_submitted_before_a_refusal_is_told() {
    let fake = Fake::new();
    fake.set("refuse-second");
    let ran = fake.fleet("run", &RUN).exits(3);
    assert!(ran.stderr.contains("3 visits were submitted before Slurm refused"), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot submit the job array: Invalid account"), "{}", ran.stderr);
    fake.unset("refuse-second");
    fake.fleet("run", &["--retry"]).exits(0).stderr_contains("1 visits submitted");
}

#[test]
fn tasks_that_share_their_nodes_are_told() {
    let fake = Fake::new();
    fake.fleet("run", &[&RUN[..], &["--shared"]].concat()).exits(0);
    assert_eq!(fake.plan()["launcher"]["exclusive"], false);
    let shown = fake.fleet("status", &[]).exits(0).stdout;
    assert!(shown.contains("share their nodes with other jobs"), "{shown}");
    assert_eq!(fake.fleet("status", &["--json"]).exits(0).json()["exclusive"], false);
    let fake = Fake::new();
    let both = ["syscall/getppid", "--slurm", "partition=debug,exclusive", "--shared"];
    fake.fleet("run", &both).exits(2).stderr_contains("cannot share nodes with other jobs");
    assert!(!fake.folder().exists());
}

#[test]
fn a_refusal_of_slurm_is_the_cause_and_retry_goes_on() {
    let fake = Fake::new();
    fake.set("refuse");
    fake.fleet("run", &RUN)
        .exits(3)
        .stderr_contains("cannot submit the job array: Invalid account");
    fake.unset("refuse");
    let again = fake.fleet("run", &RUN).exits(2);
    assert!(again.stderr.contains("it has a fleet\n  hint: `--retry`"), "{}", again.stderr);
    assert!(fake.fleet("status", &[]).exits(0).stdout.contains(": 4 never ran\n"));
    let words = ["--retry", "--nodes", "n2,n3"];
    fake.fleet("run", &words).exits(0).stderr_contains("2 visits submitted");
    fake.fleet("run", &["--retry", "--nodes", "n9"]).exits(2).stderr_contains("`n9` is not a node");
}

#[test]
fn what_slurm_says_of_a_visit_without_a_record_is_told_by_collect() {
    let fake = Fake::new();
    fake.fleet("run", &RUN).exits(0);
    let missing = |states: &mut Vec<String>| {
        let ran = fake.fleet("collect", &["--json"]).exits(3);
        let found = ran.json();
        for visit in found["missing"].as_array().unwrap() {
            let (state, why) = (visit["state"].as_str().unwrap(), visit["why"].as_str());
            states.push(format!("{state} {}", why.unwrap_or("-")));
        }
        ran.stderr
    };
    let mut states = Vec::new();
    let notes = missing(&mut states);
    assert_eq!(states, ["waiting Resources"; 4]);
    assert!(notes.contains("accounting storage is disabled"), "{notes}");
    let text = fake.fleet("collect", &[]).exits(3).stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("; 4 visits: 4 waiting."), "{text}");
    // Slurm does not answer: nothing but the folder tells.
    fs::write(fake.programs.join("squeue"), "#!/bin/sh\necho down >&2; exit 1\n").unwrap();
    states.clear();
    let notes = missing(&mut states);
    assert_eq!(states, ["no-record -"; 4]);
    assert!(notes.contains("what waits or runs is not known"), "{notes}");
}

#[test]
fn without_slurm_the_missing_program_is_named() {
    let fake = Fake::new();
    let ran = Ran::of(fake.command("run", &RUN).env("PATH", "/nonexistent")).exits(3);
    assert!(ran.stderr.contains("there is no program `sinfo` here\n  hint: "), "{}", ran.stderr);
    for (options, refusal) in [
        ("wrap=x", "`wrap` is not an option of a job"),
        ("partition=a;b", "`a;b` is not a value of `partition`"),
    ] {
        fake.fleet("run", &["x", "--slurm", options]).exits(2).stderr_contains(refusal);
    }
    let nodes = ["x", "--slurm", "", "--nodes", "n[1"];
    fake.fleet("run", &nodes).exits(2).stderr_contains("`n[1` is not a list of nodes");
    fake.fleet("run", &["no/such", "--slurm", ""]).exits(2);
    assert!(!fake.folder().exists());
}

#[test]
fn a_task_is_measured_on_its_node_by_its_version_alone() {
    let fake = Fake::new();
    fake.fleet("run", &RUN).exits(0);
    let visit = |node: &str| {
        Ran::of(fake.command("visit", &["--task", "0"]).env("SLURMD_NODENAME", node)).exits(3)
    };
    assert!(visit("elsewhere").stderr.contains("this is `elsewhere`"));
    let failure = fs::read_to_string(fake.folder().join("failures/0.json")).unwrap();
    assert!(failure.contains("this is `elsewhere`"), "{failure}");
    let file = fake.folder().join("plan.json");
    let plan = fs::read_to_string(&file).unwrap();
    let own = format!("\"tool\":\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(plan.contains(&own), "{plan}");
    fs::write(&file, plan.replace(&own, "\"tool\":\"0.0.0\"")).unwrap();
    assert!(visit("n1").stderr.contains("a plan of oscost 0.0.0"));
    fake.fleet("visit", &["--task", "4"]).exits(2).stderr_contains("there is no task 4");
    // A task that Slurm starts again does nothing.
    fs::write(fake.folder().join("records/0.json"), "{}").unwrap();
    fake.fleet("visit", &["--task", "0"]).exits(0).stderr_contains("was measured before");
}

#[test]
fn a_task_that_does_not_see_the_folder_names_it() {
    let fake = Fake::new();
    let ran = fake.fleet("visit", &["--task", "0"]).exits(2).no_data();
    let stderr = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = fake.folder();
    let error = format!("cannot open the fleet {}: it has no plan.json", folder.display());
    assert!(stderr.contains(&error), "{}", ran.stderr);
    assert!(stderr.contains("each node must see it at this path"), "{}", ran.stderr);
    assert!(!folder.exists(), "a folder of this node alone was made");
}

#[test]
fn a_home_that_cannot_be_written_does_not_matter_to_a_task() {
    let fake = Fake::new();
    fake.fleet("run", &[&RUN[..], &["--quick", "--no-lock"]].concat()).exits(0);
    let plan = fake.plan();
    let node = plan["tasks"][0]["node"].as_u64().unwrap() as usize;
    let mut visit = fake.command("visit", &["--task", "0"]);
    visit.env("SLURMD_NODENAME", plan["nodes"][node].as_str().unwrap());
    // Nobody can make a file there, not even root.
    visit.env("HOME", "/proc/no-home").env("XDG_DATA_HOME", "/proc/no-home/data");
    Ran::of(&mut visit).exits(0).no_data();
    let record = fs::read(fake.folder().join("records/0.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["complete"], true);
    assert_eq!(record["fleet"]["task"], 0);
}
