//! What the doctor says, as text and as JSON.

use std::fmt::Write as _;

use oscost_model::clock::ClockVerdict;
use oscost_model::facts::Facts;
use oscost_model::protocol::CpuProbe;
use oscost_model::watch::SystemActivity;
use serde::Serialize;

use crate::advice::doctor::{Diagnosis, Finding, Weight};
use crate::report::figures::per_cent;
use crate::report::text::{fold, plain};

/// CPUs that stand in the table; of more, the worst and the chosen one.
const MAX_ROWS: usize = 8;

/// All that the doctor knows, and what it makes of it.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// Which clocks can be used there.
    pub clocks: &'a [ClockVerdict],
    /// What the probe saw.
    pub probe: &'a [CpuProbe],
    /// The CPU that a run would take.
    pub cpu: Option<u32>,
    /// Who used the machine meanwhile, or why that is not known.
    pub watch: Result<&'a SystemActivity, &'a str>,
    /// Why system calls cannot be counted.
    pub uncounted: Option<&'a str>,
    /// What the rules say.
    pub diagnosis: &'a Diagnosis,
}

/// The text: a table of CPUs, the findings, what is fine, what cannot be seen, the verdict.
pub fn text(visit: &Visit<'_>) -> String {
    let mut out = format!("{}\n\n", fold(&plain(&headline(visit)), 80, ""));
    table(visit, &mut out);
    let said = visit.diagnosis;
    if said.findings.is_empty() {
        out.push_str("\nnothing was found that makes figures noisy here\n");
    }
    for (number, finding) in (1..).zip(&said.findings) {
        one(number, finding, &mut out);
    }
    for (title, words) in [("fine", &said.fine), ("not visible", &said.unknown)] {
        if !words.is_empty() {
            let line = format!("{title}: {}", words.join(", "));
            // Writing to a String cannot fail.
            let _ = write!(out, "\n{}\n", folded(&line, 78, "  "));
        }
    }
    let _ = write!(out, "\n{}\n", folded(&verdict(visit), 78, "  "));
    out
}

/// Which machine, and how long it was listened to.
fn headline(visit: &Visit<'_>) -> String {
    let mut parts = Vec::new();
    parts.push(visit.facts.cpu.model_name.clone().unwrap_or("unknown processor".to_owned()));
    if visit.facts.is_guest()
        && let Some(kind) = &visit.facts.virtualization
    {
        parts[0].push_str(&format!(" ({kind} guest)"));
    }
    if let Some(release) = &visit.facts.os.release {
        parts.push(format!("Linux {release}"));
    }
    let spin_ns = visit.probe.iter().map(|probe| probe.spin_ns).max().unwrap_or(0);
    let cpus = visit.probe.len();
    let s = if cpus == 1 { "" } else { "s" };
    parts.push(format!("{:.1} s on {cpus} CPU{s}", spin_ns as f64 / 1e9));
    parts.join(", ")
}

/// A line for each CPU.
fn table(visit: &Visit<'_>, out: &mut String) {
    let mut rows: Vec<&CpuProbe> = visit.probe.iter().collect();
    let more = rows.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        rows.sort_by(|one, other| other.lost_pct().total_cmp(&one.lost_pct()));
        let chosen = rows.iter().position(|probe| Some(probe.cpu) == visit.cpu);
        let chosen = chosen.filter(|&at| at >= MAX_ROWS).map(|at| rows[at]);
        rows.truncate(MAX_ROWS);
        rows.extend(chosen);
    }
    let _ = writeln!(
        out,
        "{:10}{:>12}{:>10}{:>12}{:>10}{:>17}",
        "", "gaps a s", "lost", "longest", "stolen", "interrupts a s"
    );
    for probe in rows {
        let mark = if Some(probe.cpu) == visit.cpu { " *" } else { "" };
        let watch = visit.watch.ok();
        let seen = watch.and_then(|watch| watch.cpus.iter().find(|it| it.cpu == probe.cpu));
        let stolen = seen.and_then(|cpu| cpu.steal_pct()).map_or("?".to_owned(), per_cent);
        let seconds = watch.map_or(0.0, |watch| watch.wall_ns as f64 / 1e9);
        let came = seen.and_then(|cpu| cpu.interrupts).filter(|_| seconds > 0.0);
        let interrupts =
            came.map_or("?".to_owned(), |came| format!("{:.0}", came as f64 / seconds));
        let _ = writeln!(
            out,
            "{:10}{:>12.0}{:>10}{:>12}{:>10}{:>17}",
            format!("CPU {}{mark}", probe.cpu),
            probe.interruptions_per_s(),
            per_cent(probe.lost_pct()),
            format!("{:.2} ms", probe.max_gap_ns as f64 / 1e6),
            stolen,
            interrupts,
        );
    }
    if visit.cpu.is_some() {
        let others =
            if more > 0 { format!("; {more} quieter ones left out") } else { String::new() };
        let legend = format!(
            "* the CPU that `oscost run` would take; gaps are over 5 us, lost time over 1 \
             us{others}"
        );
        let _ = writeln!(out, "{}", fold(&legend, 80, "  "));
    } else {
        out.push_str("processes cannot be pinned to a CPU here\n");
    }
}

