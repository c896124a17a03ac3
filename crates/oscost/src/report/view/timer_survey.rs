//! The survey of timers: one table at the end of `oscost run timer`, and which clock was chosen.

use oscost_model::definition::{SurveyEntry, Timer};
use oscost_model::record::{Clock, Record, Row, RowOutcome};

use crate::report::figures::Style;
use crate::report::text::{fold, plain};

/// What a terminal of 80 columns takes.
const WIDTH: usize = 80;

/// The headings, in two lines; the first column is the timer's name.
const HEADINGS: [[&str; 2]; 8] = [
    ["", "timer"],
    ["", "cost"],
    ["declared", "resolution"],
    ["", "quantum"],
    ["", "precision"],
    ["enters", "kernel"],
    ["can be", "slewed"],
    ["can step", "back"],
];

/// What two of the columns mean.
const COLUMNS: &str = "quantum: the step in which it moves on; precision: the smallest difference \
    in work that it shows, by a staircase of increments: `oscost explain timer/precision`.";

/// The survey of a run that has one: its table, and the clock that timed it.
pub fn survey(record: &Record) -> Option<String> {
    if record.timers.is_empty() {
        return None;
    }
    let mut notes = Notes::default();
    let lines: Vec<[String; 8]> =
        record.timers.iter().map(|timer| line(timer, record, &mut notes)).collect();
    let mut out = format!("the survey of timers\n{}\n", aligned(&lines));
    for (at, note) in notes.0.iter().enumerate() {
        out += &format!("{}\n", fold(&format!("({}) {note}", letter(at)), WIDTH - 6, "    "));
    }
    out += &format!("\n{}\n\n{}", fold(COLUMNS, WIDTH, ""), chosen(record));
    Some(out)
}

/// Reasons, each told once below the table; what they belong to bears a letter.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    /// The cell for which there is but a reason.
    fn mark(&mut self, why: &str) -> String {
        let why = plain(why);
        let known = self.0.iter().position(|note| *note == why);
        let at = known.unwrap_or_else(|| {
            self.0.push(why);
            self.0.len() - 1
        });
        format!("n/a({})", letter(at))
    }
}

/// a to z, then aa to az, and so on.
fn letter(at: usize) -> String {
    let last = char::from(b'a' + (at % 26) as u8);
    let first = at.checked_sub(26).map(|rest| char::from(b'a' + (rest / 26) as u8));
    first.into_iter().chain([last]).collect()
}

fn line(timer: &Timer, record: &Record, notes: &mut Notes) -> [String; 8] {
    let mut told = |told: &SurveyEntry| match told {
        SurveyEntry { case: Some(case), .. } => match row(record, case) {
            Ok(row) => figure(row),
            Err(why) => notes.mark(&why),
        },
        SurveyEntry { text: Some(words), .. } => plain(words),
        SurveyEntry { reason: because, .. } => {
            notes.mark(because.as_deref().unwrap_or("nobody said why"))
        }
    };
    let (cost, resolution) = (told(&timer.cost), told(&timer.resolution));
    let (quantum, precision) = (told(&timer.quantum), told(&timer.precision));
    let (slewed, back) = (told(&timer.slewed), told(&timer.steps_back));
    let kernel = enters_the_kernel(timer, record).unwrap_or_else(|why| notes.mark(&why));
    [plain(&timer.name), cost, resolution, quantum, precision, kernel, slewed, back]
}

/// The row of a case, if it was measured; or why it was not.
fn row<'a>(record: &'a Record, case: &str) -> Result<&'a Row, String> {
    let row = record.results.iter().find(|row| row.case == case);
    let row = row.ok_or_else(|| format!("{case} is not among the rows"))?;
    let reason = || row.reason.as_deref().unwrap_or("no reason given");
    match row.outcome {
        RowOutcome::Measured if row.estimate.is_some() => Ok(row),
        RowOutcome::Measured => Err("it has no estimate".to_owned()),
        RowOutcome::Skipped => Err(reason().to_owned()),
        other => Err(format!("{}: {}", other.text(), reason())),
    }
}

/// A row's figure as the table of the run shows it; one that repeats to the last digit without the
/// zeros behind it.
fn figure(row: &Row) -> String {
    let Some(estimate) = &row.estimate else { return String::new() };
    let width = estimate.ci95.map(|[low, high]| high - low);
    if row.flags.iter().any(|flag| flag == "BELOW_DETECTION") {
        let width = width.unwrap_or(0.0);
        return format!("< {}", Style::of(width, row.unit).with_unit(width));
    }
    let shown = Style::of(estimate.median, row.unit).with_unit(estimate.median);
    match shown.split_once(' ') {
        Some((number, unit)) if width == Some(0.0) && number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => shown,
    }
}

