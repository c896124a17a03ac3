//! Requests of HTTP/1.1 (RFC 9112), read from bytes of strangers.
//!
//! As much as a server needs that has one page: the head of a request, strictly, and no body. It
//! has no clock in the sense of RFC 9110, section 6.6.1, and sends no date.

/// A head is no longer than this; neither are bytes that are no head yet.
pub const MOST_HEAD: usize = 8_192;

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Here it is.
    Ok,
    /// It is no request.
    BadRequest,
    /// There is no such page.
    NotFound,
    /// It has a body.
    ContentTooLarge,
    /// Its head is longer than [`MOST_HEAD`].
    HeadTooLarge,
    /// It wants something else than a page, or has a body in some coding.
    NotImplemented,
    /// It is of another version than 1.1 and 1.0.
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

/// What becomes of the connection when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It stays, as it does unless something is said.
    Stays,
    /// It stays, and an older client must be told so.
    StaysForOld,
    /// It ends.
    Ends,
}

/// A request, as far as its answer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How many bytes it has.
    pub bytes: usize,
    /// What is answered.
    pub status: Status,
    /// Whether the answer has a head alone.
    pub head_only: bool,
    /// What becomes of the connection.
    pub then: Then,
}

impl Request {
    /// Bytes that are no request: nobody knows where the next one would begin.
    fn refused(bytes: usize, status: Status) -> Self {
        Self { bytes, status, head_only: false, then: Then::Ends }
    }

    /// The answer to it.
    pub fn answer(&self) -> Vec<u8> {
        let page = match self.status {
            Status::Ok => "ok\n".to_owned(),
            other => format!("{}\n", other.line()),
        };
        let connection = match self.then {
            Then::Stays => "",
            Then::StaysForOld => "Connection: keep-alive\r\n",
            Then::Ends => "Connection: close\r\n",
        };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{connection}\r\n",
            self.status.line(),
            page.len()
        );
        format!("{head}{}", if self.head_only { "" } else { &page }).into_bytes()
    }

    /// Whether it is the one that nearly all are, whose answer is ready.
    pub fn is_usual(&self) -> bool {
        self.status == Status::Ok && self.then == Then::Stays && !self.head_only
    }
}

/// The request that most send.
pub const USUAL: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The first request in some bytes; `None` while more of it must come.
pub fn first(bytes: &[u8]) -> Option<Request> {
    // Empty lines before a request are passed over (RFC 9112, section 2.2).
    let mut begin = 0;
    while bytes[begin..].starts_with(b"\r\n") {
        begin += 2;
    }
    let rest = &bytes[begin..];
    let Some(end) = end_of_head(rest) else {
        return match () {
            () if bytes.len() >= MOST_HEAD => {
                Some(Request::refused(bytes.len(), Status::HeadTooLarge))
            }
            // Half of an empty line.
            () if rest == b"\r" => None,
            // What no head begins with is refused before it has come to an end.
            () if !begins_well(rest) => Some(Request::refused(bytes.len(), Status::BadRequest)),
            () => None,
        };
    };
    let bytes = begin + end;
    if bytes > MOST_HEAD {
        return Some(Request::refused(bytes, Status::HeadTooLarge));
    }
    let request = match begins_well(&rest[..end]) {
        true => head(&rest[..end - 4], bytes),
        false => Err(Status::BadRequest),
    };
    Some(request.unwrap_or_else(|status| Request::refused(bytes, status)))
}

/// Where the empty line ends that ends a head.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Whether these bytes may be the beginning of a head: words of a request line, or lines behind it.
fn begins_well(bytes: &[u8]) -> bool {
    let first_line = bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let method = first_line.split(|&byte| byte == b' ').next().unwrap_or_default();
    let ended = method.len() < first_line.len() || first_line.len() < bytes.len();
    let named = if ended { is_token(method) } else { method.iter().all(|&it| is_of_token(it)) };
    // A line ends with both, never with one alone.
    let lines = (0..bytes.len()).all(|at| match bytes[at] {
        b'\n' => at > 0 && bytes[at - 1] == b'\r',
        b'\r' => bytes.get(at + 1).is_none_or(|&next| next == b'\n'),
        0 => false,
        _ => true,
    });
    named && lines
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_of_token(byte))
}

/// A head without its last empty line: what is asked for, or why it is none.
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
    if !is_token(method) || fields.hosts > 1 || (fields.hosts == 0 && !is_old) {
        return Err(Status::BadRequest);
    }
    let path = path(target).ok_or(Status::BadRequest)?;
    let stays = if is_old { Then::StaysForOld } else { Then::Stays };
    let then = match fields.close || (is_old && !fields.keep_alive) {
        true => Then::Ends,
        false => stays,
    };
    let status = match method {
        // Where a body would end is not looked for.
        _ if fields.coded => return Err(Status::NotImplemented),
        _ if fields.body => return Err(Status::ContentTooLarge),
        b"GET" | b"HEAD" if path == b"/" => Status::Ok,
        b"GET" | b"HEAD" => Status::NotFound,
        _ => Status::NotImplemented,
    };
    Ok(Request { bytes: whole, status, head_only: method == b"HEAD", then })
}

/// The path of a target, without what is asked of it: `/path?query`, or a whole address.
fn path(target: &[u8]) -> Option<&[u8]> {
    let printable = target.iter().all(u8::is_ascii_graphic);
    let target = match target.strip_prefix(b"http://") {
        Some(rest) => {
            let slash = rest.iter().position(|&byte| byte == b'/');
            // An address without a path is the path of its root.
            slash.map_or(&b"/"[..], |at| &rest[at..])
        }
        None => target,
    };
    let path = target.split(|&byte| byte == b'?').next()?;
    (printable && (path.starts_with(b"/") || path == b"*")).then_some(path)
}

/// What the fields of a head say that matters here.
#[derive(Default)]
struct Fields {
    hosts: u32,
    close: bool,
    keep_alive: bool,
    /// A body follows, of a length that is told.
    body: bool,
    /// A body follows, in some coding.
    coded: bool,
    length: Option<u64>,
}

impl Fields {
    fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Self, Status> {
        let mut fields = Self::default();
        for line in lines {
            let colon = line.iter().position(|&byte| byte == b':').ok_or(Status::BadRequest)?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            let clean = value.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control());
            // A line that goes on from the one before begins with a blank, which is in no name.
            if !is_token(name) || !clean {
                return Err(Status::BadRequest);
            }
            fields.take(name, value)?;
        }
        Ok(fields)
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Status> {
        if name.eq_ignore_ascii_case(b"host") {
            self.hosts += 1;
        } else if name.eq_ignore_ascii_case(b"connection") {
            for word in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                self.close |= word.eq_ignore_ascii_case(b"close");
                self.keep_alive |= word.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.coded = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(value).ok().filter(|_| digits);
            let length = text.and_then(|text| text.parse().ok()).ok_or(Status::BadRequest)?;
            // Two that differ are the beginning of a fraud (RFC 9112, section 6.3).
            if self.length.is_some_and(|other| other != length) {
                return Err(Status::BadRequest);
            }
            self.length = Some(length);
            self.body = length > 0;
        }
        Ok(())
    }
}
