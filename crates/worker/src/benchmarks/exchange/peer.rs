//! The peer: executes commands from the control stream until it is closed.

use super::content::{MessageBuffer, Sender, checksum, fill_message};
use super::end::{End, MAX_MESSAGE_BYTES, timed_echo};
use crate::kernel::Errno;
use crate::kernel::net::control_stream::ControlStream;
use crate::kernel::time::stopwatch::Stopwatch;

/// Commands: the first number selects one, the second is the message size, the third the number of
/// messages.
pub(super) mod command {
    /// Verify that many messages, report the result, and send as many back.
    pub(crate) const VERIFY: u64 = 1;
    /// Send each message back.
    pub(crate) const ECHO: u64 = 2;
    /// Receive them, acknowledge the last, and report what arrived.
    pub(crate) const DRAIN: u64 = 3;
    /// Send each back; report the time stamps of the last but one.
    pub(crate) const TIME: u64 = 4;
    /// As an answer: ready.
    pub(crate) const READY: u64 = 5;
    /// Receive them, all of which are in the channel, and report their bytes and the CPU time.
    pub(crate) const EMPTY: u64 = 6;
}

/// Serves as the peer until the measured process closes the control stream. `watch` takes time
/// stamps if both ends are on one machine.
pub(crate) fn serve(
    end: &mut dyn End,
    control: &ControlStream,
    watch: Stopwatch,
) -> Result<(), Errno> {
    // On this machine the death of the parent ends this process, elsewhere the end of its
    // connections.
    let wait = |_| Ok(());
    let mut buffer = MessageBuffer::new(0);
    loop {
        let [command_code, size, messages, _] = match control.receive(&wait) {
            Err(Errno::EPIPE | Errno(libc::ECONNRESET)) => return Ok(()),
            words => words?,
        };
        if !(1..=MAX_MESSAGE_BYTES).contains(&size) {
            return Err(Errno::EINVAL);
        }
        if buffer.get().len() as u64 != size {
            buffer = MessageBuffer::new(size as usize);
        }
        let into = buffer.get_mut();
        match command_code {
            command::VERIFY => verify(end, control, into, messages)?,
            command::ECHO => {
                control.send([command::READY, 0, 0, 0], &wait)?;
                match end.echo(messages, into, &wait) {
                    // The number of messages is unlimited: the end of the channel is the end.
                    Err(Errno::EPIPE | Errno(libc::ECONNRESET)) if messages == u64::MAX => {
                        return Ok(());
                    }
                    done => done?,
                }
            }
            command::DRAIN => {
                control.send([command::READY, 0, 0, 0], &wait)?;
                let received = end.receive_many(messages, into, &wait)?;
                control.send([received.messages, received.bytes, 0, 0], &wait)?;
            }
            command::EMPTY => {
                let fill = end.receive_fill(messages, into, &wait)?;
                control.send([fill.bytes, fill.cpu_ns, 0, 0], &wait)?;
            }
            command::TIME => {
                control.send([command::READY, 0, 0, 0], &wait)?;
                end.echo(messages.saturating_sub(2), into, &wait)?;
                let ticks = timed_echo(end, watch, into, &wait)?;
                // Wait for the next message at once, as in a series: doing anything else first
                // would keep the other end from a shared CPU.
                end.echo(1, into, &wait)?;
                control.send([ticks.received, ticks.sent, 0, 0], &wait)?;
            }
            _ => return Err(Errno::EPROTO),
        }
    }
}

/// Reports how many messages arrived intact, their bytes, and the sum of their checksums; then
/// sends as many back, and keeps them until they have been checked.
fn verify(
    end: &mut dyn End,
    control: &ControlStream,
    into: &mut [u8],
    messages: u64,
) -> Result<(), Errno> {
    let wait = |_| Ok(());
    let mut expected = MessageBuffer::new(into.len());
    let (mut intact, mut bytes, mut checksum_sum) = (0, 0, 0u64);
    for number in 0..messages {
        let received = end.receive(into, &wait)?;
        bytes += received as u64;
        fill_message(expected.get_mut(), number, Sender::Own);
        intact += u64::from(received == into.len() && into == expected.get());
        checksum_sum = checksum_sum.wrapping_add(checksum(into));
    }
    control.send([intact, bytes, checksum_sum, 0], &wait)?;
    let mut answers: Vec<MessageBuffer> = Vec::new();
    for number in 0..messages {
        let mut buffer = MessageBuffer::new(into.len());
        fill_message(buffer.get_mut(), number, Sender::Peer);
        answers.push(buffer);
    }
    for buffer in &answers {
        end.send(buffer.get(), &wait)?;
    }
    control.receive(&wait).map(drop)
}
