//! Which processes and interrupts used the machine between two snapshots.

use oscost_model::watch::{CpuActivity, Pressure, SystemActivity};

use crate::facts::accounting::interrupts::{self, Source};
use crate::facts::accounting::processes::{Census, TICK_NS, census};
use crate::facts::accounting::snapshot;
use crate::facts::source::reader;
use crate::facts::source::roots::Roots;
use crate::facts::system::cgroup;

/// The columns of `/proc/stat` that are time of processes: user, nice, system.
const BUSY_COLUMNS: usize = 3;

/// The first snapshot.
pub struct Start {
    cpus: Vec<u32>,
    ticks: Ticks,
    interrupts: Option<Vec<Source>>,
    pressure: Pressure,
    load_1min: Option<f64>,
    throttled_periods: Option<u64>,
    processes: Census,
}

/// The contents of `/proc/stat`: steal and total ticks of each CPU, and busy ticks of all CPUs.
struct Ticks {
    per_cpu: Vec<Option<snapshot::CpuTicks>>,
    busy: Option<u64>,
}

impl Ticks {
    fn read(roots: &Roots, cpus: &[u32]) -> Ticks {
        let stat = reader::lines(&roots.at("proc/stat")).unwrap_or_default();
        let busy = stat.strip_prefix("cpu ").and_then(|rest| {
            let columns = rest.lines().next()?.split_whitespace().take(BUSY_COLUMNS);
            columns.map(|column| column.parse::<u64>().ok()).sum()
        });
        Ticks { per_cpu: cpus.iter().map(|&cpu| snapshot::ticks(&stat, cpu)).collect(), busy }
    }
}

/// Takes the first snapshot. The processes come last, so that the snapshot does not measure itself.
pub fn start(roots: &Roots, cpus: &[u32]) -> Start {
    let pressure = |of: &str| {
        let text = reader::lines(&roots.at("proc/pressure").join(of))?;
        snapshot::some_avg10(&text)
    };
    let loadavg = reader::value(&roots.at("proc/loadavg")).unwrap_or_default();
    Start {
        cpus: cpus.to_vec(),
        pressure: Pressure {
            cpu_pct: pressure("cpu"),
            memory_pct: pressure("memory"),
            io_pct: pressure("io"),
        },
        load_1min: loadavg.split_whitespace().next().and_then(snapshot::finite),
        throttled_periods: throttled_periods(roots),
        interrupts: interrupts::table(roots, cpus),
        ticks: Ticks::read(roots, cpus),
        processes: census(roots),
    }
}

fn throttled_periods(roots: &Roots) -> Option<u64> {
    cgroup::own_group(roots, "cpu")?.throttling().periods
}

/// Takes the second snapshot and returns the difference. `own_pids` are processes that are not
/// reported, together with their descendants. What is in no file (elapsed time, clock discipline,
/// the audit system) is left at its default.
pub fn finish(roots: &Roots, begun: &Start, own_pids: &[u32]) -> SystemActivity {
    let after = census(roots);
    let ticks = Ticks::read(roots, &begun.cpus);
    let interrupts = match (&begun.interrupts, interrupts::table(roots, &begun.cpus)) {
        (Some(before), Some(after)) => Some(interrupts::difference(roots, before, after)),
        _ => None,
    };
    let used = begun.processes.usage_until(&after, own_pids);
    let busy = begun.ticks.busy.zip(ticks.busy).map(|(then, now)| now.saturating_sub(then));
    let cpu = |(at, &cpu): (usize, &u32)| {
        let of_cpu = |ticks: &Ticks| ticks.per_cpu.get(at).copied().flatten();
        let (then, now) = (of_cpu(&begun.ticks), of_cpu(&ticks));
        let increase = |field: fn(snapshot::CpuTicks) -> u64| {
            then.zip(now).map(|(then, now)| field(now).saturating_sub(field(then)))
        };
        CpuActivity {
            cpu,
            steal_ticks: increase(|ticks| ticks.steal),
            total_ticks: increase(|ticks| ticks.total),
            interrupts: interrupts.as_deref().map(|active| interrupts::sum(active, at)),
        }
    };
    SystemActivity {
        cpus: begun.cpus.iter().enumerate().map(cpu).collect(),
        processes: used.processes,
        processes_unread: after.unread.clone(),
        unattributed_cpu_ns: busy
            .map(|busy| (busy * TICK_NS).cast_signed().saturating_sub(used.known_ns.cast_signed())),
        daemons: used.daemons,
        interrupts: interrupts.unwrap_or_default(),
        pressure: begun.pressure.clone(),
        load_1min: begun.load_1min,
        throttled_periods: throttled_periods(roots)
            .zip(begun.throttled_periods)
            .map(|(now, then)| now.saturating_sub(then)),
        ..SystemActivity::default()
    }
}