/// A finding: what it is, what it does, what fixes it.
fn one(number: usize, finding: &Finding, out: &mut String) {
    let what = format!("{number}. [{}] {}", word(finding.weight), finding.what);
    let _ = write!(out, "\n{}\n", folded(&what, 77, "   "));
    let _ = writeln!(out, "   effect: {}", folded(&finding.effect, 66, "           "));
    match (&finding.command, &finding.fix) {
        (Some(command), fix) => {
            let _ = writeln!(out, "   fix:    {}", command_lines(&plain_long(command)));
            if let Some(words) = fix {
                let words = format!("({words})");
                let _ = writeln!(out, "           {}", folded(&words, 66, "           "));
            }
        }
        (None, fix) => {
            let words = fix.as_deref().unwrap_or("none known");
            let _ = writeln!(out, "   fix:    {}", folded(words, 66, "           "));
        }
    }
}

/// A weight as the text spells it.
pub fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Invalidates => "invalidates",
        Weight::Biases => "biases",
        Weight::Noise => "noise",
        Weight::Limitation => "limitation",
        Weight::Note => "note",
    }
}

/// A command over several lines, each but the last ending as a shell wants it: it can be copied.
fn command_lines(command: &str) -> String {
    fold(command, 64, "           ").replace('\n', " \\\n")
}

/// A text in lines, without control characters; a figure and its per cent sign stay together.
fn folded(text: &str, width: usize, indent: &str) -> String {
    /// Stands for a space that is not to be broken: no text has one after control characters went.
    const UNBROKEN: &str = "\u{1}";
    let text = plain_long(text).replace(" %", &format!("{UNBROKEN}%"));
    fold(&text, width, indent).replace(UNBROKEN, " ")
}

/// As [`plain`], for sentences of our own that quote a name of somebody else's.
fn plain_long(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// The last line.
fn verdict(visit: &Visit<'_>) -> String {
    let said = visit.diagnosis;
    let Some(class) = said.class else {
        return "verdict: unknown: no CPU could be probed".to_owned();
    };
    let probe = match visit.cpu {
        Some(cpu) => visit.probe.iter().find(|probe| probe.cpu == cpu),
        None => visit.probe.last(),
    };
    let lost = probe.map(|probe| format!(" of the time on CPU {} was lost", probe.cpu));
    let pct = probe.map_or(String::new(), |probe| per_cent(probe.lost_pct()));
    let weights =
        [Weight::Invalidates, Weight::Biases, Weight::Noise, Weight::Limitation, Weight::Note].map(
            |weight| {
                let count = said.findings.iter().filter(|it| it.weight == weight).count();
                (count > 0).then(|| format!("{count} {}", word(weight)))
            },
        );
    let counts: Vec<String> = weights.into_iter().flatten().collect();
    let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
    format!("verdict: {}: {pct}{}; findings: {counts}", class.text(), lost.unwrap_or_default())
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    class: Option<&'static str>,
    lost_pct: Option<f64>,
    cpu: Option<u32>,
    findings: &'a [Finding],
    fine: &'a [String],
    unseen: &'a [String],
    probe: &'a [CpuProbe],
    watch: Option<&'a SystemActivity>,
    watch_unread: Option<&'a str>,
    uncounted: Option<&'a str>,
    clocks: &'a [ClockVerdict],
}

/// The same as [`text`] says, and all that it is made from but the facts (`oscost machine --json`).
pub fn json(visit: &Visit<'_>) -> Result<String, serde_json::Error> {
    let said = visit.diagnosis;
    let chosen = visit.probe.iter().find(|probe| Some(probe.cpu) == visit.cpu);
    let document = Document {
        schema: "oscost.doctor/1",
        class: said.class.map(|class| class.text()),
        lost_pct: chosen.or(visit.probe.last()).map(CpuProbe::lost_pct),
        cpu: visit.cpu,
        findings: &said.findings,
        fine: &said.fine,
        unseen: &said.unknown,
        probe: visit.probe,
        watch: visit.watch.ok(),
        watch_unread: visit.watch.err(),
        uncounted: visit.uncounted,
        clocks: visit.clocks,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_can_be_copied_line_by_line() {
        let command = "for i in 26 31 36 38 40 42; do echo 0 | sudo tee \
                       /proc/irq/$i/smp_affinity_list; done";
        let lines = command_lines(command);
        assert!(lines.lines().count() > 1 && lines.lines().all(|line| line.len() <= 77), "{lines}");
        let joined: Vec<&str> = lines.split(" \\\n").map(str::trim).collect();
        assert_eq!(joined.join(" "), command);
    }
}
