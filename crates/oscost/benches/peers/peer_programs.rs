//! The peers: loops in C, and the tools that are installed.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::worker::{BatchPlan, Mode, Sample};
use tempfile::TempDir;

use super::acts::{Act, CALLS, LOOPS};
use super::tools::{Argument, PeerCpu, Place, Tool};
use super::worker_session::{Memory, WorkerSession, estimate};

/// The peers, on the same CPU.
pub(super) struct PeerPrograms {
    folder: TempDir,
    /// A folder among the temporary files, and one on the tmpfs, if there is one.
    temporary: TempDir,
    in_memory: Option<TempDir>,
    cpu: u32,
    other_cpu: Option<u32>,
    /// The memory to which loops that fork grow.
    grown: Memory,
    /// The tools that are not installed, and how to install them.
    missing: BTreeMap<&'static str, String>,
}

/// Programs, and the packages that have them.
const PACKAGES: [(&str, &str); 7] = [
    ("perf", "linux-perf"),
    ("fio", "fio"),
    ("stress-ng", "stress-ng"),
    ("sysbench", "sysbench"),
    ("iperf3", "iperf3"),
    ("sockperf", "sockperf"),
    ("qperf", "qperf"),
];

/// Half a millisecond: long against the microsecond in which perf counts, and most such batches
/// fall between two interruptions.
const PERF_CALLS: u32 = 4_000;
/// Enough round trips that the start of two processes is a small part.
const PERF_TRIPS: u32 = 20_000;

impl PeerPrograms {
    /// Compiles the loops, linked as the worker is, and looks for the tools.
    pub(super) fn compiled(worker: &mut WorkerSession<'_>) -> anyhow::Result<Self> {
        let link = if worker.linked() == "static-pie" { "-static-pie" } else { "-pie" };
        let memory = worker.memory()?;
        Self::linked(worker, link, memory)
    }

    /// The same, linked by this option, with loops that grow to this memory before they fork.
    pub(super) fn linked(
        worker: &WorkerSession<'_>,
        link: &str,
        grown: Memory,
    ) -> anyhow::Result<Self> {
        let (cpu, other_cpu) = (worker.cpu, worker.other_cpu);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        for program in [LOOPS, CALLS] {
            let source = format!("{program}.c");
            let flags = ["-O2", "-Wall", "-Wextra", link];
            compile(&source, &folder.path().join(program), &flags)?;
        }
        compile("tiny.S", &folder.path().join("tiny"), &["-nostdlib", "-static"])?;
        let missing = PACKAGES
            .into_iter()
            // Distributions install a script as `perf` that fails if none fits the kernel.
            .filter(|(program, _)| {
                let version = Command::new(program).arg("--version").output();
                !version.is_ok_and(|output| output.status.success())
            })
            .map(|(program, package)| {
                (program, format!("{program} is not installed\n    (apt-get install {package})"))
            })
            .collect();
        let (temporary, in_memory) = (tempfile::tempdir()?, tempfile::tempdir_in("/dev/shm").ok());
        Ok(Self { folder, temporary, in_memory, cpu, other_cpu, grown, missing })
    }

