//! Whether the audit system is enabled: a read-only netlink(7) query.

use std::time::Duration;

use rustix::net::netlink::AUDIT;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use crate::kernel::Errno;

/// `AUDIT_GET` of linux/audit.h: its answer is a `struct audit_status`.
const AUDIT_GET: u16 = 1000;

/// A netlink header: length, type, flags, sequence, port.
const HEADER_BYTES: usize = 16;

/// The timeout for the answer, which comes at once.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// 0 if disabled, 1 if enabled, 2 if enabled until the next boot. Querying needs CAP_AUDIT_CONTROL
/// (EPERM); a kernel without audit returns EPROTONOSUPPORT or ECONNREFUSED.
pub fn enabled() -> Result<u32, Errno> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(AUDIT))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
    let mut question = [0u8; HEADER_BYTES];
    question[..4].copy_from_slice(&(HEADER_BYTES as u32).to_ne_bytes());
    question[4..6].copy_from_slice(&AUDIT_GET.to_ne_bytes());
    question[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // An unconnected netlink socket sends to the kernel.
    send(&socket, &question, SendFlags::empty())?;
    // Other messages on the socket (of the audit log) are not the answer.
    for _ in 0..8 {
        let mut answer = [0u8; 512];
        let (read, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
        if let Some(found) = parse_answer(answer.get(..read).unwrap_or_default()) {
            return found;
        }
    }
    Err(Errno(libc::ENODATA))
}

/// The answer in a message: `None` if it is another message.
fn parse_answer(message: &[u8]) -> Option<Result<u32, Errno>> {
    let number = |at: usize| Some(u32::from_ne_bytes(*message.get(at..)?.first_chunk()?));
    let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
    match kind {
        // A negative errno.
        _ if i32::from(kind) == libc::NLMSG_ERROR => match number(HEADER_BYTES)? as i32 {
            0 => None,
            error => Some(Err(Errno(error.saturating_neg()))),
        },
        // The mask comes first, then `enabled`.
        AUDIT_GET => number(HEADER_BYTES + 4).map(Ok),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0u8; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn an_answer_is_distinguished_from_a_refusal_and_other_messages() {
        assert_eq!(parse_answer(&message(AUDIT_GET, &[1, 1, 0])), Some(Ok(1)));
        let refused = message(libc::NLMSG_ERROR as u16, &[-libc::EPERM as u32]);
        assert_eq!(parse_answer(&refused), Some(Err(Errno::EPERM)));
        assert_eq!(parse_answer(&message(libc::NLMSG_ERROR as u16, &[0])), None);
        assert_eq!(parse_answer(&message(1305, &[9, 9])), None);
    }

    #[test]
    fn a_message_cut_at_any_byte_has_no_answer() {
        let whole = message(AUDIT_GET, &[1, 1]);
        for len in 0..whole.len() {
            assert_eq!(parse_answer(&whole[..len]), None, "{len} bytes");
        }
    }
}
