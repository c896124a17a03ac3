//! The columns of the table `bill-items`: a line for each item of a bill, and each of its totals.

use oscost_model::bill::{Amount, Bill, BillItem, BilledCounts};
use oscost_model::program_calls::KernelTime;

use crate::report::view::export::sheet::Kind::{Boolean, Float, Integer, Text};
use crate::report::view::export::sheet::{Cells, Heading, Value, heading, spaced};

/// The version of these columns.
pub(super) const SCHEMA: &str = "oscost.bill-items/1";

/// When a fact could not be read.
const UNREAD: Option<&str> = Some("it could not be read");
/// When a line is of a total.
const TOTAL: Option<&str> = Some("the line is of a total");
/// When an item has no price.
const NO_PRICE: Option<&str> = Some("the item has no price, or the line is of a total");
/// When nothing was counted.
const NOT_COUNTED: Option<&str> = Some("nothing was counted");
/// When an item has no time in the kernel.
const NO_TIME: Option<&str> = Some("it was not measured, or the line is of a total");
/// When a cool amount has no interval.
const NO_COOL_INTERVAL: Option<&str> =
    Some("there is no cool amount, or a part of it has no interval");
/// When nothing is added for a function around each call.
const NO_FUNCTION: Option<&str> =
    Some("it is not known, the op makes no raw calls, or the line is of a total");
/// When there is no interval.
const NO_INTERVAL: Option<&str> = Some("it has no price, or a part of it has no interval");

/// A bill as a table.
pub struct BillSheet<'a> {
    bill: &'a Bill,
    lines: Vec<Line<'a>>,
}

/// A line of the table.
#[derive(Clone, Copy)]
struct Line<'a> {
    bill: &'a Bill,
    kind: &'static str,
    item: Option<&'a BillItem>,
    amount: Option<&'a Amount>,
    cool_amount: Option<&'a Amount>,
}

/// A column: what it is called and means, and where it is read.
struct Column {
    heading: Heading,
    read: for<'a> fn(&Line<'a>) -> Value<'a>,
}

impl<'a> BillSheet<'a> {
    /// The items of a bill in their order, then its totals.
    pub fn of(bill: &'a Bill) -> Self {
        let items = bill.items.iter().map(|item| Line {
            bill,
            kind: "item",
            item: Some(item),
            amount: item.amount.as_ref(),
            cool_amount: item.cool_amount.as_ref(),
        });
        let totals = [
            ("charged", bill.charged.as_ref(), bill.charged_cool.as_ref()),
            ("measured", Some(&bill.trials.system_time), None),
            ("difference", bill.difference.as_ref(), bill.difference_cool.as_ref()),
        ];
        let totals = totals.into_iter().filter(|(_, amount, _)| amount.is_some());
        let totals = totals.map(|(kind, amount, cool_amount)| Line {
            bill,
            kind,
            item: None,
            amount,
            cool_amount,
        });
        Self { bill, lines: items.chain(totals).collect() }
    }
}

impl Cells for BillSheet<'_> {
    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn records(&self) -> &str {
        &self.bill.id
    }

    fn headings(&self) -> Vec<Heading> {
        headings().collect()
    }

    fn line_count(&self) -> usize {
        self.lines.len()
    }

    fn cell(&self, line: usize, column: usize) -> Value<'_> {
        (COLUMNS[column].read)(&self.lines[line])
    }
}

impl<'a> Line<'a> {
    /// What was counted.
    fn counts(&self) -> Option<&'a BilledCounts> {
        self.bill.counted.as_ref()
    }

    /// The time of its calls in the kernel.
    fn in_kernel(&self) -> Option<KernelTime> {
        self.item?.in_kernel
    }

    /// The amount in per cent of the measured system time.
    fn share_pct(&self) -> Option<f64> {
        let system_ns = self.bill.trials.system_time.ns;
        self.amount.filter(|_| system_ns > 0.0).map(|amount| 100.0 * amount.ns / system_ns)
    }
}

/// The headings of the columns, in order.
pub(super) fn headings() -> impl Iterator<Item = Heading> {
    COLUMNS.iter().map(|column| column.heading)
}

