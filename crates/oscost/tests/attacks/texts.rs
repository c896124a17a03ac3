//! Untrusted texts in every field of a record, of a run, curves, a comparison and a program:
//! none becomes a tag of a page, a formula of a spreadsheet, or a command of the terminal.

use std::collections::BTreeSet;
use std::fs;

use oscost::store::validate;
use oscost_model::unit::Unit;
use serde_json::Value;

use crate::attack::{Attack, Effort, Outcome, make};
use crate::common::{Ran, Sandbox, scenario_file};
use crate::large_run;
use crate::oracles::check_end;

/// What is put into the fields: its name, and the text.
const TEXTS: &[(&str, &str)] = &[
    ("all marks at once", "=<script>1</script>[x](javascript:1)|\u{1b}[2J"),
    ("a script", "<script>alert(1)</script>"),
    ("a script that ends another", "</script><script src=//x></script>"),
    ("an image", "\"><img src=x onerror=alert(1)>"),
    ("an entity", "&lt;script&gt;&#60;img src=x&#62;"),
    ("a formula", "=HYPERLINK(\"http://x\",\"y\")"),
    ("a formula behind a sign", "+1+cmd|' /C calc'!A0"),
    ("a formula behind an at", "@SUM(1+1)*cmd|' /C calc'!A0"),
    ("a link of Markdown", "[x](javascript:alert(1))"),
    ("a table of Markdown", "a|b\\|c`d`e"),
    ("a template", "{{ 7 * 7 }}${7*7}<%= 7 * 7 %>"),
    ("an attribute", "' onmouseover='alert(1)"),
    ("a control character", "\u{1b}[2J\u{7}"),
    ("a control character of 8 bits", "\u{9b}2J"),
    ("line breaks", "a\n\n# b\n\n| c |\n| - |\n\n<script>d"),
];

/// The kinds of records.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Run,
    Curves,
    Comparison,
    Program,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Run, Kind::Curves, Kind::Comparison, Kind::Program];

    /// A record of this kind.
    fn record(self) -> Value {
        let sandbox = Sandbox::new();
        let target = |scenario: &str| format!("fake:{}", scenario_file(scenario).display());
        let made = match self {
            Kind::Run => {
                let selectors = ["timer/clock-gettime", "syscall/getppid", "--label", "a label"];
                sandbox.fake("all-outcomes", &selectors)
            }
            Kind::Curves => {
                let run = large_run::run(&[("file/read", Unit::NsPerOp)], 21, 0);
                return serde_json::to_value(run).unwrap();
            }
            Kind::Comparison => {
                let host = target("treated");
                let treated = format!("env=A=b@{host}");
                let sides = ["ab", "--seed", "1", "--base", &host, "--new", &treated];
                sandbox.oscost(&[&sides[..], &["syscall/getppid"]].concat())
            }
            Kind::Program => {
                let host = target("programs");
                sandbox.oscost(&["run", "--seed", "1", "--at", &host, "--", "gzip", "-kf9", "FILE"])
            }
        };
        check_end(&made);
        sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json()
    }
}

/// The pointers of all texts of a value.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                texts(item, &format!("{at}/{number}"), found);
            }
        }
        Value::Object(entries) => {
            for (name, item) in entries {
                texts(item, &format!("{at}/{}", escaped(name)), found);
            }
        }
        _ => {}
    }
}

/// The kind of a field: its pointer without the numbers of lists.
fn field(pointer: &str) -> String {
    let is_number = |part: &&str| part.parse::<u32>().is_ok();
    pointer.split('/').filter(|part| !is_number(part)).collect::<Vec<_>>().join("/")
}

/// A record with a text in each field that may have it, and the number of those fields. Which may,
/// the reader of records decides: what it refuses is taken back.
fn filled(record: &Value, text: &str) -> (Value, usize) {
    // Of fields of the same kind the first decides; if that does not hold, each of them.
    let quick = filled_by(record, text, field);
    match validate(quick.0.to_string().as_bytes()) {
        Ok(_) => quick,
        Err(_) => filled_by(record, text, str::to_owned),
    }
}

/// The same, where fields of one `kind` are decided together.
fn filled_by(record: &Value, text: &str, kind: impl Fn(&str) -> String) -> (Value, usize) {
    let mut filled = record.clone();
    let mut pointers = Vec::new();
    texts(record, "", &mut pointers);
    let (mut refused, mut accepted) = (BTreeSet::new(), BTreeSet::new());
    for pointer in pointers {
        let kind = kind(&pointer);
        if refused.contains(&kind) {
            continue;
        }
        let before = filled.pointer(&pointer).unwrap().clone();
        *filled.pointer_mut(&pointer).unwrap() = text.into();
        if accepted.contains(&kind) || validate(filled.to_string().as_bytes()).is_ok() {
            accepted.insert(kind);
        } else {
            *filled.pointer_mut(&pointer).unwrap() = before;
            refused.insert(kind);
        }
    }
    (filled, accepted.len())
}

/// A record in every form.
struct Forms {
    terminal: String,
    page: String,
    markdown: String,
    csv: String,
}

