//! An eBPF program that is attached to a tracepoint, and detached.

use std::time::Duration;

use kernel::probe::bpf_link::{TracepointProgram, explain_refusal};

use super::super::prelude::*;
use crate::bench::PointFilter;

const ATTACHES: PointFilter = &[("act", "attach")];
const DETACHES: PointFilter = &[("act", "detach")];

pub(super) const ATTACH: Bench = Bench {
    id: "bpf/attach",
    asks: "What do attaching an eBPF program to a tracepoint and detaching it cost?",
    op: "with `act=attach` BPF_RAW_TRACEPOINT_OPEN by bpf(2), of an empty program at \
         sched_kthread_stop, which is hardly ever passed and has no other program; with \
         `act=detach` close(2) of the descriptor that holds it there, the last. Not included: \
         loading the program; the other act and 50 ms of sleep before each op, for the kernel \
         frees what was detached after grace periods of RCU: an attachment that follows at once \
         would wait for one.",
    expected: "some 40 us each on two CPUs: the kernel changes its own code twice, and interrupts \
               all CPUs for it each time",
    why: "A tracepoint without programs is a jump over nothing: the first program changes that to \
          a call, and the last one back (static keys and static calls, text_poke). Each change has \
          three steps, after each of which every CPU is interrupted, so that none executes half of \
          an instruction: the figure grows with the number of CPUs. A second program at the same \
          tracepoint changes a table and one call. What each pass then costs is another matter.",
    calls: &[exactly("bpf", 1).when(ATTACHES), exactly("close", 1).when(DETACHES)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "act",
        sets: "whether the program is attached or detached",
        points: Points::Words(&["attach", "detach"]),
        default_points: Points::Words(&["attach", "detach"]),
    }],
    // Before Linux 5.8, CAP_SYS_ADMIN stands for the other one; later it stands for CAP_PERFMON.
    needs: &[Need::capability(Capability::Bpf), Need::capability(Capability::SysAdmin)],
    in_price_list: false,
    // Both acts take locks that sleep.
    switches: true,
    source: "bpf(2); bpf_raw_tp_link_attach in kernel/bpf/syscall.c, kernel/tracepoint.c, \
             kernel/jump_label.c",
    build: |params| {
        let detaches = params.word("act") == "detach";
        let mut program = TracepointProgram::load()?;
        program.attach().map_err(explain_refusal)?;
        let body = Attachments { program, detaches };
        Ok(Work::from_prepared_body(Shape::SingleShot, body).with_max_batch_ops(1))
    },
    ..Bench::DEFAULT
};

/// Several times a grace period of RCU on an idle machine.
const GRACE: Duration = Duration::from_millis(50);

/// A program that is attached or detached, once in a batch.
struct Attachments {
    program: TracepointProgram,
    detaches: bool,
}

impl WorkBody for Attachments {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        if self.program.is_attached() && !self.detaches {
            self.program.detach()?;
        }
        std::thread::sleep(GRACE);
        if self.detaches && !self.program.is_attached() {
            self.program.attach()?;
        }
        Ok(())
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            let done = if self.detaches { self.program.detach() } else { self.program.attach() };
            done.map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }
}
