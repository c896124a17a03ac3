//! The treatments there are, and whether this machine can.

use serde::Serialize;

use crate::report::text::{fold, plain};

/// A treatment.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What stands behind `=`; empty where nothing does.
    pub value: &'static str,
    /// What it does.
    pub does: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// How it is done: `applied`, `attached`, `wraps`.
    pub study_method: &'static str,
    /// The values of which a machine has its own.
    pub names: Vec<String>,
    /// What came of trying it here.
    pub here: Here,
    /// Why, unless it works.
    pub why: Option<String>,
}

/// What came of trying a treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Here {
    /// It works.
    Yes,
    /// It does not.
    No,
    /// It was not tried.
    NotTried,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    treatments: &'a [Row],
}

/// The treatments as one JSON object (`oscost.treatments/1`).
pub fn json(rows: &[Row]) -> Result<String, serde_json::Error> {
    let document = Document { schema: "oscost.treatments/1", treatments: rows };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// What there is to know of a treatment.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// Its name.
    pub name: &'static str,
    /// What stands behind `=`; empty where nothing does.
    pub value: &'static str,
    /// What it does.
    pub does: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// What the kernel does then.
    pub why: &'static str,
    /// How two places are compared that differ in it.
    pub compared: &'static str,
    /// Where that is written.
    pub source: &'static str,
}

/// A treatment, explained.
pub fn explain(it: &Explained) -> String {
    let written = match it.value {
        "" => it.name.to_owned(),
        value => format!("{}={value}", it.name),
    };
    let mut text = format!("{written}\n  {}\n", fold(it.does, 76, "  "));
    let parts = [
        ("What it costs", it.why),
        ("Needs", it.needs),
        ("How it is compared", it.compared),
        ("Source", it.source),
    ];
    for (title, words) in parts.into_iter().filter(|(_, words)| !words.is_empty()) {
        text += &format!("\n{title}\n  {}\n", fold(words, 76, "  "));
    }
    text
}

/// Where the second column begins, and the third; how wide that is in 80 columns.
const HERE: usize = 16;
const WORDS: usize = 22;
const WIDTH: usize = 80 - WORDS;

/// The treatments as a table.
pub fn text(rows: &[Row]) -> String {
    let mut text = format!("{:HERE$}{:2$}WHAT IT DOES\n", "TREATMENT", "HERE", WORDS - HERE);
    for row in rows {
        let (here, before) = match row.here {
            Here::Yes => ("yes", ""),
            Here::No => ("no", "no: "),
            Here::NotTried => ("-", "not tried: "),
        };
        text += &format!("{:HERE$}{here:1$}", row.name, WORDS - HERE);
        let mut lines = vec![row.does.to_owned()];
        if !row.value.is_empty() {
            lines.push(format!("{}={}", row.name, row.value));
        }
        if !row.names.is_empty() {
            lines.push(format!("names here: {}", plain(&row.names.join(", "))));
        }
        if !row.needs.is_empty() {
            lines.push(format!("needs {}", row.needs));
        }
        lines.extend(row.why.as_ref().map(|why| format!("{before}{}", plain(why))));
        let indent = " ".repeat(WORDS);
        let lines: Vec<String> = lines.iter().map(|line| fold(line, WIDTH, &indent)).collect();
        text += &lines.join(&format!("\n{indent}"));
        text.push('\n');
    }
    text
}
