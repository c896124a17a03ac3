//! SIGKILL at the tasks of a fleet, at slurmd, at slurmctld and at the tool, at random moments: each
//! record is whole or absent, none is lost, all that are there are collected, and retries measure
//! the rest.
//!
//! `OSCOST_FLEET_KILLS=100 make attacks` makes so many in all; `OSCOST_SEED` gives others.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use oscost_model::seed::Seed;
use serde_json::{Value, json};

use crate::attack::{Attack, Effort, Outcome, all_are_made, make, number};
use crate::cluster::{Cluster, Daemon, processes_of};
use crate::common::{Ran, Sandbox, end_of, until};
use crate::kills::{send_kill, share};
use crate::oracles::{check_end, check_store};
use crate::resources;
use crate::slurm_fleet::{FleetOfSlurm, QUICK};

const NODES: usize = 4;

/// How many kills there are by `make attacks`, and by `make test`.
const KILLS: u64 = 28;
const FEW_KILLS: u64 = 3;

/// The times within which a moment is chosen: that of a fleet from its submission on, of a task, of a
/// submission, of a collector, and until a service manager starts a daemon again.
const FLEET_TIME: Duration = Duration::from_secs(6);
const TASK_TIME: Duration = Duration::from_millis(1_500);
const SUBMISSION_TIME: Duration = Duration::from_secs(1);
const COLLECTOR_TIME: Duration = Duration::from_millis(200);
const RESTART_TIME: Duration = Duration::from_secs(2);

/// How many collectors are killed for each killed submission.
const COLLECTORS: usize = 5;

/// How often it is looked whether all is done.
const LOOK: Duration = Duration::from_millis(300);

/// When a user gives up waiting for the next record, and cancels what there is. Slurm lets a job that
/// it has put into its queue again wait for two minutes; one that slurmd was about to start is missed
/// later than that.
const WAITING_PATIENCE: Duration = Duration::from_secs(20);
const RUNNING_PATIENCE: Duration = Duration::from_secs(60);

/// What is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// All processes of a task, or one of them.
    Task,
    Node,
    Controller,
    /// `oscost fleet run`, then `oscost fleet collect`.
    Tool,
}

const VICTIMS: [(&str, Victim); 4] = [
    ("tasks of a fleet", Victim::Task),
    ("slurmd under a fleet", Victim::Node),
    ("slurmctld under a fleet", Victim::Controller),
    ("the tool of a fleet", Victim::Tool),
];

/// A cluster, and a fleet on it in each round.
struct Lab {
    cluster: Cluster,
    sandbox: Sandbox,
    round: u64,
}

impl Lab {
    /// The folder of the fleet of this round.
    fn folder(&self) -> PathBuf {
        self.sandbox.file(&format!("fleet{}", self.round))
    }

    fn command(&self, verb: &str, words: &[&str]) -> Command {
        let Self { cluster, sandbox, .. } = self;
        FleetOfSlurm { cluster, sandbox, folder: &self.folder() }.command(verb, words)
    }

