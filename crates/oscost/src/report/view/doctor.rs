//! What makes figures noisy on a machine: its CPUs, the findings, and the verdict.

use oscost_model::clock::ClockVerdict;
use oscost_model::noise_class::NoiseClass;
use oscost_model::protocol::CpuProbe;
use oscost_model::watch::{ProcessActivity, ProcessKind, SystemActivity};
use serde::Serialize;

use crate::advice::doctor::{Diagnosis, Finding, Observations, Weight};
use crate::report::figures::per_cent;
use crate::report::text::{class_text, plural};
use crate::report::view::document::{
    Block, Cell, Column, Fact, Paragraph, Section, Table, TableRow, View,
};

/// Of more CPUs than these, the worst and the chosen one are in the table.
const MAX_CPUS: usize = 8;

/// The weights, the heaviest first.
const WEIGHTS: [Weight; 5] =
    [Weight::Invalidates, Weight::Biases, Weight::Noise, Weight::Limitation, Weight::Note];

/// What was observed on a machine, and the diagnosis.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// What the rules were applied to.
    pub observations: Observations<'a>,
    /// The findings.
    pub diagnosis: &'a Diagnosis,
}

/// A table of CPUs, the findings, what is in order, what is not visible, the verdict, and what took CPU
/// time. Without `with_notes`, findings that are notes are counted alone.
pub fn view(examination: &Examination<'_>, with_notes: bool) -> View {
    let diagnosis = examination.diagnosis;
    let (notes, findings): (Vec<&Finding>, Vec<&Finding>) =
        diagnosis.findings.iter().partition(|it| it.weight == Weight::Note && !with_notes);
    let mut sections = vec![Section::of("", [Block::Table(cpus(&examination.observations))])];
    if diagnosis.findings.is_empty() {
        sections.push(sentence("nothing was found that makes figures noisy here"));
    }
    sections.extend((1..).zip(findings).map(|(number, it)| finding(number, it)));
    if !notes.is_empty() {
        let notes = plural(notes.len() as u64, "note");
        sections.push(sentence(&format!(
            "{notes} for comparisons with other machines: `--verbose` lists them"
        )));
    }
    for (title, items) in [("ok", &diagnosis.passed), ("not visible", &diagnosis.unknown)] {
        if !items.is_empty() {
            sections.push(sentence(&format!("{title}: {}", items.join(", "))));
        }
    }
    sections.push(sentence(&verdict(examination)));
    sections.extend(busiest(examination).map(|text| sentence(&text)));
    let lead = vec![Paragraph::from(printable(&headline(&examination.observations)))];
    View { lead, sections, ..View::default() }
}

fn sentence(text: &str) -> Section {
    Section::of("", [Block::Text(printable(text))])
}

