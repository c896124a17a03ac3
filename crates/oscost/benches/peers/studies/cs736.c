/* cs736-2019, as its text says: of calls the smallest of 10,000,000, between RDTSC and RDTSCP with
 * CPUID before the first and behind the second; of messages half of the smallest of 1,000,000 round
 * trips, and the rate of many with one answer at the end. */
#include "study.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { CALLS = 10000000, TRIPS = 1000000, RATES = 10 };
enum { LARGEST = 524288, LARGEST_DATAGRAM = 65507 };

static const struct study_options *options;
static char message[LARGEST];

/* --- Clocks and calls --- */

#if defined(__x86_64__)
INLINE uint64_t ticks_before(void)
{
    uint32_t low, high;
    __asm__ volatile("cpuid\n\trdtsc\n\tmov %%edx, %0\n\tmov %%eax, %1"
                     : "=r"(high), "=r"(low)
                     : "a"(0), "c"(0)
                     : "rbx", "rdx", "memory");
    return (uint64_t)high << 32 | low;
}

INLINE uint64_t ticks_behind(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtscp\n\tmov %%edx, %0\n\tmov %%eax, %1\n\txor %%eax, %%eax\n\tcpuid"
                     : "=r"(high), "=r"(low)
                     :
                     : "rax", "rbx", "rcx", "rdx", "memory");
    return (uint64_t)high << 32 | low;
}
#else
INLINE uint64_t ticks_before(void)
{
    __asm__ volatile("isb" : : : "memory");
    return rdtsc();
}

INLINE uint64_t ticks_behind(void)
{
    uint64_t ticks = rdtsc();
    __asm__ volatile("isb" : : : "memory");
    return ticks;
}
#endif

/* The smallest of 10,000,000, and how many there were. */
#define SMALLEST(before, statement, behind, ops) \
    ({ \
        uint64_t smallest = UINT64_MAX, began = now_ns(); \
        for ((ops) = 0; (ops) < CALLS; (ops)++) { \
            uint64_t start, ended; \
            start = before(); \
            statement; \
            ended = behind(); \
            if (ended - start < smallest) \
                smallest = ended - start; \
            if ((ops) % 4096 == 4095 && time_is_up(options, began)) \
                break; \
        } \
        smallest; \
    })

static int print_ticks(uint64_t ticks, unsigned long ops)
{
    return print_figure((double)ticks, "tick", -1, (double)ticks / ticks_per_ns(), ops, 1);
}

/* --- Channels --- */

enum kind { PIPE, TCP, UDP };

/* One end of a channel: the descriptors from which it receives, and to which it sends. */
struct end {
    int from, to;
};

static void set(int descriptor, int level, int name, int value)
{
    if (setsockopt(descriptor, level, name, &value, sizeof value) != 0)
        fail("setsockopt");
}

/* Both ends of a channel over loopback. */
static void connect_ends(enum kind kind, size_t size, struct end *mine, struct end *peers)
{
    struct sockaddr_in at[2] = {{0}, {0}};
    socklen_t length = sizeof at[0];
    int ends[2], there[2], back[2];
    if (kind == PIPE) {
        if (pipe(there) != 0 || pipe(back) != 0)
            fail("pipe");
        *mine = (struct end){back[0], there[1]};
        *peers = (struct end){there[0], back[1]};
        return;
    }
    for (int side = 0; side < 2; side++) {
        at[side].sin_family = AF_INET;
        at[side].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ends[side] = socket(AF_INET, kind == TCP ? SOCK_STREAM : SOCK_DGRAM, 0);
        if (ends[side] < 0 || bind(ends[side], (struct sockaddr *)&at[side], length) != 0 ||
            getsockname(ends[side], (struct sockaddr *)&at[side], &length) != 0)
            fail("a socket");
    }
    if (kind == TCP) {
        int accepted;
        if (listen(ends[1], 1) != 0 ||
            connect(ends[0], (struct sockaddr *)&at[1], length) != 0 ||
            (accepted = accept(ends[1], NULL, NULL)) < 0)
            fail("connect");
        close(ends[1]);
        ends[1] = accepted;
        set(ends[0], IPPROTO_TCP, TCP_NODELAY, 1);
        set(ends[1], IPPROTO_TCP, TCP_NODELAY, 1);
    } else {
        for (int side = 0; side < 2; side++) {
            if (connect(ends[side], (struct sockaddr *)&at[1 - side], length) != 0)
                fail("connect");
            /* What does not fit into one datagram is sent in several, which the buffers of a system
             * as it is installed do not hold. */
            if (size > 65536) {
                set(ends[side], SOL_SOCKET, SO_SNDBUF, LARGEST);
                if (setsockopt(ends[side], SOL_SOCKET, SO_RCVBUFFORCE, &(int){LARGEST},
                               sizeof(int)) != 0)
                    set(ends[side], SOL_SOCKET, SO_RCVBUF, LARGEST);
            }
        }
    }
    *mine = (struct end){ends[0], ends[0]};
    *peers = (struct end){ends[1], ends[1]};
}

