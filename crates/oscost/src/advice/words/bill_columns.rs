//! Columns of tables of bills.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "count",
        means: "how often a command makes a call of this form, or takes a fault: the median of the \
                counted runs",
        range: "0 and more",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "each",
        means: "the price of one of an item of a bill: its amount over its count; in the table of \
                instructions, how many one executes",
        range: "a time, or instructions; absent without a price",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "amount",
        means: "what an item of a bill costs in all: how often, times the price of one",
        range: "a time",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "cool amount",
        means: "the amount of an item of a bill if the program has used other memory since its last \
                call: the price of an op after a walk through memory, or one by the ratio of others",
        range: "a time; absent without a cool price",
        matters: "Below the amount it shows an error of the rows with and without a walk, which should \
                  make no op faster.",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "share",
        means: "the amount of an item of a bill in the command's measured system time",
        range: "per cent; the items of a bill may exceed 100",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "by count",
        means: "of the change of an item between two bills, what more or fewer of it make, each at \
                its price in the base",
        range: "a time, in either direction",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "by price",
        means: "of the change of an item between two bills, what another price makes: the change \
                of the price, for each one in the new bill",
        range: "a time, in either direction; nothing where both bills have one price",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "counts",
        means: "how often an item is in the base and in the new bill",
        range: "two numbers",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "price",
        means: "the case whose figure is the price of an item of a bill, and the part of its op that \
                one call pays; `less` names cases whose prices are subtracted, `plus` added ones",
        range: "a part and cases; a difference may be below zero",
        source: "docs/reference/CALLS.md",
        ..COLUMN
    },
    Word {
        word: "on CPU",
        means: "the time of an item's calls in the kernel while their tasks ran, from the entry of \
                each call to its return, as the eBPF counter measured it",
        range: "a time, with interrupts and what the counter adds",
        matters: "It is independent of prices: where it exceeds an amount by far, the price is that \
                  of another call, or of warmer caches.",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "off CPU",
        means: "the time of an item's calls in the kernel while their tasks waited, or others ran",
        range: "a time; no part of the system time",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "what if",
        means: "treatments under which the program of a bill might run",
        range: "treatments, joined by `+`",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "judged",
        means: "whether a predicted increase is within 25 % of the measured one; not judged where \
                half of the interval of the measured one is more than that",
        range: "within, outside, or why it is not judged",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "amount there",
        means: "what an item of a bill costs by the prices of another run",
        range: "a time",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "there / here",
        means: "the amount of an item by the prices of another run, over that by the prices of the \
                bill",
        range: "above 0",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "remark",
        means: "why an item of a bill has no price, or what is doubtful about it; where its cool \
                amount, and what a function around each call adds, come from",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
];
