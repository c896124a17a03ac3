//! The rules of prices: which case prices a call in its form.

use std::sync::LazyLock;

use oscost_model::bill::BillItem;
use serde::Deserialize;

/// The table, which docs/reference/CALLS.md shows.
const TABLE: &str = include_str!("../../../../docs/reference/calls/cases.toml");
/// That of switches, which are no calls.
const SWITCH_TABLE: &str = include_str!("../../../../docs/reference/calls/switches.toml");

static RULES: LazyLock<Vec<PriceRule>> = LazyLock::new(|| rows_of(TABLE));
static SWITCH_RULES: LazyLock<Vec<PriceRule>> = LazyLock::new(|| rows_of(SWITCH_TABLE));

/// The rows of a table. A test reads the files: without them nothing would have a price.
fn rows_of(table: &str) -> Vec<PriceRule> {
    toml::from_str::<Table>(table).map(|table| table.rows).unwrap_or_default()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rows: Vec<PriceRule>,
}

/// A case, and the forms of calls that it prices.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRule {
    /// Names of forms; a `*` at the end stands for any rest.
    pub forms: Vec<String>,
    /// A selector of cases.
    pub case: String,
    /// What is different in the case.
    pub differs: Option<String>,
    /// The share of the case's op that one call pays.
    #[serde(default = "whole")]
    pub part: f64,
    /// The axis of the case on which the size of a call lies.
    #[serde(default = "size")]
    pub axis: String,
    /// The bytes of a call that are one on that axis.
    #[serde(default = "whole")]
    pub bytes: f64,
    /// Whether the figure of the case is that of one on its axis, and an op takes as many times as much.
    #[serde(default)]
    pub per_unit: bool,
    /// Whether the op ends with a call that moves nothing. Such a call pays `part` of an op at
    /// nothing, and each other one what it does not pay.
    #[serde(default)]
    pub ends_empty: bool,
    /// Selectors of cases whose prices are subtracted, where they have one.
    #[serde(default)]
    pub less: Vec<String>,
    /// Selectors of cases whose prices were subtracted twice.
    #[serde(default)]
    pub plus: Vec<String>,
    /// The components of the path of the case; none of an op whose path does not matter.
    #[serde(default)]
    pub depth: Option<f64>,
    /// The line on which a size lies that is on no axis of the case.
    #[serde(default)]
    pub slope: Option<Slope>,
    /// What no counter tells of such a call, so that its price is a range.
    #[serde(default)]
    pub range: Option<PriceRange>,
    /// The same of a wake-up across CPUs, where a counter told for how long the woken CPU had been idle:
    /// whether it had stopped its tick then.
    #[serde(default)]
    pub tick_range: Option<PriceRange>,
    /// The voluntary switches that the price of a call contains, at most.
    #[serde(default)]
    pub switches: f64,
    /// The bytes of such calls for which their price contains another one; none if it depends on no
    /// size.
    #[serde(default)]
    pub switch_bytes: Option<f64>,
    /// Selectors of cases whose page faults the price of a call contains.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Selectors of cases whose page faults are among those, and are not in the price.
    #[serde(default)]
    pub faults_less: Vec<String>,
}

/// The line of a case, of which a call pays what it takes more at its size than at another one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slope {
    /// A selector of cases that differ in their size.
    pub case: String,
    /// The axis of their sizes.
    pub axis: String,
    /// How much of the size of a call is one on that axis.
    #[serde(default = "whole")]
    pub each: f64,
    /// The size of a call that the price of its case is of.
    #[serde(default)]
    pub at: f64,
    /// What one of the size is expected to take, in nanoseconds.
    pub expected_ns: f64,
    /// The size for which an op of the case takes a page fault, if it takes any.
    pub fault_each: Option<f64>,
}

/// Two cases between which the price of a call lies: the cool end of a bill has what the second one
/// takes more than the first one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRange {
    /// A selector of cases of one size each.
    pub from: String,
    /// The same of the other end.
    pub to: String,
    /// The axis of both on which the depth of a path lies, or the size of a call; none of what has
    /// neither.
    #[serde(default)]
    pub axis: Option<String>,
    /// The share of the difference that one call pays.
    #[serde(default = "whole")]
    pub part: f64,
    /// Whether the second one has tasks on two CPUs and the first one on one: there is no range where
    /// all tasks of a program ran on one CPU.
    #[serde(default)]
    pub across_cpus: bool,
    /// Whether they differ in for how long a CPU had been idle: there is no range where the counter saw
    /// that.
    #[serde(default)]
    pub of_idle: bool,
    /// So many of an item in each process of a program, on average, have no range; none where any number
    /// has it.
    #[serde(default)]
    pub few_per_process: Option<f64>,
    /// What the difference is expected to be, in nanoseconds.
    pub expected_ns: f64,
}

