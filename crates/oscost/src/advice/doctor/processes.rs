//! Other programs: those that used CPU time during the probe, and those that may start work.

use oscost_model::watch::{ProcessActivity, ProcessKind};

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use super::wording::{join_names, pct};

/// A process that uses more of one CPU than this is reported: more than two ticks of the kernel's
/// accounting, so that rounding is not reported.
const PROCESS_PCT: f64 = 2.0;

/// The programs of oscost itself: what they measure is to end by itself.
const OWN_PROGRAMS: [&str; 2] = ["oscost", "oscost-worker"];

/// The same for time that no process accounts for: the kernel samples it with an error of several
/// per cent.
const UNNAMED_PCT: f64 = 10.0;

/// Processes that used CPU time during the probe.
pub(super) fn processes(observations: &Observations<'_>) -> RuleResult {
    let watch = match observations.activity {
        Ok(watch) => watch,
        Err(why) => return RuleResult::unknown(format!("CPU time of other processes ({why})")),
    };
    let share = |ns: f64| 100.0 * ns / watch.wall_ns.max(1) as f64;
    let busy: Vec<&ProcessActivity> = watch
        .processes
        .iter()
        .filter(|process| share(process.cpu_ns as f64) > PROCESS_PCT)
        .collect();
    let unnamed =
        watch.unattributed_cpu_ns.map(|ns| share(ns as f64)).filter(|&it| it > UNNAMED_PCT);
    if busy.is_empty() && unnamed.is_none() {
        return match &watch.processes_unread {
            Some(why) => RuleResult::unknown(format!("other processes ({why})")),
            None => RuleResult::pass("other processes"),
        };
    }
    let mut names: Vec<String> = busy
        .iter()
        .map(|process| {
            let took = pct(share(process.cpu_ns as f64));
            let pid = process.pids.first().copied().unwrap_or_default();
            match (process.kind, process.count) {
                (ProcessKind::Program, 1) => format!("`{}` (pid {pid}) {took}", process.name),
                (ProcessKind::Program, count) => {
                    format!("{count} x `{}` (pid {pid}, ...) {took}", process.name)
                }
                (ProcessKind::Kernel, _) => format!("kernel thread `{}` {took}", process.name),
                (ProcessKind::Children, _) => {
                    format!("exited children of `{}` (pid {pid}) {took}", process.name)
                }
            }
        })
        .collect();
    if let Some(unnamed) = unnamed {
        let source = match &watch.processes_unread {
            Some(_) => "processes hidden from this user",
            None => "short-lived processes",
        };
        names.push(format!("{source} {}", pct(unnamed)));
    }
    let what =
        format!("CPU time used during the probe, in % of one CPU: {}", join_names(&names, 6));
    let result = RuleResult::finding(
        Weight::Noise,
        what,
        "each competes with workers for the CPU and the caches: with one competitor the median of \
         batches of 5 ms rose from 120 to 208 ns on one machine, their minimum did not change",
    );
    let is_own = |process: &&&ProcessActivity| OWN_PROGRAMS.contains(&process.name.as_str());
    let pids_of = |kind| {
        let of_kind = busy.iter().filter(|process| process.kind == kind && !is_own(process));
        // By number: a name may be anything.
        let pids = of_kind.flat_map(|process| &process.pids).take(6).map(u32::to_string);
        pids.collect::<Vec<_>>()
    };
    let (programs, parents) = (pids_of(ProcessKind::Program), pids_of(ProcessKind::Children));
    match () {
        () if !programs.is_empty() => result
            .with_command(format!("ps -o pid,user,pcpu,etime,args -p {}", programs.join(",")))
            .with_fix(
                "to see what they are; then wait until they end, or end those that are yours",
            ),
        () if !parents.is_empty() => result
            .with_command(format!("ps -o pid,pcpu,args --ppid {}", parents.join(",")))
            .with_fix("to see its children; then wait until they end"),
        () if busy.iter().any(|process| is_own(&process)) => {
            result.with_fix("wait until the other measurement by oscost ends")
        }
        () if busy.is_empty() => result
            .with_command("top -b -n1 -d1 -o %CPU | head -15")
            .with_fix("to identify them; then wait until they end, or stop them if they are yours"),
        () => result.with_fix("stop what causes the kernel's work: disk or network activity"),
    }
}

/// Job schedulers.
pub(super) fn work_daemons(observations: &Observations<'_>) -> RuleResult {
    const SERVICES: &[(&str, &str)] = &[
        ("anacron", "anacron"),
        ("atd", "atd"),
        ("boinc", "boinc-client"),
        ("condor_master", "condor"),
        ("condor_startd", "condor"),
        ("cron", "cron"),
        ("crond", "crond"),
        ("pbs_mom", "pbs"),
        ("sge_execd", "sgeexecd"),
        ("slurmd", "slurmd"),
    ];
    let Some(watch) = observations.system_activity() else { return RuleResult::NotApplicable };
    let runs = |(name, _): &&(&str, &str)| watch.daemons.iter().any(|it| it == name);
    let running: Vec<&(&str, &str)> = SERVICES.iter().filter(runs).collect();
    if running.is_empty() {
        return match watch.processes_unread {
            Some(_) => RuleResult::NotApplicable,
            None => RuleResult::pass("job schedulers"),
        };
    }
    let names: Vec<String> = running.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mut services: Vec<&str> = running.iter().map(|(_, service)| *service).collect();
    services.dedup();
    RuleResult::finding(
        Weight::Note,
        format!("{} may start work at any time", join_names(&names, 4)),
        "a job that starts during a run changes the figures of its second half (flag \
         REFERENCE_DRIFT)",
    )
    .with_command(observations.stop(&services))
}
