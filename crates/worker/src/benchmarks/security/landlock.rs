//! Sandboxes of Landlock: entering one, and opening files within.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use kernel::file::entries::{Entry, close};
use kernel::file::temp_folder::TempFolder;
use kernel::process::landlock::Ruleset;
use kernel::process::privileges;

use super::super::helper::{
    CHILD_CLOCK, EXIT, FAST_HELPER_ANSWER, FAST_HELPER_WAIT, FAST_OPS, FAST_ORDER, FAST_WAIT, FORK,
    HELPER_CLOCK, LIBC_IN_CHILD, REAP, if_permitted, in_helper, timed_in_child,
};
use super::super::prelude::*;

/// Why there is no sandbox.
pub(super) const NO_LANDLOCK: &str = "this kernel has no Landlock (Linux 5.13, \
                                      CONFIG_SECURITY_LANDLOCK, and `landlock` among the security \
                                      modules of its command line), or a filter forbids it";

pub(super) const RESTRICT: Bench = Bench {
    id: "security/landlock-restrict",
    asks: "What does entering a sandbox of Landlock cost?",
    op: "landlock_restrict_self(2) by the raw instruction, with an empty ruleset that governs the \
         opening of files for reading. Each op is the first restriction of a child of its own: \
         they add up, and stay for as long as a process lives. Not included: the fork, \
         `no_new_privs`, landlock_create_ruleset(2), a call with an invalid flag before it, by \
         which its code and stack are in memory, and the child's end.",
    expected: "some 2 us: new credentials, and a domain with a copy of the rules",
    why: "The ruleset is merged with those that the process has already to a new domain, which \
          never changes: each rule is copied. The credentials, which are never changed in place \
          either, are copied to point to it (see `security/capset`), and the old ones are freed \
          after an RCU grace period, outside of the op.",
    calls: &[
        exactly("landlock_create_ruleset", 1),
        exactly("landlock_restrict_self", 2),
        exactly("close", 1),
        exactly("prctl", 1),
        FORK,
        EXIT,
        REAP,
        LIBC_IN_CHILD,
        CHILD_CLOCK,
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["security/landlock", "security/seccomp-install:instructions=1"],
    in_price_list: false,
    switches: true,
    source: "landlock_restrict_self(2); security/landlock/syscalls.c, security/landlock/ruleset.c",
    build: |params| {
        let work = timed_in_child(params, || {
            privileges::forbid_new_privileges()?;
            let ruleset = Ruleset::new()?;
            ruleset.restrict_nothing();
            Ok(move || ruleset.restrict())
        });
        if_permitted(work, NO_LANDLOCK)
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN: Bench = Bench {
    id: "security/landlock-open",
    asks: "What does a sandbox of Landlock add to the opening of a file?",
    op: "openat(2) of a file for reading, seven folders beneath a temporary one, by its path \
         relative to that, and close(2), both by the raw instruction; in a child of the worker \
         that has entered `layers` sandboxes, each of which allows reading beneath the temporary \
         folder alone, and times rounds of 1,024. Not included: entering the sandboxes, and the \
         order for a round.",
    expected: "some 1.2 us without; some 0.3 us more with one layer, and some 0.1 us more for \
               each further one",
    why: "Landlock has no list of paths: it walks from the file up through its folders, and looks \
          each up in the rules, until every layer has found one that allows the access. Here the \
          rule is at the eighth folder: a deeper file, or a rule for `/`, costs more, and a denied \
          access walks to the root. One look-up finds the rules of all layers for a folder. Open \
          files are not checked again: read(2) costs what it did.",
    calls: &[
        exactly("openat", 1).by_peer(),
        exactly("close", 1).by_peer(),
        FAST_ORDER,
        FAST_WAIT,
        FAST_HELPER_WAIT,
        FAST_HELPER_ANSWER,
        HELPER_CLOCK,
    ],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "layers",
        sets: "how many sandboxes the process is in",
        points: Points::Numbers(&[0, 1, 4]),
        default_points: Points::Numbers(&[0, 1, 4]),
    }],
    in_price_list: false,
    switches: true,
    source: "landlock(7); is_access_to_paths_allowed in security/landlock/fs.c",
    build: |params| if_permitted(opens(params), NO_LANDLOCK),
    ..Bench::DEFAULT
};

/// The work of a child that opens a file within sandboxes.
fn opens(params: Params<'_>) -> Result<Work, Errno> {
    let layers = params.number("layers");
    // The worker's: the child is killed, and may remove nothing.
    let folder = TempFolder::new()?;
    let path = folder.path();
    let work = in_helper(params, FAST_OPS, Duration::ZERO, || {
        enter_sandboxes(layers, path)?;
        let folder = File::open(path)?;
        Ok(move || close(Entry::new(&folder, TempFolder::DEEP_PATH).open_to_read()?))
    })?;
    // Removed when the child has ended.
    let keep = move |_: u64| {
        let _folder = &folder;
        Ok(())
    };
    Ok(work.with_preparation(keep))
}

/// Enters so many sandboxes, in which files beneath a folder can be read.
fn enter_sandboxes(layers: u64, folder: &Path) -> Result<(), Errno> {
    if layers == 0 {
        return Ok(());
    }
    privileges::forbid_new_privileges()?;
    let rulesets: Result<Vec<Ruleset>, Errno> = (0..layers).map(|_| ruleset_for(folder)).collect();
    rulesets?.iter().try_for_each(Ruleset::restrict)
}

/// A ruleset that allows to read what is beneath a folder.
fn ruleset_for(folder: &Path) -> Result<Ruleset, Errno> {
    let ruleset = Ruleset::new()?;
    ruleset.allow_beneath(folder)?;
    Ok(ruleset)
}
