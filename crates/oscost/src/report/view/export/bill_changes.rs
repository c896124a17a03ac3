//! The columns of the table `bill-changes`: a line for each part of what a change of a program would
//! add or save, as its bill says it.

use oscost_model::bill::Bill;

use self::lines::{Line, of_alternative, of_missing, of_other_prices, of_prediction};
use crate::report::view::export::sheet::Kind::{Boolean, Float, Text};
use crate::report::view::export::sheet::{Cells, Heading, Value, heading, spaced};

mod lines;

/// The version of these columns.
pub(super) const SCHEMA: &str = "oscost.bill-changes/1";

/// When a line is of a sum.
const SUM: Option<&str> = Some("the line is of a sum, or of a change without an answer");
/// When nothing is added to one.
const NO_UNIT: Option<&str> = Some("the line is no `what-if`, or its added cost is not known");
/// When there is no increase.
const NO_ADDED: Option<&str> = Some("it is not known, or the line is of other prices");
/// When an increase has no interval.
const NO_INTERVAL: Option<&str> = Some("there is no such figure, or it has no interval");
/// When a line has no amounts at two price lists.
const NO_PRICES: Option<&str> = Some("the line is not of other prices, or one of them is missing");

/// What would change a bill, as a table.
pub struct ChangeSheet<'a> {
    bill: &'a Bill,
    lines: Vec<Line<'a>>,
}

/// A line of a bill, for its columns.
#[derive(Clone, Copy)]
struct BillLine<'a> {
    bill: &'a Bill,
    line: &'a Line<'a>,
}

/// A column: what it is called and means, and where it is read.
struct Column {
    heading: Heading,
    read: for<'a> fn(BillLine<'a>) -> Value<'a>,
}

impl<'a> ChangeSheet<'a> {
    /// What other ways would save, what further treatments would add, the same counts at other
    /// prices, and changes without an answer, each in the order of the bill.
    pub fn of(bill: &'a Bill) -> Self {
        let ways = bill.alternatives.iter().map(of_alternative);
        let predictions = bill.what_if.iter().flat_map(of_prediction);
        let prices = bill.other_prices.iter().flat_map(of_other_prices);
        let missing = bill.missing_what_if.iter().map(of_missing);
        Self { bill, lines: ways.chain(predictions).chain(prices).chain(missing).collect() }
    }
}

impl Cells for ChangeSheet<'_> {
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
        (COLUMNS[column].read)(BillLine { bill: self.bill, line: &self.lines[line] })
    }
}

