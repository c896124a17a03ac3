//! Acts whose costs readers know, or ask for first: the answer of a price list has sentences about
//! them, and its chart lines across it.

use oscost_model::record::Row;

/// Cases of a benchmark, by the values of some axes or of all of them, in the order of the case.
pub(in crate::report::view) struct Act {
    benchmark: &'static str,
    point: &'static [(&'static str, &'static str)],
}

const fn act(benchmark: &'static str, point: &'static [(&'static str, &'static str)]) -> Act {
    Act { benchmark, point }
}

pub(in crate::report::view) const FUNCTION_CALL: Act = act("procedure/call", &[("args", "0")]);
pub(in crate::report::view) const NULL_CALL: Act = act("syscall/getppid", &[("via", "raw")]);
pub(in crate::report::view) const MEMORY_ACCESS: Act =
    act("memory/latency", &[("size", "134217728")]);
/// In place of the former, beside a cache that holds 128 MiB.
pub(in crate::report::view) const MEMORY_ACCESS_BEYOND_CACHE: Act =
    act("memory/latency", &[("size", "268435456")]);
pub(in crate::report::view) const DISK_READ_BY_FAULT: Act =
    act("fault/file-major", &[("readahead", "off")]);
pub(in crate::report::view) const DISK_READ: Act =
    act("file/read-random", &[("via", "pread"), ("size", "4096"), ("cache", "cold")]);
pub(in crate::report::view) const PIPE_ON_ONE_CPU: Act =
    act("switch/pipe", &[("between", "processes"), ("peer_cpu", "same")]);
pub(in crate::report::view) const PIPE_ON_TWO_CPUS: Act =
    act("switch/pipe", &[("between", "processes"), ("peer_cpu", "other")]);
pub(in crate::report::view) const DYNAMIC_PROGRAM: Act =
    act("process/fork-exec", &[("link", "dynamic")]);
pub(in crate::report::view) const STATIC_PROGRAM: Act =
    act("process/fork-exec", &[("link", "static")]);
pub(in crate::report::view) const FIRST_WRITE: Act = act(
    "fault/zero-fill",
    &[("access", "write"), ("map", "outside"), ("order", "ascending"), ("pages", "4k")],
);
pub(in crate::report::view) const WRITE_AFTER_FORK: Act =
    act("fault/copy-on-write", &[("child", "lives"), ("order", "ascending")]);

/// Those that an answer has sentences about.
pub(in crate::report::view) const IN_SENTENCES: [&Act; 7] = [
    &NULL_CALL,
    &PIPE_ON_ONE_CPU,
    &PIPE_ON_TWO_CPUS,
    &DYNAMIC_PROGRAM,
    &STATIC_PROGRAM,
    &FIRST_WRITE,
    &WRITE_AFTER_FORK,
];

/// The lines across a chart, each with the acts that may stand for it, the best first.
pub(in crate::report::view) const LINES: [Line; 4] = [
    Line { name: "function call", acts: &[&FUNCTION_CALL] },
    Line { name: "system call", acts: &[&NULL_CALL] },
    Line { name: "memory access", acts: &[&MEMORY_ACCESS, &MEMORY_ACCESS_BEYOND_CACHE] },
    Line { name: "disk read", acts: &[&DISK_READ_BY_FAULT, &DISK_READ] },
];

/// A line across a chart.
pub(in crate::report::view) struct Line {
    /// What it is called there.
    pub(in crate::report::view) name: &'static str,
    /// The acts that may stand for it.
    pub(in crate::report::view) acts: &'static [&'static Act],
}

impl Act {
    /// Whether a row is of this act and of no axis that the act does not name.
    pub(in crate::report::view) fn is_of(&self, row: &Row) -> bool {
        let is_named = |(axis, value): &(&str, &str)| {
            row.point.get(axis).is_some_and(|it| it.to_string() == *value)
        };
        row.benchmark == self.benchmark
            && row.point.iter().count() == self.point.len()
            && self.point.iter().all(is_named)
    }

    /// What the cases of this act begin with, whatever further axes they have.
    pub(in crate::report::view) fn beginning(&self) -> String {
        let values = self.point.iter().map(|(axis, value)| format!("{axis}={value}"));
        format!("{}:{}", self.benchmark, values.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_of_a_line_are_found_by_their_beginning() {
        let found: [Vec<String>; 4] =
            LINES.map(|line| line.acts.iter().map(|act| act.beginning()).collect());
        let expected: [Vec<&str>; 4] = [
            vec!["procedure/call:args=0"],
            vec!["syscall/getppid:via=raw"],
            vec!["memory/latency:size=134217728", "memory/latency:size=268435456"],
            vec![
                "fault/file-major:readahead=off",
                "file/read-random:via=pread,size=4096,cache=cold",
            ],
        ];
        assert_eq!(found, expected);
    }
}