    fn start(&self, verb: &str, words: &[&str]) -> Child {
        let mut command = self.command(verb, words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    #[track_caller]
    fn fleet(&self, verb: &str, words: &[&str]) -> Ran {
        let ran = Ran::of(&mut self.command(verb, words));
        check_end(&ran);
        ran
    }

    /// The tasks that have a record. Each record is whole, and that of its task; other files are what
    /// is being written, or was.
    #[track_caller]
    fn recorded(&self) -> BTreeSet<u64> {
        let entries = fs::read_dir(self.folder().join("records")).into_iter().flatten();
        let mut tasks = BTreeSet::new();
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some(task) = name.strip_suffix(".json") else {
                assert!(name.starts_with(".tmp-"), "a file of no task: {name}");
                continue;
            };
            let task: u64 = task.parse().unwrap();
            let record = serde_json::from_slice::<Value>(&fs::read(&path).unwrap());
            let record = record.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(record["complete"], true, "{name}");
            assert_eq!(record["fleet"]["task"], task, "{name}");
            tasks.insert(task);
        }
        tasks
    }

    /// The processes of each task that runs.
    fn tasks(&self) -> Vec<Vec<u32>> {
        let tasks = self.cluster.nodes.iter().map(|node| self.cluster.processes_on(node));
        tasks.filter(|processes| !processes.is_empty()).collect()
    }

    /// Kills something of a fleet that is being submitted or measured. Whether it was there.
    fn kill(&mut self, victim: Victim, tool: &mut Child, seed: &mut Seed) -> bool {
        match victim {
            Victim::Task => self.kill_task(seed),
            Victim::Node => {
                let node = seed.below(NODES as u64) as usize;
                let node = Daemon::Node(self.cluster.nodes[node].clone());
                self.interrupt(&node, seed)
            }
            Victim::Controller => self.interrupt(&Daemon::Controller, seed),
            Victim::Tool => {
                sleep(SUBMISSION_TIME.mul_f64(seed.unit()));
                let is_there = tool.try_wait().unwrap().is_none();
                is_there && tool.kill().is_ok()
            }
        }
    }

    fn kill_task(&self, seed: &mut Seed) -> bool {
        until("a task runs", || !self.tasks().is_empty() || !self.recorded().is_empty());
        sleep(TASK_TIME.mul_f64(seed.unit()));
        let tasks = self.tasks();
        if tasks.is_empty() {
            return false;
        }
        let task = &tasks[seed.below(tasks.len() as u64) as usize];
        // Every second time one process.
        let victims = match seed.below(2) {
            0 => &task[..],
            _ => {
                let one = seed.below(task.len() as u64) as usize;
                &task[one..=one]
            }
        };
        victims.iter().filter(|&&pid| send_kill(pid)).count() > 0
    }

    /// Kills a daemon, and starts it again some time later.
    fn interrupt(&mut self, daemon: &Daemon, seed: &mut Seed) -> bool {
        sleep(FLEET_TIME.mul_f64(seed.unit()));
        self.cluster.kill(daemon);
        sleep(RESTART_TIME.mul_f64(seed.unit()));
        self.cluster.restart(daemon);
        true
    }

    /// Begins the fleet anew if what was killed had no plan yet.
    fn begin_again(&self) {
        let plan = self.folder().join("plan.json");
        if !plan.exists() {
            let _ = fs::remove_dir_all(self.folder());
            let ran = self.fleet("run", &QUICK);
            assert!(plan.exists(), "{}", ran.stderr);
        }
    }

    /// Leaves what a task leaves that is killed while it writes its record: two days ago, and now.
    fn leave_parts_of_records(&self) -> [PathBuf; 2] {
        const BEGINNING: &str = "{\"schema\":\"oscost.run/1\",\"complete\":true";
        let records = self.folder().join("records");
        let parts = [1, 2].map(|number| records.join(format!(".tmp-{number:032x}")));
        parts.iter().for_each(|part| fs::write(part, BEGINNING).unwrap());
        let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 3_600);
        File::options().write(true).open(&parts[0]).unwrap().set_modified(two_days_ago).unwrap();
        parts
    }

    /// Kills collectors while tasks write their records.
    fn kill_collectors(&self, seed: &mut Seed) {
        for _ in 0..COLLECTORS {
            let mut collector = self.start("collect", &[]);
            sleep(COLLECTOR_TIME.mul_f64(seed.unit()));
            let _ = collector.kill();
            collector.wait().unwrap();
            check_store(&self.sandbox);
        }
    }

