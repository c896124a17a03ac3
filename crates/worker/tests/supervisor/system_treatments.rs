//! Treatments of the whole system: they are attached, and they are undone, however their job ends.
//!
//! They affect every process of the machine, other tests included: each is attached for a moment.

use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::Command;

use oscost_model::monitor_report::MonitorReport;
use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::{AntagonistLoad, AttachedTreatment};

use crate::common::{Session, failure_reason, signal, until, wait_until_gone};

const EMPTY: AttachedTreatment = AttachedTreatment::Ebpf { counts: false };
const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0";

/// How an attached treatment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The tool orders `stop`.
    Stop,
    /// The tool exits.
    NoTool,
    /// The job is killed.
    JobKilled,
    /// The supervisor is killed.
    SupervisorKilled,
}

const ENDS: [End; 4] = [End::Stop, End::NoTool, End::JobKilled, End::SupervisorKilled];

fn attach(session: &mut Session, id: u64, treatments: &[AttachedTreatment]) {
    let treatments = treatments.to_vec();
    session.send(&Order::Attach { id, treatments, cpu: None, other_cpu: None });
}

/// Attaches treatments; returns the process of the job, or `None`, with a message, if that is not
/// possible here.
fn holder(session: &mut Session, id: u64, treatments: &[AttachedTreatment]) -> Option<u32> {
    attach(session, id, treatments);
    match session.event() {
        Event::Ready { id: of, pid, .. } if of == id => Some(pid),
        Event::Skipped { missing, .. } => {
            assert!(missing.contains("; "), "no way out is named: {missing}");
            eprintln!("cannot run here: {missing}");
            None
        }
        other => panic!("{treatments:?}: {other:?}"),
    }
}

/// Ends it this way, and waits for the end.
fn end(mut session: Session, job: u32, how: End) {
    match how {
        End::Stop => {
            session.send(&Order::Stop { id: 1 });
            assert_eq!(
                session.event(),
                Event::Detached { id: 1, counted: None, monitor_report: None }
            );
        }
        End::NoTool => session.close_input(),
        End::JobKilled => {
            signal(job, "KILL");
            assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
        }
        End::SupervisorKilled => signal(session.pid(), "KILL"),
    }
    wait_until_gone(&session, "what was attached");
}

/// The numbers of the programs that a process has attached to the entry of system calls.
fn programs(pid: &str) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let described = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let attached = described.filter(|text| text.contains("tp_name:\tsys_enter"));
    let number = |text: String| {
        let number = text.lines().find_map(|line| line.strip_prefix("prog_id:"));
        number.map(|number| number.trim().to_owned())
    };
    attached.filter_map(number).collect()
}

/// Whether any process has it attached.
fn is_attached(program: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .any(|pid| programs(&pid).iter().any(|other| other == program))
}

#[test]
fn a_counting_program_counts_every_call_made_while_it_is_attached() {
    const CALLS: u64 = 20_000;
    let mut session = Session::start();
    let Some(pid) = holder(&mut session, 1, &[AttachedTreatment::Ebpf { counts: true }]) else {
        return;
    };
    assert_ne!(pid, session.pid());
    let parents = (0..CALLS).filter(|_| parent_id() > 0).count() as u64;
    assert_eq!(parents, CALLS);
    session.send(&Order::Stop { id: 1 });
    match session.event() {
        Event::Detached { id: 1, counted: Some(counted), .. } => {
            assert!(counted >= CALLS, "{counted} of {CALLS}");
        }
        other => panic!("{other:?}"),
    }
    session.check_responsive(2);
}

#[test]
fn a_bpf_program_is_detached_however_its_job_ends() {
    for how in ENDS {
        let mut session = Session::start();
        let Some(job) = holder(&mut session, 1, &[EMPTY]) else { return };
        let attached = programs(&job.to_string());
        assert_eq!(attached.len(), 1, "{how:?}");
        assert!(is_attached(&attached[0]), "{how:?}");
        end(session, job, how);
        until("the program is gone", || !is_attached(&attached[0]));
    }
}