    /// The memory of a process of the loops that has not grown.
    pub(super) fn memory(&self) -> anyhow::Result<Memory> {
        let said = self.run_loops(&["memory"])?;
        let numbers: Option<Vec<usize>> =
            said.split_whitespace().map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[mappings, pages, page_table_kib]) => {
                Ok(Memory { mappings, pages, page_table_kib })
            }
            _ => anyhow::bail!("the loops said {said:?} of their memory"),
        }
    }

    /// Why a program cannot be a peer, and how to install it.
    pub(super) fn missing_reason(&self, program: &str) -> Option<&str> {
        self.missing.get(program).map(String::as_str)
    }

    /// The output of the program of loops with these arguments.
    fn run_loops(&self, words: &[&str]) -> anyhow::Result<String> {
        self.run(LOOPS, words)
    }

    /// The output of a program in C with these arguments.
    fn run(&self, program: &str, words: &[&str]) -> anyhow::Result<String> {
        let mut loops = Command::new(self.folder.path().join(program));
        loops.arg(self.cpu.to_string()).args(words).current_dir(self.folder.path());
        let output = loops.output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {}: {}", output.status, error.trim());
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A command on the CPU of one end, in the folder of the programs in C.
    pub(super) fn pinned(&self, end: PeerCpu, words: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(self.folder.path().join(LOOPS));
        command.arg(self.peer_cpu(end)?.to_string()).arg("--").args(words);
        command.current_dir(self.folder.path());
        Ok(command)
    }

    /// The figure of a process of an op in C, timed by the plan that the worker has.
    pub(super) fn c_loop_value(
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
        let mut samples = self.batches(
            act.program,
            act.c_loop,
            plan.iterations,
            u64::from(plan.groups),
            &plan.unroll_factors,
        )?;
        if let (Argument::Messages(bytes, ..), Mode::T) = (act.c_loop.1, plan.mode) {
            // Both sides count bytes.
            samples.iter_mut().for_each(|sample| sample.n *= bytes);
        }
        Ok(estimate(&samples, plan, &clock, switches))
    }

    /// The figure of a plain loop in C: the mean over all of its ops.
    pub(super) fn c_loop_mean(
        &self,
        c_loop: (&str, Argument),
        iterations: u64,
        batches: u64,
    ) -> anyhow::Result<f64> {
        let samples = self.batches(LOOPS, c_loop, iterations, batches, &[1])?;
        let ns: f64 = samples.iter().map(|sample| sample.ticks as f64).sum();
        Ok(ns / samples.iter().map(|sample| sample.n as f64).sum::<f64>())
    }

    /// The name of an op in C with its argument.
    fn act_word(&self, (name, with): (&str, Argument)) -> anyhow::Result<String> {
        Ok(match with {
            Argument::Nothing => name.to_owned(),
            Argument::Bytes(number) | Argument::Number(number) => format!("{name}={number}"),
            Argument::SameCpu => format!("{name}={}", self.cpu),
            Argument::OtherCpu => format!("{name}={}", self.peer_cpu(PeerCpu::Other)?),
            Argument::Messages(bytes, peer, capacity) => {
                let capacity = capacity.map_or(String::new(), |bytes| format!(",{bytes}"));
                format!("{name}={bytes},{}{capacity}", self.peer_cpu(peer)?)
            }
            Argument::Memory => format!("{name}={},{}", self.grown.mappings, self.grown.pages),
            Argument::Program => {
                format!("{name}={},{},./tiny", self.grown.mappings, self.grown.pages)
            }
            Argument::Folder => format!("{name}=."),
            Argument::Word(word) => format!("{name}={word}"),
            Argument::At(place, word) => format!("{name}={},{word}", self.folder_at(place)?),
        })
    }

    /// The folder at a place; the programs run in the first one.
    fn folder_at(&self, place: Place) -> anyhow::Result<String> {
        let folder = match place {
            Place::Working => return Ok(".".to_owned()),
            Place::Temporary => &self.temporary,
            Place::Tmpfs => self.in_memory.as_ref().context("there is no tmpfs at /dev/shm")?,
        };
        Ok(folder.path().display().to_string())
    }

    /// The counts of `perf stat` over a process of an act in C, in the order of the events.
    pub(super) fn perf_stat(
        &self,
        c_loop: (&str, Argument),
        iterations: u64,
        batches: u64,
        events: &[&str],
    ) -> anyhow::Result<Vec<f64>> {
        let act = self.act_word(c_loop)?;
        let (iterations, batches) = (iterations.to_string(), batches.to_string());
        let report = self.folder.path().join("perf-stat");
        let program = self.folder.path().join("loops");
        let cpu = self.cpu.to_string();
        let status = Command::new("perf")
            .args(["stat", "-x", ";", "-e", &events.join(","), "-o"])
            .arg(&report)
            .arg("--")
            .arg(program)
            .args([&cpu, &act, &iterations, &batches, "1"])
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "perf stat of {act}: {status}");
        let report = fs::read_to_string(report)?;
        let count = |event: &&str| {
            let line = report.lines().find(|line| line.split(';').nth(2) == Some(event));
            let line = line.with_context(|| format!("no {event} in {report}"))?;
            let count = line.split(';').next().unwrap_or_default();
            count.parse().with_context(|| format!("perf stat: {line}"))
        };
        events.iter().map(count).collect()
    }

    /// Batches of an act in C, in a fresh process.
    fn batches(
        &self,
        program: &str,
        c_loop: (&str, Argument),
        iterations: u64,
        groups: u64,
        unroll_factors: &[u32],
    ) -> anyhow::Result<Vec<Sample>> {
        let act = self.act_word(c_loop)?;
        let mut words = vec![act, iterations.to_string(), groups.to_string()];
        words.extend(unroll_factors.iter().map(u32::to_string));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let samples: Option<Vec<Sample>> =
            self.run(program, &words)?.lines().map(|line| sample(line, iterations)).collect();
        samples.context("cannot read the output of the loop in C")
    }

    /// The CPU of the other end.
    fn peer_cpu(&self, peer: PeerCpu) -> anyhow::Result<u32> {
        match peer {
            PeerCpu::Same => Ok(self.cpu),
            PeerCpu::Other => self.other_cpu.context("there is no other CPU"),
        }
    }

    /// The figure of a tool, in nanoseconds per op; if it moves bytes, in nanoseconds per byte.
    pub(super) fn tool(&self, tool: &Tool) -> anyhow::Result<f64> {
        let (calls, trips) = (PERF_CALLS.to_string(), PERF_TRIPS.to_string());
        match tool {
            Tool::PerfSyscall => {
                let words = ["--", "perf", "bench", "syscall", "basic", "-l", &calls];
                us_per_op(&self.run_loops(&words)?)
            }
            Tool::PerfPipe => {
                let words = ["--", "perf", "bench", "sched", "pipe", "-l", &trips];
                us_per_op(&self.run_loops(&words)?)
            }
            Tool::PerfEpoll(fds) => {
                let words = ["--", "perf", "bench", "epoll", "wait", "-n", "-E", "-t", "1"];
                let output = self.run_loops(&[&words[..], &["-r", "1", "-f", fds]].concat())?;
                let ops = between(&output, "Averaged", "Averaged ", " operations/sec");
                Ok(1e9 / ops.with_context(|| format!("no operations in {output}"))?)
            }
            Tool::PerfMemcpy(size) => {
                let words = [
                    "--", "perf", "bench", "mem", "memcpy", "-f", "default", "-l", "20", "-s", size,
                ];
                memcpy_ns(&self.run_loops(&words)?, size)
            }
            Tool::StressNg(stressor) => {
                let stressor = format!("--{stressor}");
                let words =
                    ["--", "stress-ng", &stressor, "1", "--timeout", "1", "--metrics", "--stdout"];
                ns_per_bogus_op(&self.run_loops(&words)?)
            }
            Tool::StressPipe(bytes, capacity) => {
                let size = bytes.to_string();
                let mut words = vec!["--", "stress-ng", "--pipe", "1", "--pipe-data-size", &size];
                words.extend(capacity.iter().flat_map(|bytes| ["--pipe-size", bytes]));
                words.extend(["--timeout", "1", "--metrics", "--stdout"]);
                Ok(ns_per_bogus_op(&self.run_loops(&words)?)? / *bytes as f64)
            }
            Tool::Sockperf(words) => {
                let (ip, port) = ("127.0.0.1", &free_port()?);
                let target = [&["-i", ip, "-p", port][..], words].concat();
                let _server =
                    self.server(PeerCpu::Same, "sockperf", &[&["sr"], &target[..]].concat())?;
                let words = ["-m", "64", "-t", "1", "--full-rtt"];
                let client = [&["--", "sockperf", "pp"], &target[..], &words].concat();
                let output = self.run_loops(&client)?;
                let median = output.lines().find_map(|line| line.split_once("percentile 50.000 ="));
                let us: f64 =
                    median.context("no median in the output of sockperf")?.1.trim().parse()?;
                Ok(us * 1e3)
            }
            Tool::QperfTrip(test) => Ok(2.0 * self.qperf(PeerCpu::Same, "64", test)?),
            Tool::QperfStream(peer) => self.qperf(*peer, "64K", "tcp_bw"),
            Tool::Iperf3(peer, words) => {
                let port = free_port()?;
                let _server = self.server(*peer, "iperf3", &["-s", "-1", "-p", &port])?;
                let client = ["--", "iperf3", "-c", "127.0.0.1", "-p", &port, "-l", "64K"];
                let output = self.run_loops(&[&client, &["-t", "1", "-J"][..], words].concat())?;
                let output: serde_json::Value = serde_json::from_str(&output)?;
                let rate = output["end"]["sum_received"]["bits_per_second"].as_f64();
                Ok(8e9 / rate.context("no bits_per_second in the output of iperf3")?)
            }
            Tool::Sysbench => {
                let words = ["--", "sysbench", "memory", "--memory-block-size=64K"];
                let words = [&words[..], &["--memory-oper=read", "--time=1", "run"]].concat();
                let output = self.run_loops(&words)?;
                let ops = between(&output, "Total operations:", "(", " per second");
                Ok(1e9 / ops.with_context(|| format!("no operations in {output}"))?)
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
                median_latency_ns(&self.run_loops(&words)?)
            }
        }
    }
}

