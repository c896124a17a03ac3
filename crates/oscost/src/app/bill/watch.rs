//! `oscost bill --pid`: what the operating system charges a running process.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::geteuid;
use oscost_model::bill::Watched;
use oscost_model::program::{TreeUsage, Trial};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Machine;
use oscost_model::target::{Host, Target};
use oscost_stats::interval::Nominal;

use super::EndedBill;
use super::pricing::{measure_late_prices, price_time};
use super::reconciliation::{BillHead, BillParts, FinishedBill, finish};
use crate::advice;
use crate::app::call_counter::{ChosenCounter, CounterChoice};
use crate::app::error::UsageError;
use crate::app::interrupt::listen;
use crate::app::measurement::price_run::PricedTarget;
use crate::app::measurement::prices::PriceMeasurement;
use crate::app::measurement::run_header::{timestamp, tool};
use crate::app::observer::Observer;
use crate::app::results::prices::price_runs;
use crate::app::targets::connect::{BusyPolicy, ConnectOptions, connect};
use crate::app::targets::prepare::{PreparedTarget, prepare};
use crate::bill::ProgramFile;
use crate::counter::KernelCounter;
use crate::counter::c_library::c_library_of_process;
use crate::counter::process_times::{
    Charge, ProcessSampler, command_of, is_own_or_ancestor, process_of,
};
use crate::counter::stolen_time::StolenTimeWatch;
use crate::hosts::{HostError, Interrupt, Session, WorkerBinary};
use crate::run::{ProcessWatch, ProgramRuns, WatchedCalls, count_process};

