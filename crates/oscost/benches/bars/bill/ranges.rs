//! Does the range of a bill, from warm to cool caches, hold the system time of its program?
//!
//! Bars: ten of twelve ranges hold the measured system time, the high end of each is at most 2.2 times
//! the low one, and the middle of eight is within 25 % of the measured time. Where the processor's
//! counters show the kernel, eight are charged within 10 % of their instructions there, and all within
//! 20 % but those that mostly create and delete files. What a walk through memory and a function around
//! each call add to the largest items is measured first, as each bill says.

use oscost_model::bill::{Bill, BillItem, InstructionItem, PriceSources};
use oscost_model::cool::{LAST_LEVEL_WALK_BYTES, treatment_text};
use oscost_model::raw_call::RawCall;

use super::programs::BilledProgram;
use super::tally::{ALL, Tally};
use super::tool::Tool;

/// So many ranges hold the measured time.
const MIN_CONTAINED: usize = 10;
/// The high end of a range over its low one.
const MAX_WIDTH: f64 = 2.2;
/// The middle of a range is so near the measured time ...
const MAX_DEVIATION: f64 = 0.25;
/// ... for so many programs.
const MIN_NEAR: usize = 8;
/// Calls without a price that took at most this share of the measured time judge no range.
const MAX_UNPRICED: f64 = 0.05;
/// What is charged in instructions is so near what was executed ...
const MAX_INSTRUCTION_DEVIATION: f64 = 0.1;
/// ... by so many programs.
const MIN_INSTRUCTIONS_NEAR: usize = 8;
/// ... and so near by all others ...
const MAX_INSTRUCTION_DEVIATION_OF_ALL: f64 = 0.2;
/// ... but those that spend more than so much of them on these calls: how many one executes depends on
/// what was deleted nearby lately.
const MAX_CREATE_SHARE: f64 = 0.1;
const CREATE_CALLS: [&str; 11] = [
    "openat create",
    "open create",
    "creat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "rename",
    "renameat",
    "renameat2",
];
/// The items that are named where a range does not hold the measured time.
const NAMED_ITEMS: usize = 6;

/// A bill's charged range, beside what was measured.
struct Range {
    low_ns: f64,
    high_ns: f64,
    measured_ns: f64,
    /// What calls without a price took in the kernel, as counted: it is in neither end.
    unpriced_ns: f64,
}

impl Range {
    /// `None` if nothing was charged, or no system time was measured. Without cool prices both ends are
    /// the same.
    fn of(bill: &Bill) -> Option<Self> {
        let warm_ns = bill.charged.as_ref()?.ns;
        let cool_ns = bill.charged_cool.as_ref().map_or(warm_ns, |cool| cool.ns);
        let measured_ns = bill.trials.system_time.ns;
        let unpriced = bill.items.iter().filter(|item| item.amount.is_none());
        let unpriced_ns: u64 = unpriced.filter_map(|it| Some(it.in_kernel?.on_cpu_ns)).sum();
        let range = Self {
            low_ns: warm_ns.min(cool_ns),
            high_ns: warm_ns.max(cool_ns),
            measured_ns,
            unpriced_ns: unpriced_ns as f64,
        };
        (measured_ns > 0.0 && range.low_ns > 0.0).then_some(range)
    }

    /// Whether it holds the measured time, also without what calls without a price took, if that is much.
    fn holds_measured(&self) -> bool {
        let is_much = self.unpriced_ns > MAX_UNPRICED * self.measured_ns;
        let left_out_ns = if is_much { self.unpriced_ns } else { 0.0 };
        let range = self.low_ns..=self.high_ns;
        range.contains(&self.measured_ns) && range.contains(&(self.measured_ns - left_out_ns))
    }

    fn width(&self) -> f64 {
        self.high_ns / self.low_ns
    }

    /// How far the middle is from the measured time, as a fraction of it.
    fn deviation(&self) -> f64 {
        (self.low_ns + self.high_ns) / 2.0 / self.measured_ns - 1.0
    }
}