/// Whether asking the timer enters the kernel, as it was counted.
fn enters_the_kernel(timer: &Timer, record: &Record) -> Result<String, String> {
    let case = timer.cost.case.as_deref().ok_or("nothing of it is measured")?;
    let calls = row(record, case)?.calls.as_ref().ok_or("its calls could not be counted here")?;
    Ok(if calls.per_op.values().any(|&times| times > 0.0) { "yes" } else { "no" }.to_owned())
}

/// The lines under their headings: names to the left, all else to the right.
fn aligned(lines: &[[String; 8]]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: [usize; 8] = std::array::from_fn(|at| {
        let heading = HEADINGS[at].iter().map(|heading| width(heading)).max().unwrap_or(0);
        lines.iter().map(|line| width(&line[at])).max().unwrap_or(0).max(heading)
    });
    let laid = |cells: [&str; 8]| {
        let mut text = String::new();
        for (cell, width) in cells.into_iter().zip(widths).skip(1) {
            text += &format!(" {cell:>width$}");
        }
        // Where figures are so wide that names have no room, they stand above their lines.
        let named = match widths[0] + text.chars().count() <= WIDTH {
            true => format!("{:<1$}{text}", cells[0], widths[0]),
            false => format!("{}\n{text}", cells[0]),
        };
        named.trim_end().to_owned()
    };
    let headings = (0..2).map(|line| laid(HEADINGS.map(|heading| heading[line])));
    let lines = lines.iter().map(|line| laid(line.each_ref().map(String::as_str)));
    headings.chain(lines).collect::<Vec<_>>().join("\n") + "\n"
}

/// Which clock timed the run, why it, and why no better one.
fn chosen(record: &Record) -> String {
    let Some(clock) = record.machines.first().and_then(|machine| machine.clock.as_ref()) else {
        return "oscost has chosen no clock: none was calibrated.\n".to_owned();
    };
    let mut text = format!("oscost has chosen {}: {}.", plain(&clock.source), why(clock));
    text += &match clock.source.as_str() {
        "tsc" => format!(
            " It ticks {:.4} times in a nanosecond and moves on by {:.1} ns; a window around \
             nothing shows {:.1} ns.",
            clock.ticks_per_ns, clock.q_ns, clock.c_in_ns
        ),
        _ => format!(
            " It moves on by {:.1} ns; a window around nothing shows {:.1} ns.",
            clock.q_ns, clock.c_in_ns
        ),
    };
    let mut out = format!("{}\n", fold(&text, WIDTH, ""));
    for passed_over in &clock.passed_over {
        let text = format!("Passed over: {}.", plain(passed_over));
        out += &format!("{}\n", fold(&text, WIDTH - 2, "  "));
    }
    out
}

fn why(clock: &Clock) -> &'static str {
    match clock.source.as_str() {
        "tsc" => {
            "the processor's counter, read between fences, is the cheapest and the finest here, \
             and no daemon steers it. The processor promises a constant rate, the kernel itself trusts \
             it, it did not step back in a million reads, nobody traps it, and its fences hold"
        }
        "vdso" => {
            "CLOCK_MONOTONIC_RAW through the vDSO, which does not enter the kernel and which no \
             daemon steers"
        }
        "syscall" => {
            "CLOCK_MONOTONIC_RAW by a system call, which no daemon steers; batches are the longer \
             for what it costs"
        }
        _ => "what counts here is no time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, cell: &str) -> [String; 8] {
        let mut line: [String; 8] = std::array::from_fn(|_| cell.to_owned());
        line[0] = name.to_owned();
        line
    }

    #[test]
    fn columns_line_up_and_keep_within_eighty_characters() {
        let text = aligned(&[line("monotonic-coarse", "yes"), line("tsc", "n/a(a)")]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[2].len(), lines[3].len(), "{text}");
        assert!(lines[2].len() <= WIDTH, "{text}");
        // Figures that nobody foresaw push the name to a line of its own, not out of the terminal.
        let text = aligned(&[line("monotonic-coarse", "1234.567"), line("tsc", "12 s")]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let text = aligned(&[line("monotonic-coarse", "n/a(aa)"), line("tsc", "< 123.4 ns")]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.lines().filter(|line| *line == "tsc").count(), 1, "{text}");
    }

    #[test]
    fn a_reason_is_told_once_and_letters_go_on_behind_z() {
        let mut notes = Notes::default();
        assert_eq!(notes.mark("one"), "n/a(a)");
        assert_eq!(notes.mark("two\u{1b}[2J"), "n/a(b)");
        assert_eq!(notes.mark("one"), "n/a(a)");
        assert_eq!(notes.0, ["one", "two[2J"]);
        assert_eq!([letter(25), letter(26), letter(52)], ["z", "aa", "ba"]);
    }
}
