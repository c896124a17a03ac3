/* The peers of `make bench` for calls of one process: loops that a C programmer would write from
 * the text of a benchmark's op, by the instruction itself where it says so.
 *
 *   calls CPU OP[=ARGUMENT] ITERATIONS GROUPS UNROLL...   as `loops`; ARGUMENT is what the op
 *       needs: a word, a CPU, or a folder in which it makes one of its own, a comma, and a word
 *
 * Whoever gives a folder removes what is made in it.
 */
#include "calls/descriptor.h"
#include "calls/directory.h"
#include "calls/file.h"
#include "calls/sync.h"
#include "calls/signal.h"
#include "calls/sched.h"
#include "calls/memory.h"
#include "calls/process.h"
#include "calls/socket.h"

/* The table: a name, what makes it ready, and what is repeated. */
#define CALLS(OP) \
    DESCRIPTOR_CALLS(OP) \
    DIRECTORY_CALLS(OP) \
    FILE_CALLS(OP) \
    SYNC_CALLS(OP) \
    SIGNAL_CALLS(OP) \
    SCHED_CALLS(OP) \
    MEMORY_CALLS(OP) \
    PROCESS_CALLS(OP) \
    SOCKET_CALLS(OP)

#define DEFINE(name, ready, ...) LOOPS(name##_loop, __VA_ARGS__)
CALLS(DEFINE)
LOOPS(advise_loop, RIGHT(advise_next()))

static const struct op ops[] = {
#define ROW(name, ready, ...) \
    { #name, name##_loop_1, name##_loop_2, name##_loop_4, name##_loop_8, ready, NULL },
    CALLS(ROW)
    { "advise", advise_loop_1, advise_loop_2, advise_loop_4, advise_loop_8, advice_ready,
      advice_before },
};

int main(int argc, char **argv)
{
    return time_op(ops, sizeof ops / sizeof *ops, argc, argv);
}
