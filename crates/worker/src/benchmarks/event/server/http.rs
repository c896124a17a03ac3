//! Parses HTTP/1.1 requests (RFC 9112) from untrusted bytes.
//!
//! Only what a server with one page needs: the head of a request, parsed strictly, and no body. The
//! server has no clock in the sense of RFC 9110, section 6.6.1, and sends no Date field.

/// Maximum length of a head, and of buffered bytes without a complete head.
pub const MAX_HEAD_BYTES: usize = 8_192;

/// The status of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The page.
    Ok,
    /// Not a valid request.
    BadRequest,
    /// Not the path of the page.
    NotFound,
    /// The request has a body.
    ContentTooLarge,
    /// The head is longer than [`MAX_HEAD_BYTES`].
    HeadTooLarge,
    /// A method other than GET and HEAD, or a transfer coding.
    NotImplemented,
    /// A version other than 1.1 and 1.0.
    VersionNotSupported,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::ContentTooLarge => "413 Content Too Large",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::NotImplemented => "501 Not Implemented",
            Status::VersionNotSupported => "505 HTTP Version Not Supported",
        }
    }
}

/// What happens to the connection after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// It stays open, the default of HTTP/1.1.
    KeepAlive,
    /// It stays open, which the answer has to tell an HTTP/1.0 client.
    KeepAliveHttp10,
    /// It is closed.
    Close,
}

/// A request, as far as the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its length in bytes.
    pub bytes: usize,
    /// The status of the answer.
    pub status: Status,
    /// Whether the answer has no content (HEAD).
    pub head_only: bool,
    /// What happens to the connection.
    pub persistence: Persistence,
}

impl Request {
    /// Bytes that are not a request: where the next one would begin is unknown.
    fn refused(bytes: usize, status: Status) -> Self {
        Self { bytes, status, head_only: false, persistence: Persistence::Close }
    }

    /// The answer to it.
    pub fn answer(&self) -> Vec<u8> {
        let page = match self.status {
            Status::Ok => "ok\n".to_owned(),
            other => format!("{}\n", other.line()),
        };
        let connection = match self.persistence {
            Persistence::KeepAlive => "",
            Persistence::KeepAliveHttp10 => "Connection: keep-alive\r\n",
            Persistence::Close => "Connection: close\r\n",
        };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{connection}\r\n",
            self.status.line(),
            page.len()
        );
        format!("{head}{}", if self.head_only { "" } else { &page }).into_bytes()
    }

    /// Whether it is the common request, whose answer is precomputed.
    pub fn is_common(&self) -> bool {
        self.status == Status::Ok && self.persistence == Persistence::KeepAlive && !self.head_only
    }
}

/// The request that the load generator sends.
pub const COMMON_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The first request in some bytes; `None` if it is incomplete.
pub fn parse_first(bytes: &[u8]) -> Option<Request> {
    // Empty lines before a request are skipped (RFC 9112, section 2.2).
    let mut begin = 0;
    while bytes[begin..].starts_with(b"\r\n") {
        begin += 2;
    }
    let rest = &bytes[begin..];
    let Some(end) = end_of_head(rest) else {
        return match () {
            () if bytes.len() >= MAX_HEAD_BYTES => {
                Some(Request::refused(bytes.len(), Status::HeadTooLarge))
            }
            // Half of an empty line.
            () if rest == b"\r" => None,
            // A malformed beginning is refused before the head is complete.
            () if !is_valid_prefix(rest) => Some(Request::refused(bytes.len(), Status::BadRequest)),
            () => None,
        };
    };
    let bytes = begin + end;
    if bytes > MAX_HEAD_BYTES {
        return Some(Request::refused(bytes, Status::HeadTooLarge));
    }
    let request = match is_valid_prefix(&rest[..end]) {
        true => head(&rest[..end - 4], bytes),
        false => Err(Status::BadRequest),
    };
    Some(request.unwrap_or_else(|status| Request::refused(bytes, status)))
}

