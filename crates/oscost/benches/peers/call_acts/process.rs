//! Acts of one process: processes and threads.

use super::super::acts::Act;
use super::super::tools::Place;
use super::forms::{RAW, call, in_folder, with_word};

pub(super) const ACTS: &[Act] = &[
    call(
        "process/getpgid:call=getpgid,of=self",
        "group_of_self",
        &["a sleeping child by its number", RAW],
    ),
    call(
        "process/getpgid:call=getpgid,of=child",
        "group_of_child",
        &["a sleeping child by its number", RAW],
    ),
    call(
        "process/getpgid:call=getsid,of=self",
        "session_of_self",
        &["a sleeping child by its number", RAW],
    ),
    call(
        "process/getpgid:call=getsid,of=child",
        "session_of_child",
        &["a sleeping child by its number", RAW],
    ),
    call("process/setpgid", "group_and_back", &["a group of its own", RAW]),
    with_word("process/wait-many:children=1", "wait_for_any", "1", &["WNOHANG and WNOWAIT", RAW]),
    with_word(
        "process/wait-many:children=100",
        "wait_for_any",
        "100",
        &["WNOHANG and WNOWAIT", RAW],
    ),
    call("process/rlimit:via=getrlimit", "limit_getrlimit", &["RLIMIT_CORE", RAW]),
    call("process/rlimit:via=prlimit-get", "limit_get", &["RLIMIT_CORE", RAW]),
    call("process/rlimit:via=prlimit-set", "limit_set", &["the values that are set already", RAW]),
    with_word(
        "process/proc-read:file=stat",
        "read_proc",
        "stat",
        &["one read(2) of up to 4096 bytes", RAW],
    ),
    with_word(
        "process/proc-read:file=statm",
        "read_proc",
        "statm",
        &["one read(2) of up to 4096 bytes", RAW],
    ),
    with_word(
        "process/proc-read:file=status",
        "read_proc",
        "status",
        &["one read(2) of up to 4096 bytes", RAW],
    ),
    in_folder(
        "process/exec-missing",
        "exec_missing",
        Place::Temporary,
        "",
        &["ENOENT", "private folder"],
    ),
    call(
        "thread/registration:call=set-robust-list",
        "register_list",
        &["the list that the thread has", RAW],
    ),
    call(
        "thread/registration:call=set-tid-address",
        "register_tid",
        &["the address that it has", RAW],
    ),
];