/* --- Messages by a stream --- */

static void send_stream(struct end end, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = write(end.to, message + sent, size - sent);
        if (count <= 0)
            fail("write");
        sent += (size_t)count;
    }
}

static void receive_stream(struct end end, size_t size)
{
    for (size_t received = 0; received < size;) {
        ssize_t count = read(end.from, message + received, size - received);
        if (count <= 0)
            fail("read");
        received += (size_t)count;
    }
}

/* --- Messages by datagrams: each begins with the number of its message --- */

/* Marks the end of a stream of messages, until that has been answered. */
static const uint32_t END_MARK = UINT32_MAX;
/* A round trip that takes longer is lost. */
static const double LOST_AFTER_S = 0.05;

static void send_datagrams(struct end end, size_t size, uint32_t number)
{
    for (size_t sent = 0; sent < size;) {
        size_t bytes = size - sent < LARGEST_DATAGRAM ? size - sent : LARGEST_DATAGRAM;
        memcpy(message, &number, sizeof number);
        /* A full device queue is no failure: the datagram is lost like others. */
        if (send(end.to, message, bytes, 0) < 0 && errno != ENOBUFS)
            fail("send");
        sent += bytes;
    }
}

/* One datagram: its number and its bytes, which are 0 after a timeout. */
static size_t receive_datagram(struct end end, uint32_t *number)
{
    ssize_t count = recv(end.from, message, sizeof message, 0);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        fail("recv");
    if (count < (ssize_t)sizeof *number)
        return 0;
    memcpy(number, message, sizeof *number);
    return (size_t)count;
}

/* The number of the next complete message. */
static uint32_t receive_any_message(struct end end, size_t size)
{
    uint32_t current = 0, number = 0;
    size_t received = 0;
    for (;;) {
        size_t bytes = receive_datagram(end, &number);
        if (number == END_MARK && bytes > 0)
            return number;
        received = number == current ? received + bytes : bytes;
        current = number;
        if (received >= size)
            return number;
    }
}

/* Whether the message of that number came back in time; others are late, and passed over. */
static int receive_answer(struct end end, size_t size, uint32_t wanted)
{
    uint32_t number = 0;
    size_t received = 0;
    while (received < size) {
        size_t bytes = receive_datagram(end, &number);
        if (bytes == 0)
            return 0;
        received += number == wanted ? bytes : 0;
    }
    return 1;
}