/// A sentence that quotes text from outside: without control characters.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// The machine, and how long it was observed.
fn headline(observations: &Observations<'_>) -> String {
    let facts = observations.facts;
    let model = facts.cpu.model_name.clone().unwrap_or("unknown processor".to_owned());
    let guest = facts.virtualization.as_ref().filter(|_| facts.is_guest());
    let guest = guest.map_or(String::new(), |kind| format!(" ({kind} guest)"));
    let release = facts.os.release.as_ref().map(|release| format!("Linux {release}"));
    let spin_ns = observations.probe.iter().map(|probe| probe.spin_ns).max().unwrap_or(0);
    let count = observations.probe.len();
    let s = if count == 1 { "" } else { "s" };
    let span = format!("{:.1} s on {count} CPU{s}", spin_ns as f64 / 1e9);
    let parts = [Some(model + &guest), release, Some(span)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A row for each CPU.
fn cpus(observations: &Observations<'_>) -> Table {
    let mut probes: Vec<&CpuProbe> = observations.probe.iter().collect();
    let more = probes.len().saturating_sub(MAX_CPUS);
    if more > 0 {
        probes.sort_by(|one, other| other.lost_pct().total_cmp(&one.lost_pct()));
        let chosen = probes.iter().position(|probe| Some(probe.cpu) == observations.cpu);
        let chosen = chosen.filter(|&at| at >= MAX_CPUS).map(|at| probes[at]);
        probes.truncate(MAX_CPUS);
        probes.extend(chosen);
    }
    let note = match observations.cpu {
        Some(_) => {
            let others =
                if more > 0 { format!("; {more} quieter ones left out") } else { String::new() };
            format!(
                "* the CPU that `oscost run` would take; gaps are over 5 us, lost time over 1 \
                 us{others}"
            )
        }
        None => "processes cannot be pinned to a CPU here".to_owned(),
    };
    Table {
        columns: vec![
            Column::text(""),
            Column::number("gaps/s", "gaps_per_s"),
            Column::number("lost", "lost_pct"),
            Column::number("longest", "max_gap_ns"),
            Column::number("stolen", "steal_pct"),
            Column::number("interrupts/s", "interrupts_per_s"),
        ],
        rows: probes.iter().map(|probe| cpu(observations, probe)).collect(),
        notes: vec![note],
        ..Table::default()
    }
}

fn cpu(observations: &Observations<'_>, probe: &CpuProbe) -> TableRow {
    let mark = if Some(probe.cpu) == observations.cpu { " *" } else { "" };
    let activity = observations.activity.ok();
    let cpu = activity.and_then(|all| all.cpus.iter().find(|it| it.cpu == probe.cpu));
    let steal_pct = cpu.and_then(|cpu| cpu.steal_pct());
    let seconds = activity.map_or(0.0, |activity| activity.wall_ns as f64 / 1e9);
    let interrupts = cpu.and_then(|cpu| cpu.interrupts).filter(|_| seconds > 0.0);
    let interrupts_per_s = interrupts.map(|count| count as f64 / seconds);
    let known = |value: Option<f64>, text: &dyn Fn(f64) -> String| {
        Cell::number(value.map_or("?".to_owned(), text), value)
    };
    let gap_ns = probe.max_gap_ns as f64;
    let gaps_per_s = probe.interruptions_per_s();
    TableRow::of(vec![
        Cell::text(format!("CPU {}{mark}", probe.cpu)),
        Cell::number(format!("{gaps_per_s:.0}"), Some(gaps_per_s)),
        Cell::number(per_cent(probe.lost_pct()), Some(probe.lost_pct())),
        Cell::number(format!("{:.2} ms", gap_ns / 1e6), Some(gap_ns)),
        known(steal_pct, &per_cent),
        known(interrupts_per_s, &|per_s| format!("{per_s:.0}")),
    ])
}

/// A finding: what it is, its effect, and what fixes it.
fn finding(number: usize, finding: &Finding) -> Section {
    let title = format!("{number}. [{}] {}", word(finding.weight), finding.condition);
    let mut facts = vec![Fact::new("effect", printable(&finding.effect))];
    match (&finding.command, &finding.fix) {
        (Some(command), remark) => {
            facts.push(Fact::command("fix", command.replace(char::is_control, "")));
            let remark = remark.as_ref().map(|text| Fact::new("", printable(&format!("({text})"))));
            facts.extend(remark);
        }
        (None, fix) => {
            let fix = fix.as_deref().unwrap_or("none known");
            facts.push(Fact::new("fix", printable(fix)));
        }
    }
    Section::of(printable(&title), [Block::Facts(facts)])
}

/// A weight in a word.
fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Invalidates => "invalidates",
        Weight::Biases => "biases",
        Weight::Noise => "noise",
        Weight::Limitation => "limitation",
        Weight::Note => "note",
    }
}

