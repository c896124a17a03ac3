//! Rows of the studies, and the acts in C that do what the studies' texts say of them.

use anyhow::{Context, ensure};
use oscost::studies::find_built_in;
use oscost::studies::study::{Study, TableRow};
use oscost_model::study_method::StudyMethod;

/// A study, its program in C, and the rows that both measure.
pub(super) struct StudyActs {
    pub(super) study: &'static str,
    /// Its program, without its ending.
    pub(super) program: &'static str,
    pub(super) rows: &'static [RowAct],
    pub(super) series: &'static [SeriesActs],
}

/// A row of a table and its act.
pub(super) struct RowAct {
    /// The row's name in the study's file.
    name: &'static str,
    act: &'static str,
    /// What may be why the two differ. It is not tested.
    difference: Option<&'static str>,
}

/// A curve and its acts, which are `ACT=VALUE`.
pub(super) struct SeriesActs {
    /// The series' name in the study's file.
    name: &'static str,
    act: &'static str,
    /// The values that are compared.
    values: &'static [u64],
}

/// Which figure of oscost is the one by the study's method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// The one by the study's method of timing.
    StudyMethod(StudyMethod),
    /// The median over processes: the row has no other, such as a rate, a pass over a file, or what
    /// a program of the study prints.
    Median,
    /// The mean over processes: studies that compare two targets.
    Mean,
}

/// A comparison: a row's case, and the act that does the same.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) study: &'static str,
    /// The program of the act.
    pub(super) program: &'static str,
    /// The row, as it is shown.
    pub(super) row: String,
    pub(super) case: String,
    pub(super) act: String,
    pub(super) reading: Reading,
    /// What may be why the two differ. It is not tested.
    pub(super) difference: Option<&'static str>,
}

const fn row(name: &'static str, act: &'static str) -> RowAct {
    RowAct { name, act, difference: None }
}

const fn row_that_differs(
    name: &'static str,
    act: &'static str,
    difference: &'static str,
) -> RowAct {
    RowAct { name, act, difference: Some(difference) }
}

const fn series(name: &'static str, act: &'static str, values: &'static [u64]) -> SeriesActs {
    SeriesActs { name, act, values }
}

/// Sizes of reads, in bytes: those below, at and beyond a page.
const READS: &[u64] = &[8, 64, 512, 4_096, 16_384, 65_536];
/// Sizes of messages, in bytes, whose latency is compared: those in one and in several segments.
const MESSAGES: &[u64] = &[4, 4_096, 65_536];
/// Sizes of messages whose rate is compared.
const STREAMS: &[u64] = &[4_096, 65_536];

/// Of calls that the study times between two CPUIDs.
const CPUID: &str =
    "the study's CPUID leaves a guest for its host, and cools its caches; oscost has LFENCE";

