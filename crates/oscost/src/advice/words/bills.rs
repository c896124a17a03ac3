//! Words of bills: the families of items, and what stands beside them.

use super::word::{Kind, Word};

const FAMILY: Word = Word::of(Kind::BillFamily);
const TERM: Word = Word::of(Kind::BillTerm);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "files",
        means: "calls on files, directories, pipes, terminals and devices, and on descriptors as \
                such",
        ..FAMILY
    },
    Word { word: "memory", means: "page faults, and calls that change what is mapped", ..FAMILY },
    Word {
        word: "processes",
        means: "calls that create, execute, end and await processes and threads, and that ask for \
                or change what they are",
        ..FAMILY
    },
    Word {
        word: "waiting",
        means: "calls that wait for others, or wake them: poll, epoll, futex, eventfd, sleep",
        matters: "Time in which no task of the program runs is no system time, and in no amount.",
        ..FAMILY
    },
    Word {
        word: "network",
        means: "calls on sockets of any kind, also on those within the machine",
        ..FAMILY
    },
    Word { word: "signals", means: "calls that send, handle and block signals", ..FAMILY },
    Word { word: "time", means: "calls that read clocks and set timers", ..FAMILY },
    Word { word: "other", means: "items that are of no other family", ..FAMILY },
    Word {
        word: "bill",
        means: "what the system charges a program: how often it makes each call, times its price, \
                beside the system time that it really takes",
        ..TERM
    },
    Word {
        word: "bill run",
        means: "a run that a bill has started for itself: of prices that it lacked, of what a \
                treatment adds to them, or of the check of a prediction",
        matters: "`last` and the last run of `oscost explain` never count it.",
        action: "`oscost runs list` has its id.",
        ..TERM
    },
    Word {
        word: "charged in all",
        means: "the sum of all amounts of a bill: what prices explain of the system time",
        ..TERM
    },
    Word {
        word: "charged with cool caches",
        means: "the same sum if the program has used other memory since each call: the other end of \
                a range that should hold the measured system time",
        ..TERM
    },
    Word {
        word: "cold caches",
        means: "what faults and switches add to user time, since they displace data of the \
                program; not known, and in no amount",
        ..TERM
    },
    Word {
        word: "pooled",
        means: "how the system time was made: the mean CPU time of the trials, divided by the \
                clock ticks in kernel and user mode that control groups of trials were charged",
        matters: "One short trial has too few ticks to divide its own CPU time; the interval is \
                  that of this mean, not of a median of trials.",
        action: "`--trials N` with more trials makes it narrower.",
        ..TERM
    },
    Word {
        word: "stale",
        means: "of prices: of a run on another kernel or with other mitigations, more than a day \
                old, or in which the reference cases, or prices, took another time than later",
        matters: "They are charged where no other run has a price, and named with their items.",
        action: "`oscost run` measures prices anew.",
        ..TERM
    },
    Word {
        word: "the difference",
        means: "the measured system time without what is charged; unexplained, in either direction",
        ..TERM
    },
    Word {
        word: "difference with cool caches",
        means: "the measured system time without what is charged with cool caches",
        ..TERM
    },
    Word {
        word: "item",
        means: "the calls of one form, the page faults or the switches of one kind, or freed pages",
        ..TERM
    },
    Word {
        word: "measured system time",
        means: "the CPU time in the kernel of trials, which nothing counts or traces",
        ..TERM
    },
    Word {
        word: "the range",
        means: "what a bill charges from warm to cool caches; it should hold the measured system time",
        matters: "A time above it has a cost that no price has, or colder caches; below it, prices \
                  are too high.",
        ..TERM
    },
    Word {
        word: "unexplained",
        means: "the measured system time that no price explains: the difference, unless its interval \
                contains zero",
        matters: "Where it does, nothing need be missing, and a wide interval does not tell.",
        action: "For narrower prices run `oscost run` without `--quick`.",
        ..TERM
    },
    Word {
        word: "time stolen",
        means: "time that a host takes from a virtual machine; beyond any bill",
        ..TERM
    },
    Word {
        word: "time waited",
        means: "real time less CPU time, in which the program waits for a device, for others or \
                for a CPU",
        ..TERM
    },
];

#[cfg(test)]
mod tests {
    use oscost_model::bill::FAMILIES;

    use super::*;

    #[test]
    fn each_family_is_explained() {
        let families = WORDS.iter().filter(|word| word.kind == Kind::BillFamily);
        assert_eq!(families.map(|word| word.word).collect::<Vec<_>>(), FAMILIES);
    }
}
