//! The memory of the tool with large programs, and the wall time of the smallest one.
//!
//! Bars: no process of the tool has more than 100 MiB at any time, with a tree of 10,000 processes, ten
//! million calls, or 500 threads; `oscost bill -- true` takes under 3 s where no price is lacking.

use std::fs::{self, File};
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use oscost_model::bill::Bill;
use oscost_stats::order;

use super::programs::BilledProgram;
use super::tool::Tool;

/// The peak resident set of a process, in MiB.
const MAX_MIB: f64 = 100.0;
/// The wall time of the smallest bill, in seconds.
const MAX_SECONDS: f64 = 3.0;
/// Timed bills, of which the median is taken.
const BILLS: usize = 5;
/// Bills that may measure prices before those: each keeps what it has measured.
const MAX_PRICING_BILLS: usize = 4;
/// How often the peak is read: what a process adds in its last moments is missed.
const LOOK: Duration = Duration::from_millis(2);

/// A large program: what it is called here, and its words.
struct LargeProgram {
    what: &'static str,
    words: [&'static str; 3],
}

const LARGE: [LargeProgram; 3] = [
    LargeProgram {
        what: "a tree of 10,000 processes",
        words: ["sh", "-c", "i=0; while [ $i -lt 10000 ]; do (exit 0); i=$((i+1)); done"],
    },
    LargeProgram {
        what: "ten million calls",
        words: ["python3", "-c", "import os\nfor _ in range(10000000): os.getppid()"],
    },
    LargeProgram {
        what: "500 threads at once",
        words: [
            "python3",
            "-c",
            "import threading\n\
             met = threading.Barrier(500)\n\
             threads = [threading.Thread(target=met.wait) for _ in range(500)]\n\
             for thread in threads: thread.start()\n\
             for thread in threads: thread.join()",
        ],
    },
];

/// Measures all of them; whether no bar has failed.
pub(super) fn holds(tool: &Tool) -> anyhow::Result<bool> {
    tool.measure_price_list()?;
    let seconds = smallest_bill_s(tool)?;
    let mut holds = print("oscost bill -- true, median of 5", seconds, MAX_SECONDS, "s");
    for LargeProgram { what, words } in LARGE {
        match peak_mib(tool, &BilledProgram::command("command", &words)) {
            Ok(peak) => {
                let what = format!("peak memory, {what} by {}", peak.counter);
                holds &= print(&what, peak.mib, MAX_MIB, "MiB");
            }
            Err(why) => println!("peak memory, {what}: skipped: {why:#}"),
        }
    }
    Ok(holds)
}

/// Prints a figure with its bar; whether it is within.
fn print(what: &str, found: f64, limit: f64, unit: &str) -> bool {
    let held = found <= limit;
    let verdict = if held { "holds" } else { "FAILS" };
    println!("{what:<44} {found:>9.2} {unit:<4} bar {limit:>7.2}  {verdict}");
    held
}

/// How long a bill has measured prices and pairs of rows, in seconds; `None` if it has measured none.
fn pricing_s(bill: &Bill) -> Option<f64> {
    let prices = &bill.prices;
    let of_pairs: f64 = prices.pairs.iter().map(|it| it.seconds).sum();
    let of_prices = prices.measured.as_ref().map(|it| it.seconds);
    of_prices.or((!prices.pairs.is_empty()).then_some(0.0)).map(|seconds| seconds + of_pairs)
}

/// The wall time of `oscost bill -- true`, in seconds, after as many bills as measure prices.
fn smallest_bill_s(tool: &Tool) -> anyhow::Result<f64> {
    let program = BilledProgram::command("command", &["true"]);
    for _ in 0..MAX_PRICING_BILLS {
        let (seconds, bill) = timed(tool, &program)?;
        let Some(of_prices) = pricing_s(&bill) else { break };
        let measured = bill.prices.measured.iter().flat_map(|it| &it.cases);
        let pairs = bill.prices.pairs.iter().flat_map(|it| &it.cases);
        let cases: Vec<&str> = measured.chain(pairs).map(String::as_str).collect();
        println!(
            "a bill that lacks prices takes {seconds:.2} s, {of_prices:.2} s of it for {}",
            cases.join(" ")
        );
    }
    let mut times = Vec::with_capacity(BILLS);
    for _ in 0..BILLS {
        let (seconds, bill) = timed(tool, &program)?;
        if let Some(of_prices) = pricing_s(&bill) {
            // It counts, and says why it takes longer.
            println!("prices are measured again for {of_prices:.2} s of {seconds:.2} s");
        }
        times.push(seconds);
    }
    order::median(&order::sorted(&times)).context("no bill was made")
}

fn timed(tool: &Tool, program: &BilledProgram) -> anyhow::Result<(f64, Bill)> {
    let begun = Instant::now();
    let bill = tool.bill(&[], program)?;
    Ok((begun.elapsed().as_secs_f64(), bill))
}

/// The peak of the tool's processes while it bills a program.
struct Peak {
    mib: f64,
    /// What counted.
    counter: String,
}

fn peak_mib(tool: &Tool, program: &BilledProgram) -> anyhow::Result<Peak> {
    let [record, errors] = ["bill.json", "errors.txt"].map(|name| tool.folder().join(name));
    let record_path = record.to_str().context("the temporary folder has no name in UTF-8")?;
    let options = ["bill", "--no-store", "--quiet", "--trials", "6", "--price-seconds", "0"];
    let of_program = program.arguments();
    let words = [&options[..], &["--json", record_path], &of_program[..]].concat();
    let mut command = tool.command(&words);
    command.stdout(Stdio::null()).stderr(File::create(&errors)?);
    let mut child = command.spawn().context("cannot start oscost")?;
    let Watched { status, peak_kib } = watch(&mut child)?;
    if !status.success() {
        bail!("{status}: {}", fs::read_to_string(&errors)?.trim());
    }
    let bill: Bill = serde_json::from_slice(&fs::read(&record)?).context("cannot read its bill")?;
    let counted = bill.counted.context("nothing was counted")?;
    Ok(Peak { mib: peak_kib as f64 / 1_024.0, counter: counted.counter })
}

/// How the tool ended, and the largest peak of its processes.
struct Watched {
    status: ExitStatus,
    peak_kib: u64,
}

fn watch(child: &mut Child) -> std::io::Result<Watched> {
    let mut peak_kib = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Watched { status, peak_kib });
        }
        peak_kib = peak_kib.max(peak_of_tool_kib(child.id()));
        sleep(LOOK);
    }
}

/// The largest peak of a process and its descendants, as long as they execute the tool or its worker:
/// what the billed program has is its own.
fn peak_of_tool_kib(pid: u32) -> u64 {
    let is_of_tool = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| {
        exe.file_name().is_some_and(|name| name.to_string_lossy().contains("oscost"))
    });
    if !is_of_tool {
        return 0;
    }
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let of_children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    own_peak_kib(pid).max(of_children.map(peak_of_tool_kib).max().unwrap_or(0))
}

fn own_peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
