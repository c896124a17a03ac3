//! Items of bills: wake-ups across CPUs of which one end is another program.

use super::word::{Kind, Word};

const ITEM: Word = Word::of(Kind::BillTerm);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "wake-up of another program",
        means: "a task of the program wakes one of another program that continues on another CPU, \
                not by a TCP or unix socket, a pipe or a futex",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=eventfd,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up from another program",
        means: "a task of another program wakes one of the program that continues on another CPU, \
                not by a TCP or unix socket, a pipe or a futex",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=eventfd,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up of another program by TCP",
        means: "a task of the program wakes one of another program that continues on another CPU, \
                by a call about a TCP socket",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=tcp,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up from another program by TCP",
        means: "a task of another program wakes one of the program that continues on another CPU, \
                by a call about a TCP socket",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=tcp,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up of another program by unix socket",
        means: "a task of the program wakes one of another program that continues on another CPU, \
                by a call about a unix socket",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=unix,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up from another program by unix socket",
        means: "a task of another program wakes one of the program that continues on another CPU, \
                by a call about a unix socket",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=unix,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up of another program by futex",
        means: "a task of the program wakes one of another program that continues on another CPU, \
                by a call about a futex",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=futex,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up from another program by futex",
        means: "a task of another program wakes one of the program that continues on another CPU, \
                by a call about a futex",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=futex,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up of another program by pipe",
        means: "a task of the program wakes one of another program that continues on another CPU, \
                by a call about a pipe",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=pipe,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
    Word {
        word: "wake-up from another program by pipe",
        means: "a task of another program wakes one of the program that continues on another CPU, \
                by a call about a pipe",
        matters: "It is one of two ends: a quarter of what \
                  `switch/cpu-time:by=pipe,peer_cpu=other` takes more than `peer_cpu=same`.",
        ..ITEM
    },
];
