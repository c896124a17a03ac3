//! What pH has learnt, sees, and needs.

use serde::Serialize;

use crate::report::text::{fold, plain};

/// A profile.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The device of the executable.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its path; empty where it is not known.
    pub executable: String,
    /// `training`, `frozen` or `normal`.
    pub state: &'static str,
    /// The calls that were seen.
    pub calls: u64,
    /// The calls it was trained with.
    pub train_count: u64,
    /// The calls among those since the last new pair.
    pub last_mod_count: u64,
    /// The number of the trained call that brought it.
    pub last_new_at: Option<u64>,
    /// The anomalies since it was found normal.
    pub anomalies: u64,
    /// When it was frozen, in seconds since 1970.
    pub frozen_at_s: Option<u64>,
    /// How many pairs were learnt.
    pub train_pairs: u64,
    /// How many are normal.
    pub test_pairs: u64,
    /// The pairs that were learnt, where they were asked for.
    pub train: Option<Vec<Neighbours>>,
    /// The pairs that are normal, where they were asked for.
    pub test: Option<Vec<Neighbours>>,
}

/// Two calls that were seen together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Neighbours {
    /// The later one.
    pub current: Call,
    /// The earlier one.
    pub previous: Call,
    /// How many calls earlier it was seen.
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

/// A file that is no profile.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl Refused {
    /// As a line.
    pub fn text(&self) -> String {
        format!("refused: {}: line {}: {}", plain(&self.file), self.line, plain(&self.why))
    }
}

#[derive(Serialize)]
struct Profiles<'a> {
    schema: &'static str,
    profiles: &'a [Row],
    refused: &'a [Refused],
}

/// The profiles as one JSON object (`oscost.ph-profiles/1`).
pub fn profiles_json(profiles: &[Row], refused: &[Refused]) -> Result<String, serde_json::Error> {
    let document = Profiles { schema: "oscost.ph-profiles/1", profiles, refused };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// How wide the first column of the table is.
const EXECUTABLE: usize = 26;

/// The profiles, a line each.
pub fn profiles(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no profiles are kept\n".to_owned();
    }
    let mut text = format!(
        "{:EXECUTABLE$}  STATE   {:>12}{:>8}{:>12}{:>11}\n",
        "EXECUTABLE", "CALLS", "PAIRS", "LAST NEW AT", "ANOMALIES"
    );
    for row in rows {
        let last = row.last_new_at.map_or("-".to_owned(), |at| at.to_string());
        text += &format!(
            "{:EXECUTABLE$}  {:8}{:>12}{:>8}{last:>12}{:>11}\n",
            ending(&row.executable, EXECUTABLE),
            row.state,
            row.calls,
            row.train_pairs,
            row.anomalies,
        );
    }
    text
}

/// A profile with its pairs, in words.
pub fn profile(row: &Row) -> String {
    let mut text = format!("{}\n", path(&row.executable));
    let frozen = row.frozen_at_s.map_or(String::new(), |at| {
        let at = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(at));
        let at =
            at.map_or("-".to_owned(), |at| format!("{}", humantime::format_rfc3339_seconds(at)));
        format!(", frozen at {at}")
    });
    let last = row.last_new_at.map_or("not known".to_owned(), |at| at.to_string());
    for (name, value) in [
        ("device, inode", format!("{}, {}", row.device, row.inode)),
        ("state", format!("{}{frozen}", row.state)),
        ("calls", format!("{}, trained with {}", row.calls, row.train_count)),
        ("last new pair at", last),
        ("anomalies", row.anomalies.to_string()),
    ] {
        text += &format!("  {name:18}{value}\n");
    }
    let same = row.train == row.test;
    for (pairs, title) in [
        (&row.train, if same { "learnt, and normal" } else { "learnt" }),
        (if same { &None } else { &row.test }, "normal"),
    ] {
        let Some(pairs) = pairs.as_deref().filter(|pairs| !pairs.is_empty()) else { continue };
        let many: usize = pairs.iter().map(|pair| pair.positions.len()).sum();
        text +=
            &format!("\n{many} pairs {title}: call, after which calls, how many calls before\n");
        text += &table_of(pairs);
    }
    text
}

/// The pairs, grouped by the later call.
fn table_of(pairs: &[Neighbours]) -> String {
    /// Where the second column begins, and how wide it is in 80 columns.
    const AFTER: usize = 24;
    const WIDTH: usize = 80 - AFTER;
    let mut text = String::new();
    for group in pairs.chunk_by(|one, next| one.current == next.current) {
        let Some(first) = group.first() else { continue };
        let after: Vec<String> = group
            .iter()
            .map(|pair| {
                let positions: Vec<String> = pair.positions.iter().map(u8::to_string).collect();
                format!("{} {}", pair.previous.name, positions.join(","))
            })
            .collect();
        let after = fold(&after.join("; "), WIDTH, &" ".repeat(AFTER));
        text += &format!("  {:1$}{after}\n", first.current.name, AFTER - 2);
    }
    text
}

/// Something that is not normal.
#[derive(Clone, Debug, Serialize)]
pub struct Anomaly {
    /// The schema of the line: [`Anomaly::SCHEMA`].
    pub schema: &'static str,
    /// The process.
    pub pid: u32,
    /// What it calls itself.
    pub comm: String,
    /// Its executable; empty where it is not known.
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
    /// Of a line of JSON.
    pub const SCHEMA: &str = "oscost.ph-anomaly/1";