/// All of them, in the order in which they are written.
const COLUMNS: &[Column] = &[
    Column {
        heading: heading(
            "kind",
            Text,
            "`item`, or a total: `charged`, `measured` (the system time) or `difference`",
            None,
        ),
        read: |line| line.kind.into(),
    },
    Column {
        heading: heading("bill", Text, "the id of the bill", None),
        read: |line| (&line.bill.id).into(),
    },
    Column {
        heading: heading("started", Text, "when it was begun: RFC 3339, UTC", None),
        read: |line| (&line.bill.started).into(),
    },
    Column {
        heading: heading("label", Text, "the label of the bill", Some("there is none")),
        read: |line| line.bill.label.as_ref().into(),
    },
    Column {
        heading: heading(
            "program",
            Text,
            "the words of the command, or of that of the process, separated by spaces",
            None,
        ),
        read: |line| spaced(line.bill.program.iter().map(String::as_str)).into(),
    },
    Column {
        heading: heading("cpu_model", Text, "the processor", UNREAD),
        read: |line| line.bill.machine.cpu.model_name.as_ref().into(),
    },
    Column {
        heading: heading("kernel", Text, "the release of the kernel", UNREAD),
        read: |line| line.bill.machine.os.release.as_ref().into(),
    },
    Column {
        heading: heading(
            "treatments",
            Text,
            "the treatments of the program, separated by `+`; empty for none",
            None,
        ),
        read: |line| line.bill.treatments.join("+").into(),
    },
    Column {
        heading: heading(
            "trials",
            Integer,
            "how many trials were not counted; 1 of a process that was watched",
            None,
        ),
        read: |line| line.bill.trials.system.repetitions.into(),
    },
    Column {
        heading: heading(
            "watched_s",
            Float,
            "for how many seconds a running process was watched",
            Some("the bill is of a command"),
        ),
        read: |line| line.bill.watched.as_ref().map(|watched| watched.seconds).into(),
    },
    Column {
        heading: heading(
            "system_figure",
            Text,
            "what the measured system time is: `median` or `mean` of the trials, `pooled` by clock \
             ticks of control groups, or `watched`",
            None,
        ),
        read: |line| (&line.bill.trials.system_figure).into(),
    },
    Column {
        heading: heading(
            "counted",
            Boolean,
            "whether calls were counted: without, the items are faults alone",
            None,
        ),
        read: |line| line.bill.counted.is_some().into(),
    },
    Column {
        heading: heading("counter", Text, "what counted calls: `ebpf` or `ptrace`", NOT_COUNTED),
        read: |line| line.counts().map(|counts| &counts.calls.by).into(),
    },
    Column {
        heading: heading(
            "counted_without",
            Text,
            "why calls were counted without the treatments",
            Some("they were counted under them, or there are none"),
        ),
        read: |line| line.bill.counted_without.as_ref().into(),
    },
    Column {
        heading: heading(
            "cautions",
            Text,
            "why the program may behave otherwise while it is counted, separated by `; `; empty if \
             nothing is known",
            None,
        ),
        read: |line| line.bill.cautions.join("; ").into(),
    },
    Column {
        heading: heading(
            "added_pct",
            Float,
            "what counting added to the real time, in %",
            Some("nothing was counted, without the treatments, or a process was watched"),
        ),
        read: |line| line.counts().and_then(|counts| counts.added_pct).into(),
    },
    Column {
        heading: heading(
            "lost_events",
            Integer,
            "how many events the counter had no room for, or was busy at: the counts are too low",
            NOT_COUNTED,
        ),
        read: |line| line.counts().map(|counts| counts.lost_events).into(),
    },
    Column {
        heading: heading("item", Text, "the form of a call, or what else was counted", TOTAL),
        read: |line| line.item.map(|item| &item.name).into(),
    },
    Column {
        heading: heading(
            "family",
            Text,
            "its family: `files`, `memory`, `processes`, `waiting`, `network`, `signals`, `time` or \
             `other`; empty in bills of before there were any",
            TOTAL,
        ),
        read: |line| line.item.map(|item| &item.family).into(),
    },
    Column {
        heading: heading("times", Float, "how often", TOTAL),
        read: |line| line.item.map(|item| item.times).into(),
    },
    Column {
        heading: heading(
            "case",
            Text,
            "the case that prices it, as a selector",
            Some("no case does, or the line is of a total"),
        ),
        read: |line| line.item.and_then(|item| item.case.as_ref()).into(),
    },
    Column {
        heading: heading("part", Float, "the share of the case's op that one of it pays", TOTAL),
        read: |line| line.item.map(|item| item.part).into(),
    },
    Column {
        heading: heading(
            "price_rows",
            Text,
            "the rows that priced it, the first and the last of several sizes, separated by \
             spaces; empty without a price",
            TOTAL,
        ),
        read: |line| line.item.map(|item| spaced(item.rows.iter().map(String::as_str))).into(),
    },
    Column {
        heading: heading("unit_ns", Float, "the price of one, in nanoseconds", NO_PRICE),
        read: |line| line.item.and_then(|item| Some(item.unit.as_ref()?.ns)).into(),
    },
    Column {
        heading: heading("unit_ci95_low_ns", Float, "where its 95 % interval begins", NO_PRICE),
        read: |line| line.item.and_then(|item| Some(item.unit.as_ref()?.ci95?[0])).into(),
    },
    Column {
        heading: heading("unit_ci95_high_ns", Float, "where it ends", NO_PRICE),
        read: |line| line.item.and_then(|item| Some(item.unit.as_ref()?.ci95?[1])).into(),
    },
    Column {
        heading: heading(
            "amount_ns",
            Float,
            "the price of all, or the total, in nanoseconds of one run of the command or of the \
             watch",
            Some("the item has no price"),
        ),
        read: |line| line.amount.map(|amount| amount.ns).into(),
    },
    Column {
        heading: heading(
            "amount_ci95_low_ns",
            Float,
            "where its 95 % interval begins",
            NO_INTERVAL,
        ),
        read: |line| line.amount.and_then(|amount| Some(amount.ci95?[0])).into(),
    },
    Column {
        heading: heading("amount_ci95_high_ns", Float, "where it ends", NO_INTERVAL),
        read: |line| line.amount.and_then(|amount| Some(amount.ci95?[1])).into(),
    },
    Column {
        heading: heading(
            "cool_price_ns",
            Float,
            "the price of one with cool caches, in nanoseconds",
            Some("the item has no cool price, or the line is of a total"),
        ),
        read: |line| line.item.and_then(|item| Some(item.cool_price.as_ref()?.ns)).into(),
    },
    Column {
        heading: heading(
            "cool_amount_ns",
            Float,
            "the price of all, or the total, with cool caches, in nanoseconds",
            Some("the item has no cool price, no item has one, or the line is `measured`"),
        ),
        read: |line| line.cool_amount.map(|amount| amount.ns).into(),
    },
    Column {
        heading: heading(
            "cool_amount_ci95_low_ns",
            Float,
            "where its 95 % interval begins",
            NO_COOL_INTERVAL,
        ),
        read: |line| line.cool_amount.and_then(|amount| Some(amount.ci95?[0])).into(),
    },
    Column {
        heading: heading("cool_amount_ci95_high_ns", Float, "where it ends", NO_COOL_INTERVAL),
        read: |line| line.cool_amount.and_then(|amount| Some(amount.ci95?[1])).into(),
    },
    Column {
        heading: heading(
            "cool_source",
            Text,
            "the treatment of the rows of the cool price, or how it was estimated",
            Some("there is none, the item pays nothing, or the line is of a total"),
        ),
        read: |line| line.item.and_then(|item| item.cool_source.as_ref()).into(),
    },
    Column {
        heading: heading(
            "rare_times",
            Float,
            "how many are calls before which their CPU had been busy for at least 0.5 ms since the \
             last one of their name and kind of descriptor, or first there",
            Some("the line is of a total"),
        ),
        read: |line| line.item.map(|item| item.rare_times).into(),
    },
    Column {
        heading: heading(
            "rare_cool_source",
            Text,
            "the treatment of the rows of the cool price of these, or how it was estimated",
            Some("they have that of all others, or the line is of a total"),
        ),
        read: |line| line.item.and_then(|item| item.rare_cool_source.as_ref()).into(),
    },
    Column {
        heading: heading(
            "function_added_ns",
            Float,
            "what a function around each call adds to all, a part of the amounts, in nanoseconds",
            NO_FUNCTION,
        ),
        read: |line| line.item.and_then(|item| Some(item.function_added.as_ref()?.ns)).into(),
    },
    Column {
        heading: heading(
            "function_source",
            Text,
            "the treatment of the rows of that addition, or how it was estimated",
            NO_FUNCTION,
        ),
        read: |line| line.item.and_then(|item| item.function_source.as_ref()).into(),
    },
    Column {
        heading: heading(
            "share_pct",
            Float,
            "`amount_ns` in % of the measured system time",
            Some("the item has no price, or the program spent no measurable time in the kernel"),
        ),
        read: |line| line.share_pct().into(),
    },
    Column {
        heading: heading(
            "missing",
            Text,
            "why the item has no price",
            Some("it has one, or the line is of a total"),
        ),
        read: |line| line.item.and_then(|item| item.missing.as_ref()).into(),
    },
    Column {
        heading: heading(
            "doubt",
            Text,
            "what is doubtful about its price",
            Some("nothing is, or the line is of a total"),
        ),
        read: |line| line.item.and_then(|item| item.doubt.as_ref()).into(),
    },
    Column {
        heading: heading(
            "kernel_calls",
            Integer,
            "how many of its calls have a measured time in the kernel, all in one run",
            NO_TIME,
        ),
        read: |line| line.in_kernel().map(|time| time.calls).into(),
    },
    Column {
        heading: heading(
            "on_cpu_ns",
            Integer,
            "that time on a CPU of all of them, with what the counter adds: in no amount",
            NO_TIME,
        ),
        read: |line| line.in_kernel().map(|time| time.on_cpu_ns).into(),
    },
    Column {
        heading: heading("off_cpu_ns", Integer, "the same off the CPU", NO_TIME),
        read: |line| line.in_kernel().map(|time| time.off_cpu_ns).into(),
    },
];
