/* Calls of one process: sockets, and file systems. */
#ifndef SOCKET_H
#define SOCKET_H

#include "shared.h"

static int domain;
static union {
    struct sockaddr any;
    struct sockaddr_in inet;
    struct sockaddr_un local;
    struct sockaddr_nl netlink;
} address, found;
static socklen_t address_bytes;

/* A domain, and an address in it that the kernel completes. */
static int domain_ready(const char *with)
{
    type = SOCK_STREAM;
    if (strncmp(with, "inet-", 5) == 0) {
        domain = AF_INET;
        address_bytes = sizeof address.inet;
        address.inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (strcmp(with, "inet-udp") == 0)
            type = SOCK_DGRAM;
    } else if (strcmp(with, "netlink") == 0) {
        domain = AF_NETLINK;
        address_bytes = sizeof address.netlink;
        type = SOCK_RAW;
    } else {
        domain = AF_UNIX;
        address_bytes = sizeof address.any.sa_family;
    }
    address.any.sa_family = domain;
    return 0;
}

IN_LINE int new_socket(void)
{
    return raw(SYS_socket, domain, type | SOCK_CLOEXEC, 0);
}

IN_LINE int open_and_close(void)
{
    return raw(SYS_close, new_socket()) == 0;
}

IN_LINE int bind_and_close(void)
{
    int made = new_socket();
    int bound = raw(SYS_bind, made, &address.any, address_bytes) == 0;
    return raw(SYS_close, made) == 0 && bound;
}

IN_LINE int listen_and_close(void)
{
    int made = new_socket();
    int listens = raw(SYS_bind, made, &address.any, address_bytes) == 0 &&
                  raw(SYS_listen, made, 16) == 0;
    return raw(SYS_close, made) == 0 && listens;
}

/* An address that is bound, and at which no one listens. */
static int refusal_ready(const char *with)
{
    if (domain_ready(with))
        return 1;
    fd = new_socket();
    socklen_t room = sizeof address;
    if (bind(fd, &address.any, address_bytes) != 0 || getsockname(fd, &address.any, &room) != 0)
        return 1;
    address_bytes = room;
    return 0;
}

IN_LINE int connect_and_close(void)
{
    int made = new_socket();
    int refused = raw(SYS_connect, made, &address.any, address_bytes) == -ECONNREFUSED;
    return raw(SYS_close, made) == 0 && refused;
}

static int option_level, option, option_value;

static int option_ready(const char *with)
{
    int is_nodelay = strcmp(with, "nodelay") == 0;
    option_level = is_nodelay ? IPPROTO_TCP : SOL_SOCKET;
    option = is_nodelay ? TCP_NODELAY : SO_KEEPALIVE;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0;
}

IN_LINE int flip_option(void)
{
    int answer = -1;
    socklen_t bytes = sizeof answer;
    option_value ^= 1;
    return raw(SYS_setsockopt, fd, option_level, option, &option_value, sizeof option_value) == 0 &&
           raw(SYS_getsockopt, fd, option_level, option, &answer, &bytes) == 0 &&
           answer == option_value;
}

/* Two connected UDP sockets; the address of the one that is asked for. */
static int names_known_ready(const char *with)
{
    int ends[2];
    struct sockaddr_in at[2];
    for (int end = 0; end < 2; end++) {
        socklen_t length = sizeof at[end];
        at[end] = (struct sockaddr_in) { .sin_family = AF_INET };
        at[end].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ends[end] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (bind(ends[end], (void *)&at[end], length) != 0 ||
            getsockname(ends[end], (void *)&at[end], &length) != 0)
            return 1;
    }
    fd = ends[0];
    address.inet = at[strcmp(with, "peer") == 0];
    return connect(ends[0], (void *)&at[1], sizeof at[1]) != 0 ||
           connect(ends[1], (void *)&at[0], sizeof at[0]) != 0;
}

#define IS_NAMED(call) \
    address_bytes = sizeof found.inet; \
    RIGHT(raw(call, fd, &found.any, &address_bytes) == 0 && address_bytes == sizeof found.inet && \
          memcmp(&found.inet, &address.inet, sizeof found.inet) == 0)

IN_LINE int shut_down_pair(void)
{
    int ends[2];
    char byte;
    return raw(SYS_socketpair, AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0 &&
           raw(SYS_shutdown, ends[0], SHUT_RDWR) == 0 &&
           raw(SYS_recvfrom, ends[1], &byte, 1, MSG_DONTWAIT, NULL, NULL) == 0 &&
           raw(SYS_close, ends[0]) == 0 && raw(SYS_close, ends[1]) == 0;
}

enum { MESSAGE_BYTES = 64 };
static struct msghdr sent_message, received_message;
static struct iovec sent_vectors[8], received_vectors[8];

/* "KIND,VECTORS" */
static int message_ready(const char *with)
{
    char kind[16];
    long count;
    if (sscanf(with, "%15[a-z],%ld", kind, &count) != 2 || count < 1 || count > 8)
        return 1;
    size_t part = MESSAGE_BYTES / count;
    for (long at = 0; at < count; at++) {
        sent_vectors[at] = (struct iovec) { buffer + part * at, part };
        received_vectors[at] = (struct iovec) { buffer + PAGE + part * at, part };
    }
    memset(buffer, 7, MESSAGE_BYTES);
    sent_message = (struct msghdr) { .msg_iov = sent_vectors, .msg_iovlen = count };
    received_message = (struct msghdr) { .msg_iov = received_vectors, .msg_iovlen = count };
    return type_ready(kind) || socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sockets) != 0;
}

IN_LINE int pass_message(void)
{
    return raw(SYS_sendmsg, sockets[0], &sent_message, MSG_NOSIGNAL) == MESSAGE_BYTES &&
           raw(SYS_recvmsg, sockets[1], &received_message, 0) == MESSAGE_BYTES;
}

#define SOCKET_CALLS(OP) \
    OP(socket_open, domain_ready, RIGHT(open_and_close())) \
    OP(socket_bind, domain_ready, RIGHT(bind_and_close())) \
    OP(socket_listen, domain_ready, RIGHT(listen_and_close())) \
    OP(socket_refused, refusal_ready, RIGHT(connect_and_close())) \
    OP(socket_option, option_ready, RIGHT(flip_option())) \
    OP(socket_own_name, names_known_ready, IS_NAMED(SYS_getsockname)) \
    OP(socket_peer_name, names_known_ready, IS_NAMED(SYS_getpeername)) \
    OP(socket_shutdown, type_ready, RIGHT(shut_down_pair())) \
    OP(socket_message, message_ready, RIGHT(pass_message())) \
    \
    OP(statfs_root, NULL, RAW(0, SYS_statfs, "/", &space)) \
    OP(statfs_proc, NULL, RAW(0, SYS_statfs, "/proc", &space))

#endif
