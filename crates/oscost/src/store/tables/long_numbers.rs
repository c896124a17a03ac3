//! A JSON text without its long numbers, and these numbers.
//!
//! The digits of a measured figure are noise to a compressor, and the text between two of them is
//! nearly the same in each row. Together they share one code; apart, each gets the shorter one.

/// Stands for a number. It is in no JSON text outside of a string.
const MARK: u8 = b'#';
/// Ends a number that is written out.
const END: u8 = b',';
/// Shorter numbers stay where they are: most of them are the same in each row.
const MAX_SHORT_BYTES: usize = 5;
/// The longest number that is separated; serde_json writes none that is longer.
const MAX_NUMBER_BYTES: usize = 64;
/// A number that is one of the last so many is written as a letter: the figure of a row is in it
/// several times.
const RECENT: usize = 26;

/// A text and its long numbers.
pub(super) struct Separated {
    /// The text, with a mark in the place of each long number.
    pub(super) rest: Vec<u8>,
    /// The numbers, in order.
    pub(super) numbers: Vec<u8>,
}

/// Separates the long numbers of a JSON text.
pub(super) fn separate(json: &str) -> Separated {
    let bytes = json.as_bytes();
    let mut rest = Vec::with_capacity(bytes.len());
    let mut numbers = Vec::new();
    let mut recent = Recent::default();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => end_of_number(bytes, at),
            _ => at + 1,
        };
        let token = &bytes[at..end];
        let is_number = token[0] == b'-' || token[0].is_ascii_digit();
        if is_number && (MAX_SHORT_BYTES + 1..=MAX_NUMBER_BYTES).contains(&token.len()) {
            rest.push(MARK);
            recent.write(token, &mut numbers);
        } else {
            rest.extend_from_slice(token);
        }
        at = end;
    }
    Separated { rest, numbers }
}

/// Puts a text together again. Any bytes may be given: the result has at most `max_bytes`.
pub(super) fn join(rest: &[u8], numbers: &[u8], max_bytes: usize) -> Result<Vec<u8>, &'static str> {
    let mut text = Vec::with_capacity(rest.len() + numbers.len());
    let mut recent = Recent::default();
    let (mut at, mut unread) = (0, numbers);
    while at < rest.len() {
        match rest[at] {
            MARK => {
                text.extend_from_slice(recent.read(&mut unread)?);
                at += 1;
            }
            b'"' => {
                let end = end_of_string(rest, at);
                text.extend_from_slice(&rest[at..end]);
                at = end;
            }
            byte => {
                text.push(byte);
                at += 1;
            }
        }
        if text.len() > max_bytes {
            return Err("it is too large");
        }
    }
    Ok(text)
}

/// Where a string ends that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    bytes.len()
}

fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    bytes[at..]
        .iter()
        .position(|byte| !is_of_number(byte))
        .map_or(bytes.len(), |length| at + length)
}

/// The last different numbers, in a ring.
#[derive(Default)]
struct Recent<'a> {
    numbers: Vec<&'a [u8]>,
    /// Where the next one goes.
    next: usize,
}

impl<'a> Recent<'a> {
    fn write(&mut self, number: &'a [u8], to: &mut Vec<u8>) {
        match self.numbers.iter().position(|it| *it == number) {
            Some(at) => to.push(b'A' + self.distance(at)),
            None => {
                to.extend_from_slice(number);
                to.push(END);
                self.add(number);
            }
        }
    }

    fn read(&mut self, unread: &mut &'a [u8]) -> Result<&'a [u8], &'static str> {
        const MISSING: &str = "a number is missing";
        let first = *unread.first().ok_or(MISSING)?;
        if first.is_ascii_uppercase() {
            *unread = &unread[1..];
            let at = self.index(first - b'A').ok_or(MISSING)?;
            return Ok(self.numbers[at]);
        }
        let window = &unread[..unread.len().min(MAX_NUMBER_BYTES + 1)];
        let end = window.iter().position(|byte| *byte == END).ok_or(MISSING)?;
        let number = &unread[..end];
        *unread = &unread[end + 1..];
        self.add(number);
        Ok(number)
    }

    fn add(&mut self, number: &'a [u8]) {
        match self.numbers.get_mut(self.next) {
            Some(oldest) => *oldest = number,
            None => self.numbers.push(number),
        }
        self.next = (self.next + 1) % RECENT;
    }

    /// How many numbers were added after the one at an index: the same in each row, wherever the
    /// ring stands.
    fn distance(&self, at: usize) -> u8 {
        ((self.next + self.numbers.len() - 1 - at) % self.numbers.len()) as u8
    }

    /// The index of the number after which so many were added.
    fn index(&self, distance: u8) -> Option<usize> {
        let (count, distance) = (self.numbers.len(), usize::from(distance));
        (distance < count).then(|| (self.next + 2 * count - 1 - distance) % count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(json: &str) -> (Separated, String) {
        let separated = separate(json);
        let joined = join(&separated.rest, &separated.numbers, 1 << 20).unwrap();
        (separated, String::from_utf8(joined).unwrap())
    }

    #[test]
    fn long_numbers_leave_marks_and_repeated_ones_are_letters() {
        let json = r#"{"a":80.123456,"b":[1,2.5,80.123456,-1.5e-300],"c":"9.123456 \" # \\"}"#;
        let (separated, joined) = round_trip(json);
        assert_eq!(joined, json);
        let rest = String::from_utf8(separated.rest).unwrap();
        assert_eq!(rest, r##"{"a":#,"b":[1,2.5,#,#],"c":"9.123456 \" # \\"}"##);
        assert_eq!(separated.numbers, b"80.123456,A-1.5e-300,");
    }

    #[test]
    fn numbers_are_found_again_however_many_lie_between() {
        for count in [1, 2, 25, 26, 27, 53, 100] {
            let numbers = |_| (0..count).map(|number| format!("{number}.0000001"));
            let all: Vec<String> = (0..3).flat_map(numbers).collect();
            let json = format!("[{}]", all.join(","));
            assert_eq!(round_trip(&json).1, json, "{count}");
        }
    }

    #[test]
    fn damaged_parts_are_an_error_and_never_a_larger_text_than_allowed() {
        for numbers in [&b""[..], b"A", b"1.2345678", b",B", &[b'1'; 200]] {
            join(b"[#,#]", numbers, 1_000).unwrap_err();
        }
        let many = vec![MARK; 10_000];
        let error = join(&many, b"123456789012345678901234567890,AAAA", 50).unwrap_err();
        assert_eq!(error, "it is too large");
        // A string without an end is read to the end of the text.
        assert_eq!(join(br#"["a\"#, b"", 100).unwrap(), br#"["a\"#);
    }
}
