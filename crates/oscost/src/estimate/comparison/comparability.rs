//! Which rows may be compared, or why not; and the other differences between two runs, which may be
//! what is compared.

use std::collections::BTreeSet;

use oscost_model::record::{Machine, Record, Row, RowOutcome};
use oscost_model::worker::Mode;

use super::exact_counts::count_difference;
use super::rows::{
    RunRow, boot, clock_source, counts_instructions, has_flag, is_cost, is_count, is_machine,
    machine, median, only_host,
};

/// The flag of a comparison between two machines: they were measured at two moments, too, and
/// nothing tells the one from the other.
pub const MACHINES_DIFFER: &str = "MACHINES_DIFFER";

/// The memory of a virtual machine differs by what its kernel reserves; a larger ratio means
/// another machine.
const MAX_MEMORY_RATIO: f64 = 1.10;

/// Why two rows of one case on one target cannot be compared; `None` if they can.
pub(super) fn incomparable_reason(base_row: RunRow<'_>, new_row: RunRow<'_>) -> Option<String> {
    let RunRow { run: base_run, row: base, .. } = base_row;
    let RunRow { run: new_run, row: new, .. } = new_row;
    for (side, row) in [("base", base), ("new", new)] {
        if row.outcome != RowOutcome::Measured {
            let why = row.reason.as_deref().unwrap_or("no reason given");
            let beside = match row.is_requested() {
                true => "",
                false => ", beside the cases that were asked for",
            };
            let outcome = row.outcome.text();
            return Some(format!("not measured in the {side}: {outcome}: {why}{beside}"));
        }
    }
    if let Some(why) = other_op([base_run, new_run], [base, new]) {
        return Some(why);
    }
    if is_count(base) && is_count(new) {
        return count_difference(base_row, new_row);
    }
    for (side, row) in [("base", base), ("new", new)] {
        if has_flag(row, "BELOW_DETECTION") || median(row) <= 0.0 {
            let why = "cannot be distinguished from 0: there is no ratio";
            return Some(format!("its figure in the {side} {why}"));
        }
    }
    for (side, row) in [("base", base), ("new", new)] {
        let values = row.repetitions.iter().filter_map(|it| it.value);
        let median = row.estimate.as_ref().map(|estimate| estimate.median);
        if !values.chain(median).all(is_cost) {
            return Some(format!("its repetitions in the {side} are not all above 0"));
        }
    }
    None
}

/// Whether two modes differ because of what an op costs: the pilot chooses U, B or S by that, and what
/// is still inside of one of them and not of the other is below 1 % of the figure at the borders
/// (docs/explanation/METHOD.md, section 2). Otherwise a slower op could not be compared.
pub(super) fn modes_differ_by_cost_alone(base: &Row, new: &Row) -> bool {
    let is_by_cost = |row: &Row| row.mode.is_some_and(Mode::is_by_cost);
    base.mode != new.mode && is_by_cost(base) && is_by_cost(new)
}

/// Why two measured rows of one case are not of one op, timed in one way, whatever their machines;
/// `None` if they are. The first of each pair is the base's.
pub(in crate::estimate) fn other_op(
    [base_run, new_run]: [&Record; 2],
    [base, new]: [&Row; 2],
) -> Option<String> {
    if base.rev != new.rev {
        return Some(format!(
            "another revision of the benchmark, which does other work: {} and {}",
            base.rev, new.rev
        ));
    }
    if base.unit != new.unit {
        return Some(format!("another unit: {} and {}", base.unit.text(), new.unit.text()));
    }
    if base.mode != new.mode && !modes_differ_by_cost_alone(base, new) {
        let letter = |row: &Row| row.mode.map_or("none".to_owned(), |mode| format!("{mode:?}"));
        return Some(format!("timed in another mode: {} and {}", letter(base), letter(new)));
    }
    let (base_link, new_link) = (&base_run.tool.worker.link, &new_run.tool.worker.link);
    (base_link != new_link)
        .then(|| format!("another linkage of the worker: {base_link} and {new_link}"))
}

