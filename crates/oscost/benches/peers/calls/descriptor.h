/* Calls of one process: descriptors. */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include "shared.h"

static int null_ready(const char *with)
{
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    other_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return self_ready(with) || other_fd < 0;
}

static int pipe_ready(const char *with)
{
    int ends[2];
    (void)with;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    fd = ends[0];
    return 0;
}

/* A free number in the table that a process starts with. */
enum { FREE_FD = 63 };

static unsigned memfd_flags = MFD_CLOEXEC | MFD_NOEXEC_SEAL;

static int memfd_ready(const char *with)
{
    (void)with;
    int made = memfd_create("oscost", memfd_flags);
    if (made < 0)
        memfd_flags = MFD_CLOEXEC;
    else
        close(made);
    return 0;
}

IN_LINE int new_pipe(void)
{
    int ends[2];
    return raw(SYS_pipe2, ends, O_CLOEXEC) == 0 && raw(SYS_close, ends[0]) == 0 &&
           raw(SYS_close, ends[1]) == 0;
}

IN_LINE int new_pair(void)
{
    int ends[2];
    return raw(SYS_socketpair, AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0 &&
           raw(SYS_close, ends[0]) == 0 && raw(SYS_close, ends[1]) == 0;
}

/* A message of one byte with a descriptor. */
struct carrier {
    struct msghdr header;
    struct iovec part;
    char byte;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
};
static struct carrier sent, received;

static void prepare_carrier(struct carrier *carrier)
{
    carrier->part = (struct iovec) { &carrier->byte, 1 };
    carrier->header.msg_iov = &carrier->part;
    carrier->header.msg_iovlen = 1;
    carrier->header.msg_control = &carrier->control;
    carrier->header.msg_controllen = sizeof carrier->control;
}

static int pass_ready(const char *with)
{
    prepare_carrier(&sent);
    prepare_carrier(&received);
    if (null_ready(with) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return 1;
    struct cmsghdr *control = CMSG_FIRSTHDR(&sent.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    return 0;
}

IN_LINE int pass_descriptor(void)
{
    int passed;
    received.header.msg_controllen = sizeof received.control;
    if (raw(SYS_sendmsg, sockets[0], &sent.header, 0) != 1 ||
        raw(SYS_recvmsg, sockets[1], &received.header, MSG_CMSG_CLOEXEC) != 1 ||
        received.control.header.cmsg_type != SCM_RIGHTS || received.header.msg_flags & MSG_CTRUNC)
        return 0;
    memcpy(&passed, CMSG_DATA(&received.control.header), sizeof passed);
    return raw(SYS_close, passed) == 0;
}

#define DESCRIPTOR_CALLS(OP) \
    OP(fcntl_getfd, null_ready, RAW(FD_CLOEXEC, SYS_fcntl, fd, F_GETFD, 0)) \
    OP(fcntl_setfd, null_ready, RAW(0, SYS_fcntl, fd, F_SETFD, FD_CLOEXEC)) \
    OP(fcntl_setfl, null_ready, RAW(0, SYS_fcntl, fd, F_SETFL, O_NONBLOCK)) \
    OP(ioctl_fionread, pipe_ready, RAW(0, SYS_ioctl, fd, FIONREAD, buffer)) \
    OP(ioctl_tcgets, pipe_ready, RAW_FAILS(ENOTTY, SYS_ioctl, fd, TCGETS, buffer)) \
    OP(dup_to_free, null_ready, \
       RAW(FREE_FD, SYS_dup3, fd, FREE_FD, O_CLOEXEC) RAW(0, SYS_close, FREE_FD)) \
    OP(dup_to_open, null_ready, RAW(other_fd, SYS_dup3, fd, other_fd, O_CLOEXEC)) \
    OP(dup_fcntl, null_ready, RAW_OPEN(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0)) \
    OP(new_eventfd, NULL, RAW_OPEN(SYS_eventfd2, 0, EFD_CLOEXEC)) \
    OP(new_epoll, NULL, RAW_OPEN(SYS_epoll_create1, EPOLL_CLOEXEC)) \
    OP(new_timerfd, NULL, RAW_OPEN(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC)) \
    OP(new_signalfd, NULL, RAW_OPEN(SYS_signalfd4, -1, &usr1, sizeof usr1, SFD_CLOEXEC)) \
    OP(new_pidfd, self_ready, RAW_OPEN(SYS_pidfd_open, self, 0)) \
    OP(new_memfd, memfd_ready, RAW_OPEN(SYS_memfd_create, "oscost", memfd_flags)) \
    OP(new_pipe, NULL, RIGHT(new_pipe())) \
    OP(new_pair, type_ready, RIGHT(new_pair())) \
    OP(pass_descriptor, pass_ready, RIGHT(pass_descriptor()))

#endif
