//! A TCP listener that admits one authenticated peer, and the connection to it.
//!
//! A connection must present the token first. One with a wrong token, or from another address than
//! the first authenticated one, is unauthorised: counted and closed. A silent connection cannot
//! block the listener.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::kernel::Errno;
use crate::kernel::event::poll;

/// The token that authenticates the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token([u8; 16]);

/// The timeout of connecting, and of waiting for the peer.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The byte that confirms admission.
const ACCEPTED: u8 = b'+';

/// Further simultaneous connections are unauthorised without reading their token.
const MAX_PENDING: usize = 64;

impl Token {
    /// A random token, from getrandom(2).
    pub fn random() -> Result<Self, Errno> {
        let mut token = [0; 16];
        // Up to 256 bytes are never cut short.
        getrandom(&mut token, GetRandomFlags::empty())?;
        Ok(Self(token))
    }

    /// Parses one: 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(Self(number.to_be_bytes()))
    }

    /// Compares in constant time.
    fn matches(&self, shown: &[u8]) -> bool {
        let differ =
            self.0.iter().zip(shown).fold(0, |differ, (own, shown)| differ | (own ^ shown));
        shown.len() == self.0.len() && differ == 0
    }
}

/// A listener's address and token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteEndpoint {
    /// Its address.
    pub addr: SocketAddr,
    /// Its token.
    pub token: Token,
}

impl RemoteEndpoint {
    /// Parses address and token.
    pub fn parse(addr: &str, token: &str) -> Option<Self> {
        Some(Self { addr: addr.parse().ok()?, token: Token::parse(token)? })
    }

    /// Connects, presents the token, and waits for admission.
    pub fn connect(&self) -> Result<TcpStream, Errno> {
        let mut stream =
            TcpStream::connect_timeout(&self.addr, CONNECT_TIMEOUT).map_err(timeout_error)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        stream.write_all(&self.token.0)?;
        let mut answer = [0];
        match stream.read_exact(&mut answer) {
            Ok(()) if answer[0] == ACCEPTED => {}
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
                return Err(timeout_error(error));
            }
            _ => return Err(Errno(libc::ECONNREFUSED)),
        }
        stream.set_read_timeout(None)?;
        Ok(stream)
    }
}

/// Converts an error; std's timeouts carry no errno, or another one.
fn timeout_error(error: std::io::Error) -> Errno {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Errno(libc::ETIMEDOUT),
        _ => error.into(),
    }
}

/// A listener for one authenticated peer.
pub struct TokenListener {
    listener: TcpListener,
    addr: SocketAddr,
    token: Token,
    /// The address of the authenticated peer: only that may connect again.
    peer: Option<IpAddr>,
    unauthorised: u64,
}