impl PeerPrograms {
    /// Starts a tool's server; dropping the value ends it.
    pub(super) fn server(
        &self,
        peer: PeerCpu,
        program: &str,
        words: &[&str],
    ) -> anyhow::Result<Server> {
        let mut server = self.pinned(peer, &[&[program][..], words].concat())?;
        let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        // None of them reports that it listens.
        thread::sleep(Duration::from_millis(300));
        Ok(Server(server))
    }

    /// A figure of qperf: nanoseconds, or nanoseconds per byte.
    fn qperf(&self, peer: PeerCpu, bytes: &str, test: &str) -> anyhow::Result<f64> {
        let port = free_port()?;
        let _server = self.server(peer, "qperf", &["-lp", &port])?;
        let words = ["--", "qperf", "127.0.0.1", "-lp", &port, "-t", "1", "-m", bytes, test];
        let output = self.run_loops(&words)?;
        let mut words = output.split_whitespace().skip_while(|&word| word != "=").skip(1);
        let figure: f64 = words.next().context("no figure in the output of qperf")?.parse()?;
        Ok(match words.next() {
            Some("ns") => figure,
            Some("us") => figure * 1e3,
            Some("ms") => figure * 1e6,
            Some("MB/sec") => 1e3 / figure,
            Some("GB/sec") => 1.0 / figure,
            other => anyhow::bail!("unknown unit of qperf: {other:?}"),
        })
    }
}

