//! Acts of one process: descriptors.

use super::super::acts::Act;
use super::forms::{RAW, call, with_word};

pub(super) const ACTS: &[Act] = &[
    call("descriptor/fcntl:command=getfd", "fcntl_getfd", &["F_GETFD", RAW]),
    call("descriptor/fcntl:command=setfd", "fcntl_setfd", &["FD_CLOEXEC", RAW]),
    call("descriptor/fcntl:command=setfl", "fcntl_setfl", &["O_NONBLOCK", RAW]),
    call("descriptor/ioctl:request=fionread", "ioctl_fionread", &["empty pipe", RAW]),
    call("descriptor/ioctl:request=tcgets", "ioctl_tcgets", &["ENOTTY", RAW]),
    call("descriptor/dup:by=dup3", "dup_to_free", &["free number below 64", RAW]),
    call(
        "descriptor/dup:by=dup3-onto-open",
        "dup_to_open",
        &["another descriptor of the same file", RAW],
    ),
    call("descriptor/dup:by=fcntl", "dup_fcntl", &["F_DUPFD_CLOEXEC", RAW]),
    call("descriptor/eventfd", "new_eventfd", &["eventfd2(2) of zero", RAW]),
    call("descriptor/epoll", "new_epoll", &["epoll_create1(2)", RAW]),
    call("descriptor/timerfd", "new_timerfd", &["CLOCK_MONOTONIC", RAW]),
    call("descriptor/signalfd", "new_signalfd", &["SIGUSR1", RAW]),
    call("descriptor/pidfd", "new_pidfd", &["of the process itself", RAW]),
    call("descriptor/memfd", "new_memfd", &["MFD_NOEXEC_SEAL", RAW]),
    call("descriptor/pipe", "new_pipe", &["pipe2(2)", "of its reader and of its writer"]),
    with_word(
        "descriptor/socketpair:kind=stream",
        "new_pair",
        "stream",
        &["socketpair(2) of AF_UNIX"],
    ),
    with_word(
        "descriptor/socketpair:kind=dgram",
        "new_pair",
        "dgram",
        &["socketpair(2) of AF_UNIX"],
    ),
    call("descriptor/pass", "pass_descriptor", &["one byte with a descriptor of /dev/null"]),
];