/// The tracing instances that a process of ours has made.
fn instances(job: u32) -> Vec<PathBuf> {
    let folder = ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];
    let folder = folder.iter().map(Path::new).find(|folder| folder.exists());
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let ours = format!("-{job}");
    let is_ours = |name: &str| name.starts_with("oscost-") && name.ends_with(&ours);
    paths.filter(|path| is_ours(&path.file_name().unwrap().to_string_lossy())).collect()
}

#[test]
fn a_tracing_instance_is_enabled_and_removed_however_its_job_ends() {
    for how in ENDS {
        let mut session = Session::start();
        let Some(job) = holder(&mut session, 1, &[AttachedTreatment::Ftrace]) else { return };
        let [instance] = &instances(job)[..] else { panic!("{how:?}: {:?}", instances(job)) };
        let read = |file: &str| fs::read_to_string(instance.join(file)).unwrap();
        assert_eq!(read("events/raw_syscalls/enable").trim(), "1");
        assert_eq!(read("tracing_on").trim(), "1");
        assert!(fs::remove_dir(instance).is_err(), "one that is held can be removed");
        end(session, job, how);
        until("the instance is gone", || instances(job).is_empty());
    }
}

#[test]
fn the_next_session_removes_what_a_killed_job_and_supervisor_left() {
    let mut session = Session::start();
    let Some(job) = holder(&mut session, 1, &[AttachedTreatment::Ftrace]) else { return };
    // Both at once: otherwise one of them would undo it.
    let both = format!("kill -KILL {} {job}", session.pid());
    assert!(Command::new("/bin/sh").args(["-c", &both]).status().unwrap().success());
    session.ended();
    wait_until_gone(&session, "two that were killed");
    drop(Session::start());
    assert_eq!(instances(job), Vec::<PathBuf>::new());
}

#[test]
fn the_clock_source_is_restored_however_its_job_ends() {
    let read = |file: &str| {
        let text = fs::read_to_string(format!("{CLOCKS}/{file}")).unwrap_or_default();
        text.trim_end().to_owned()
    };
    let was = read("current_clocksource");
    let available = read("available_clocksource");
    let Some(other) = available.split(' ').find(|&name| name != was && !name.is_empty()) else {
        return eprintln!("cannot run here: there is one clock source");
    };
    let treatment = AttachedTreatment::Clocksource { name: other.to_owned() };
    for how in ENDS {
        let mut session = Session::start();
        let Some(job) = holder(&mut session, 1, std::slice::from_ref(&treatment)) else { return };
        assert_eq!(read("current_clocksource"), other, "{how:?}");
        end(session, job, how);
        until("the clock source is what it was", || read("current_clocksource") == was);
    }
}

#[test]
fn an_unknown_clock_source_is_refused_with_a_list_of_known_ones() {
    let mut session = Session::start();
    attach(
        &mut session,
        1,
        &[EMPTY, AttachedTreatment::Clocksource { name: "sun\ndial".to_owned() }],
    );
    let Event::Skipped { missing, .. } = session.event() else { panic!("a sundial") };
    if !missing.contains("eBPF") {
        assert!(missing.contains("`sun\\ndial`; it has "), "{missing}");
    }
    wait_until_gone(&session, "what could not be attached");
}

#[test]
fn an_antagonist_runs_on_its_cpu_and_exits_however_its_job_ends() {
    let does = [
        AntagonistLoad::Cpu,
        AntagonistLoad::Memory,
        AntagonistLoad::Syscalls,
        AntagonistLoad::Cpu,
    ];
    for (how, does) in ENDS.into_iter().zip(does) {
        let mut session = Session::start();
        let allowed = session.hello.facts.cpu.allowed_cpus.clone().unwrap();
        let [cpu, other_cpu] = [allowed.first(), allowed.last()].map(Option::<&u32>::copied);
        let treatments =
            vec![AttachedTreatment::Antagonist { load: does, same_cpu: how == End::Stop }];
        session.send(&Order::Attach { id: 1, treatments, cpu, other_cpu });
        let job = session.ready(1);
        let others: Vec<u32> = session.workers().into_iter().filter(|&pid| pid != job).collect();
        let [neighbour] = others[..] else { panic!("{how:?}: {others:?}") };
        let status = fs::read_to_string(format!("/proc/{neighbour}/status")).unwrap();
        let its = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let put = if how == End::Stop { cpu } else { other_cpu };
        assert_eq!(its.map(|its| its.trim().to_owned()), put.map(|cpu| cpu.to_string()));
        end(session, job, how);
    }
}

