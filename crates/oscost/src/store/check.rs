//! Checks what a valid record must satisfy beyond its types, so that code that reads it later need
//! not.

use oscost_model::fleet::{is_fleet_name, is_node_name};
use oscost_model::record::{Record, Row, RowOutcome};

use super::error::ImportError;
use super::inspect::{Fault, inspect};
use super::limits::MAX_PREDICTIONS;

/// The price list has at most a hundred rows, so these are a thousand price lists in one record. Of
/// rows as oscost writes them fewer fit into the largest record; as many do without the keys that may
/// be left out.
const MAX_ROWS: usize = 100_000;

/// More than a run of a thousand price lists has.
const MAX_CURVES: usize = 10_000;

/// Each curve crosses a few others.
const MAX_CROSSINGS: usize = 10 * MAX_CURVES;

/// A curve is read by a person, who does not need more points.
const MAX_CURVE_POINTS: usize = 10_000;

/// A curve with more breaks is noise, and a person reads no more sentences about one.
const MAX_CURVE_NOTES: usize = 100;

/// A run has a machine for each of its targets and peers.
const MAX_MACHINES: usize = 1_000;

/// The kernel has a dozen clocks.
const MAX_TIMERS: usize = 1_000;

/// Each row is compared with a few others.
const MAX_COMPARISONS: usize = 10 * MAX_ROWS;

/// A label is shown in one line of a list.
const MAX_LABEL_BYTES: usize = 1 << 10;

/// The longest kernel command line has 2 KiB on x86-64 and 4 KiB on any other machine.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// Refuses an invalid record.
pub(super) fn check(record: &Record) -> Result<(), ImportError> {
    refuse_unless(is_uuid(&record.id), "id", "is not a UUID in lower case")?;
    inspect(record, text_rule).map_err(|Fault { at, why }| ImportError::Bad { at, why })?;
    refuse_unless(is_utc(&record.started), "started", NOT_UTC)?;
    refuse_unless(record.ended.as_deref().is_none_or(is_utc), "ended", NOT_UTC)?;

    let predictions = record.settings.predictions.len();
    let why = format!("has {predictions} entries, the maximum is {MAX_PREDICTIONS}");
    refuse_unless(predictions <= MAX_PREDICTIONS, "settings.predictions", &why)?;

    let rows = record.results.len();
    let why = format!("has {rows} rows, the maximum is {MAX_ROWS}");
    refuse_unless(rows <= MAX_ROWS, "results", &why)?;
    for (index, row) in record.results.iter().enumerate() {
        check_row(row)
            .map_err(|RowFault { at, why }| bad(&format!("results[{index}].{at}"), &why))?;
    }
    let curves = record.curves.len();
    let why = format!("has {curves} curves, the maximum is {MAX_CURVES}");
    refuse_unless(curves <= MAX_CURVES, "curves", &why)?;
    for (index, curve) in record.curves.iter().enumerate() {
        let breaks = curve.breaks.as_ref().map_or(0, Vec::len);
        for (part, count, max) in [
            ("points", curve.points.len(), MAX_CURVE_POINTS),
            ("breaks", breaks, MAX_CURVE_NOTES),
            ("sentences", curve.sentences.len(), MAX_CURVE_NOTES),
        ] {
            let why = format!("has {count} {part}, the maximum is {max}");
            refuse_unless(count <= max, &format!("curves[{index}].{part}"), &why)?;
        }
    }
    let crossings = record.crossings.len();
    let why = format!("has {crossings} crossings, the maximum is {MAX_CROSSINGS}");
    refuse_unless(crossings <= MAX_CROSSINGS, "crossings", &why)?;
    for (part, count, max) in [
        ("machines", record.machines.len(), MAX_MACHINES),
        ("conditions", record.conditions.len(), MAX_MACHINES),
        ("timers", record.timers.len(), MAX_TIMERS),
        ("comparisons", record.comparisons.len(), MAX_COMPARISONS),
    ] {
        let why = format!("has {count} entries, the maximum is {max}");
        refuse_unless(count <= max, part, &why)?;
    }
    let steps = record.steps.len();
    let why = format!("has steps of {steps} methods, the maximum is {MAX_CURVES}");
    refuse_unless(steps <= MAX_CURVES, "steps", &why)?;
    if let Some(visit) = &record.fleet {
        refuse_unless(is_fleet_name(&visit.fleet), "fleet.fleet", "is no name of a fleet")?;
        refuse_unless(is_node_name(&visit.node), "fleet.node", "is no name of a node")?;
        refuse_unless(is_uuid(&visit.plan), "fleet.plan", "is not a UUID in lower case")?;
    }
    for (index, comparison) in record.comparisons.iter().enumerate() {
        for (side, row) in [("base", comparison.base), ("new", comparison.new)] {
            let at = format!("comparisons[{index}].{side}");
            let why = format!("is {row}, and there are {rows} rows");
            refuse_unless((row as usize) < rows, &at, &why)?;
        }
    }
    Ok(())
}

