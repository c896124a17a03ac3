//! The profiles, anomalies and needs of pH.

use serde::Serialize;

use crate::report::text::{plain, plural};
use crate::report::view::document::{
    Block, Cell, Column, Fact, Item, Section, Table, TableRow, View,
};

/// A profile.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The device of the executable.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its path; empty if it is unknown.
    pub executable: String,
    /// `training`, `frozen` or `normal`.
    pub state: &'static str,
    /// The calls that were observed.
    pub calls: u64,
    /// The calls it was trained with.
    pub train_count: u64,
    /// The calls among those since the last new pair.
    pub last_mod_count: u64,
    /// The number of the call that added the last new pair.
    pub last_new_at: Option<u64>,
    /// The anomalies since it was found normal.
    pub anomalies: u64,
    /// When it was frozen, in seconds since 1970.
    pub frozen_at_s: Option<u64>,
    /// How many pairs were learnt.
    pub train_pairs: u64,
    /// How many are normal.
    pub test_pairs: u64,
    /// The pairs that were learnt, if they were requested.
    pub train: Option<Vec<Neighbours>>,
    /// The pairs that are normal, if they were requested.
    pub test: Option<Vec<Neighbours>>,
}

/// Two calls that were observed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Neighbours {
    /// The later one.
    pub current: Call,
    /// The earlier one.
    pub previous: Call,
    /// How many calls earlier it was.
    pub positions: Vec<u8>,
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Its number.
    pub number: u16,
    /// Its name.
    pub name: String,
}

/// A file that could not be read as a profile.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedProfile {
    /// The file.
    pub file: String,
    /// The number of the line with the error.
    pub line: usize,
    /// The error.
    pub reason: String,
}

impl RefusedProfile {
    /// As a line.
    pub fn text(&self) -> String {
        format!("refused: {}: line {}: {}", plain(&self.file), self.line, plain(&self.reason))
    }
}

#[derive(Serialize)]
struct Profiles<'a> {
    schema: &'static str,
    profiles: &'a [Row],
    refused: &'a [RefusedProfile],
}

