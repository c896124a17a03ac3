//! The others: a loop in C, and the tools that are installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use oscost_model::cell::{BatchPlan, Sample};
use oscost_model::clock::{Calibration, ClockKind};
use tempfile::TempDir;

use super::acts::Act;
use super::ours::{Memory, Ours, estimate};

/// What an act of `loops.c` needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum With {
    /// Nothing.
    Nothing,
    /// A size in bytes.
    Bytes(u64),
    /// The CPU that it runs on.
    SameCpu,
    /// Another one.
    OtherCpu,
    /// As much memory as the cell has, since a fork copies its tables.
    Memory,
    /// That, and a program that ends at once.
    Program,
    /// A folder on the file system from which the bench was started.
    Folder,
}

/// An act of somebody else's program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tool {
    /// `perf bench syscall basic`: getppid(2).
    PerfSyscall,
    /// `perf bench sched pipe`: a round trip through two pipes.
    PerfPipe,
    /// `perf bench mem memcpy`, of blocks of this size.
    PerfMemcpy(&'static str),
    /// A stressor of stress-ng, which says how many bogus ops it does in a second.
    StressNg(&'static str),
    /// `sysbench memory`: blocks of 64 KiB read.
    Sysbench,
    /// fio: read(2) of 64 KiB of a file of 8 MiB in the page cache.
    Fio,
}

impl Tool {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Tool::PerfSyscall => "perf bench syscall",
            Tool::PerfPipe => "perf bench sched pipe",
            Tool::PerfMemcpy(_) => "perf bench mem",
            Tool::StressNg(_) => "stress-ng",
            Tool::Sysbench => "sysbench memory",
            Tool::Fio => "fio, psync",
        }
    }

    pub(super) fn program(&self) -> &'static str {
        match self {
            Tool::Fio => "fio",
            Tool::StressNg(_) => "stress-ng",
            Tool::Sysbench => "sysbench",
            _ => "perf",
        }
    }
}

/// The others, on the same CPU.
pub(super) struct Others {
    folder: TempDir,
    cpu: u32,
    other_cpu: Option<u32>,
    /// How big the cell is that they compare with.
    cell: Memory,
    /// What is not installed, and how it would be.
    lacking: BTreeMap<&'static str, String>,
}

/// Programs, and the packages that have them.
const TOOLS: [(&str, &str); 4] =
    [("perf", "linux-perf"), ("fio", "fio"), ("stress-ng", "stress-ng"), ("sysbench", "sysbench")];

/// Half a millisecond: long against the microsecond in which perf counts, and most such batches
/// fall between two interruptions.
const PERF_CALLS: u32 = 4_000;
/// As many round trips as make the start of two processes disappear.
const PERF_TRIPS: u32 = 20_000;

impl Others {
    /// Compiles the loops, linked as the cell is, and looks for the tools.
    pub(super) fn compiled(ours: &mut Ours<'_>) -> anyhow::Result<Self> {
        let linked = ours.linked();
        let (cpu, other_cpu, cell) = (ours.cpu, ours.other_cpu, ours.memory()?);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let link = if linked == "static-pie" { "-static-pie" } else { "-pie" };
        compile("loops.c", &folder.path().join("loops"), &["-O2", "-Wall", "-Wextra", link])?;
        compile("tiny.S", &folder.path().join("tiny"), &["-nostdlib", "-static"])?;
        let lacking = TOOLS
            .into_iter()
            // A script may stand in perf's place, and say that there is none for this kernel.
            .filter(|(program, _)| {
                let asked = Command::new(program).arg("--version").output();
                !asked.is_ok_and(|output| output.status.success())
            })
            .map(|(program, package)| {
                (program, format!("{program} is not installed\n    (apt-get install {package})"))
            })
            .collect();
        Ok(Self { folder, cpu, other_cpu, cell, lacking })
    }

    /// What is to be done before a program can be a peer.
    pub(super) fn lacks(&self, program: &str) -> Option<&str> {
        self.lacking.get(program).map(String::as_str)
    }

