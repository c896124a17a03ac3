//! Rows of the studies, and the acts in C that do what the studies' texts say of them.

use anyhow::{Context, bail};
use oscost::studies::{Study, find_built_in};

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
    reading: Reading,
}

/// A curve and its acts, which are `ACT=VALUE`.
pub(super) struct SeriesActs {
    /// The series' name in the study's file.
    name: &'static str,
    act: &'static str,
    reading: Reading,
}

/// Which figure of the record is the one by the study's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The one that was obtained as the study did.
    StudyMethod,
    /// oscost's own: the row has no other, such as a rate.
    Own,
    /// The mean over runs, each a fresh process: studies that compare two targets.
    MeanOfRuns,
}

/// A comparison: a row's case, and the act that does the same.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    /// The row, as it is shown.
    pub(super) row: String,
    pub(super) case: String,
    pub(super) act: String,
    pub(super) reading: Reading,
}

const fn row(name: &'static str, act: &'static str) -> RowAct {
    RowAct { name, act, reading: Reading::StudyMethod }
}

const fn run(name: &'static str, act: &'static str) -> RowAct {
    RowAct { name, act, reading: Reading::MeanOfRuns }
}

const fn series(name: &'static str, act: &'static str) -> SeriesActs {
    SeriesActs { name, act, reading: Reading::StudyMethod }
}

const fn rate(name: &'static str, act: &'static str) -> SeriesActs {
    SeriesActs { name, act, reading: Reading::Own }
}

pub(super) const STUDIES: &[StudyActs] = &[
    StudyActs {
        study: "sunos-1999",
        program: "sunos",
        rows: &[
            row("clock_gettime()", "clock_gettime"),
            row("getpid()", "getpid"),
            row("getppid()", "getppid"),
            row("uname()", "uname"),
            row("times()", "times"),
            row("signals", "signals"),
            row("pipes", "pipes"),
            row("zero-filled page", "zero-fill"),
        ],
        series: &[series("read()", "read"), series("fread()", "fread"), series("mmap()", "mmap")],
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
            row("elapsed", "elapsed"),
            row("for loop", "loop"),
            row("getppid()", "getppid"),
            row("create process", "create-process"),
            row("create and run process", "create-and-run-process"),
            row("create kernel thread", "create-thread"),
            row("create and run thread", "create-and-run-thread"),
            row("Process", "process-switch"),
            row("Kernel Thread", "thread-switch"),
        ],
        series: &[series("arguments", "call")],
    },
    StudyActs {
        study: "cs736-2019",
        program: "cs736",
        rows: &[
            RowAct {
                name: "clock_gettime, pair",
                act: "clock_gettime-pair",
                reading: Reading::Own,
            },
            row("getpid", "getpid"),
            row("getuid", "getuid"),
        ],
        series: &[
            series("pipe", "pipe"),
            series("TCP", "tcp"),
            series("UDP", "udp"),
            rate("pipe rate", "pipe-rate"),
            rate("TCP rate", "tcp-rate"),
            rate("UDP rate", "udp-rate"),
        ],
    },
    StudyActs {
        study: "ph-2000",
        program: "ph",
        rows: &[
            run("getpid", "getpid"),
            run("getrusage", "getrusage"),
            run("gettimeofday", "gettimeofday"),
            run("gettimeofday (libc)", "gettimeofday-libc"),
            run("sigaction", "sigaction"),
            run("write", "write"),
            run("null", "null"),
            run("simple", "simple"),
            run("/bin/sh", "sh"),
        ],
        series: &[],
    },
];

impl StudyActs {
    /// The comparisons of this study. Rows are found by their names, so that a row whose case
    /// changes is still compared with the same act.
    pub(super) fn comparisons(&self) -> anyhow::Result<Vec<Comparison>> {
        let study = find_built_in(self.study).context("there is no such study")?;
        let rows = self.rows.iter().map(|it| it.comparison(&study));
        let mut all: Vec<Comparison> = rows.collect::<anyhow::Result<_>>()?;
        for it in self.series {
            all.extend(it.comparisons(&study)?);
        }
        Ok(all)
    }
}

impl RowAct {
    fn comparison(&self, study: &Study) -> anyhow::Result<Comparison> {
        let row = study.rows().find(|row| row.name == self.name && row.case().is_some());
        let case = row.and_then(|row| row.case());
        let case = case.with_context(|| format!("{} has no row {:?}", study.id, self.name))?;
        Ok(Comparison {
            row: self.name.to_owned(),
            case: case.to_owned(),
            act: self.act.to_owned(),
            reading: self.reading,
        })
    }
}

impl SeriesActs {
    fn comparisons(&self, study: &Study) -> anyhow::Result<Vec<Comparison>> {
        for table in &study.tables {
            let Some(series) = table.series.iter().find(|series| series.name == self.name) else {
                continue;
            };
            let rows = table.rows.get(series.rows()).context("a series has rows")?;
            let cases = rows.iter().map(|row| row.case().context("a row of a series has a case"));
            let comparison = |(value, case): (&u64, anyhow::Result<&str>)| {
                Ok(Comparison {
                    row: format!("{} {value}", self.name),
                    case: case?.to_owned(),
                    act: format!("{}={value}", self.act),
                    reading: self.reading,
                })
            };
            return series.values.iter().zip(cases).map(comparison).collect();
        }
        bail!("{} has no series {:?}", study.id, self.name)
    }
}