/// A connection that has not presented the whole token yet.
struct PendingConnection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl TokenListener {
    /// A listener on loopback, with a random token.
    pub fn on_loopback() -> Result<Self, Errno> {
        Self::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), Token::random()?)
    }

    /// A listener at this address, on a port that the kernel chooses.
    pub fn bind(address: IpAddr, token: Token) -> Result<Self, Errno> {
        let listener = TcpListener::bind(SocketAddr::new(address, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        Ok(Self { listener, addr, token, peer: None, unauthorised: 0 })
    }

    /// The address and token to connect with.
    pub fn endpoint(&self) -> RemoteEndpoint {
        RemoteEndpoint { addr: self.addr, token: self.token }
    }

    /// The number of unauthorised connections so far.
    pub fn unauthorised_count(&self) -> u64 {
        self.unauthorised
    }

    /// The authenticated peer's address.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// The listening socket, for a case whose op is accept(2): each connection is checked with
    /// [`Self::is_from_peer`].
    pub fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Whether an address is the peer's; otherwise counts an unauthorised connection.
    pub fn is_from_peer(&mut self, address: IpAddr) -> bool {
        let is_peer = self.peer.is_none_or(|peer| peer == address);
        self.unauthorised += u64::from(!is_peer);
        is_peer
    }

    /// Closes the listener and returns the number of unauthorised connections, including those
    /// still in the backlog.
    pub fn close(mut self) -> u64 {
        // A case whose op is accept(2) has made the socket blocking.
        if self.listener.set_nonblocking(true).is_err() {
            return self.unauthorised;
        }
        while let Ok((_, from)) = self.listener.accept() {
            self.is_from_peer(from.ip());
        }
        self.unauthorised
    }

    /// The next connection that presents the token. Those that are incomplete by then are
    /// unauthorised.
    pub fn accept_peer(&mut self) -> Result<TcpStream, Errno> {
        let until = Instant::now() + CONNECT_TIMEOUT;
        let mut waiting: Vec<PendingConnection> = Vec::new();
        let found = loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break Err(Errno(libc::ETIMEDOUT));
            }
            let ready = {
                let mut fds = vec![self.listener.as_fd()];
                fds.extend(waiting.iter().map(|connection| connection.stream.as_fd()));
                poll::readable(&fds, Some(left))?
            };
            for at in (0..waiting.len()).rev().filter(|at| ready[at + 1]) {
                match waiting[at].read_token(&self.token) {
                    TokenCheck::Incomplete => {}
                    TokenCheck::Valid => return self.admit(waiting, at),
                    TokenCheck::Invalid => {
                        self.unauthorised += 1;
                        drop(waiting.swap_remove(at));
                    }
                }
            }
            if ready[0] {
                self.accept_pending(&mut waiting)?;
            }
        };
        self.unauthorised += waiting.len() as u64;
        found
    }

    /// Accepts a connection; one from another address than the peer's is closed at once.
    fn accept_pending(&mut self, waiting: &mut Vec<PendingConnection>) -> Result<(), Errno> {
        match self.listener.accept() {
            Ok((stream, from)) if self.is_from_peer(from.ip()) => {
                if waiting.len() >= MAX_PENDING {
                    self.unauthorised += 1;
                } else {
                    stream.set_nonblocking(true)?;
                    waiting.push(PendingConnection { stream, received: Vec::new() });
                }
                Ok(())
            }
            // Closed and counted already.
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Admits the connection that presented the token, and closes all others.
    fn admit(
        &mut self,
        mut waiting: Vec<PendingConnection>,
        index: usize,
    ) -> Result<TcpStream, Errno> {
        let mut stream = waiting.swap_remove(index).stream;
        self.unauthorised += waiting.len() as u64;
        self.peer = Some(stream.peer_addr()?.ip());
        stream.set_nonblocking(false)?;
        stream.write_all(&[ACCEPTED])?;
        Ok(stream)
    }
}

/// The state of a connection's token.
enum TokenCheck {
    Incomplete,
    Valid,
    Invalid,
}

impl PendingConnection {
    fn read_token(&mut self, token: &Token) -> TokenCheck {
        let mut rest = [0; 16];
        let room = rest.len() - self.received.len();
        match self.stream.read(&mut rest[..room]) {
            Ok(0) => TokenCheck::Invalid,
            Ok(read) => {
                self.received.extend_from_slice(&rest[..read]);
                match self.received.len() == token.0.len() {
                    true if token.matches(&self.received) => TokenCheck::Valid,
                    true => TokenCheck::Invalid,
                    false => TokenCheck::Incomplete,
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => TokenCheck::Incomplete,
            Err(_) => TokenCheck::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_parsed_and_other_text_is_rejected() {
        let text = "000102030405060708090a0b0c0d0e0f";
        let token = Token::parse(text).unwrap();
        assert!(token.matches(&(0..16).collect::<Vec<u8>>()));
        assert!(!token.matches(&[0; 16]) && !token.matches(&[]));
        for bad in ["", "0", &text[1..], "+00102030405060708090a0b0c0d0e0f"] {
            assert_eq!(Token::parse(bad), None, "{bad}");
        }
        assert_ne!(Token::random().unwrap(), Token::random().unwrap());
    }

    #[test]
    fn unauthorised_connections_are_counted_and_closed_and_the_peer_is_admitted() {
        let mut listener = TokenListener::on_loopback().unwrap();
        let endpoint = listener.endpoint();
        let peer = std::thread::spawn(move || {
            let mut silent = TcpStream::connect(endpoint.addr).unwrap();
            let mut wrong = TcpStream::connect(endpoint.addr).unwrap();
            wrong.write_all(&[7; 16]).unwrap();
            // A wrong token is closed first, a silent connection when the peer is admitted.
            assert!(!matches!(wrong.read(&mut [0]), Ok(1..)));
            let mut peer = endpoint.connect().unwrap();
            peer.write_all(b"hello").unwrap();
            assert!(!matches!(silent.read(&mut [0]), Ok(1..)));
        });
        let mut hello = [0; 5];
        listener.accept_peer().unwrap().read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello");
        peer.join().unwrap();
        assert_eq!(
            (listener.unauthorised_count(), listener.peer()),
            (2, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)))
        );
        // A later connection is unauthorised too, except from the peer.
        let _late = TcpStream::connect(endpoint.addr).unwrap();
        listener.peer = Some(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)));
        assert_eq!(listener.close(), 3);
    }

    #[test]
    fn a_closed_listener_refuses_connections() {
        let endpoint = {
            let listener = TokenListener::on_loopback().unwrap();
            listener.endpoint()
        };
        assert_eq!(endpoint.connect().unwrap_err(), Errno(libc::ECONNREFUSED));
    }
}