impl Slope {
    /// Where on the axis the call of the case is, and one of this size.
    pub(super) fn ends(&self, size: f64) -> [f64; 2] {
        [self.at / self.each, size / self.each]
    }
}

fn whole() -> f64 {
    1.0
}

fn size() -> String {
    "size".to_owned()
}

impl PriceRule {
    /// A rule for these forms: the whole op of a case.
    pub fn new(forms: &[&str], case: &str) -> Self {
        Self {
            forms: forms.iter().map(|&form| form.to_owned()).collect(),
            case: case.to_owned(),
            differs: None,
            part: whole(),
            axis: size(),
            bytes: whole(),
            per_unit: false,
            ends_empty: false,
            less: Vec::new(),
            plus: Vec::new(),
            depth: None,
            slope: None,
            range: None,
            tick_range: None,
            switches: 0.0,
            switch_bytes: None,
            faults: Vec::new(),
            faults_less: Vec::new(),
        }
    }

    /// Whether it prices calls of this form.
    pub fn is_of(&self, form: &str) -> bool {
        self.forms.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(begin) => form.starts_with(begin),
            None => form == pattern,
        })
    }

    /// The voluntary switches that the prices of so many calls contain, which move so many bytes.
    pub(super) fn switches_of(&self, calls: f64, bytes: f64) -> f64 {
        let by_bytes = self.switch_bytes.map_or(0.0, |of_one| bytes / of_one);
        calls * self.switches + by_bytes
    }

    /// Its ranges, of which a call has one at most.
    pub(super) fn ranges(&self) -> impl Iterator<Item = &PriceRange> {
        self.range.iter().chain(&self.tick_range)
    }

    /// All of its selectors.
    pub fn selectors(&self) -> impl Iterator<Item = &str> {
        let all = std::iter::once(&self.case).chain(&self.less).chain(&self.plus);
        all.map(String::as_str)
    }
}

/// The rules, in order: of several that fit, the first one prices a call.
pub fn price_rules() -> &'static [PriceRule] {
    &RULES
}

/// The same, and those of switches.
pub(super) fn all_rules() -> impl Iterator<Item = &'static PriceRule> {
    price_rules().iter().chain(SWITCH_RULES.iter())
}

/// The rule that prices calls of this form, or switches of this kind.
pub(super) fn rule_of(form: &str) -> Option<&'static PriceRule> {
    all_rules().find(|rule| rule.is_of(form))
}