/// How often the end of the watched process and an interrupt are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What to bill.
#[derive(Clone, Debug)]
pub struct Request {
    /// The process.
    pub pid: u32,
    /// For how long it is watched.
    pub duration: Duration,
    /// Whether its descendants are billed with it.
    pub children: bool,
    /// The counter of calls.
    pub counter: CounterChoice,
    /// Whether clock reads through the C library are counted, too.
    pub clock_reads: bool,
    /// The run whose rows are the prices; `None` for the newest ones of this machine.
    pub prices: Option<String>,
    /// How long prices that the store lacks may be measured after it, in seconds.
    pub price_seconds: u32,
    /// The user's own words.
    pub label: Option<String>,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

/// Watches a process for some time, and charges what it did. An interrupt ends the watch, and the bill is
/// that of the time until then.
pub fn bill(request: &Request, observer: &dyn Observer) -> anyhow::Result<EndedBill> {
    check_process(request.pid)?;
    let target = Target { treatments: Vec::new(), host: Host::Local };
    let PreparedTarget { side, .. } = prepare(&target, None)?;
    let host = &target.host;
    let worker = WorkerBinary::find()?;
    let started = timestamp();
    let interrupt = listen()?;
    let options = ConnectOptions { interrupt: &interrupt, on_busy: request.on_busy, observer };
    let mut connection = connect(host, &worker, options)?;
    let session = &mut *connection.session;
    let hello = session.hello();
    let notes = advice::machine_notes(&hello.facts);
    let machine = Machine::new("m0", hello.facts.clone(), notes);
    let tool = tool(hello);
    let named_run = request.prices.as_deref();
    let prices = price_runs(named_run, &side.target, &machine, &worker.catalog)?;
    let limit = price_time(named_run, request.price_seconds, &prices)?;
    let library = request.clock_reads.then(|| c_library_of_process(request.pid));
    let counter = ChosenCounter::choose(request.counter, host, library)?;
    let program = command_of(request.pid);
    observer.working("watching the process");
    let steal_watch = StolenTimeWatch::begin();
    let observed = match counter.kernel {
        Some(kernel) => watch_from_kernel(request, kernel, &interrupt),
        None => watch_by_tracer(request, session, &interrupt),
    };
    let stolen = steal_watch.and_then(|watch| watch.so_far());
    observer.finished();
    let Observed { calls, charge, threads, interrupted } = observed?;
    let watched = Watched {
        pid: request.pid,
        seconds: charge.time.as_secs_f64(),
        threads,
        children: request.children,
        ended: charge.has_ended,
        on_cpu_ns: charge.threads.map(|threads| threads.on_cpu_ns),
    };
    let runs = ProgramRuns {
        trials: vec![observation(&charge)],
        counted: Ok(vec![calls]),
        counted_without: None,
        events: Err("a running process is not counted".to_owned()),
        interrupted,
        groups: None,
    };
    if interrupted && prices.is_empty() {
        // Without any price there is nothing to tell.
        return Err(HostError::Interrupted.into());
    }
    let limit = if interrupted { Duration::ZERO } else { limit };
    let at = PricedTarget { catalog: &worker.catalog, side: &side, machine: &machine };
    let mut pricing = PriceMeasurement::new(at, prices, limit, observer);
    measure_late_prices(&mut pricing, session, &runs);
    let prices = pricing.into_prices();
    let interrupted = interrupted || prices.were_interrupted();
    let head = BillHead {
        started,
        program,
        // It runs as the user that it has, traced or not.
        file: ProgramFile::default(),
        label: request.label.clone(),
        host: None,
        tool,
        machine,
        treatments: Vec::new(),
        watched: Some(watched),
        stolen,
    };
    let parts = BillParts {
        runs,
        // The one observation has no interval.
        nominal: Nominal::FIXED,
        // It runs once, in no control group.
        tick_ns: None,
        counter_reason: counter.reason,
        no_clock_reads: counter.no_clock_reads,
        prices,
        catalog: &worker.catalog,
    };
    let FinishedBill { bill, .. } = finish(head, parts)?;
    Ok(EndedBill { bill, interrupted })
}

/// What was seen of a process.
struct Observed {
    calls: ProgramCalls,
    charge: Charge,
    /// The threads that it had in the beginning.
    threads: u32,
    /// Whether the user ended the watch.
    interrupted: bool,
}

/// Refuses what cannot be watched.
fn check_process(pid: u32) -> anyhow::Result<()> {
    let Ok(folder) = std::fs::metadata(format!("/proc/{pid}")) else {
        let what = format!("cannot watch process {pid}: there is none, or it is hidden");
        return Err(UsageError::with_hint(&what, "`ps -e` lists processes").into());
    };
    if let Some(process) = process_of(pid).filter(|&process| process != pid) {
        let what = format!("cannot watch {pid}: it is a thread of process {process}");
        let hint = format!("a process is watched with all of its threads: `--pid {process}`");
        return Err(UsageError::with_hint(&what, &hint).into());
    }
    // The files of a process belong to its user, or to root if it must not be looked into.
    let user = geteuid();
    if !user.is_root() && folder.uid() != user.as_raw() {
        let what = format!("cannot watch process {pid}: it belongs to user {}", folder.uid());
        let hint = "start `oscost bill` as that user, or as root: `sudo oscost bill --pid ...`";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    Ok(())
}

/// Counts in the kernel.
fn watch_from_kernel(
    request: &Request,
    mut kernel: KernelCounter,
    interrupt: &Interrupt,
) -> anyhow::Result<Observed> {
    let pid = request.pid;
    let refused = |reason: String| anyhow::anyhow!("cannot watch process {pid}: {reason}");
    let children = request.children;
    let begin = || kernel.begin_process(pid, children);
    let sampler = ProcessSampler::start_after(pid, children, begin).map_err(refused)?;
    let until = Instant::now() + request.duration;
    let mut interrupted = false;
    while Instant::now() < until && !sampler.has_ended() && !interrupted {
        let left = until.saturating_duration_since(Instant::now());
        interrupted = is_interrupted_within(interrupt, left.min(LOOK))?;
    }
    let threads = sampler.thread_count();
    let charge = sampler.end_before(|| kernel.stop());
    let calls = kernel.end().map_err(refused)?;
    Ok(Observed { calls, charge: whole(charge, pid)?, threads, interrupted })
}

/// Waits for an interrupt.
fn is_interrupted_within(interrupt: &Interrupt, time: Duration) -> anyhow::Result<bool> {
    let mut polled = [PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
    let timeout_ms = u16::try_from(time.as_millis()).unwrap_or(u16::MAX).saturating_add(1);
    match poll(&mut polled, PollTimeout::from(timeout_ms)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(anyhow::anyhow!("cannot wait for the end of the watch: {error}")),
    }
}

/// Counts by a worker that traces it.
fn watch_by_tracer(
    request: &Request,
    session: &mut dyn Session,
    interrupt: &Interrupt,
) -> anyhow::Result<Observed> {
    let Request { pid, duration, children, .. } = *request;
    if is_own_or_ancestor(pid) {
        let what = format!("cannot trace process {pid}: oscost is one of its descendants");
        let hint = "a tracer would stop the process that it waits for: watch another process, or \
                    count by eBPF as root (`--counter ebpf`)";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let mut sampler = None;
    let watch = ProcessWatch { pid, duration, children };
    let counted = count_process(session, watch, interrupt, || {
        sampler = Some(ProcessSampler::start(pid, children));
    })?;
    let WatchedCalls { calls, interrupted } = counted.map_err(|reason| {
        anyhow::anyhow!(
            "cannot watch process {pid}: {reason}\n  hint: as root it may be allowed (`sudo oscost \
             bill --pid {pid}`); `sysctl kernel.yama.ptrace_scope=0` allows ptrace of one's own \
             processes"
        )
    })?;
    let sampler = sampler.unwrap_or_else(|| Err("the worker gave no sign".to_owned()));
    let sampler = sampler.map_err(|why| anyhow::anyhow!("cannot watch process {pid}: {why}"))?;
    let threads = sampler.thread_count();
    Ok(Observed { calls, charge: whole(sampler.end(), pid)?, threads, interrupted })
}

/// The charge, or why it is not whole.
fn whole(charge: Option<Charge>, pid: u32) -> anyhow::Result<Charge> {
    charge.ok_or_else(|| {
        anyhow::anyhow!(
            "cannot bill process {pid}: its times have become smaller, since a child ended that \
             nobody waited for\n  hint: without `--children` its own times are billed"
        )
    })
}

/// The one observation, as a trial.
fn observation(charge: &Charge) -> Trial {
    let threads = charge.threads.unwrap_or_default();
    Trial {
        real_ns: u64::try_from(charge.time.as_nanos()).unwrap_or(u64::MAX),
        usage: TreeUsage {
            user_ns: charge.usage.user_ns,
            system_ns: charge.usage.system_ns,
            minor_faults: charge.usage.minor_faults,
            major_faults: charge.usage.major_faults,
            voluntary_switches: threads.voluntary_switches,
            involuntary_switches: threads.involuntary_switches,
            ..TreeUsage::default()
        },
        ..Trial::default()
    }
}