    /// Collects what is there: how many records are stored. All others are missing, for a reason.
    #[track_caller]
    fn collect(&self) -> usize {
        let before = self.recorded().len();
        let ran = self.fleet("collect", &["--json"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{:?}: {}", ran.code, ran.stderr);
        let found = ran.json();
        let count = |key: &str| found[key].as_u64().unwrap() as usize;
        let stored = count("imported") + count("known");
        assert!((before..=self.recorded().len()).contains(&stored), "{before}: {found}");
        assert_eq!(found["rejected"], json!([]));
        assert_eq!(stored + found["missing"].as_array().unwrap().len(), NODES, "{found}");
        stored
    }

    /// Whether a task is running, by the status, which has as many measured ones as there are records.
    #[track_caller]
    fn is_running(&self) -> bool {
        let before = self.recorded().len();
        let status = self.fleet("status", &["--json"]).exits(0).json();
        let count = |state: &str| status["counts"][state].as_u64().unwrap_or(0) as usize;
        let measured = count("measured");
        assert!((before..=self.recorded().len()).contains(&measured), "{before}: {status}");
        count("running") > 0
    }

    /// Does what a user and an administrator do until all nodes are measured.
    fn finish(&self) {
        let (mut recorded, mut collected) = (BTreeSet::new(), 0);
        let mut progress = Instant::now();
        until("all nodes are measured", || {
            sleep(LOOK);
            let now = self.recorded();
            assert!(now.is_superset(&recorded), "lost records: {recorded:?}, now {now:?}");
            if now.len() > recorded.len() {
                progress = Instant::now();
            }
            recorded = now;
            let is_running = self.is_running();
            let stored = self.collect();
            assert!(stored >= collected, "{collected} records were in the store, now {stored}");
            collected = stored;
            if collected == NODES {
                return true;
            }
            let patience = if is_running { RUNNING_PATIENCE } else { WAITING_PATIENCE };
            if progress.elapsed() > patience {
                self.put_into_service();
                self.fleet("cancel", &[]);
                progress = Instant::now();
            }
            self.fleet("run", &["--retry"]);
            false
        });
        self.fleet("run", &["--retry"]).exits(0);
        // A job may wait whose task another one has done.
        self.fleet("cancel", &[]);
    }

    /// Puts nodes that Slurm has drained back into service; it refuses that of others.
    fn put_into_service(&self) {
        for node in &self.cluster.nodes {
            let node = format!("NodeName={node}");
            self.cluster.output("scontrol", &["update", &node, "State=RESUME"]);
        }
    }

    /// Waits until nothing of a task is left on any node.
    fn nothing_is_left(&self) {
        for node in &self.cluster.nodes {
            until("its task is gone", || self.cluster.processes_on(node).is_empty());
            let folder = self.cluster.temporary_folder(node);
            until("its temporary files are gone", || fs::read_dir(&folder).unwrap().count() == 0);
        }
        self.sandbox.nothing_is_left();
        check_store(&self.sandbox);
    }

    /// Begins a fleet, kills something of it, and finishes it. Whether something was killed.
    fn kill_and_finish(&mut self, victim: Victim, seed: &mut Seed) -> bool {
        self.round += 1;
        let mut tool = self.start("run", &QUICK);
        let killed = self.kill(victim, &mut tool, seed);
        end_of(&mut tool);
        self.begin_again();
        let [old_part, new_part] = self.leave_parts_of_records();
        if victim == Victim::Tool {
            self.kill_collectors(seed);
        }
        self.finish();
        assert!(!old_part.exists() && new_part.exists());
        self.nothing_is_left();
        killed
    }
}

/// Kills so many victims, each under a fleet of its own.
fn kill_under_fleets(victim: Victim, count: u64, seed: &mut Seed) -> Outcome {
    // Other tests run beside the few kills.
    let before = all_are_made().then(resources::named);
    let Some(cluster) = Cluster::of(NODES) else {
        return Outcome::NotHere("no cluster of Slurm: `make slurm`".to_owned());
    };
    let folder = cluster.folder.clone();
    let mut lab = Lab { cluster, sandbox: Sandbox::new(), round: 0 };
    let killed = (0..count).filter(|_| lab.kill_and_finish(victim, seed)).count();
    drop(lab);
    let left = processes_of(&folder);
    assert!(left.is_empty(), "processes of the cluster are left: {left:?}");
    if let Some(before) = before {
        resources::nothing_is_new(&before);
    }
    Outcome::Withstood(format!("{killed} of {count} were running"))
}

#[test]
fn a_kill_under_a_fleet_loses_no_record_and_a_retry_measures_the_rest() {
    let kills = number("OSCOST_FLEET_KILLS", if all_are_made() { KILLS } else { FEW_KILLS });
    let number_of_victims = VICTIMS.len() as u64;
    let attacks = (0..).zip(VICTIMS).filter_map(|(at, (name, victim))| {
        let count = share(kills, number_of_victims, at);
        let seed = number("OSCOST_SEED", 29) + at;
        let name = format!("{count} SIGKILLs over {name}");
        let attack = Attack::new(name, Effort::Short, move || {
            kill_under_fleets(victim, count, &mut Seed::new(seed))
        });
        (count > 0).then_some(attack)
    });
    make("kills under fleets", attacks);
}
