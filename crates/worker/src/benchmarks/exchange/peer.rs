//! What the other end does: what it is told over the control stream, until that ends.

use super::content::{From, Room, fill, sum};
use super::end::{End, LARGEST, timed_echo};
use crate::kernel::Errno;
use crate::kernel::net::control_stream::Control;
use crate::kernel::time::stopwatch::Stopwatch;

/// Orders: the first number says which, the second how large messages are, the third how many come.
pub(super) mod order {
    /// Look whether so many messages are as they should be, say it, and send as many back.
    pub(crate) const VERIFY: u64 = 1;
    /// Send each message back.
    pub(crate) const ECHO: u64 = 2;
    /// Take them, acknowledge the last, and say what came.
    pub(crate) const DRAIN: u64 = 3;
    /// Send each back; of the last but one tell the times.
    pub(crate) const TIME: u64 = 4;
    /// As an answer: ready.
    pub(crate) const READY: u64 = 5;
}

/// Is the other end, until the one that measures has hung up. `watch` tells times where both ends
/// are on one machine.
pub(in super::super) fn serve(
    end: &mut dyn End,
    control: &Control,
    watch: Stopwatch,
) -> Result<(), Errno> {
    // Here the other end's death ends this process, and elsewhere the end of its connections does.
    let wait = |_| Ok(());
    let mut room = Room::new(0);
    loop {
        let [what, size, messages, _] = match control.hear(&wait) {
            Err(Errno::EPIPE | Errno(libc::ECONNRESET)) => return Ok(()),
            heard => heard?,
        };
        if !(1..=LARGEST).contains(&size) {
            return Err(Errno::EINVAL);
        }
        if room.get().len() as u64 != size {
            room = Room::new(size as usize);
        }
        let into = room.get_mut();
        match what {
            order::VERIFY => verify(end, control, into, messages)?,
            order::ECHO => {
                control.tell([order::READY, 0, 0, 0], &wait)?;
                match end.echo(messages, into, &wait) {
                    // Nobody says how many there will be: the last one is the end.
                    Err(Errno::EPIPE | Errno(libc::ECONNRESET)) if messages == u64::MAX => {
                        return Ok(());
                    }
                    done => done?,
                }
            }
            order::DRAIN => {
                control.tell([order::READY, 0, 0, 0], &wait)?;
                let (came, bytes) = end.drain(messages, into, &wait)?;
                control.tell([came, bytes, 0, 0], &wait)?;
            }
            order::TIME => {
                control.tell([order::READY, 0, 0, 0], &wait)?;
                end.echo(messages.saturating_sub(2), into, &wait)?;
                let (had, sent) = timed_echo(end, watch, into, &wait)?;
                // Now it waits for the next message at once, as among many: what it did first
                // would keep the other end from the CPU that both may have.
                end.echo(1, into, &wait)?;
                control.tell([had, sent, 0, 0], &wait)?;
            }
            _ => return Err(Errno::EPROTO),
        }
    }
}

/// Says how many messages came as they should, their bytes, and the sum of their sums; then sends
/// as many, and keeps them until they were looked at.
fn verify(
    end: &mut dyn End,
    control: &Control,
    into: &mut [u8],
    messages: u64,
) -> Result<(), Errno> {
    let wait = |_| Ok(());
    let mut wanted = Room::new(into.len());
    let (mut good, mut bytes, mut sums) = (0, 0, 0u64);
    for number in 0..messages {
        let came = end.receive(into, &wait)?;
        bytes += came as u64;
        fill(wanted.get_mut(), number, From::Own);
        good += u64::from(came == into.len() && into == wanted.get());
        sums = sums.wrapping_add(sum(into));
    }
    control.tell([good, bytes, sums, 0], &wait)?;
    let mut back: Vec<Room> = Vec::new();
    for number in 0..messages {
        let mut room = Room::new(into.len());
        fill(room.get_mut(), number, From::Peer);
        back.push(room);
    }
    for room in &back {
        end.send(room.get(), &wait)?;
    }
    control.hear(&wait).map(drop)
}