/// Bills these programs; whether no bar has failed.
pub(super) fn holds(tool: &Tool, programs: &[BilledProgram]) -> anyhow::Result<bool> {
    tool.measure_price_list()?;
    println!(
        "| program | charged, ms | system time, ms | within | width | middle | instructions |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let [mut contained, mut narrow, mut near] = [Tally::default(); 3];
    let [mut instructions, mut all_instructions] = [Tally::default(); 2];
    let mut no_instructions = None;
    let mut skipped = Vec::new();
    for program in programs {
        let bill = match billed_with_pairs(tool, program) {
            Ok(bill) => bill,
            Err(why) => {
                skipped.push(format!("{}: skipped: {why:#}", program.name));
                continue;
            }
        };
        // A system time that is known to be too low judges no range.
        let doubt = bill.trials.doubt.as_deref();
        let Some(range) = Range::of(&bill).filter(|_| doubt.is_none()) else {
            let why = bill.not_counted.as_deref().or(doubt);
            let why = why.unwrap_or("no system time was measured");
            skipped.push(format!("{}: skipped: {why}", program.name));
            continue;
        };
        println!("{}", row(program, &bill, &range));
        contained.add(range.holds_measured());
        narrow.add(range.width() <= MAX_WIDTH);
        near.add(range.deviation().abs() <= MAX_DEVIATION);
        match charged_instructions(&bill) {
            Some(ratio) => {
                let deviation = (ratio - 1.0).abs();
                instructions.add(deviation <= MAX_INSTRUCTION_DEVIATION);
                let is_near = deviation <= MAX_INSTRUCTION_DEVIATION_OF_ALL;
                all_instructions.add(is_near || is_create_heavy(&bill));
            }
            None => no_instructions = bill.no_instructions.clone(),
        }
        if !range.holds_measured() || range.deviation().abs() > MAX_DEVIATION {
            // At once: whoever stops this before its end knows why, too.
            eprintln!("{}", miss(program, &bill));
        }
    }
    println!();
    skipped.iter().for_each(|line| println!("{line}"));
    println!();
    let mut holds = contained.print("ranges that hold the system time", MIN_CONTAINED);
    holds &= narrow.print("ranges whose ends differ by at most 2.2 times", ALL);
    holds &= near.print("middles within 25 % of the system time", MIN_NEAR);
    match no_instructions {
        Some(why) => println!("instructions within 10 %: skipped: {why}"),
        None => {
            holds &= instructions.print("instructions within 10 %", MIN_INSTRUCTIONS_NEAR);
            holds &= all_instructions.print("instructions within 20 %, or create-heavy", ALL);
        }
    }
    Ok(holds)
}

/// The bill of a program whose largest items have measured cool prices, and those of calls through a
/// function, where they can be measured: the first bill measures most of them, by few pairs.
fn billed_with_pairs(tool: &Tool, program: &BilledProgram) -> anyhow::Result<Bill> {
    tool.prepare(program)?;
    let first = tool.bill(&[], program)?;
    let PriceSources { uncooled, rare_uncooled, inlined, .. } = &first.prices;
    let usual = first.walk_bytes.filter(|_| !uncooled.is_empty());
    if usual.is_none() && rare_uncooled.is_empty() && inlined.is_empty() {
        return Ok(first);
    }
    if let Some(walk_bytes) = usual {
        let new = treatment_text(walk_bytes);
        compare(tool, program, &["--base", "cool=0", "--new", new.as_str()], uncooled);
    }
    if !rare_uncooled.is_empty() {
        let new = treatment_text(LAST_LEVEL_WALK_BYTES);
        let words = ["--quick", "--base", "cool=0", "--new", new.as_str()];
        compare(tool, program, &words, rare_uncooled);
    }
    if !inlined.is_empty() {
        let [base, new] = [RawCall::Inline, RawCall::Function].map(RawCall::treatment_text);
        let words = ["--quick", "--base", base.as_str(), "--new", new.as_str()];
        compare(tool, program, &words, inlined);
    }
    tool.bill(&[], program)
}

/// Compares cases under two treatments. Without that the bill has estimates, or lower prices.
fn compare(tool: &Tool, program: &BilledProgram, words: &[&str], cases: &[String]) {
    let all: Vec<&str> = words.iter().copied().chain(cases.iter().map(String::as_str)).collect();
    match tool.compare(&all) {
        Ok(missing) => {
            missing.iter().for_each(|row| eprintln!("{}: not measured: {row}", program.name));
        }
        Err(why) => eprintln!("{}: not compared ({}): {why:#}", program.name, words.join(" ")),
    }
}

/// What is charged in instructions of the kernel, as a multiple of those that were executed.
fn charged_instructions(bill: &Bill) -> Option<f64> {
    let instructions = bill.instructions.as_ref().filter(|it| it.kernel > 0.0)?;
    Some(instructions.charged / instructions.kernel)
}

/// Whether a program executes many of its instructions in the kernel to create and delete files.
fn is_create_heavy(bill: &Bill) -> bool {
    let Some(instructions) = &bill.instructions else { return false };
    let is_create = |item: &&InstructionItem| CREATE_CALLS.contains(&item.name.as_str());
    let creates = instructions.items.iter().filter(is_create);
    let of_creates: f64 = creates.filter_map(|item| item.amount).sum();
    of_creates > MAX_CREATE_SHARE * instructions.kernel
}

/// The row of a program, in Markdown.
fn row(program: &BilledProgram, bill: &Bill, range: &Range) -> String {
    let ms = |ns: f64| format!("{:.3}", ns * 1e-6);
    let interval = bill.trials.system_time.ci95;
    let interval = interval.map_or_else(
        || " (no interval)".to_owned(),
        |[low, high]| format!(" [{} .. {}]", ms(low), ms(high)),
    );
    let charged = match bill.charged_cool {
        Some(_) => format!("{} .. {}", ms(range.low_ns), ms(range.high_ns)),
        None => format!("{}, no cool price", ms(range.low_ns)),
    };
    let within = if range.holds_measured() { "yes" } else { "no" };
    let instructions = charged_instructions(bill);
    let instructions = instructions.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    format!(
        "| {} | {charged} | {}{interval} | {within} | {:.2} | {:+.0} % | {instructions} |",
        program.name,
        ms(range.measured_ns),
        range.width(),
        100.0 * range.deviation()
    )
}

/// Whether an item is about tasks that are woken from another CPU.
fn is_wake_up(item: &BillItem) -> bool {
    let begins = [
        "wake-up across CPUs",
        "switch across CPUs",
        "wake-up after ",
        "wake-up of ",
        "wake-up from ",
    ];
    begins.iter().any(|begin| item.name.starts_with(begin))
}

/// What the names of wake-ups by such a call end with; `None` of one that wakes nobody, as far as its
/// form tells.
fn end_of_wake_ups(call: &str) -> Option<&'static str> {
    let mut words = call.split(' ');
    match (words.next()?, words.next_back()) {
        ("futex", _) => Some("by futex"),
        (_, Some("tcp")) => Some("by TCP"),
        (_, Some("unix")) => Some("by unix socket"),
        (_, Some("pipe")) => Some("by pipe"),
        (_, Some("eventfd")) => Some("across CPUs"),
        _ => None,
    }
}