pub(super) const STUDIES: &[StudyActs] = &[
    StudyActs {
        study: "sunos-1999",
        program: "sunos",
        rows: &[
            row_that_differs(
                "clock_gettime()",
                "clock_gettime",
                "a call and a loop iteration of oscost are in an op that is timed by itself, some 5 ns",
            ),
            row("getpid()", "getpid"),
            row("getppid()", "getppid"),
            row("uname()", "uname"),
            row("times()", "times"),
            row("signals", "signals"),
            row("pipes", "pipes"),
            row("zero-filled page", "zero-fill"),
        ],
        series: &[
            series("read()", "read", READS),
            series("fread()", "fread", READS),
            series("mmap()", "mmap", READS),
        ],
    },
    StudyActs {
        study: "cs161-syscalls",
        program: "cs161",
        rows: &[
            row("None", "none"),
            row("time", "time"),
            row("sbrk", "sbrk"),
            row("clock_gettime, coarse", "clock-gettime-coarse"),
            row("clock_gettime", "clock-gettime"),
            row("getppid", "getppid"),
            row("getpid", "getpid"),
            row("brk", "brk"),
            row("close", "close"),
            row("open+close", "open-close"),
        ],
        series: &[],
    },
    StudyActs {
        study: "cse221-2014",
        program: "cse221",
        rows: &[
            row("getticks", "getticks"),
            row_that_differs(
                "elapsed",
                "elapsed",
                "the difference of two readings of 8 ns, a tenth of which is more than all of it",
            ),
            row_that_differs(
                "for loop",
                "loop",
                "an iteration is one cycle or a quarter more, by where the compiler places the loop",
            ),
            row("getppid()", "getppid"),
            row("create process", "create-process"),
            row("create and run process", "create-and-run-process"),
            row("create kernel thread", "create-thread"),
            row("create and run thread", "create-and-run-thread"),
            row("Process", "process-switch"),
            row("Kernel Thread", "thread-switch"),
        ],
        // Their figures are the reading but for some cycles: more values would show no more.
        series: &[series("arguments", "call", &[0, 7])],
    },
    StudyActs {
        study: "cs736-2019",
        program: "cs736",
        rows: &[
            row_that_differs(
                "clock_gettime, pair",
                "clock_gettime-pair",
                "oscost's reads are called through a table: 2 ns",
            ),
            row_that_differs("getpid", "getpid", CPUID),
            row_that_differs("getuid", "getuid", CPUID),
        ],
        series: &[
            series("pipe", "pipe", MESSAGES),
            series("TCP", "tcp", MESSAGES),
            series("UDP", "udp", MESSAGES),
            series("pipe rate", "pipe-rate", STREAMS),
            series("TCP rate", "tcp-rate", STREAMS),
            series("UDP rate", "udp-rate", STREAMS),
        ],
    },
    StudyActs {
        study: "ph-2000",
        program: "ph",
        rows: &[
            row("getpid", "getpid"),
            row("getrusage", "getrusage"),
            row("gettimeofday", "gettimeofday"),
            row("gettimeofday (libc)", "gettimeofday-libc"),
            row("sigaction", "sigaction"),
            row("write", "write"),
            row("null", "null"),
            row("simple", "simple"),
            row("/bin/sh", "sh"),
        ],
        series: &[],
    },
];

impl StudyActs {
    /// The comparisons of this study. Rows are found by their names, so that a row whose case
    /// changes is still compared with the same act; of a row whose study states no placement there
    /// are two, and both are compared.
    pub(super) fn comparisons(&self) -> anyhow::Result<Vec<Comparison>> {
        let study = find_built_in(self.study).context("there is no such study")?;
        let mut all = Vec::new();
        for it in self.rows {
            let named = |row: &&TableRow| row.published_name() == it.name && row.case().is_some();
            // The first table is the study's; others show the same act in another way.
            let rows = study.tables.iter().map(|table| table.rows.iter().filter(named));
            let rows: Vec<&TableRow> = rows
                .map(Iterator::collect)
                .find(|rows: &Vec<_>| !rows.is_empty())
                .with_context(|| format!("{} has no row {:?}", self.study, it.name))?;
            for row in rows {
                let comparison =
                    self.comparison(&study, row, row.name.clone(), it.act.to_owned())?;
                all.push(Comparison { difference: it.difference, ..comparison });
            }
        }
        for it in self.series {
            all.extend(self.comparisons_of(&study, it)?);
        }
        Ok(all)
    }

    /// The comparisons of a curve, in each of its placements.
    fn comparisons_of(&self, study: &Study, it: &SeriesActs) -> anyhow::Result<Vec<Comparison>> {
        let mut all = Vec::new();
        for table in &study.tables {
            for series in table.series.iter().filter(|series| series.published_name() == it.name) {
                let rows = table.rows.get(series.rows()).context("a series has rows")?;
                let wanted = series.values.iter().zip(rows);
                for (value, row) in wanted.filter(|(value, _)| it.values.contains(value)) {
                    let name =
                        format!("{} {value}{}", series.published_name(), series.placement.suffix());
                    all.push(self.comparison(study, row, name, format!("{}={value}", it.act))?);
                }
            }
        }
        ensure!(!all.is_empty(), "{} has no series {:?}", self.study, it.name);
        Ok(all)
    }

    fn comparison(
        &self,
        study: &Study,
        row: &TableRow,
        name: String,
        act: String,
    ) -> anyhow::Result<Comparison> {
        let reading = match (&study.columns, row.study_method) {
            (Some(_), _) => Reading::Mean,
            // Programs of a study time their ops themselves.
            (None, Some(method)) if !row.is_program() => Reading::StudyMethod(method),
            (None, _) => Reading::Median,
        };
        let case = row.case().context("a row without a case")?.to_owned();
        Ok(Comparison {
            study: self.study,
            program: self.program,
            row: name,
            case,
            act,
            reading,
            difference: None,
        })
    }
}
