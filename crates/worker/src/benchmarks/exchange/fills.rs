//! The CPU time of messages for which no end waits: one end fills the channel, and the other one
//! empties it when all of them are there.

use super::super::prelude::*;
use super::channel::{BufferedChannel, Channel};
use super::peer::command;

/// The messages of an op: their CPU time is many times that of two clock reads.
const MESSAGES_PER_OP: u64 = 16;

impl Channel {
    /// An op is 16 messages, of which the channel has room for `fill_messages` at once. Its figure is
    /// the CPU time that the calls of both ends take for one of them.
    pub(crate) fn cpu_time(self, size: u64, fill_messages: u64) -> Result<Work, Errno> {
        if fill_messages == 0 {
            return Err(Errno::EINVAL);
        }
        let body = BufferedChannel::new(self, size)?;
        let fills = Fills { body, size, fill_messages, message_ps: 0 };
        Ok(Work::from_body(Shape::OwnValue, fills))
    }
}

struct Fills {
    body: BufferedChannel,
    size: u64,
    fill_messages: u64,
    /// The CPU time of a message in the last op, in picoseconds.
    message_ps: i64,
}

impl Fills {
    /// The CPU time of an op, in nanoseconds.
    fn transfer(&mut self) -> Result<u64, Errno> {
        let (mut cpu_ns, mut left) = (0, MESSAGES_PER_OP);
        while left > 0 {
            let messages = left.min(self.fill_messages);
            cpu_ns += self.body.with_end(|end, message, _, on_interrupt| {
                end.send_fill(messages, message, on_interrupt)
            })?;
            self.body.send_command(command::EMPTY, messages)?;
            let [received, peer_cpu_ns, ..] = self.body.read_reply()?;
            let sent = messages * self.size;
            if received != sent {
                return Err(Errno::check_failed(format!(
                    "{sent} bytes were sent, and the peer received {received}"
                )));
            }
            cpu_ns += peer_cpu_ns;
            left -= messages;
        }
        Ok(cpu_ns)
    }
}

impl WorkBody for Fills {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            let taken = self.transfer();
            let cpu_ns = taken.map_err(|errno| OpError { op, errno: self.body.cause(errno) })?;
            self.message_ps = (1_000 * cpu_ns / MESSAGES_PER_OP) as i64;
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.message_ps
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.observation()
    }
}