/// The selectors of all prices that an item needs.
pub(super) fn selectors_of(item: &BillItem) -> Vec<&str> {
    match rule_of(&item.name) {
        Some(rule) => rule.selectors().collect(),
        None => item.case.as_deref().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;
    use oscost_model::point::Value;

    use super::*;

    #[test]
    fn the_table_is_read_and_each_part_is_a_share() {
        let read = toml::from_str::<Table>(TABLE);
        let rows = read.unwrap_or_else(|error| panic!("cases.toml: {error}")).rows;
        assert!(rows.len() > 50, "{}", rows.len());
        let read = toml::from_str::<Table>(SWITCH_TABLE);
        let switches = read.unwrap_or_else(|error| panic!("switches.toml: {error}")).rows;
        let catalog = oscost_worker::benchmarks::data();
        for row in rows.iter().chain(&switches) {
            assert!(row.depth.is_none_or(|it| it >= 1.0), "{row:?}");
            assert!(row.switches >= 0.0 && row.switch_bytes.is_none_or(|it| it > 0.0), "{row:?}");
            for selector in row.faults.iter().chain(&row.faults_less) {
                assert!(row.selectors().any(|it| it == selector), "{row:?}: {selector}");
            }
            assert!((0.0..=1.0).contains(&row.part) && row.bytes >= 1.0, "{row:?}");
            for selector in row.selectors() {
                assert!(Case::parse(selector).is_some(), "{selector}");
            }
            if let Some(slope) = &row.slope {
                let case = Case::parse(&slope.case).unwrap_or_else(|| panic!("{row:?}"));
                let definition = catalog.get(&case.benchmark);
                assert!(definition.is_some_and(|it| it.axis(&slope.axis).is_some()), "{row:?}");
                assert!(slope.fault_each.is_none_or(|it| it > 0.0), "{row:?}");
                assert!(slope.each > 0.0 && slope.at >= 0.0 && slope.expected_ns > 0.0, "{row:?}");
            }
            for range in row.ranges() {
                assert!((0.0..=1.0).contains(&range.part) && range.expected_ns > 0.0, "{row:?}");
                for selector in [&range.from, &range.to] {
                    let case = Case::parse(selector);
                    let case = case.unwrap_or_else(|| panic!("{selector}"));
                    let definition = catalog.get(&case.benchmark);
                    let definition = definition.unwrap_or_else(|| panic!("{selector}"));
                    let is_offered = |(axis, value): (&str, &Value)| {
                        definition.axis(axis).is_some_and(|axis| axis.points.contains(value))
                    };
                    assert!(case.point.iter().all(is_offered), "{selector}");
                    let has_axis = |axis: &String| definition.axis(axis).is_some();
                    assert!(range.axis.as_ref().is_none_or(has_axis), "{row:?}");
                }
            }
        }
    }

    #[test]
    fn a_form_is_priced_by_the_first_rule_that_fits() {
        let case = |form: &str| rule_of(form).map(|rule| rule.case.as_str());
        assert_eq!(case("openat file"), Some("directory/open"));
        assert_eq!(case("openat ENOENT"), Some("directory/missing"));
        assert_eq!(case("connect unix ENOENT"), Some("directory/missing"));
        assert_eq!(case("connect unix"), Some("socket/connect"));
        assert_eq!(case("connect tcp EINPROGRESS"), Some("socket/connect"));
        assert_eq!(case("newfstatat empty pipe"), Some("syscall/fstat"));
        assert_eq!(case("statx empty file"), Some("syscall/fstat"));
        assert_eq!(case("statx"), Some("file/statx"));
        assert_eq!(case("fcntl F_SETLKW"), Some("lock/fcntl"));
        assert_eq!(case("close directory"), Some("directory/open-close"));
        assert_eq!(case("write file"), Some("file/write"));
        assert_eq!(case("write append file"), Some("file/write:onto=new"));
        assert_eq!(case("mmap file fixed"), Some("memory/map-library"));
        assert_eq!(case("mmap anonymous fixed"), Some("memory/map-library"));
        assert_eq!(case("mmap anonymous"), Some("memory/mmap-munmap"));
        for kind in ["file", "directory", "pipe", "tcp", "device"] {
            assert_eq!(case(&format!("close shared {kind}")), Some("descriptor/dup"));
        }
        assert_eq!(case("openat EACCES"), Some("directory/missing"));
        assert_eq!(case("openat unknown"), None, "that succeeded");
        assert_eq!(case("getdents64 directory"), Some("directory/getdents"));
        for name in ["read", "getdents64", "copy_file_range", "sendfile"] {
            assert_eq!(case(&format!("{name} disk")), None, "it waited");
        }
        for name in ["sendmmsg", "recvmmsg"] {
            assert_eq!(case(&format!("{name} udp")), Some("socket/batch:by=udp"));
            assert_eq!(case(&format!("{name} unix")), Some("socket/batch:by=unix-dgram"));
        }
        assert_eq!(case("read pipe EAGAIN"), Some("syscall/read"));
        assert_eq!(case("lseek proc"), Some("syscall/lseek"));
        assert_eq!(case("setxattr"), Some("directory/xattr:by=set"));
        assert_eq!(case("no-such-call"), None);
        assert_eq!(case("clone process"), Some("process/fork-exit"));
        for nothing in ["clone process RESTART", "clone3 thread EAGAIN", "fork RESTART"] {
            assert_eq!(case(nothing), None, "it has created nothing");
        }
        let [dup, close] =
            ["fcntl F_DUPFD_CLOEXEC", "close shared file"].map(|it| rule_of(it).unwrap());
        assert_eq!((dup.part + close.part, &dup.case), (1.0, &close.case), "both pay one op");
        assert_eq!(case("epoll_pwait2 eventpoll"), Some("event/wait:method=epoll"));
        for name in ["execve", "execveat"] {
            assert_eq!(case(&format!("{name} dynamic")), Some("process/fork-exec:link=loader"));
        }
        assert_eq!(case("openat2 ENOENT"), Some("directory/missing"));
        for what in ["file", "directory", "create", "proc", "device", "tty", "unknown"] {
            let [of_openat, of_openat2] =
                ["openat", "openat2"].map(|name| case(&format!("{name} {what}")));
            assert_eq!(of_openat2, of_openat, "{what}");
        }
        let execve = rule_of("execve").unwrap();
        assert_eq!((execve.part, &execve.less[..]), (1.0, &["process/fork-exit".to_owned()][..]));
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let text = "rows = [{ forms = [\"a\"], case = \"a/b\", prat = 0.5 }]";
        assert!(toml::from_str::<Table>(text).is_err());
    }
}
