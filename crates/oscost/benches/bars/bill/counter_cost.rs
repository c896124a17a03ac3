//! What the counter in the kernel adds to a call of the counted run.
//!
//! A bill runs its program in turns, untouched and counted: the difference of both real times over the
//! number of calls. Bars: 300 ns a call, and 600 ns where the counter reads a path.

use anyhow::{Context, ensure};
use oscost_stats::order;

use super::programs::BilledProgram;
use super::tool::Tool;

/// Bills, of whose differences the median is taken: each has three counted runs.
const BILLS: usize = 5;
/// A program of a million calls, and its bar in nanoseconds a call.
struct Cost {
    what: &'static str,
    script: &'static str,
    bar_ns: f64,
}

const COSTS: [Cost; 2] = [
    Cost {
        what: "the counter, a call of getppid",
        script: "import os\nfor _ in range(1000000): os.getppid()",
        bar_ns: 300.0,
    },
    Cost {
        what: "the counter, a call with a path",
        script: "import os\nfor _ in range(1000000): os.access('/usr/bin', 0)",
        bar_ns: 600.0,
    },
];

/// Measures what is added; whether no bar has failed.
pub(super) fn holds(tool: &Tool) -> anyhow::Result<bool> {
    tool.measure_one_price()?;
    let mut holds = true;
    for Cost { what, script, bar_ns } in COSTS {
        match added_ns(tool, script) {
            Ok(added_ns) => {
                let held = added_ns <= bar_ns;
                let verdict = if held { "holds" } else { "FAILS" };
                println!("{what:<44} {added_ns:>9.0} ns   bar {bar_ns:>5.0}  {verdict}");
                holds &= held;
            }
            Err(why) => println!("{what}: skipped: {why:#}"),
        }
    }
    Ok(holds)
}

/// What is added to a call, the median of some bills.
fn added_ns(tool: &Tool, script: &str) -> anyhow::Result<f64> {
    let program = BilledProgram::command("command", &["python3", "-I", "-c", script]);
    let options = ["--counter", "ebpf", "--trials", "12", "--price-seconds", "0"];
    let mut all = Vec::with_capacity(BILLS);
    for _ in 0..BILLS {
        let bill = tool.bill(&options, &program)?;
        let counted = bill.counted.context("nothing was counted")?;
        let calls = counted.calls.calls();
        ensure!(calls >= 1_000_000, "only {calls} calls were counted");
        let untouched_ns = 1e9 * bill.trials.real.median;
        all.push((counted.calls.real_ns as f64 - untouched_ns) / calls as f64);
    }
    order::median(&order::sorted(&all)).context("no bill was made")
}