/// An invalid part of a row.
struct RowFault {
    at: &'static str,
    why: String,
}

fn check_row(row: &Row) -> Result<(), RowFault> {
    if row.outcome == RowOutcome::Measured && row.estimate.is_none() {
        let why = "is missing, although the row was measured".to_owned();
        return Err(RowFault { at: "estimate", why });
    }
    let present = row.repetitions.len();
    let counted = row.estimate.as_ref().map_or(0, |estimate| estimate.repetitions);
    if counted as usize > present {
        let why = format!("is {counted}, and there are {present} repetitions");
        return Err(RowFault { at: "estimate.repetitions", why });
    }
    Ok(())
}

pub(super) fn refuse_unless(valid: bool, at: &str, why: &str) -> Result<(), ImportError> {
    if valid { Ok(()) } else { Err(bad(at, why)) }
}

pub(super) fn bad(at: &str, why: &str) -> ImportError {
    ImportError::Bad { at: at.to_owned(), why: why.to_owned() }
}

pub(super) fn text_rule(key: &str, text: &str) -> Result<(), String> {
    check_text(text, if key == "label" { MAX_LABEL_BYTES } else { MAX_TEXT_BYTES })
}

/// Refuses a text that is longer, or has a dangerous character.
pub(super) fn check_text(text: &str, max_bytes: usize) -> Result<(), String> {
    if text.len() > max_bytes {
        return Err(format!("has {} bytes, the maximum is {max_bytes}", text.len()));
    }
    match text.chars().find(|&c| is_dangerous(c)) {
        Some(c) => Err(format!("has the control character U+{:04X}", u32::from(c))),
        None => Ok(()),
    }
}

/// Whether a character controls the terminal, or changes the order in which characters are shown.
///
/// Such a text is refused, not repaired: a repaired record would be another one under the same id,
/// shown as measured by its author. Line breaks and tabs are accepted: valid records have them in
/// commands and in error messages of programs, and they only move the next word.
pub(super) fn is_dangerous(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || reorders
}

pub(super) fn is_uuid(text: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => hex(byte),
        })
}

pub(super) const NOT_UTC: &str = "is not a time in UTC as in RFC 3339";

/// Whether `text` has the form of `2026-11-21T08:15:00Z`, with any fraction of the second. Runs are
/// sorted by these texts.
pub(super) fn is_utc(text: &str) -> bool {
    let Some(time) = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")) else {
        return false;
    };
    let (seconds, fraction) = match time.split_once('.') {
        Some((seconds, fraction)) => (seconds, fraction),
        None => (time, "0"),
    };
    let form = b"0000-00-00T00:00:00";
    seconds.len() == form.len()
        && seconds.bytes().zip(form).all(|(byte, &expected)| match expected {
            b'0' => byte.is_ascii_digit(),
            expected => byte == expected,
        })
        && (1..=9).contains(&fraction.len())
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_in_lower_case_is_accepted() {
        assert!(is_uuid("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5b"));
        for text in [
            "",
            "last",
            "0190A0B1-c2d3-7e4f-8a9b-0c1d2e3f4a5b",
            "0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5",
            "0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5g",
            "0190a0b1c2d3-7e4f-8a9b-0c1d2e3f4a5b-",
            "{190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5}",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }

    #[test]
    fn only_a_time_in_utc_is_accepted() {
        for text in [
            "2026-11-21T08:15:00Z",
            "2026-11-21T08:15:00.25Z",
            "2026-11-21T08:15:00.123456789+00:00",
        ] {
            assert!(is_utc(text), "{text}");
        }
        for text in [
            "",
            "Z",
            "yesterday",
            "2026-11-21T08:15:00",
            "2026-11-21T08:15:00+02:00",
            "2026-11-21 08:15:00Z",
            "2026-11-21T08:15:00.Z",
            "2026-11-21T08:15:00.1234567890Z",
        ] {
            assert!(!is_utc(text), "{text}");
        }
    }

    #[test]
    fn a_text_may_have_line_breaks_but_not_control_a_terminal() {
        assert_eq!(text_rule("command", "sh -c 'a\n\tb' \u{e9}\u{4e2d}"), Ok(()));
        for c in ['\u{1b}', '\r', '\u{8}', '\0', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}'] {
            assert!(text_rule("command", &format!("a{c}b")).is_err(), "{c:?}");
        }
    }

    #[test]
    fn a_label_is_shorter_than_other_texts() {
        let text = |bytes| "x".repeat(bytes);
        assert!(text_rule("label", &text(1_024)).is_ok());
        assert!(text_rule("label", &text(1_025)).is_err());
        assert!(text_rule("reason", &text(4_096)).is_ok());
        assert!(text_rule("reason", &text(4_097)).is_err());
    }
}
