//! Programs that take turns: each runs as often and in the order that was requested, under the
//! treatments of its arm, and leaves nothing for the next one.

use std::fs;

use oscost_model::parameter::ParameterValues;
use oscost_model::program::{Program, TurnResult};
use oscost_model::protocol::{Event, Order, TurnFailure};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::common::{Folder, Session, measuring, signal, until, wait_until_gone};
use crate::control_groups::groups;
use crate::programs::sleepers;

fn sh(script: &str) -> Program {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let working_directory = Some("/".to_owned());
    Program { command, working_directory, captures_output: true, ..Program::default() }
}

fn turns(programs: Vec<Program>, order: &[u8]) -> WorkerSpec {
    let task = Task::TakeTurns { order: order.to_vec(), values: Vec::new(), in_group: false };
    let subject = Subject::Programs(programs);
    WorkerSpec { subject, task, timeout_ms: 60_000, ..measuring("syscall/getppid:via=raw") }
}

/// The trials of this order; afterwards only the supervisor is left, and its directory is empty.
fn taken(session: &mut Session, spec: WorkerSpec) -> (Vec<TurnResult>, Option<TurnFailure>) {
    session.measure(1, spec);
    let event = session.event();
    wait_until_gone(session, "turns");
    until("its folder is gone", || fs::read_dir(session.scratch()).unwrap().next().is_none());
    match event {
        Event::TurnsTaken { id: 1, trials, failure, group: None } => (trials, failure),
        other => panic!("it should have taken turns: {other:?}"),
    }
}

fn reason(failure: &TurnFailure) -> String {
    match &*failure.event {
        Event::Failed { reason, .. } => reason.clone(),
        Event::TimedOut { reason, .. } => reason.clone().unwrap_or_default(),
        other => format!("{other:?}"),
    }
}

#[test]
fn programs_run_in_the_order_that_was_requested() {
    let mut session = Session::start();
    let order = [1, 0, 0, 1, 1, 0];
    let programs = vec![sh("echo zero"), sh("echo one >&2; sleep 0.01")];
    let (trials, failure) = taken(&mut session, turns(programs, &order));
    assert_eq!(failure, None);
    assert_eq!(trials.iter().map(|it| it.program).collect::<Vec<_>>(), order);
    for TurnResult { program, result, .. } in &trials {
        assert_eq!(result.output, ["zero\n", "one\n"][usize::from(*program)]);
        let slept_ns = if *program == 1 { 10_000_000 } else { 0 };
        assert!(result.real_ns > slept_ns && result.usage.minor_faults > 0, "{result:?}");
    }
    assert!(trials.windows(2).all(|two| two[0].ended_ns < two[1].ended_ns), "{trials:?}");
    assert_eq!(trials[1].result.digest, trials[2].result.digest);
    assert_ne!(trials[0].result.digest, trials[1].result.digest, "stderr is not part of it");
}

#[test]
fn each_program_has_the_treatments_of_its_arm_alone() {
    let mut session = Session::start();
    let nice = "ps -o ni= -p $$ 2>/dev/null || cut -d' ' -f19 /proc/$$/stat";
    let programs = vec![sh(nice), sh(nice)];
    let treatments = vec![Vec::new(), vec![AppliedTreatment::Nice { increment: 7 }]];
    let spec = WorkerSpec { treatments, arms: 2, ..turns(programs, &[0, 1, 0, 1]) };
    let (trials, failure) = taken(&mut session, spec);
    assert_eq!(failure, None);
    let nice = |it: &TurnResult| it.result.output.trim().parse::<i32>().unwrap();
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|at| nice(&trials[at]));
    assert_eq!([second - first, third - first, fourth - first], [7, 0, 7]);
}

#[test]
fn a_program_that_fails_ends_the_turns_and_the_trials_before_it_are_kept() {
    let mut session = Session::start();
    let folder = Folder::new();
    let marker = folder.path().join("second");
    let script =
        format!("[ -e {0} ] && {{ echo broken >&2; exit 3; }}; touch {0}", marker.display());
    let programs = vec![sh("true"), sh(&script)];
    let (trials, failure) = taken(&mut session, turns(programs, &[0, 1, 0, 1, 0]));
    assert_eq!(trials.iter().map(|it| it.program).collect::<Vec<_>>(), [0, 1, 0]);
    let failure = failure.unwrap();
    assert_eq!(failure.program, 1);
    assert!(reason(&failure).ends_with("exited with status 3: broken"), "{failure:?}");
    // Unless every status is accepted.
    let ignored = Program { ignores_status: true, ..sh("exit 3") };
    let (trials, failure) = taken(&mut session, turns(vec![ignored], &[0, 0]));
    assert_eq!((trials.len(), failure), (2, None));
}