/// How noisy the machine is, and how many findings there are of each weight.
fn verdict(examination: &Examination<'_>) -> String {
    let Examination { observations, diagnosis } = examination;
    let Some(class) = diagnosis.class else {
        return "verdict: unknown: no CPU could be probed".to_owned();
    };
    let probe = match observations.cpu {
        Some(cpu) => observations.probe.iter().find(|probe| probe.cpu == cpu),
        None => observations.probe.last(),
    };
    let lost = probe.map_or(String::new(), |probe| {
        format!("{} of the time on CPU {} was lost", per_cent(probe.lost_pct()), probe.cpu)
    });
    let count = |weight: Weight| {
        let count = diagnosis.findings.iter().filter(|it| it.weight == weight).count();
        (count > 0).then(|| format!("{count} {}", word(weight)))
    };
    let counts: Vec<String> = WEIGHTS.into_iter().filter_map(count).collect();
    let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
    format!("verdict: {}: {lost}; findings: {counts}", class_text(class.text()))
}

/// What took CPU time on a machine that is not quiet: the hypervisor, and the busiest processes.
fn busiest(examination: &Examination<'_>) -> Option<String> {
    /// Less is an error of the kernel's accounting.
    const MIN_PCT: f64 = 2.0;
    let Examination { observations, diagnosis } = examination;
    let activity = observations.activity.ok()?;
    if diagnosis.class? == NoiseClass::Quiet {
        return None;
    }
    let of_chosen = activity.cpus.iter().find(|it| Some(it.cpu) == observations.cpu);
    let stolen = of_chosen.and_then(|cpu| Some((cpu.cpu, cpu.steal_pct()?)));
    let stolen = stolen.filter(|(_, pct)| *pct > MIN_PCT);
    let stolen =
        stolen.map(|(cpu, pct)| format!("the hypervisor ({} of CPU {cpu})", per_cent(pct)));
    let share = |it: &ProcessActivity| 100.0 * it.cpu_ns as f64 / activity.wall_ns.max(1) as f64;
    let most = activity.processes.iter().max_by_key(|it| it.cpu_ns);
    let most = most.filter(|it| share(it) > MIN_PCT);
    let most = most.map(|it| processes(it, &format!("{} of one CPU", per_cent(share(it)))));
    let parts: Vec<String> = stolen.into_iter().chain(most).collect();
    (!parts.is_empty()).then(|| format!("most CPU time went to {}", parts.join(" and ")))
}

/// Processes of one name, and how much they took.
fn processes(it: &ProcessActivity, took: &str) -> String {
    let name = &it.name;
    let pid = it.pids.first().map(|pid| format!("pid {pid}, ")).unwrap_or_default();
    match (it.kind, it.count) {
        (ProcessKind::Program, 0 | 1) => format!("`{name}` ({pid}{took})"),
        (ProcessKind::Program, count) => format!("{count} x `{name}` ({took})"),
        (ProcessKind::Kernel, _) => format!("kernel thread `{name}` ({took})"),
        (ProcessKind::Children, _) => format!("exited children of `{name}` ({pid}{took})"),
    }
}

/// The diagnosis as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// Only where several nodes are examined in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    class: Option<&'static str>,
    lost_pct: Option<f64>,
    cpu: Option<u32>,
    findings: &'a [Finding],
    ok: &'a [String],
    not_visible: &'a [String],
    probe: &'a [CpuProbe],
    activity: Option<&'a SystemActivity>,
    activity_unread: Option<&'a str>,
    uncountable_reason: Option<&'a str>,
    clocks: &'a [ClockVerdict],
}

/// The diagnosis as JSON, with all that it is made from but the facts (`oscost machine --json`), and
/// with the target of the node if there are several.
pub fn json(examination: &Examination<'_>, at: Option<&str>) -> Result<String, serde_json::Error> {
    let Examination { observations, diagnosis } = examination;
    let Observations { clocks, probe, cpu, activity, uncountable_reason, .. } = *observations;
    let chosen = probe.iter().find(|probe| Some(probe.cpu) == cpu);
    let document = Document {
        schema: "oscost.doctor/1",
        at,
        class: diagnosis.class.map(|class| class.text()),
        lost_pct: chosen.or(probe.last()).map(CpuProbe::lost_pct),
        cpu,
        findings: &diagnosis.findings,
        ok: &diagnosis.passed,
        not_visible: &diagnosis.unknown,
        probe,
        activity: activity.ok(),
        activity_unread: activity.err(),
        uncountable_reason,
        clocks,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