/// The position after the empty line that ends a head.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Whether these bytes may be the beginning of a head: parts of a request line, or lines after it.
fn is_valid_prefix(bytes: &[u8]) -> bool {
    let first_line = bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let method = first_line.split(|&byte| byte == b' ').next().unwrap_or_default();
    let ended = method.len() < first_line.len() || first_line.len() < bytes.len();
    let named = if ended { is_token(method) } else { method.iter().all(|&it| is_token_byte(it)) };
    // A line ends with CR LF, never with one of them alone.
    let lines = (0..bytes.len()).all(|at| match bytes[at] {
        b'\n' => at > 0 && bytes[at - 1] == b'\r',
        b'\r' => bytes.get(at + 1).is_none_or(|&next| next == b'\n'),
        0 => false,
        _ => true,
    });
    named && lines
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

/// Parses a head without its last empty line.
fn head(bytes: &[u8], whole: usize) -> Result<Request, Status> {
    let mut lines = bytes.split(|&byte| byte == b'\n').map(|line| match line {
        [line @ .., b'\r'] => line,
        line => line,
    });
    let mut words = lines.next().unwrap_or_default().split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Status::BadRequest);
    };
    let is_old = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        [b'H', b'T', b'T', b'P', b'/', one, b'.', other]
            if one.is_ascii_digit() && other.is_ascii_digit() =>
        {
            return Err(Status::VersionNotSupported);
        }
        _ => return Err(Status::BadRequest),
    };
    let fields = Fields::of(lines)?;
    if !is_token(method) || fields.host_count > 1 || (fields.host_count == 0 && !is_old) {
        return Err(Status::BadRequest);
    }
    let path = path(target).ok_or(Status::BadRequest)?;
    let open = if is_old { Persistence::KeepAliveHttp10 } else { Persistence::KeepAlive };
    let persistence = match fields.close || (is_old && !fields.keep_alive) {
        true => Persistence::Close,
        false => open,
    };
    let status = match method {
        // The end of a body is not searched for.
        _ if fields.transfer_coding => return Err(Status::NotImplemented),
        _ if fields.body => return Err(Status::ContentTooLarge),
        b"GET" | b"HEAD" if path == b"/" => Status::Ok,
        b"GET" | b"HEAD" => Status::NotFound,
        _ => Status::NotImplemented,
    };
    Ok(Request { bytes: whole, status, head_only: method == b"HEAD", persistence })
}

/// The path of a request target, without the query: `/path?query`, or an absolute form.
fn path(target: &[u8]) -> Option<&[u8]> {
    let is_printable = target.iter().all(u8::is_ascii_graphic);
    let target = match target.strip_prefix(b"http://") {
        Some(rest) => {
            let slash = rest.iter().position(|&byte| byte == b'/');
            // An absolute form without a path means the root.
            slash.map_or(&b"/"[..], |at| &rest[at..])
        }
        None => target,
    };
    let path = target.split(|&byte| byte == b'?').next()?;
    (is_printable && (path.starts_with(b"/") || path == b"*")).then_some(path)
}

/// The header fields that matter here.
#[derive(Default)]
struct Fields {
    host_count: u32,
    close: bool,
    keep_alive: bool,
    /// A body with a content length follows.
    body: bool,
    /// A body with a transfer coding follows.
    transfer_coding: bool,
    length: Option<u64>,
}

impl Fields {
    fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Self, Status> {
        let mut fields = Self::default();
        for line in lines {
            let colon = line.iter().position(|&byte| byte == b':').ok_or(Status::BadRequest)?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            let printable = value.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control());
            // A folded line begins with whitespace, which no field name contains.
            if !is_token(name) || !printable {
                return Err(Status::BadRequest);
            }
            fields.record(name, value)?;
        }
        Ok(fields)
    }

    fn record(&mut self, name: &[u8], value: &[u8]) -> Result<(), Status> {
        if name.eq_ignore_ascii_case(b"host") {
            self.host_count += 1;
        } else if name.eq_ignore_ascii_case(b"connection") {
            for word in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                self.close |= word.eq_ignore_ascii_case(b"close");
                self.keep_alive |= word.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.transfer_coding = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(value).ok().filter(|_| digits);
            let length = text.and_then(|text| text.parse().ok()).ok_or(Status::BadRequest)?;
            // Differing lengths are an attempt at request smuggling (RFC 9112, section 6.3).
            if self.length.is_some_and(|other| other != length) {
                return Err(Status::BadRequest);
            }
            self.length = Some(length);
            self.body = length > 0;
        }
        Ok(())
    }
}
