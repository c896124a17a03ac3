//! Processes made by clone3(2), a flag at a time.

use kernel::process::clone3::{CloneFlag, Cloner};

use super::super::helper::if_permitted;
use super::super::prelude::*;

pub(super) const CLONE_FLAGS: Bench = Bench {
    id: "process/clone-flags",
    asks: "What does each flag of clone3 add to a child, or save?",
    op: "clone3(2) by the raw instruction, with SIGCHLD and the flag; in the child exit(2) at \
         once, without touching memory; in the parent wait4(2). With `flag=none` the child gets \
         copies of everything, with `flag=vm` it shares its parent's memory alone (CLONE_VM), and \
         so it does with each other flag, whose price is the difference to `flag=vm`. What the \
         kernel writes to a word of the parent is checked. With `flag=pidfd` the op also has a \
         close(2) of the descriptor. Not included: nothing.",
    expected: "some 40 us with none and 25 us with vm; of the others files saves some 0.5 us, fs \
               and sighand some 0.2 us; pidfd adds some 1 us, with its close; the rest less than \
               0.2 us",
    why: "A flag either replaces a copy by a reference (VM, FILES, FS, SIGHAND, SYSVSEM, IO) or \
          asks for one more act: a descriptor of the process (PIDFD), a thread id written to \
          memory when the child is made or first runs (PARENT_SETTID, CHILD_SETTID), or a zero \
          written and a futex woken when it ends (CHILD_CLEARTID). VFORK lets the parent wait for \
          the child's end before clone3 returns, so that wait4 finds it there. SYSVSEM and IO \
          share what most processes do not have. A thread is a child with most of them: see \
          thread/create. Flags of namespaces are namespace/clone.",
    calls: &[
        exactly("clone3", 1),
        exactly("exit", 1),
        exactly("wait4", 1),
        exactly("close", 1).when(&[("flag", "pidfd")]),
    ],
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &["process/clone-vm", "process/clone-shared:shared=vm"],
    axes: &[Axis {
        name: "flag",
        sets: "the flag; each but none comes with CLONE_VM",
        points: Points::Words(CloneFlag::WORDS),
        default_points: Points::Words(&["vm", "files", "vfork", "pidfd"]),
    }],
    in_price_list: false,
    switches: true,
    source: "clone3(2); copy_process in kernel/fork.c; stress-ng clone",
    build: |params| {
        let flag = CloneFlag::of_word(params.word("flag")).ok_or(Errno::EINVAL)?;
        let cloner = Cloner::new(flag);
        let work = Work::with_loop(move || cloner.clone_exit_reap());
        if_permitted(
            Ok(work),
            "clone3(2) is refused here with this flag: it takes Linux 5.3, or 5.5 for \
             clear-sighand, and a filter of system calls that allows it",
        )
    },
    ..Bench::DEFAULT
};