#[test]
fn a_program_that_leaves_a_process_or_hangs_is_named_and_ended() {
    let mut session = Session::start();
    let leaves = sh("sleep 1000 >/dev/null 2>&1 & true");
    let (trials, failure) = taken(&mut session, turns(vec![sh("true"), leaves], &[0, 1]));
    assert_eq!(trials.len(), 1);
    assert!(reason(&failure.unwrap()).contains("left a process running: `sleep`"));
    let limits = oscost_model::program::ProgramLimits { seconds: 1, ..Default::default() };
    let hangs = Program { limits, ..sh("sleep 1000") };
    let (trials, failure) = taken(&mut session, turns(vec![sh("true"), hangs], &[0, 1, 0]));
    assert_eq!(trials.len(), 1);
    let failure = failure.unwrap();
    assert!(reason(&failure).contains("exceeded its time limit of 1 s"), "{failure:?}");
}

#[test]
fn temporary_files_of_one_trial_are_gone_in_the_next_and_input_is_read_again() {
    let mut session = Session::start();
    let folder = Folder::new();
    let input = folder.path().join("input");
    fs::write(&input, "a\nb\n").unwrap();
    let script = "ls $TMPDIR | wc -l; cat; mkdir $TMPDIR/kept; touch $TMPDIR/kept/file; \
                  chmod 0 $TMPDIR/kept";
    let program = Program { input: Some(input.to_str().unwrap().to_owned()), ..sh(script) };
    let (trials, failure) = taken(&mut session, turns(vec![program], &[0, 0, 0]));
    assert_eq!(failure, None);
    for trial in trials {
        assert_eq!(trial.result.output.split_whitespace().collect::<Vec<_>>(), ["0", "a", "b"]);
    }
    let absent = Program { input: Some("/no/such".to_owned()), ..sh("true") };
    let (_, failure) = taken(&mut session, turns(vec![absent], &[0]));
    let failure = failure.unwrap();
    assert!(reason(&failure).contains("open its standard input /no/such: "), "{failure:?}");
}

#[test]
fn commands_before_and_after_run_for_each_trial() {
    let mut session = Session::start();
    let folder = Folder::new();
    let file = folder.path().join("log");
    let append = |word: &str| {
        let script = format!("echo {word} >>{}", file.display());
        ["sh", "-c", script.as_str()].map(str::to_owned).to_vec()
    };
    let program = Program {
        before: vec![append("before")],
        after: vec![append("after")],
        ..sh(&format!("echo trial >>{}", file.display()))
    };
    let (trials, failure) = taken(&mut session, turns(vec![program], &[0, 0]));
    assert_eq!((trials.len(), failure), (2, None));
    let log = fs::read_to_string(&file).unwrap();
    let both = ["before", "trial", "after"].repeat(2);
    assert_eq!(log.split_whitespace().collect::<Vec<_>>(), both);
}

