//! A connected socket at one end, and what the system reports of it.

use std::cell::Cell;
use std::fs::File;
use std::net::{IpAddr, TcpListener};

use oscost_model::channel::ChannelObservation;

use crate::kernel::net::socket;
use crate::kernel::net::socket::SocketOption;

/// A socket that is connected to the other end's.
pub(super) struct Socket {
    pub(super) file: File,
    pub(super) over: Over,
    /// The listener of a local peer, on which no further connection is expected.
    pub(super) door: Option<Watched>,
}

/// The transport.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Nothing,
    Tcp(IpAddr),
    Udp(IpAddr),
}

/// A listener on this machine, after the peer has connected.
pub(super) struct Watched {
    pub(super) listener: TcpListener,
    pub(super) strangers: Cell<u64>,
}

impl Watched {
    /// Counts and closes connections that have arrived since; returns the total.
    pub(super) fn strangers(&self) -> u64 {
        while self.listener.accept().is_ok() {
            self.strangers.set(self.strangers.get() + 1);
        }
        self.strangers.get()
    }
}

impl Socket {
    /// A UDP socket.
    pub(super) fn of_udp(file: File, here: IpAddr, door: Option<Watched>) -> Self {
        Self { file, over: Over::Udp(here), door }
    }

    /// What the system reports about it now.
    pub(super) fn seen(&self) -> ChannelObservation {
        let ask = |what| socket::get(&self.file, what).ok();
        let mtu = |here: IpAddr| {
            ask(if here.is_ipv4() { SocketOption::Mtu } else { SocketOption::Mtu6 })
                .filter(|&mtu| mtu > 0)
        };
        ChannelObservation {
            send_buffer_bytes: ask(SocketOption::SendBuffer),
            receive_buffer_bytes: ask(SocketOption::ReceiveBuffer),
            mtu_bytes: match self.over {
                Over::Nothing => None,
                Over::Tcp(here) | Over::Udp(here) => mtu(here),
            },
            segment_bytes: match self.over {
                Over::Tcp(_) => ask(SocketOption::Segment),
                _ => None,
            },
            unauthorised_connections: self.door.as_ref().map_or(0, Watched::strangers),
            ..ChannelObservation::default()
        }
    }
}