/// A monitor process that is a shell script.
fn held_by(script: &str) -> AttachedTreatment {
    AttachedTreatment::Ph { monitor_command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec() }
}

#[test]
fn a_monitor_process_is_ended_by_the_end_of_its_input_however_its_job_ends() {
    for how in ENDS {
        let mut session = Session::start();
        let left = session.folder().join("undone");
        let script = format!(
            "echo '{{\"event\":\"ready\"}}'; cat; echo >'{}'; echo '{{\"event\":\"ended\",\"calls\":42}}'",
            left.display()
        );
        attach(&mut session, 1, &[held_by(&script)]);
        let job = session.ready(1);
        match how {
            End::Stop => {
                session.send(&Order::Stop { id: 1 });
                let monitor_report =
                    Some(Box::new(MonitorReport { calls: 42, ..MonitorReport::default() }));
                assert_eq!(
                    session.event(),
                    Event::Detached { id: 1, counted: None, monitor_report }
                );
                assert!(left.exists());
            }
            // A killed job takes its process group along, monitor process included.
            End::JobKilled | End::SupervisorKilled | End::NoTool => end(session, job, how),
        }
    }
}

#[test]
fn failures_of_a_monitor_process_are_reported() {
    let mut session = Session::start();
    let missing = "echo '{\"event\":\"missing\",\"reason\":\"no BTF\"}'; exit 1";
    attach(&mut session, 1, &[held_by(missing)]);
    match session.event() {
        Event::Skipped { missing, .. } => assert!(missing.contains("pH is not available: no BTF")),
        other => panic!("{other:?}"),
    }
    attach(&mut session, 2, &[held_by("exit 0")]);
    assert!(failure_reason(session.event()).contains("did not report that it is ready"));
    attach(&mut session, 3, &[AttachedTreatment::Ph { monitor_command: vec!["/none".to_owned()] }]);
    assert!(failure_reason(session.event()).contains("cannot start the monitor process"));
    // It exits while it should stay attached.
    attach(&mut session, 4, &[held_by("echo '{\"event\":\"ready\"}'; exec sleep 0.1")]);
    session.ready(4);
    std::thread::sleep(std::time::Duration::from_millis(200));
    session.send(&Order::Stop { id: 4 });
    assert!(failure_reason(session.event()).contains("ended before the measurement was over"));
    wait_until_gone(&session, "a holder");
}

#[test]
fn an_unprivileged_user_gets_a_reason_that_names_what_attaching_needs() {
    let mut session = Session::ordinary();
    for (id, treatment, words) in [
        (1, EMPTY, "CAP_BPF"),
        (2, AttachedTreatment::Ftrace, "root"),
        (3, AttachedTreatment::Clocksource { name: "tsc".to_owned() }, "; it"),
    ] {
        attach(&mut session, id, &[treatment]);
        match session.event() {
            Event::Skipped { missing, .. } => assert!(missing.contains(words), "{missing}"),
            other => panic!("{other:?}"),
        }
    }
    attach(
        &mut session,
        4,
        &[AttachedTreatment::Antagonist { load: AntagonistLoad::Cpu, same_cpu: false }],
    );
    session.ready(4);
    session.send(&Order::Stop { id: 4 });
    assert_eq!(session.event(), Event::Detached { id: 4, counted: None, monitor_report: None });
}