impl<'a> BillLine<'a> {
    /// What is added in per cent of the measured system time.
    fn share_pct(self) -> Option<f64> {
        let system_ns = self.bill.trials.system_time.ns;
        let added = self.line.added.as_ref().filter(|_| system_ns > 0.0);
        added.map(|added| 100.0 * added.ns / system_ns)
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
            "`alternative` (another way to do what an item does), `what-if` (an item under further \
             treatments), their sums `predicted-system` and `predicted-real`, between the sums \
             `predicted-warm` and `predicted-cool`, the check `measured-system`, `measured-cpu` and \
             `measured-real`, or `not-measured`; `other-price` (an item at other prices), their sum \
             `other-prices`; or `no-answer`",
            None,
        ),
        read: |it| it.line.kind.into(),
    },
    Column {
        heading: heading("bill", Text, "the id of the bill", None),
        read: |it| (&it.bill.id).into(),
    },
    Column {
        heading: heading("started", Text, "when it was begun: RFC 3339, UTC", None),
        read: |it| (&it.bill.started).into(),
    },
    Column {
        heading: heading("label", Text, "the label of the bill", Some("there is none")),
        read: |it| it.bill.label.as_ref().into(),
    },
    Column {
        heading: heading(
            "program",
            Text,
            "the words of the command, or of that of the process, separated by spaces",
            None,
        ),
        read: |it| spaced(it.bill.program.iter().map(String::as_str)).into(),
    },
    Column {
        heading: heading(
            "change",
            Text,
            "what would change: in words of an alternative, otherwise treatments separated by `+`, \
             `prices=RUN` or `at=HOST`",
            None,
        ),
        read: |it| (&*it.line.change).into(),
    },
    Column {
        heading: heading("item", Text, "the form of a call, or what else was counted", SUM),
        read: |it| it.line.item.into(),
    },
    Column {
        heading: heading(
            "times",
            Float,
            "how often; of an alternative how many of it would change",
            SUM,
        ),
        read: |it| it.line.times.into(),
    },
    Column {
        heading: heading(
            "from_case",
            Text,
            "the case of what is done now, as a selector",
            Some("the line is no `alternative`"),
        ),
        read: |it| it.line.from.into(),
    },
    Column {
        heading: heading(
            "case",
            Text,
            "the case of what would be done instead, or whose added cost an item pays",
            Some("no case does, or the line is neither an `alternative` nor a `what-if`"),
        ),
        read: |it| it.line.case.into(),
    },
    Column {
        heading: heading(
            "condition",
            Text,
            "when an alternative is the same work, in words",
            Some("the line is no `alternative`"),
        ),
        read: |it| it.line.condition.into(),
    },
    Column {
        heading: heading("unit_ns", Float, "what is added to one, in nanoseconds", NO_UNIT),
        read: |it| it.line.unit.map(|unit| unit.ns).into(),
    },
    Column {
        heading: heading("unit_ci95_low_ns", Float, "where its 95 % interval begins", NO_INTERVAL),
        read: |it| it.line.unit.and_then(|unit| Some(unit.ci95?[0])).into(),
    },
    Column {
        heading: heading("unit_ci95_high_ns", Float, "where it ends", NO_INTERVAL),
        read: |it| it.line.unit.and_then(|unit| Some(unit.ci95?[1])).into(),
    },
    Column {
        heading: heading(
            "added_ns",
            Float,
            "what the change adds to a run of the command, in nanoseconds; what it saves is below \
             zero",
            NO_ADDED,
        ),
        read: |it| it.line.added.as_ref().map(|added| added.ns).into(),
    },
    Column {
        heading: heading("added_ci95_low_ns", Float, "where its 95 % interval begins", NO_INTERVAL),
        read: |it| it.line.added.as_ref().and_then(|added| Some(added.ci95?[0])).into(),
    },
    Column {
        heading: heading("added_ci95_high_ns", Float, "where it ends", NO_INTERVAL),
        read: |it| it.line.added.as_ref().and_then(|added| Some(added.ci95?[1])).into(),
    },
    Column {
        heading: heading(
            "added_pct",
            Float,
            "`added_ns` in % of the measured system time of the bill",
            Some("`added_ns` is, or the program spent no measurable time in the kernel"),
        ),
        read: |it| it.share_pct().into(),
    },
    Column {
        heading: heading(
            "is_estimate",
            Boolean,
            "whether `unit_ns` is that of other calls",
            Some("the line is no `what-if`"),
        ),
        read: |it| it.line.is_estimate.into(),
    },
    Column {
        heading: heading(
            "is_whole_item",
            Boolean,
            "whether the saving is all that the item is charged: the cases differ by more",
            Some("the line is no `alternative`"),
        ),
        read: |it| it.line.is_whole_item.into(),
    },
    Column {
        heading: heading("here_ns", Float, "the amount in the bill, in nanoseconds", NO_PRICES),
        read: |it| it.line.here.map(|here| here.ns).into(),
    },
    Column {
        heading: heading("there_ns", Float, "the amount at the other prices", NO_PRICES),
        read: |it| it.line.there.map(|there| there.ns).into(),
    },
    Column {
        heading: heading("there_ci95_low_ns", Float, "where its 95 % interval begins", NO_INTERVAL),
        read: |it| it.line.there.and_then(|there| Some(there.ci95?[0])).into(),
    },
    Column {
        heading: heading("there_ci95_high_ns", Float, "where it ends", NO_INTERVAL),
        read: |it| it.line.there.and_then(|there| Some(there.ci95?[1])).into(),
    },
    Column {
        heading: heading(
            "ratio",
            Float,
            "`there_ns` over `here_ns`; of a prediction that was judged the predicted increase over \
             the measured one",
            Some("the line has no such figures, or the one below is not above zero"),
        ),
        read: |it| it.line.ratio.into(),
    },
    Column {
        heading: heading(
            "judged_by",
            Text,
            "the time that is judged: `system`, or `real` where a monitor is another process",
            Some("the line is of no prediction's sum"),
        ),
        read: |it| it.line.judged_by.into(),
    },
    Column {
        heading: heading(
            "judged",
            Text,
            "how well the prediction agrees with the measured increase",
            Some("the line is not of the sum that is judged, or it was not checked"),
        ),
        read: |it| it.line.judged.into(),
    },
    Column {
        heading: heading(
            "runs",
            Text,
            "the runs that measured it, separated by spaces; empty of an alternative, whose prices \
             are those of the bill",
            None,
        ),
        read: |it| (&*it.line.runs).into(),
    },
    Column {
        heading: heading(
            "missing",
            Text,
            "why there is no figure, or none of its own",
            Some("there is one"),
        ),
        read: |it| it.line.missing.into(),
    },
    Column {
        heading: heading(
            "doubt",
            Text,
            "what is doubtful about the prediction or the other prices; empty if nothing is",
            None,
        ),
        read: |it| (&*it.line.doubt).into(),
    },
];

#[cfg(test)]
mod tests;