static void wait_at_most(struct end end, double seconds)
{
    struct timeval time = {(time_t)seconds, (suseconds_t)((seconds - (time_t)seconds) * 1e6)};
    if (setsockopt(end.from, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0)
        fail("SO_RCVTIMEO");
}

/* --- Latency --- */

static void answer_each(enum kind kind, struct end end, size_t size)
{
    for (;;) {
        if (kind == UDP) {
            send_datagrams(end, size, receive_any_message(end, size));
        } else {
            receive_stream(end, size);
            send_stream(end, size);
        }
    }
}

static int latency(enum kind kind, size_t size)
{
    struct end mine, peers;
    uint64_t smallest = UINT64_MAX, began;
    uint32_t trip, lost = 0;
    pid_t child;
    connect_ends(kind, size, &mine, &peers);
    child = fork_peer(options);
    if (child == 0)
        answer_each(kind, peers, size);
    if (kind == UDP)
        wait_at_most(mine, LOST_AFTER_S);
    began = now_ns();
    for (trip = 0; trip < TRIPS && !time_is_up(options, began); trip++) {
        uint64_t start = now_ns(), ns;
        if (kind == UDP) {
            send_datagrams(mine, size, trip + 1);
            if (!receive_answer(mine, size, trip + 1)) {
                lost++;
                continue;
            }
        } else {
            send_stream(mine, size);
            receive_stream(mine, size);
        }
        ns = now_ns() - start;
        if (ns < smallest)
            smallest = ns;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (lost > 0)
        fprintf(stderr, "%u of %u messages were lost\n", lost, trip);
    if (smallest == UINT64_MAX)
        return 1;
    return print_figure((double)smallest / 2e3, "us", -1, (double)smallest, trip - lost, 1);
}

/* --- Throughput --- */

/* So many messages that they take some tenths of a second: the study states no number. */
static uint32_t messages_of(size_t size)
{
    size_t messages = ((size_t)256 << 20) / size;
    return (uint32_t)(messages < 200000 ? messages : 200000);
}

static void acknowledge(enum kind kind, struct end end, size_t size)
{
    uint32_t wanted = messages_of(size), complete = 0;
    for (uint32_t expected = 0;;) {
        if (kind == UDP) {
            uint32_t number = receive_any_message(end, size);
            if (number != END_MARK) {
                complete++;
                continue;
            }
            /* Marks that were sent after the first answer are answered by 0, which is passed over. */
            if (send(end.to, &complete, sizeof complete, 0) < 0)
                fail("send");
            complete = 0;
            continue;
        }
        for (expected = 0; expected < wanted; expected++)
            receive_stream(end, size);
        if (write(end.to, &wanted, sizeof wanted) != sizeof wanted)
            fail("write");
    }
}

/* Sends the mark again and again until the peer has reported how many messages were complete. */
static uint32_t complete_messages(struct end end)
{
    uint32_t complete = 0;
    do {
        if (send(end.to, &END_MARK, sizeof END_MARK, 0) < 0 && errno != ENOBUFS)
            fail("send");
        if (recv(end.from, &complete, sizeof complete, 0) < 0 && errno != EAGAIN)
            fail("recv");
    } while (complete == 0);
    return complete;
}

static int throughput(enum kind kind, size_t size)
{
    struct end mine, peers;
    struct experiments all = {0};
    uint32_t messages = messages_of(size);
    uint64_t began;
    pid_t child;
    connect_ends(kind, size, &mine, &peers);
    child = fork_peer(options);
    if (child == 0)
        acknowledge(kind, peers, size);
    if (kind == UDP)
        wait_at_most(mine, 0.001);
    began = now_ns();
    while (all.count < RATES && !time_is_up(options, began)) {
        uint32_t arrived = messages;
        uint64_t start = now_ns();
        for (uint32_t number = 1; number <= messages; number++) {
            if (kind == UDP)
                send_datagrams(mine, size, number);
            else
                send_stream(mine, size);
        }
        if (kind == UDP)
            arrived = complete_messages(mine);
        else if (read(mine.from, &arrived, sizeof arrived) != sizeof arrived)
            fail("read");
        add_experiment(&all, (double)arrived * (double)size * 1e3 / (double)(now_ns() - start));
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return print_figure(mean_of(&all), "MB/s", deviation_of(&all), 1e3 / mean_of(&all), messages,
                        all.count);
}

int main(int count, char **words)
{
    static const struct {
        const char *latency, *rate;
        enum kind kind;
    } channels[] = {{"pipe", "pipe-rate", PIPE}, {"tcp", "tcp-rate", TCP}, {"udp", "udp-rate", UDP}};
    struct study_options given = parse_options(count, words);
    unsigned long ops;
    uint64_t smallest;
    options = &given;
    if (is_act(options, "rdtsc-pair")) {
        smallest = SMALLEST(ticks_before, , ticks_behind, ops);
        return print_ticks(smallest, ops);
    }
    if (is_act(options, "getpid")) {
        smallest = SMALLEST(ticks_before, USED(getpid()), ticks_behind, ops);
        return print_ticks(smallest, ops);
    }
    if (is_act(options, "getuid")) {
        smallest = SMALLEST(ticks_before, USED(getuid()), ticks_behind, ops);
        return print_ticks(smallest, ops);
    }
    if (is_act(options, "clock_gettime-pair")) {
        smallest = SMALLEST(now_ns, , now_ns, ops);
        return print_figure((double)smallest, "ns", -1, (double)smallest, ops, 1);
    }
    memset(message, 'x', sizeof message);
    for (size_t index = 0; index < sizeof channels / sizeof channels[0]; index++) {
        long size = act_number(options, channels[index].latency);
        if (size >= 4 && size <= LARGEST)
            return latency(channels[index].kind, (size_t)size);
        size = act_number(options, channels[index].rate);
        if (size >= 4 && size <= LARGEST)
            return throughput(channels[index].kind, (size_t)size);
    }
    return unknown_act(options);
}