/// Why a difference between the counts of two rows may be that of what counted them; `None` if it
/// cannot. The first of each pair is the base's.
pub(in crate::estimate) fn other_count(
    [base_run, new_run]: [&Record; 2],
    [base, new]: [&Row; 2],
) -> Option<String> {
    let base = RunRow { run: base_run, row: base, index: 0 };
    count_difference(base, RunRow { run: new_run, row: new, index: 0 })
}

/// What tells the machine of one row from that of the other, or those of their peers; `None` if
/// nothing does. Such rows may be compared, but their ratio is not that of a change.
pub(super) fn other_machine(base_row: RunRow<'_>, new_row: RunRow<'_>) -> Option<String> {
    let [base_peer, new_peer] = [base_row, new_row].map(|it| {
        let id = it.row.target.peer.as_ref()?;
        machine(it.run, id)
    });
    machine_difference(base_row.machine(), new_row.machine())
        .or_else(|| {
            let hosts = [base_row, new_row].map(|it| {
                let host = it.row.target.host.as_str();
                is_machine(host).then_some(host)
            });
            other_name([base_row.run, new_row.run], hosts)
        })
        .or_else(|| {
            let why = machine_difference(base_peer, new_peer)?;
            Some(format!("{why} of the peer"))
        })
}

/// The same of two runs, by the machines that measured.
pub(super) fn other_machine_of_run(base: &Record, new: &Record) -> Option<String> {
    machine_difference(base.machines.first(), new.machines.first())
        .or_else(|| other_name([base, new], [base, new].map(only_host)))
}

/// What tells two machines apart whose hardware may be equal: they are two nodes of a fleet, or were
/// reached at two hosts, or may be any nodes of Slurm. Names of one boot are those of one machine.
fn other_name([base, new]: [&Record; 2], hosts: [Option<&str>; 2]) -> Option<String> {
    fn node(run: &Record) -> Option<&str> {
        Some(run.fleet.as_ref()?.node.as_str())
    }
    if boot(base).is_some() && boot(base) == boot(new) {
        return None;
    }
    if let (Some(one), Some(other)) = (node(base), node(new)) {
        return (one != other)
            .then(|| format!("another machine: {one} and {other} are two nodes of a fleet"));
    }
    let [Some(one), Some(other)] = hosts else { return None };
    if one != other {
        return Some(format!("another machine: {one} and {other}"));
    }
    may_be_any_node(one).then(|| {
        format!("another machine, as far as is known: each run at {one} may get another node")
    })
}

/// Whether Slurm chooses the node of each session at a host.
fn may_be_any_node(host: &str) -> bool {
    let names_nodes = |options: &str| options.split(',').any(|it| it.starts_with("nodes="));
    host.strip_prefix("slurm:").is_some_and(|options| !names_nodes(options))
}

fn machine_difference(base: Option<&Machine>, new: Option<&Machine>) -> Option<String> {
    let (base, new) = match (base, new) {
        (None, None) => return None,
        (Some(base), Some(new)) => (base, new),
        _ => return Some("another machine: one side has no description of it".to_owned()),
    };
    let model = |machine: &Machine| {
        let cpu = &machine.cpu;
        let numbers = (cpu.vendor.clone(), cpu.family, cpu.model, cpu.stepping);
        (cpu.model_name.clone(), numbers, cpu.cores, cpu.sockets)
    };
    if model(base) != model(new) {
        let name = |machine: &Machine| {
            let cpu = &machine.cpu;
            let number = |it: Option<u32>| it.map_or("?".to_owned(), |it| it.to_string());
            let name = cpu.model_name.as_deref().unwrap_or("unknown");
            let [family, model, stepping] = [cpu.family, cpu.model, cpu.stepping].map(number);
            let cores = number(cpu.cores);
            format!("{name} (family {family}, model {model}, stepping {stepping}, {cores} cores)")
        };
        return Some(format!("another CPU: {} and {}", name(base), name(new)));
    }
    let hypervisor =
        |machine: &Machine| machine.virtualization.clone().unwrap_or_else(|| "unknown".to_owned());
    if base.virtualization != new.virtualization {
        let (base, new) = (hypervisor(base), hypervisor(new));
        return Some(format!("another machine: virtualization is {base} and {new}"));
    }
    let caches = |machine: &Machine| -> Vec<_> {
        let caches = machine.caches.iter();
        caches.map(|cache| (cache.level, cache.kind.clone(), cache.size_kib)).collect()
    };
    if caches(base) != caches(new) {
        return Some("another machine: its caches differ".to_owned());
    }
    if let (Some(base), Some(new)) = (base.memory.total_kib, new.memory.total_kib)
        && (base.max(new) as f64) > MAX_MEMORY_RATIO * base.min(new) as f64
    {
        let gib = |kib: u64| kib as f64 / f64::from(1 << 20);
        return Some(format!(
            "another machine: {:.1} and {:.1} GiB of memory",
            gib(base),
            gib(new)
        ));
    }
    None
}

