//! Acts of one process: sockets, and file systems.

use super::super::acts::Act;
use super::forms::{RAW, call, with_word};

pub(super) const ACTS: &[Act] = &[
    with_word(
        "socket/open-close:domain=inet-tcp",
        "socket_open",
        "inet-tcp",
        &["socket(2) and close(2)"],
    ),
    with_word(
        "socket/open-close:domain=inet-udp",
        "socket_open",
        "inet-udp",
        &["socket(2) and close(2)"],
    ),
    with_word(
        "socket/open-close:domain=unix-stream",
        "socket_open",
        "unix-stream",
        &["socket(2) and close(2)"],
    ),
    with_word(
        "socket/open-close:domain=netlink",
        "socket_open",
        "netlink",
        &["socket(2) and close(2)"],
    ),
    with_word("socket/bind:domain=inet-tcp", "socket_bind", "inet-tcp", &["port 0 of 127.0.0.1"]),
    with_word("socket/bind:domain=inet-udp", "socket_bind", "inet-udp", &["port 0 of 127.0.0.1"]),
    with_word(
        "socket/bind:domain=unix-stream",
        "socket_bind",
        "unix-stream",
        &["port 0 of 127.0.0.1"],
    ),
    with_word("socket/bind:domain=netlink", "socket_bind", "netlink", &["port 0 of 127.0.0.1"]),
    with_word("socket/listen:domain=inet-tcp", "socket_listen", "inet-tcp", &["a backlog of 16"]),
    with_word(
        "socket/listen:domain=unix-stream",
        "socket_listen",
        "unix-stream",
        &["a backlog of 16"],
    ),
    with_word("socket/refused:domain=inet-tcp", "socket_refused", "inet-tcp", &["ECONNREFUSED"]),
    with_word(
        "socket/refused:domain=unix-stream",
        "socket_refused",
        "unix-stream",
        &["ECONNREFUSED"],
    ),
    with_word(
        "socket/options:option=keepalive",
        "socket_option",
        "keepalive",
        &["in turns 1 and 0"],
    ),
    with_word("socket/options:option=nodelay", "socket_option", "nodelay", &["in turns 1 and 0"]),
    with_word(
        "socket/name:call=getsockname",
        "socket_own_name",
        "socket",
        &["the answer must be its address"],
    ),
    with_word(
        "socket/name:call=getpeername",
        "socket_peer_name",
        "peer",
        &["the answer must be its address"],
    ),
    with_word("socket/shutdown:kind=stream", "socket_shutdown", "stream", &["in both directions"]),
    with_word(
        "socket/message:kind=stream,vectors=1",
        "socket_message",
        "stream,1",
        &["sendmsg(2) of 64 bytes", "no control data"],
    ),
    with_word(
        "socket/message:kind=stream,vectors=8",
        "socket_message",
        "stream,8",
        &["sendmsg(2) of 64 bytes", "no control data"],
    ),
    with_word(
        "socket/message:kind=dgram,vectors=1",
        "socket_message",
        "dgram,1",
        &["sendmsg(2) of 64 bytes", "no control data"],
    ),
    with_word(
        "socket/message:kind=dgram,vectors=8",
        "socket_message",
        "dgram,8",
        &["sendmsg(2) of 64 bytes", "no control data"],
    ),
    call("mount/statfs:of=root", "statfs_root", &["of `/`", RAW]),
    call("mount/statfs:of=proc", "statfs_proc", &["of `/proc`", RAW]),
];
