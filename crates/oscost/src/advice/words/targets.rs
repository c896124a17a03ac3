//! Hosts: where workers run.

use super::word::{Kind, Word};

const HOST: Word = Word::of(Kind::Host);

pub(super) const WORDS: &[Word] = &[
    Word { word: "local", means: "this machine; the default", ..HOST },
    Word {
        word: "ssh:",
        means: "`ssh:[user@]HOST`: another machine, over one session of the ssh(1) of the system",
        matters: "The worker is copied there once; no daemon listens anywhere.",
        action: "`oscost run --at ssh:db1`; accounts and keys are those of ~/.ssh/config.",
        ..HOST
    },
    Word {
        word: "vm:",
        means: "`vm:KERNEL[,mem=MIB][,cpu=MODEL][,accel=tcg|kvm][,append=WORDS]`: that kernel, \
                booted under QEMU",
        range: "`insn/op` with accel=tcg",
        matters: "Instructions are counted, and repeat: two kernels differ by single instructions.",
        action: "`oscost kernels list` shows what can be booted.",
        ..HOST
    },
    Word {
        word: "slurm:",
        means: "`slurm:[partition=NAME][,nodes=NODE][,exclusive]...`: a node that Slurm allocates, \
                through srun(1)",
        matters: "A job waits in the queue of its partition; without `exclusive` other jobs may \
                  disturb it, and it has some of the CPUs only.",
        action: "`oscost run --at slurm:partition=debug,exclusive`; inside a job, `slurm:` is a \
                 step of it. Nodes of `nodes=n[1-4]` take turns.",
        ..HOST
    },
    Word {
        word: "fake:",
        means: "`fake:FILE`: a made-up machine described by a file, for tests and for trying \
                oscost out",
        matters: "Its figures are invented.",
        ..HOST
    },
];
