//! The CPU time of writes and reads of a pipe that wait for nobody, on one CPU and on two.

use super::mechanisms::make_ends;
use crate::benchmarks::exchange::{Channel, PEER_CPU};
use crate::benchmarks::placement::cpu_of_peer;
use crate::benchmarks::prelude::*;

pub(super) const CPU_TIME: Bench = Bench {
    id: "pipe/cpu-time",
    asks: "What CPU time do a write and a read of a pipe take, with both ends on one CPU and on \
           two?",
    op: "a write(2) of a message into a pipe and the read(2) of it in another process, of which \
         neither waits: one end writes up to 16 messages, for which the empty pipe has room, and \
         the other one reads them when all are there. The CPU time of the calls of both ends \
         together (CLOCK_THREAD_CPUTIME_ID, read before and after the calls of each end) for 16 \
         messages, divided by 16. Calls are counted for all 16. Of a fill of the pipe the figure \
         contains one clock read at each end. Not included: what hands the turn over, its switches \
         and wake-ups; the first access of each end to the pipe itself, by an ioctl(2) FIONREAD, \
         which verifies that the pipe is empty or that all bytes are there; creating both, and \
         verifying six different messages byte by byte at both ends.",
    expected: "1.4 us at 4096 bytes on one CPU, and 2 us on two; at 65536 bytes 12 us, and 20 us \
               on two; 0.65 us at 64 bytes, on both alike",
    why: "On one CPU the bytes are still in its caches when they are read, and the pages that the \
          reader frees are those that the writer is given next. On two CPUs the bytes go from one \
          cache to another one, and the freed pages stay in the lists of the reader's CPU: the \
          writer takes others from the allocator that all CPUs share, and writes to lines that its \
          caches do not hold. The buffers of both ends stay in their caches. Two ends that run at \
          the same time take the lock of the pipe from each other, too: that is not in this \
          figure.",
    compare_with: &[
        "pipe/throughput:by=pipe,size=4096,peer_cpu=same",
        "pipe/throughput:by=pipe,size=65536,peer_cpu=same",
    ],
    calls: &[
        exactly("write", 16),
        exactly("read", 16).by_peer(),
        up_to("ioctl", 16),
        up_to("ioctl", 16).by_peer(),
        up_to("clock_gettime", 32),
        up_to("clock_gettime", 32).by_peer(),
        // The order to read, and its report.
        up_to("sendto", 16),
        up_to("recvfrom", 16),
        up_to("sendto", 16).by_peer(),
        up_to("recvfrom", 16).by_peer(),
    ],
    floor: &[at_least(2, NULL_CALL)],
    axes: &[
        Axis {
            name: "by",
            sets: "the mechanism: a pipe, or a FIFO",
            points: Points::Words(&["pipe", "fifo"]),
            default_points: Points::Words(&["pipe"]),
        },
        Axis {
            name: "size",
            sets: "message size in bytes",
            points: Points::Numbers(&[64, 4_096, 16_384, 65_536]),
            default_points: Points::Numbers(&[64, 4_096, 16_384, 65_536]),
        },
        PEER_CPU,
    ],
    needs: &[Need::time()],
    in_price_list: false,
    switches: true,
    bytes_axis: "size",
    source: "pipe(7), clock_gettime(2); pipe_write and pipe_read in fs/pipe.c, free_unref_page and \
             rmqueue in mm/page_alloc.c",
    build: |params| or_unavailable(cpu_time(params)),
    ..Bench::DEFAULT
};

fn cpu_time(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match cpu_of_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    let size = params.number("size");
    let ends = make_ends(params, size)?;
    let capacity_bytes = ends.own.observation().capacity_bytes.unwrap_or(0);
    if capacity_bytes < size {
        return Ok(Work::unavailable(format!(
            "a new pipe has room for {capacity_bytes} bytes alone, and no write may wait: raise \
             fs.pipe-user-pages-soft, or close other pipes of this user"
        )));
    }
    let channel = Channel::with_child(cpu, params.context.clock, ends)?;
    channel.cpu_time(size, capacity_bytes / size)
}