/// A server that ends with the value.
pub(super) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A TCP port without a listener.
pub(super) fn free_port() -> anyhow::Result<String> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port().to_string())
}

/// The figure of `perf bench syscall` and `perf bench sched`.
fn us_per_op(output: &str) -> anyhow::Result<f64> {
    let us = output.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
    let us: f64 = us.with_context(|| format!("no usecs/op in {output}"))?.trim().parse()?;
    Ok(us * 1e3)
}

/// The number between two marks of the line that begins with a word.
fn between(output: &str, begins: &str, open: &str, close: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.trim_start().starts_with(begins))?;
    line.split_once(open)?.1.split_once(close)?.0.parse().ok()
}

/// The figure of `stress-ng --metrics`: the fifth column of its line is bogus ops a second of real
/// time.
fn ns_per_bogus_op(output: &str) -> anyhow::Result<f64> {
    let rates =
        output.lines().filter_map(|line| line.split_once("] ")?.1.split_whitespace().nth(5));
    let mut rates = rates.filter_map(|rate| rate.parse::<f64>().ok());
    Ok(1e9 / rates.find(|&rate| rate > 0.0).with_context(|| format!("no rate in {output}"))?)
}

/// The figure of `perf bench mem`: GB/sec, where a GB is 2^30 bytes.
fn memcpy_ns(output: &str, size: &str) -> anyhow::Result<f64> {
    let bytes = match size {
        "1MB" => 1_048_576.0,
        _ => anyhow::bail!("the size {size} is not known here"),
    };
    let rate = output.lines().find_map(|line| line.trim().strip_suffix("GB/sec"));
    let rate: f64 = rate.with_context(|| format!("no GB/sec in {output}"))?.trim().parse()?;
    Ok(bytes / (rate * 1_073_741_824.0) * 1e9)
}

/// The median latency of a call that fio reports.
fn median_latency_ns(output: &str) -> anyhow::Result<f64> {
    let output: serde_json::Value = serde_json::from_str(output)?;
    let median = &output["jobs"][0]["read"]["clat_ns"]["percentile"]["50.000000"];
    median.as_f64().context("no clat_ns percentile in the output of fio")
}

/// A batch of a loop in C: group, unroll factor, nanoseconds, involuntary switches.
fn sample(line: &str, iterations: u64) -> Option<Sample> {
    let mut words = line.split(' ');
    let round = words.next()?.parse().ok()?;
    let unroll_factors: u64 = words.next()?.parse().ok()?;
    let ticks = words.next()?.parse().ok()?;
    let involuntary_switches = words.next()?.parse().ok()?;
    Some(Sample {
        round,
        n: iterations * unroll_factors,
        ticks,
        involuntary_switches,
        ..Sample::default()
    })
}

/// Compiles a file of this folder.
fn compile(source: &str, program: &Path, flags: &[&str]) -> anyhow::Result<()> {
    let source: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(source);
    let status = Command::new("cc").args(flags).arg("-o").arg(program).arg(&source).status();
    let status = status.context("cannot start `cc`")?;
    ensure!(status.success(), "cannot compile {} ({flags:?}): {status}", source.display());
    fs::metadata(program).map(|_| ()).context("cc wrote no program")
}
