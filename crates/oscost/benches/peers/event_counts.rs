//! Events counted per op, compared with `perf stat` of a bare loop in C.
//!
//! perf counts the whole process. Two processes of the loop, one of which makes two batches more,
//! differ by the ops of these alone; a batch is so long that the warm-up of the loop is one batch in
//! both. Where the processor's counters are not visible, context switches are compared, which the
//! kernel counts by itself.
//!
//! Bar: each count per op is within 0.5 % of perf's.

use anyhow::Context;
use oscost_model::counters::{CountedBatch, CounterEvent, CountingPlan};
use oscost_model::definition::Catalog;
use oscost_model::worker::{BatchPlan, Mode};
use oscost_stats::{moments, order};

use super::acts::{ACTS, Act, resolve_case};
use super::peer_programs::PeerPrograms;
use super::worker_session::WorkerSession;

/// The largest allowed difference of a count per op, in per cent.
const MAX_DIFFERENCE_PCT: f64 = 0.5;
/// Fresh processes, of which the median is taken.
const PROCESSES: usize = 5;
/// The batches of the shorter and the longer process of a loop in C, after that of its warm-up.
const BATCHES: [u64; 2] = [1, 3];

/// An op whose events are compared.
struct Compared {
    case: &'static str,
    /// Ops of a batch in C: longer than its warm-up of 3 ms on any machine.
    iterations: u64,
    /// Whether a switch of tasks is part of it.
    switches: bool,
}

const COMPARED: [Compared; 6] = [
    Compared { case: "syscall/getppid:via=libc", iterations: 500_000, switches: false },
    Compared { case: "syscall/write:via=libc", iterations: 500_000, switches: false },
    Compared { case: "syscall/stat:via=libc", iterations: 100_000, switches: false },
    Compared { case: "syscall/open-close:via=libc", iterations: 50_000, switches: false },
    Compared {
        case: "process/fork-exit:touched_mib=0,peer_cpu=same",
        iterations: 1_000,
        switches: true,
    },
    Compared {
        case: "switch/pipe:between=processes,peer_cpu=same",
        iterations: 20_000,
        switches: true,
    },
];

/// Compares all ops; returns whether the bar holds.
pub(super) fn compare(
    catalog: &Catalog,
    worker: &mut WorkerSession<'_>,
    peers: &PeerPrograms,
) -> anyhow::Result<bool> {
    if let Some(reason) = peers.missing_reason("perf") {
        println!("counted events: skipped: {reason}");
        return Ok(true);
    }
    let facts = worker.counters().clone();
    let work: Vec<CounterEvent> =
        CounterEvent::WORK.into_iter().filter(|&event| facts.can_count(event)).collect();
    if !facts.can_count_work() {
        let reason = facts.distrusted.or(facts.unavailable).unwrap_or_default();
        println!("instructions and cycles: skipped: {reason}");
    }
    let mut holds = true;
    for compared in &COMPARED {
        // Cycles differ with the state of the caches: shown, and not part of the bar.
        let events = match (work.is_empty(), compared.switches) {
            (false, _) => work.clone(),
            (true, true) => vec![CounterEvent::ContextSwitches],
            (true, false) => continue,
        };
        println!("{}", compared.case);
        match compare_op(compared, &events, catalog, worker, peers) {
            Ok(held) => holds &= held,
            Err(error) => {
                println!("  {error:#}");
                holds = false;
            }
        }
    }
    println!("bars hold: {holds}");
    Ok(holds)
}

fn compare_op(
    compared: &Compared,
    events: &[CounterEvent],
    catalog: &Catalog,
    worker: &mut WorkerSession<'_>,
    peers: &PeerPrograms,
) -> anyhow::Result<bool> {
    let act = ACTS.iter().find(|act| act.case == compared.case).context("no such act")?;
    let ours = counted(compared, act, events, catalog, worker)?;
    let names: Vec<&str> = events.iter().map(|event| event.perf_name()).collect();
    let mut all = vec![Vec::new(); events.len()];
    for _ in 0..PROCESSES {
        let [few, many] = BATCHES
            .map(|batches| peers.perf_stat(act.c_loop, compared.iterations, batches, &names));
        let ops = ((BATCHES[1] - BATCHES[0]) * compared.iterations) as f64;
        let pairs = many?.into_iter().zip(few?);
        all.iter_mut().zip(pairs).for_each(|(all, (many, few))| all.push((many - few) / ops));
    }
    let mut holds = true;
    for ((event, ours), perf) in events.iter().zip(ours).zip(all) {
        let perf = order::median(&order::sorted(&perf)).context("perf counted nothing")?;
        let difference = 100.0 * (ours / perf - 1.0);
        let held = difference.abs() <= MAX_DIFFERENCE_PCT;
        let is_bar = *event != CounterEvent::Cycles;
        let verdict = match (is_bar, held) {
            (false, _) => "",
            (true, true) => "holds",
            (true, false) => "FAILS",
        };
        holds &= held || !is_bar;
        println!(
            "  {:<20}{ours:>12.2}{perf:>12.2}{difference:>+8.2} % {verdict:>8}",
            event.perf_name()
        );
    }
    Ok(holds)
}

/// Our counts per op: the median over fresh processes.
fn counted(
    compared: &Compared,
    act: &Act,
    events: &[CounterEvent],
    catalog: &Catalog,
    worker: &mut WorkerSession<'_>,
) -> anyhow::Result<Vec<f64>> {
    let (case, _) = resolve_case(act, catalog)?;
    let plan = worker.plan(&case)?;
    // Without a slope, as the loop in C has none: both count one jump and one decrement more.
    let mode = if plan.mode == Mode::U { Mode::B } else { plan.mode };
    let batches = BatchPlan { mode, unroll_factors: vec![1], groups: 11, ..plan };
    let mut all = vec![Vec::new(); events.len()];
    for _ in 0..PROCESSES {
        let plan = CountingPlan {
            batches: batches.clone(),
            sets: vec![events.to_vec()],
            inherits: compared.switches,
            read_by: worker.counters().read_by,
            // Those of a run with `--counters`.
            deferred_work_ns: Some(60e6),
        };
        let counts = worker.counts(&case, plan)?;
        let set = counts.sets.into_iter().next().context("no set was counted")?;
        if let Some(reason) = set.void {
            anyhow::bail!("{reason}");
        }
        for (at, all) in all.iter_mut().enumerate() {
            let median = |values: Vec<f64>| order::median(&order::sorted(&values));
            let count = |batch: &CountedBatch| batch.counts[at] as f64;
            let reads = median(set.empty.iter().map(count).collect()).unwrap_or(0.0);
            let per_op =
                |batch: &CountedBatch| (count(batch) - reads) / batch.sample.n.max(1) as f64;
            let values: Vec<f64> = set.batches.iter().map(per_op).collect();
            let value = if set.amortized { moments::mean(&values) } else { median(values) };
            all.push(value.context("no batch was counted")?);
        }
    }
    all.into_iter()
        .map(|values| order::median(&order::sorted(&values)).context("nothing was counted"))
        .collect()
}