    /// What the program of loops says to these words.
    fn asked(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut loops = Command::new(self.folder.path().join("loops"));
        loops.arg(self.cpu.to_string()).args(words).current_dir(self.folder.path());
        let output = loops.output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {}: {}", output.status, error.trim());
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What a process says of an act in C, timed by the plan that ours has.
    pub(super) fn loop_in_c(
        &self,
        act: &Act,
        plan: &BatchPlan,
        switches: bool,
    ) -> anyhow::Result<Option<f64>> {
        // It reads a clock that counts nanoseconds.
        let clock = Calibration {
            kind: ClockKind::Vdso,
            ticks_per_ns: 1.0,
            quantum_ticks: 1.0,
            inside_ticks: 0.0,
            pair_ticks: 0.0,
        };
        let samples = self.batches(act.in_c, plan.turns, u64::from(plan.groups), &plan.copies)?;
        Ok(estimate(&samples, plan, &clock, switches))
    }

    /// What somebody's own loop in C says: the mean of all that it has done.
    pub(super) fn plain_loop(
        &self,
        in_c: (&str, With),
        turns: u64,
        batches: u64,
    ) -> anyhow::Result<f64> {
        let samples = self.batches(in_c, turns, batches, &[1])?;
        let ns: f64 = samples.iter().map(|sample| sample.ticks as f64).sum();
        Ok(ns / samples.iter().map(|sample| sample.n as f64).sum::<f64>())
    }

    /// Batches of an act in C, in a fresh process.
    fn batches(
        &self,
        (name, with): (&str, With),
        turns: u64,
        groups: u64,
        copies: &[u32],
    ) -> anyhow::Result<Vec<Sample>> {
        let act = match with {
            With::Nothing => name.to_owned(),
            With::Bytes(bytes) => format!("{name}={bytes}"),
            With::SameCpu => format!("{name}={}", self.cpu),
            With::OtherCpu => {
                format!("{name}={}", self.other_cpu.context("there is no other CPU")?)
            }
            With::Memory => format!("{name}={},{}", self.cell.mappings, self.cell.pages),
            With::Program => {
                format!("{name}={},{},./tiny", self.cell.mappings, self.cell.pages)
            }
            With::Folder => format!("{name}=."),
        };
        let mut words = vec![act, turns.to_string(), groups.to_string()];
        words.extend(copies.iter().map(u32::to_string));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let samples: Option<Vec<Sample>> =
            self.asked(&words)?.lines().map(|line| sample(line, turns)).collect();
        samples.context("the loop in C spoke nonsense")
    }

    /// What a tool says of its act, in nanoseconds an op.
    pub(super) fn tool(&self, tool: &Tool) -> anyhow::Result<f64> {
        let (calls, trips) = (PERF_CALLS.to_string(), PERF_TRIPS.to_string());
        match tool {
            Tool::PerfSyscall => {
                let words = ["--", "perf", "bench", "syscall", "basic", "-l", &calls];
                us_per_op(&self.asked(&words)?)
            }
            Tool::PerfPipe => {
                let words = ["--", "perf", "bench", "sched", "pipe", "-l", &trips];
                us_per_op(&self.asked(&words)?)
            }
            Tool::PerfMemcpy(size) => {
                let words = [
                    "--", "perf", "bench", "mem", "memcpy", "-f", "default", "-l", "20", "-s", size,
                ];
                memcpy_ns(&self.asked(&words)?, size)
            }
            Tool::StressNg(stressor) => {
                let stressor = format!("--{stressor}");
                let words =
                    ["--", "stress-ng", &stressor, "1", "--timeout", "1", "--metrics", "--stdout"];
                ns_per_bogus_op(&self.asked(&words)?)
            }
            Tool::Sysbench => {
                let words = ["--", "sysbench", "memory", "--memory-block-size=64K"];
                let words = [&words[..], &["--memory-oper=read", "--time=1", "run"]].concat();
                let said = self.asked(&words)?;
                let ops = between(&said, "Total operations:", "(", " per second");
                Ok(1e9 / ops.with_context(|| format!("no operations in {said}"))?)
            }
            Tool::Fio => {
                let words = [
                    "--",
                    "fio",
                    "--name=peer",
                    "--filename=fio.data",
                    "--size=8m",
                    "--rw=read",
                    "--bs=64k",
                    "--ioengine=psync",
                    "--invalidate=0",
                    "--loops=20",
                    "--output-format=json",
                ];
                median_latency_ns(&self.asked(&words)?)
            }
        }
    }
}

/// The figure of `perf bench syscall` and `perf bench sched`.
fn us_per_op(said: &str) -> anyhow::Result<f64> {
    let us = said.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
    let us: f64 = us.with_context(|| format!("no usecs/op in {said}"))?.trim().parse()?;
    Ok(us * 1e3)
}

/// The number between two marks of the line that begins with a word.
fn between(said: &str, begins: &str, open: &str, close: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.trim_start().starts_with(begins))?;
    line.split_once(open)?.1.split_once(close)?.0.parse().ok()
}

/// The figure of `stress-ng --metrics`: the fifth column of its line is bogus ops a second of real
/// time.
fn ns_per_bogus_op(said: &str) -> anyhow::Result<f64> {
    let rates = said.lines().filter_map(|line| line.split_once("] ")?.1.split_whitespace().nth(5));
    let mut rates = rates.filter_map(|rate| rate.parse::<f64>().ok());
    Ok(1e9 / rates.find(|&rate| rate > 0.0).with_context(|| format!("no rate in {said}"))?)
}

/// The figure of `perf bench mem`: so many GB/sec, which are 2^30 bytes to it.
fn memcpy_ns(said: &str, size: &str) -> anyhow::Result<f64> {
    let bytes = match size {
        "1MB" => 1_048_576.0,
        _ => anyhow::bail!("a size of {size} is not read yet"),
    };
    let rate = said.lines().find_map(|line| line.trim().strip_suffix("GB/sec"));
    let rate: f64 = rate.with_context(|| format!("no GB/sec in {said}"))?.trim().parse()?;
    Ok(bytes / (rate * 1_073_741_824.0) * 1e9)
}

/// The median that fio gives for the time of a call.
fn median_latency_ns(said: &str) -> anyhow::Result<f64> {
    let said: serde_json::Value = serde_json::from_str(said)?;
    let median = &said["jobs"][0]["read"]["clat_ns"]["percentile"]["50.000000"];
    median.as_f64().context("no clat_ns percentile in what fio says")
}

/// A batch of a loop in C: group, copies, nanoseconds, switches.
fn sample(line: &str, turns: u64) -> Option<Sample> {
    let mut words = line.split(' ');
    let round = words.next()?.parse().ok()?;
    let copies: u64 = words.next()?.parse().ok()?;
    let ticks = words.next()?.parse().ok()?;
    let involuntary_switches = words.next()?.parse().ok()?;
    Some(Sample { round, n: turns * copies, ticks, involuntary_switches, ..Sample::default() })
}

/// Compiles one file beside this one.
fn compile(source: &str, program: &Path, flags: &[&str]) -> anyhow::Result<()> {
    let source: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(source);
    let status = Command::new("cc").args(flags).arg("-o").arg(program).arg(&source).status();
    let status = status.context("cannot start `cc`")?;
    ensure!(status.success(), "cannot compile {} ({flags:?}): {status}", source.display());
    fs::metadata(program).map(|_| ()).context("cc has made nothing")
}
