//! Who else used the machine between two moments.

use oscost_model::watch::{CpuActivity, Pressure, SystemActivity};

use super::interrupts::{self, Source};
use super::processes::{Census, TICK_NS, census};
use super::roots::Roots;
use super::{cgroup, reader, snapshot};

/// The columns of `/proc/stat` that are work of processes: user, nice, system.
const BUSY_COLUMNS: usize = 3;

/// The machine at the first moment.
pub struct Begun {
    cpus: Vec<u32>,
    ticks: Ticks,
    interrupts: Option<Vec<Source>>,
    pressure: Pressure,
    load_1min: Option<f64>,
    throttled_periods: Option<u64>,
    processes: Census,
}

/// What `/proc/stat` says: stolen and all ticks of each CPU, and the busy ones of all.
struct Ticks {
    of_cpus: Vec<Option<(u64, u64)>>,
    busy: Option<u64>,
}

impl Ticks {
    fn read(roots: &Roots, cpus: &[u32]) -> Ticks {
        let stat = reader::lines(&roots.at("proc/stat")).unwrap_or_default();
        let busy = stat.strip_prefix("cpu ").and_then(|rest| {
            let columns = rest.lines().next()?.split_whitespace().take(BUSY_COLUMNS);
            columns.map(|column| column.parse::<u64>().ok()).sum()
        });
        Ticks { of_cpus: cpus.iter().map(|&cpu| snapshot::ticks(&stat, cpu)).collect(), busy }
    }
}

/// Looks for the first time. The processes come last, so that the look itself is not what is seen.
pub fn begin(roots: &Roots, cpus: &[u32]) -> Begun {
    let pressure = |of: &str| {
        let text = reader::lines(&roots.at("proc/pressure").join(of))?;
        snapshot::some_avg10(&text)
    };
    let loadavg = reader::value(&roots.at("proc/loadavg")).unwrap_or_default();
    Begun {
        cpus: cpus.to_vec(),
        pressure: Pressure {
            cpu_pct: pressure("cpu"),
            memory_pct: pressure("memory"),
            io_pct: pressure("io"),
        },
        load_1min: loadavg.split_whitespace().next().and_then(snapshot::finite),
        throttled_periods: throttled(roots),
        interrupts: interrupts::table(roots, cpus),
        ticks: Ticks::read(roots, cpus),
        processes: census(roots),
    }
}

fn throttled(roots: &Roots) -> Option<u64> {
    cgroup::own(roots, "cpu")?.throttled().0
}

/// Looks again; `ours` are processes that are not named, with all below them. What no file tells
/// (how long it took, how the clock is steered, the audit system) is left open.
pub fn end(roots: &Roots, begun: &Begun, ours: &[u32]) -> SystemActivity {
    let after = census(roots);
    let ticks = Ticks::read(roots, &begun.cpus);
    let interrupts = match (&begun.interrupts, interrupts::table(roots, &begun.cpus)) {
        (Some(before), Some(after)) => Some(interrupts::between(roots, before, after)),
        _ => None,
    };
    let taken = begun.processes.until(&after, ours);
    let busy = begun.ticks.busy.zip(ticks.busy).map(|(then, now)| now.saturating_sub(then));
    let cpu = |(at, &cpu): (usize, &u32)| {
        let pair = |ticks: &Ticks| ticks.of_cpus.get(at).copied().flatten();
        let (then, now) = (pair(&begun.ticks), pair(&ticks));
        let grown = |of: fn((u64, u64)) -> u64| {
            then.zip(now).map(|(then, now)| of(now).saturating_sub(of(then)))
        };
        CpuActivity {
            cpu,
            steal_ticks: grown(|(steal, _)| steal),
            total_ticks: grown(|(_, total)| total),
            interrupts: interrupts.as_deref().map(|seen| interrupts::sum(seen, at)),
        }
    };
    SystemActivity {
        cpus: begun.cpus.iter().enumerate().map(cpu).collect(),
        processes: taken.seen,
        processes_unread: after.unread.clone(),
        unattributed_cpu_ns: busy.map(|busy| {
            (busy * TICK_NS).cast_signed().saturating_sub(taken.known_ns.cast_signed())
        }),
        daemons: taken.daemons,
        interrupts: interrupts.unwrap_or_default(),
        pressure: begun.pressure.clone(),
        load_1min: begun.load_1min,
        throttled_periods: throttled(roots)
            .zip(begun.throttled_periods)
            .map(|(now, then)| now.saturating_sub(then)),
        ..SystemActivity::default()
    }
}