/// The items of a bill whose amounts differ most from the time that the kernel took for them, and the
/// wake-ups by these calls: their time is in that of the calls, and their price is not.
fn miss(program: &BilledProgram, bill: &Bill) -> String {
    let apart = |item: &BillItem| {
        let in_kernel_ns = item.in_kernel.map(|time| time.on_cpu_ns as f64);
        (item.amount.as_ref().map_or(0.0, |amount| amount.ns) - in_kernel_ns.unwrap_or(0.0)).abs()
    };
    let mut items: Vec<&BillItem> = bill.items.iter().collect();
    items.sort_by(|one, other| apart(other).total_cmp(&apart(one)));
    let others = items.split_off(NAMED_ITEMS.min(items.len()));
    let calls = items.iter().filter(|item| !is_wake_up(item));
    let ends: Vec<&str> = calls.filter_map(|item| end_of_wake_ups(&item.name)).collect();
    let is_by_these =
        |item: &&BillItem| is_wake_up(item) && ends.iter().any(|end| item.name.ends_with(*end));
    items.extend(others.into_iter().filter(is_by_these));
    let text = |item: &BillItem| {
        let charged = match &item.amount {
            Some(amount) => format!("charged {:.3} ms", amount.ns * 1e-6),
            None => "without a price".to_owned(),
        };
        let measured = match item.in_kernel {
            Some(time) => format!("{:.3} ms in the kernel", time.on_cpu_ns as f64 * 1e-6),
            None if is_wake_up(item) => "its time is in that of calls".to_owned(),
            None => "its time in the kernel is not known".to_owned(),
        };
        format!("{:.0} x {}: {charged}, {measured}", item.times, item.name)
    };
    let named: Vec<String> = items.into_iter().map(text).collect();
    format!("{}: {}", program.name, named.join("; "))
}
