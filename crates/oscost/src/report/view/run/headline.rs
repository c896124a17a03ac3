//! The first lines of a report on a run: its label, its machines, and how noisy they were.

use oscost_model::record::{Machine, Record};

use crate::report::figures::per_cent;
use crate::report::text::{class_text, clock_name, plain};
use crate::report::view::document::Paragraph;
use crate::report::view::run::instructions;

/// The tool, and the user's label.
pub(in crate::report::view) fn title(record: &Record) -> String {
    let label = record.label.as_ref().map(|label| format!(" ({})", plain(label)));
    format!("oscost{}", label.unwrap_or_default())
}

/// Machine, kernel, CPU, clock and noise: what the figures depend on, a line for each machine.
pub(in crate::report::view) fn headline(record: &Record) -> Vec<Paragraph> {
    let mut parts = Vec::new();
    if let Some(machine) = record.machines.first() {
        let model =
            machine.cpu.model_name.clone().unwrap_or_else(|| "unknown processor".to_owned());
        let guest = machine.virtualization.as_deref().filter(|kind| *kind != "none");
        parts.push(match guest {
            Some(kind) => format!("{model} ({kind} guest)"),
            None => model,
        });
        if let Some(release) = &machine.os.release {
            parts.push(format!("Linux {release}"));
        }
        if let Some(cpu) = record.results.iter().find_map(|row| row.target.cpu) {
            parts.push(format!("CPU {cpu}"));
        }
        parts.extend(machine.vm.as_ref().map(|vm| format!("{} ({})", vm.emulator, vm.accel)));
        if let Some(clock) = &machine.clock {
            let decimals = usize::from(clock.q_ns < 1.0);
            let name = clock_name(&clock.source, machine.os.arch.as_deref());
            parts.push(format!("clock {name} in steps of {:.decimals$} ns", clock.q_ns));
        }
    }
    if let Some(conditions) = record.conditions.first()
        && let Some(class) = &conditions.class
    {
        let lost = conditions.lost_and_stolen_pct().map(|pct| format!(" ({} lost)", per_cent(pct)));
        parts.push(format!("{}{}", class_text(class), lost.unwrap_or_default()));
    }
    let others = record.machines.iter().skip(1);
    // A second machine that was booted is the other side of a comparison, and not a peer.
    let other = |machine| instructions::headline(machine).unwrap_or_else(|| peer(record, machine));
    let first = record.machines.first().filter(|machine| instructions::counts(machine));
    let first = first.and_then(instructions::headline);
    let first = first.unwrap_or_else(|| Paragraph { text: plain(&parts.join(", ")), hanging: 0 });
    [first].into_iter().chain(others.map(other)).collect()
}

/// The machine on which the peers ran.
fn peer(record: &Record, machine: &Machine) -> Paragraph {
    let model = machine.cpu.model_name.as_deref().unwrap_or("unknown processor");
    let release = machine.os.release.as_ref().map(|release| format!("Linux {release}"));
    let conditions = record.conditions.iter().find(|it| it.machine == machine.id);
    let class = conditions.and_then(|it| it.class.as_ref());
    let class = class.map(|class| format!("{} when it was probed", class_text(class)));
    let parts = [Some(format!("peer: {model}")), release, class];
    plain(&parts.into_iter().flatten().collect::<Vec<_>>().join(", ")).into()
}