    /// As a line of JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|line| line + "\n")
    }

    /// As a line of the table that [`ANOMALIES`] is the head of.
    pub fn text(&self) -> String {
        /// Where the pair stands, how wide it is as a rule, and how wide the executable may be.
        const BEFORE: usize = 30;
        const PAIR: usize = 26;
        const WIDTH: usize = 80 - BEFORE - PAIR - 2;
        let Self { pid, locality, anomalies, position, .. } = self;
        let pair = format!("{} {position} after {}", self.current.name, self.previous.name);
        let start = format!("{pid:>8}{locality:>10}{anomalies:>10}  ");
        match pair.chars().count() > PAIR {
            false => format!("{start}{pair:PAIR$}  {}\n", ending(&self.executable, WIDTH)),
            true => {
                let pair = fold(&pair, 80 - BEFORE, &" ".repeat(BEFORE));
                let executable = ending(&self.executable, 80 - BEFORE);
                format!("{start}{pair}\n{:BEFORE$}{executable}\n", "")
            }
        }
    }
}

/// The head of the table of anomalies.
pub const ANOMALIES: &str =
    " PROCESS  LOCALITY ANOMALIES  PAIR                        EXECUTABLE\n";

/// What pH has and needs here.
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
    /// The files that are none.
    pub refused: Vec<Refused>,
    /// The published constants.
    pub constants: Vec<Constant>,
}

/// Something that pH needs.
#[derive(Debug, Serialize)]
pub struct Need {
    /// What.
    pub of: &'static str,
    /// Whether it is here; `None` where the system does not tell.
    pub met: Option<bool>,
    /// What was seen, and what mends it.
    pub words: String,
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
    /// Of the JSON object.
    pub const SCHEMA: &str = "oscost.ph-status/1";

    /// As one JSON object.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// As text.
    pub fn text(&self) -> String {
        const WORDS: usize = 18;
        let mut text = match self.needs.iter().any(|need| need.met == Some(false)) {
            true => "pH cannot run here\n".to_owned(),
            false => "pH can run here\n".to_owned(),
        };
        for Need { of, met, words } in &self.needs {
            let met = met.map_or("-", |met| if met { "yes" } else { "no" });
            let words = fold(words, 80 - WORDS, &" ".repeat(WORDS));
            text += &format!("  {of:10}{met:6}{words}\n");
        }
        let kept: usize = self.states.iter().map(|(_, many)| many).sum();
        let states: Vec<String> =
            self.states.iter().map(|(state, many)| format!("{many} {state}")).collect();
        text += &format!("\n{kept} profiles are kept: {}\n", states.join(", "));
        text += &format!("  in {}\n", plain(&self.folder));
        for refused in &self.refused {
            text += &format!("  {}\n", fold(&refused.text(), 80 - 2, &" ".repeat(11)));
        }
        text += "\nPublished constants, each an option of `train` and `watch`\n";
        for Constant { name, value, unit } in &self.constants {
            let line = format!("  {name:20}{value:>8} {unit}");
            text += &format!("{}\n", line.trim_end());
        }
        text
    }
}

/// The path of an executable. Whoever watches must see what is odd in it: what is neither a letter
/// nor a digit nor plain ASCII is shown by its number.
pub fn path(executable: &str) -> String {
    const LONGEST: usize = 400;
    let mut shown = String::new();
    for c in executable.chars().take(LONGEST) {
        match matches!(c, ' '..='~') || c.is_alphanumeric() {
            true => shown.push(c),
            false => shown.extend(c.escape_unicode()),
        }
    }
    match executable {
        "" => "(not known)".to_owned(),
        it if it.chars().count() > LONGEST => shown + "...",
        _ => shown,
    }
}

/// The end of a path, which tells more than its beginning.
fn ending(executable: &str, width: usize) -> String {
    let name = path(executable);
    match name.chars().count() {
        many if many > width => {
            let end: String = name.chars().skip(many + 3 - width).collect();
            format!("...{end}")
        }
        _ => name,
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
    fn an_anomaly_fits_into_eighty_columns_and_steers_no_terminal() {
        let long = "/a\u{1b}[2J".repeat(40);
        for name in ["read", "sched_get_priority_min", "call-511"] {
            for executable in ["", "/bin/sh", &long] {
                let text = anomaly(name, executable).text();
                fits(&text);
                let words: Vec<&str> = text.split_whitespace().collect();
                assert!(
                    words.join(" ").contains(&format!("{name} 8 after sched_get_priority_max"))
                );
            }
        }
        fits(ANOMALIES);
        let mut short = anomaly("execve", "/bin/sh");
        short.previous = call(0, "read");
        let line = short.text();
        assert_eq!(line.find("execve"), ANOMALIES.find("PAIR"));
        assert_eq!(line.find("/bin/sh"), ANOMALIES.find("EXECUTABLE"));
        let json = short.json().unwrap();
        assert!(json.ends_with("}\n") && json.lines().count() == 1, "{json}");
        assert!(json.contains(r#""comm":"sh\u001b""#), "{json}");
    }

    #[test]
    fn a_long_path_shows_its_end() {
        assert_eq!(ending("/usr/lib/firefox/firefox", 14), "...fox/firefox");
        assert_eq!(ending("/bin/sh", 7), "/bin/sh");
        assert_eq!(ending("", 26), "(not known)");
        assert_eq!(path("/a \u{e9}\u{202e}\u{1b}[2J\n"), "/a \u{e9}\\u{202e}\\u{1b}[2J\\u{a}");
        assert_eq!(path(&"x".repeat(401)).len(), 403);
    }
}