/// Why no verdict may be based on a run; `None` if it may.
pub(super) fn not_claimable_reason(record: &Record) -> Option<&'static str> {
    record.conditions.first()?.not_claimable_reason()
}

/// Differences between two runs on one machine that may be what is compared, a few words each.
pub(super) fn system_differences(base: &Record, new: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let (Some(one), Some(other)) = (base.machines.first(), new.machines.first()) else {
        return found;
    };
    let mut differ = |what: &str, base: Option<&String>, new: Option<&String>| {
        if base != new {
            let text =
                |it: Option<&String>| it.map_or("unknown".to_owned(), |it| format!("`{it}`"));
            found.push(format!("{what}: {} and {}", text(base), text(new)));
        }
    };
    differ("the kernel", one.os.release.as_ref(), other.os.release.as_ref());
    if one.os.release == other.os.release {
        differ("the kernel's image", one.os.build_id.as_ref(), other.os.build_id.as_ref());
        differ("the kernel's version", one.os.version.as_ref(), other.os.version.as_ref());
    }
    differ("the kernel's command line", one.os.cmdline.as_ref(), other.os.cmdline.as_ref());
    let (a, b) = (&one.scheduling, &other.scheduling);
    differ("the clocksource", a.clocksource.as_ref(), b.clocksource.as_ref());
    differ("preemption", a.preempt.as_ref(), b.preempt.as_ref());
    differ("the frequency governor", a.governor.as_ref(), b.governor.as_ref());
    let vulnerabilities: BTreeSet<&String> =
        one.mitigations.keys().chain(other.mitigations.keys()).collect();
    for name in vulnerabilities {
        let what = format!("the mitigation of {name}");
        differ(&what, one.mitigations.get(name), other.mitigations.get(name));
    }
    if one.security != other.security {
        found.push("the kernel's security settings (`security`)".to_owned());
    }
    if one.os.lsm != other.os.lsm {
        found.push("the security modules".to_owned());
    }
    let tracers = |record: &Record| record.conditions.first().map(|it| it.tracers.clone());
    if tracers(base) != tracers(new) {
        found.push("the tracers attached to system calls (`tracers`)".to_owned());
    }
    found
}

/// Differences in the method, which are never what is compared, one sentence each.
pub(super) fn method_differences(base: &Record, new: &Record) -> Vec<String> {
    let (a, b) = (&base.tool.worker, &new.tool.worker);
    let mut found = Vec::new();
    if a.libc != b.libc {
        found.push(format!("the workers' C libraries differ: `{}` and `{}`", a.libc, b.libc));
    }
    // Instruction counts have their own rule for this, per row.
    let counting = counts_instructions(base) || counts_instructions(new);
    if a.hash != b.hash && !counting {
        found.push(
            "the workers are two builds: their code has other addresses, which changes short ops by \
             several per cent"
                .to_owned(),
        );
    }
    if let (Some(base), Some(new)) = (clock_source(base), clock_source(new))
        && base != new
        && !counting
    {
        found.push(format!(
            "they used two clocks, `{base}` and `{new}`: figures differ by up to 0.2 %"
        ));
    }
    let cpu = |record: &Record| record.results.iter().find_map(|row| row.target.cpu);
    if let (Some(base), Some(new)) = (cpu(base), cpu(new))
        && base != new
    {
        found.push(format!(
            "they were measured on two CPUs: {base} and {new} (`--cpu` selects one)"
        ));
    }
    found
}
