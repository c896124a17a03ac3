//! The figures of a trial, read from its output.

use std::collections::BTreeMap;

use oscost_model::program::{Figure, FigureSource, ProgramResult, Workload};
use oscost_model::unit::Unit;
use regex::{Regex, RegexBuilder};

use super::files::quoting;

/// The maximum size of a compiled pattern: a hundred times that of one for a line of figures.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Compiles a pattern of bounded size with one group; `^` and `$` match at line ends.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(text)
        .multi_line(true)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build();
    let compiled = compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large once compiled".to_owned(),
        // Its last line is the reason; the lines above point at the position.
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            format!("not a regular expression: {}", quoting::display_text(reason, 200))
        }
    })?;
    match compiled.captures_len() {
        2 => Ok(compiled),
        groups => Err(format!("a pattern has one group for the number, not {}", groups - 1)),
    }
}

/// Reads the figures of a trial; `warm_lines` is the number of lines that the warm-up wrote.
pub fn figures(
    workload: &Workload,
    result: &ProgramResult,
    warm_lines: Option<u64>,
) -> Result<BTreeMap<String, f64>, String> {
    let one = |figure: &Figure| {
        let value = match &figure.source {
            FigureSource::PerLine => {
                per_line(figure.unit, result.real_ns, warm_lines.or(result.lines))
            }
            FigureSource::Pattern(text) => matched(text, &result.output),
        };
        let value = value.and_then(|value| match value.is_finite() {
            true => Ok(value),
            false => Err(format!("{value} is not a finite number")),
        });
        let value =
            value.map_err(|why| format!("cannot read its figure {}: {why}", figure.name))?;
        Ok((figure.name.clone(), value))
    };
    workload.figures.iter().map(one).collect()
}

fn per_line(unit: Unit, real_ns: u64, lines: Option<u64>) -> Result<f64, String> {
    let lines = match lines {
        Some(lines) if lines > 0 => lines as f64,
        Some(_) => return Err("the warm-up wrote no line".to_owned()),
        None => return Err("the lines of the warm-up were not counted".to_owned()),
    };
    let seconds = real_ns as f64 * 1e-9;
    Ok(match unit {
        Unit::NsPerOp => real_ns as f64 / lines,
        Unit::OpsPerSecond => lines / seconds,
        _ => seconds / lines,
    })
}

fn matched(text: &str, output: &str) -> Result<f64, String> {
    let last = pattern(text)?.captures_iter(output).last();
    let number = last.and_then(|found| Some(found.get(1)?.as_str().to_owned()));
    let Some(number) = number else {
        let end = match quoting::last_lines(output) {
            lines if lines.is_empty() => "it wrote nothing".to_owned(),
            lines => format!("its last lines: {lines}"),
        };
        return Err(format!("nothing matches /{}/; {end}", quoting::display_text(text, 100)));
    };
    number
        .trim()
        .parse()
        .map_err(|_| format!("`{}` is not a number", quoting::display_text(&number, 60)))
}

#[cfg(test)]
mod tests;
