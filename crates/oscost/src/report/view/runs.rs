//! The list of runs.

use std::fmt::Write as _;

use crate::report::text::plain;

/// A run, as it is listed.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Whether it did all that was asked for.
    pub complete: bool,
    /// The user's own words.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
}

/// The runs, a line each: enough of the id to name it, when, what.
pub fn list(lines: &[Line]) -> String {
    if lines.is_empty() {
        return "no runs are kept\n".to_owned();
    }
    let mut out = String::new();
    let short = shortest_unique(&lines.iter().map(|line| line.id.as_str()).collect::<Vec<_>>());
    for line in lines {
        let what = match &line.label {
            Some(label) => format!("{label:?}"),
            None => line.command.iter().skip(1).cloned().collect::<Vec<_>>().join(" "),
        };
        let cut = if line.complete { "" } else { "  (cut short)" };
        let when = line.started.get(..16).unwrap_or(&line.started).replace('T', " ");
        let id = line.id.get(..short).unwrap_or(&line.id);
        let text: String =
            plain(&what).chars().take(60usize.saturating_sub(short + cut.len())).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{id}  {}  {text}{cut}", plain(&when));
    }
    out
}

/// How many characters of an id name it; UUIDs of version 7 begin with the time.
pub(super) fn shortest_unique(ids: &[&str]) -> usize {
    (8..=36)
        .find(|&length| {
            let mut heads: Vec<&str> =
                ids.iter().map(|id| id.get(..length).unwrap_or(id)).collect();
            heads.sort_unstable();
            heads.windows(2).all(|pair| pair[0] != pair[1])
        })
        .unwrap_or(36)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str) -> Line {
        Line {
            id: id.to_owned(),
            started: "2026-11-21T08:00:00.000Z".to_owned(),
            complete: false,
            label: None,
            command: vec!["oscost".into(), "run".into(), "x".repeat(200)],
        }
    }

    #[test]
    fn ids_are_as_long_as_they_must_be_and_lines_fit() {
        let text = list(&[line("0197aaaa-1111-x"), line("0197aaaa-1122-x")]);
        assert!(text.starts_with("0197aaaa-112  ") || text.starts_with("0197aaaa-111  "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
