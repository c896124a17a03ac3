//! Acts of one process: signals.

use super::super::acts::Act;
use super::forms::{RAW, call, with_word};

pub(super) const ACTS: &[Act] = &[
    call("signal/kill-0", "kill_nothing", &["signal 0", RAW]),
    call("signal/ignored", "kill_ignored", &["SIG_IGN", RAW]),
    call("signal/mask:via=raw", "mask_raw", &["SIG_UNBLOCK", "not asked for"]),
    call("signal/mask:via=libc", "mask_libc", &["SIG_UNBLOCK", "sigprocmask(2)"]),
    call("signal/blocked:by=kill", "fetch_kill", &["no room for its siginfo"]),
    call("signal/blocked:by=tgkill", "fetch_tgkill", &["no room for its siginfo"]),
    call("signal/signalfd", "fetch_signalfd", &["128 bytes"]),
    with_word("signal/handler:sa=plain", "handle", "plain", &["which counts and records", RAW]),
    with_word("signal/handler:sa=siginfo", "handle", "siginfo", &["which counts and records", RAW]),
    with_word(
        "signal/handler:sa=altstack",
        "handle",
        "altstack",
        &["which counts and records", RAW],
    ),
    with_word("signal/handler:sa=nodefer", "handle", "nodefer", &["which counts and records", RAW]),
    call("signal/queue:via=raw", "queue_raw", &["rt_sigqueueinfo(2)", "a check of both"]),
    call("signal/queue:via=libc", "queue_libc", &["sigqueue(3)", "a check of both"]),
];