#[test]
fn all_programs_of_a_round_and_their_helpers_have_its_values() {
    let mut session = Session::start();
    let folder = Folder::new();
    let log = folder.path().join("log");
    let inputs = folder.path().join("{m}");
    for (name, text) in [("1", "one\n"), ("2", "two\n")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let first = Program {
        input: Some(inputs.to_str().unwrap().to_owned()),
        before: vec![
            ["sh", "-c", &format!("echo before {{n}} >>{}", log.display())]
                .map(str::to_owned)
                .to_vec(),
        ],
        ..sh("echo {n}; cat; echo {other}")
    };
    let second = sh("echo second {m}");
    let values = [(10, 1), (20, 2)]
        .map(|(n, m)| ParameterValues::from([("n".to_owned(), n), ("m".to_owned(), m)]));
    let order = vec![0, 1, 1, 0];
    let with = |values: &[ParameterValues]| WorkerSpec {
        task: Task::TakeTurns { order: order.clone(), values: values.to_vec(), in_group: false },
        ..turns(vec![first.clone(), second.clone()], &[])
    };
    let (trials, failure) = taken(&mut session, with(&values));
    assert_eq!(failure, None);
    let outputs: Vec<&str> = trials.iter().map(|it| it.result.output.as_str()).collect();
    assert_eq!(outputs, ["10\none\n{other}\n", "second 1\n", "second 2\n", "20\ntwo\n{other}\n"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "before 10\nbefore 20\n");
    // An order without the values of a later round.
    let (trials, failure) = taken(&mut session, with(&values[..1]));
    assert_eq!(trials.len(), 2);
    assert!(reason(&failure.unwrap()).contains("no parameters for its round 1"));
}

#[test]
fn the_end_of_the_session_ends_programs_that_take_turns() {
    let mut session = Session::start();
    let folder = Folder::new();
    let file = folder.path().join("pid");
    let script = format!("echo $$ >{}; sleep 1000", file.display());
    session.send(&Order::Measure { id: 1, spec: Box::new(turns(vec![sh(&script)], &[0])) });
    let pid = || fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok();
    until("the program runs", || pid().is_some());
    let pid = pid().unwrap();
    drop(session);
    until("the program is gone", || !fs::exists(format!("/proc/{pid}")).unwrap());
}

/// Programs that run in a control group.
fn in_group(programs: Vec<Program>, order: &[u8]) -> WorkerSpec {
    let task = Task::TakeTurns { order: order.to_vec(), values: Vec::new(), in_group: true };
    WorkerSpec { task, ..turns(programs, order) }
}

#[test]
fn the_group_of_many_short_processes_has_the_system_time_that_they_lose_by_themselves() {
    let mut session = Session::start();
    // Of each child nearly all time is in the kernel, and a tick finds one of a hundred.
    let forks = sh("i=0; while [ $i -lt 200 ]; do (exit 0); i=$((i+1)); done");
    session.measure(1, in_group(vec![forks], &[0; 12]));
    let (trials, times) = match session.event() {
        Event::TurnsTaken { id: 1, trials, failure: None, group: Some(Ok(times)) } => {
            (trials, times)
        }
        Event::TurnsTaken { trials, group: Some(Err(why)), .. } => {
            assert!(trials.is_empty(), "without a group nothing runs");
            return eprintln!("cannot run here: {why}");
        }
        other => panic!("it should have run: {other:?}"),
    };
    until("its group is gone", || groups(&session).is_empty());
    assert_eq!(trials.len(), 12);
    let [system_us, cpu_us] = [
        trials.iter().map(|it| it.result.usage.system_ns / 1_000).sum::<u64>(),
        trials.iter().map(|it| it.result.usage.cpu_ns() / 1_000).sum::<u64>(),
    ];
    let all_us = times.user_us + times.system_us;
    let by_both = format!("{system_us} of {cpu_us} us by rusage, {times:?}");
    // Both know the CPU time; the group has little more or less of it.
    assert!(2 * all_us > cpu_us && 2 * cpu_us > all_us, "{by_both}");
    // With 250 in a second.
    let ticks = all_us / 4_000;
    let precise = fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    if ticks < 50 || precise.contains(|c: char| c.is_ascii_digit()) {
        return eprintln!("not tested: {ticks} ticks, nohz_full {precise:?}: {by_both}");
    }
    let share = |system_us: u64, all_us: u64| system_us as f64 / all_us as f64;
    assert!(share(times.system_us, all_us) > share(system_us, cpu_us), "{by_both}");
}

#[test]
fn the_group_of_programs_is_removed_when_their_job_is_killed() {
    let mut session = Session::start();
    session.measure(1, in_group(vec![sh("true")], &[0]));
    if let Event::TurnsTaken { group: Some(Err(why)), .. } = session.event() {
        return eprintln!("cannot run here: {why}");
    }
    until("its group is gone", || groups(&session).is_empty());
    // Its working directory is by what its processes are found.
    let sleeps = Program { working_directory: None, ..sh("sleep 1000") };
    session.measure(2, in_group(vec![sleeps], &[0]));
    until("it sleeps", || sleepers(&session) == 1);
    assert_eq!(groups(&session).len(), 1);
    let job = session.workers().into_iter().min().unwrap();
    signal(job, "KILL");
    until("its group is gone", || groups(&session).is_empty());
    wait_until_gone(&session, "a killed job");
}