/// The profiles as one JSON object (`oscost.ph-profiles/1`).
pub fn profiles_json(
    profiles: &[Row],
    refused: &[RefusedProfile],
) -> Result<String, serde_json::Error> {
    let document = Profiles { schema: "oscost.ph-profiles/1", profiles, refused };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// The profiles, a row each.
pub fn profiles(rows: &[Row]) -> View {
    if rows.is_empty() {
        return View::sentence("no profiles are kept");
    }
    let row = |row: &Row| {
        let count = |number: u64| Cell::number(number.to_string(), Some(number as f64));
        TableRow::of(vec![
            Cell::text(path(&row.executable)),
            Cell::text(row.state),
            count(row.calls),
            count(row.train_pairs),
            row.last_new_at.map_or(Cell::number("-", None), count),
            count(row.anomalies),
        ])
    };
    let table = Table {
        columns: vec![
            Column::text("executable"),
            Column::text("state"),
            Column::number("calls", "calls"),
            Column::number("pairs", "train_pairs"),
            Column::number("last new pair", "last_new_at"),
            Column::number("anomalies", "anomalies"),
        ],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

/// Profiles with their pairs, a section or two each.
pub fn pairs(rows: &[Row]) -> View {
    View::of(rows.iter().flat_map(profile).collect())
}

fn profile(row: &Row) -> Vec<Section> {
    let frozen = row.frozen_at_s.map_or(String::new(), |at| {
        let at = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(at));
        let at = at.map(|at| humantime::format_rfc3339_seconds(at).to_string());
        format!(", frozen at {}", at.unwrap_or("-".to_owned()))
    });
    let last = row.last_new_at.map_or("unknown".to_owned(), |at| at.to_string());
    let facts = vec![
        Fact::new("device, inode", format!("{}, {}", row.device, row.inode)),
        Fact::new("state", format!("{}{frozen}", row.state)),
        Fact::new("calls", format!("{}, trained with {}", row.calls, row.train_count)),
        Fact::new("last new pair at", last),
        Fact::new("anomalies", row.anomalies.to_string()),
    ];
    let is_same = row.train == row.test;
    let learnt = if is_same { "learnt, and normal" } else { "learnt" };
    let normal = row.test.as_deref().filter(|_| !is_same);
    let tables = [pair_section(row.train.as_deref(), learnt), pair_section(normal, "normal")];
    let facts = Section::of(path(&row.executable), [Block::Facts(facts)]);
    [facts].into_iter().chain(tables.into_iter().flatten()).collect()
}

/// The pairs by their later call; `None` if there are none.
fn pair_section(pairs: Option<&[Neighbours]>, kind: &str) -> Option<Section> {
    let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
    let row = |of_call: &[Neighbours]| {
        let before: Vec<String> = of_call
            .iter()
            .map(|pair| {
                let positions: Vec<String> = pair.positions.iter().map(u8::to_string).collect();
                format!("{} {}", pair.previous.name, positions.join(","))
            })
            .collect();
        let call = of_call.first().map_or("", |pair| &pair.current.name);
        TableRow::of(vec![Cell::text(call), Cell::text(before.join("; "))])
    };
    let table = Table {
        columns: vec![
            Column::text("call"),
            Column::prose("earlier calls, with how many calls earlier each was"),
        ],
        rows: pairs.chunk_by(|one, next| one.current == next.current).map(row).collect(),
        ..Table::default()
    };
    let count: usize = pairs.iter().map(|pair| pair.positions.len()).sum();
    let pairs = plural(count as u64, "pair");
    Some(Section::of(format!("{pairs} {kind}"), [Block::Table(table)]))
}

/// An anomaly: a pair of calls that the profile does not contain.
#[derive(Clone, Debug, Serialize)]
pub struct Anomaly {
    /// The schema of the line: [`Anomaly::SCHEMA`].
    pub schema: &'static str,
    /// The process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// Its executable; empty if it is unknown.
    pub executable: String,
    /// The call.
    pub current: Call,
    /// The earlier call.
    pub previous: Call,
    /// How many calls earlier.
    pub position: u8,
    /// The anomalies among the process's last calls.
    pub locality: u32,
    /// The anomalies of the executable since it was found normal.
    pub anomalies: u64,
}

impl Anomaly {
    /// The schema of a line of JSON.
    pub const SCHEMA: &str = "oscost.ph-anomaly/1";

    /// As a line of JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|line| line + "\n")
    }

    /// As a sentence.
    pub fn view(&self) -> View {
        let Self { pid, locality, anomalies, position, .. } = self;
        let (current, previous) = (&self.current.name, &self.previous.name);
        View::sentence(format!(
            "process {pid}, {}: {current} {position} after {previous}; locality {locality}, \
             {anomalies} anomalies",
            path(&self.executable)
        ))
    }
}

/// The needs and the profiles of pH on this machine.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The schema: [`Status::SCHEMA`].
    pub schema: &'static str,
    /// What it needs.
    pub needs: Vec<Need>,
    /// The folder of profiles.
    pub folder: String,
    /// How many profiles are in each state.
    pub states: Vec<(&'static str, usize)>,
    /// The files that could not be read as profiles.
    pub refused: Vec<RefusedProfile>,
    /// The published constants.
    pub constants: Vec<Constant>,
}

/// Something that pH needs.
#[derive(Debug, Serialize)]
pub struct Need {
    /// Its name.
    pub name: &'static str,
    /// Whether it is met; `None` if the system does not report it.
    pub met: Option<bool>,
    /// The state of it, and how to fix it.
    pub detail: String,
}

/// A constant of the rules.
#[derive(Debug, Serialize)]
pub struct Constant {
    /// Its name.
    pub name: &'static str,
    /// Its published value.
    pub value: u32,
    /// What it counts.
    pub unit: &'static str,
}

impl Status {
    /// The schema of the JSON object.
    pub const SCHEMA: &str = "oscost.ph-status/1";

    /// As one JSON object.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// The needs, the profiles and the constants.
    pub fn view(&self) -> View {
        let can_run = self.needs.iter().all(|need| need.met != Some(false));
        let answer = if can_run { "pH can run here" } else { "pH cannot run here" };
        let need = |Need { name, met, detail }: &Need| {
            let met = met.map_or("-", |met| if met { "yes" } else { "no" });
            TableRow::of(vec![Cell::text(*name), Cell::text(met), Cell::text(detail)])
        };
        let needs = Table {
            columns: vec![Column::text("need"), Column::text("met"), Column::prose("detail")],
            rows: self.needs.iter().map(need).collect(),
            ..Table::default()
        };
        let count: usize = self.states.iter().map(|(_, count)| count).sum();
        let states: Vec<String> =
            self.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let folder = Item::from(format!("in {}", plain(&self.folder)));
        let refused = self.refused.iter().map(|refused| Item::from(refused.text()));
        let constant = |Constant { name, value, unit }: &Constant| {
            let number = Cell::number(value.to_string(), Some(f64::from(*value)));
            TableRow::of(vec![Cell::text(*name), number, Cell::text(*unit)])
        };
        let constants = Table {
            columns: vec![Column::text(""), Column::number("", "value"), Column::text("")],
            rows: self.constants.iter().map(constant).collect(),
            ..Table::default()
        };
        let sections = vec![
            Section::of("", [Block::Table(needs)]),
            Section::of(
                format!("{count} profiles are kept: {}", states.join(", ")),
                Block::list([folder].into_iter().chain(refused)),
            ),
            Section::of(
                "Published constants, each an option of `train` and `watch`",
                [Block::Table(constants)],
            ),
        ];
        View { sections, ..View::sentence(answer) }
    }
}

/// The path of an executable. Characters other than letters, digits and printable ASCII are shown by
/// their numbers, so that the path cannot imitate another one.
pub fn path(executable: &str) -> String {
    const MAX_CHARS: usize = 400;
    let mut shown = String::new();
    for c in executable.chars().take(MAX_CHARS) {
        match matches!(c, ' '..='~') || c.is_alphanumeric() {
            true => shown.push(c),
            false => shown.extend(c.escape_unicode()),
        }
    }
    match executable {
        "" => "(unknown)".to_owned(),
        it if it.chars().count() > MAX_CHARS => shown + "...",
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u16, name: &str) -> Call {
        Call { number, name: name.to_owned() }
    }

    fn anomaly(current: &str, executable: &str) -> Anomaly {
        Anomaly {
            schema: Anomaly::SCHEMA,
            pid: 4_194_304,
            comm: "sh\u{1b}".to_owned(),
            executable: executable.to_owned(),
            current: call(59, current),
            previous: call(146, "sched_get_priority_max"),
            position: 8,
            locality: 128,
            anomalies: 123_456,
        }
    }

    fn fits(text: &str) {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn an_anomaly_fits_80_columns_and_has_no_control_characters() {
        let long = "/a\u{1b}[2J".repeat(40);
        for name in ["read", "sched_get_priority_min", "call-511"] {
            for executable in ["", "/bin/sh", &long] {
                let text = crate::report::terminal(&anomaly(name, executable).view());
                fits(&text);
                let words: Vec<&str> = text.split_whitespace().collect();
                assert!(
                    words.join(" ").contains(&format!("{name} 8 after sched_get_priority_max"))
                );
            }
        }
        let mut short = anomaly("execve", "/bin/sh");
        short.previous = call(0, "read");
        assert_eq!(
            crate::report::terminal(&short.view()),
            "process 4194304, /bin/sh: execve 8 after read; locality 128, 123456 anomalies\n"
        );
        let json = short.json().unwrap();
        assert!(json.ends_with("}\n") && json.lines().count() == 1, "{json}");
        assert!(json.contains(r#""comm":"sh\u001b""#), "{json}");
    }

    #[test]
    fn a_path_shows_its_unusual_characters_by_number() {
        assert_eq!(path(""), "(unknown)");
        assert_eq!(path("/a \u{e9}\u{202e}\u{1b}[2J\n"), "/a \u{e9}\\u{202e}\\u{1b}[2J\\u{a}");
        assert_eq!(path(&"x".repeat(401)).len(), 403);
    }
}