impl Forms {
    /// Writes a record in every form, if it is one.
    fn of(sandbox: &Sandbox, record: &Value) -> Option<Self> {
        let [file, page, markdown, csv] =
            ["record.json", "x.html", "x.md", "x.csv"].map(|name| sandbox.file(name));
        fs::write(&file, record.to_string()).unwrap();
        let outputs = [&page, &markdown, &csv].map(|file| file.to_str().unwrap());
        let report = ["report", file.to_str().unwrap()];
        let to_files = ["-o", outputs[0], "-o", outputs[1], "-o", outputs[2]];
        let ran: Ran = sandbox.oscost(&[&report[..], &to_files].concat());
        check_end(&ran);
        if ran.code != Some(0) {
            return None;
        }
        let shown = sandbox.oscost(&report);
        check_end(&shown);
        let read = |file| fs::read_to_string(file).unwrap();
        Some(Self {
            terminal: shown.exits(0).stdout,
            page: read(&page),
            markdown: read(&markdown),
            csv: read(&csv),
        })
    }

    fn check(&self, clean: &Forms) {
        for tag in ["<script", "</script", "<img"] {
            let count = |text: &str| text.matches(tag).count();
            assert_eq!(count(&self.page), count(&clean.page), "`{tag}` in the page");
        }
        for tag in ["<script", "<img"] {
            assert!(!self.markdown.contains(tag), "`{tag}` in Markdown:\n{}", self.markdown);
        }
        let links = |text: &str| self.markdown.matches(text).count();
        assert_eq!(links("](javascript:"), links("\\](javascript:"), "{}", self.markdown);
        for (form, text) in [("terminal", &self.terminal), ("Markdown", &self.markdown)] {
            assert!(!text.contains(is_control), "a control character on the {form}: {text:?}");
        }
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).from_reader(self.csv.as_bytes());
        for row in reader.records().map(Result::unwrap) {
            for cell in &row {
                let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
                assert!(!is_formula || cell.parse::<f64>().is_ok(), "a formula: {cell}");
            }
        }
    }
}

fn is_control(letter: char) -> bool {
    letter.is_control() && letter != '\n'
}

/// Checks what other commands make of a filled record, alone or beside the same one without the text.
fn check_others(sandbox: &Sandbox, record: &Value, filled: &Value) {
    let mut other = record.clone();
    other["id"] = "01900000-0000-7000-8000-000000000009".into();
    let written = |name: &str, record: &Value| {
        let file = sandbox.file(name);
        fs::write(&file, record.to_string()).unwrap();
        file.into_os_string().into_string().unwrap()
    };
    let [other, clean, filled] =
        [("other.json", &other), ("clean.json", record), ("filled.json", filled)]
            .map(|(name, record)| written(name, record));
    for arguments in [
        &["runs", "import", &filled][..],
        &["table", &other, &filled],
        &["compare", &other, &filled],
        &["runs", "list"],
        &["history"],
    ] {
        let ran = sandbox.oscost(arguments);
        check_end(&ran);
        assert!(matches!(ran.code, Some(0 | 3)), "{arguments:?}: {:?} {}", ran.code, ran.stderr);
        assert!(!ran.stdout.contains(is_control), "{arguments:?}: {:?}", ran.stdout);
    }
    let page = |record: &str| {
        let file = sandbox.file("table.html");
        sandbox.oscost(&["table", &other, record, "-o", file.to_str().unwrap()]).exits(0);
        fs::read_to_string(file).unwrap()
    };
    let [clean, filled] = [page(&clean), page(&filled)];
    for tag in ["<script", "</script", "<img"] {
        assert_eq!(filled.matches(tag).count(), clean.matches(tag).count(), "`{tag}` in a table");
    }
}

/// Puts a text into every field of a record of each kind.
fn inject(sandbox: &Sandbox, records: &[(Kind, Value)], text: &str) -> Outcome {
    let mut counts = Vec::new();
    for (kind, record) in records {
        let clean = Forms::of(sandbox, record).unwrap_or_else(|| panic!("no record: {kind:?}"));
        let (filled, fields) = filled(record, text);
        match Forms::of(sandbox, &filled) {
            Some(forms) => forms.check(&clean),
            None => panic!("{kind:?}: a record that was valid is not reported"),
        }
        check_others(sandbox, record, &filled);
        counts.push(format!("{fields}"));
    }
    Outcome::Withstood(format!("in {} fields", counts.join(" + ")))
}

#[test]
fn no_text_becomes_a_tag_a_formula_or_a_command() {
    let records: Vec<(Kind, Value)> = Kind::ALL.map(|kind| (kind, kind.record())).into();
    let attacks = TEXTS.iter().enumerate().map(|(at, &(name, text))| {
        // The first has the marks of all.
        let effort = if at == 0 { Effort::Short } else { Effort::Long };
        let records = records.clone();
        Attack::in_sandbox(format!("texts: {name}"), effort, move |sandbox| {
            inject(sandbox, &records, text)
        })
    });
    make("texts", attacks);
}

#[test]
fn a_record_is_filled_where_any_text_is_valid() {
    let record = Kind::Run.record();
    let (filled, fields) = filled(&record, "<b>");
    assert_eq!(filled["label"], "<b>");
    assert_eq!(filled["schema"], record["schema"], "no other text is valid");
    assert!(fields > 10, "{fields}");
    assert_eq!(field("/results/12/point/via"), "/results/point/via");
}
