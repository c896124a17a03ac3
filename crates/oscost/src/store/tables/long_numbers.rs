//! A JSON text without its long numbers, and these numbers.
//!
//! The digits of a measured figure are noise to a compressor, and the text between two of them is
//! nearly the same in each row. Together they share one code; apart, each gets the shorter one. A
//! fraction is eight bytes, of which only the first two, with sign and exponent, can be compressed.

/// Stands for a number. It is in no JSON text outside of a string.
const MARK: u8 = b'#';
/// Stands for a fraction in the order of numbers.
const FRACTION: u8 = b'f';
/// Ends a number that is written out there.
const END: u8 = b',';
/// Shorter numbers stay where they are: most of them are the same in each row.
const MAX_SHORT_BYTES: usize = 5;
/// The longest number that is separated; serde_json writes none that is longer.
const MAX_NUMBER_BYTES: usize = 64;
/// A number that is one of the last so many is a letter in the order: the figure of a row is in it
/// several times.
const RECENT: usize = 26;
/// The bytes of a fraction that can be compressed, and the others.
const HEAD_BYTES: usize = 2;
const TAIL_BYTES: usize = 6;

const MISSING: &str = "a number is missing";

/// A text and its long numbers.
pub(super) struct Separated<T> {
    /// The text, with a mark in the place of each long number.
    pub(super) rest: T,
    /// What each number is, in order: one of the last ones, a fraction, or itself.
    pub(super) order: T,
    /// The first bytes of all fractions, then their second bytes.
    pub(super) heads: T,
    /// The other bytes of each fraction.
    pub(super) tails: T,
}

/// Separates the long numbers of a JSON text.
pub(super) fn separate(json: &str) -> Separated<Vec<u8>> {
    let bytes = json.as_bytes();
    let mut rest = Vec::with_capacity(bytes.len());
    let (mut order, mut fractions) = (Vec::new(), Vec::new());
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
            if let Some(letter) = recent.letter(token) {
                order.push(letter);
            } else {
                match fraction(token) {
                    Some(bytes) => {
                        order.push(FRACTION);
                        fractions.push(bytes);
                    }
                    None => {
                        order.extend_from_slice(token);
                        order.push(END);
                    }
                }
                recent.add(token.to_vec());
            }
        } else {
            rest.extend_from_slice(token);
        }
        at = end;
    }
    let heads = (0..HEAD_BYTES).flat_map(|at| fractions.iter().map(move |bytes| bytes[at]));
    let tails = fractions.iter().flat_map(|bytes| &bytes[HEAD_BYTES..]);
    Separated { heads: heads.collect(), tails: tails.copied().collect(), rest, order }
}

/// Puts a text together again. Any bytes may be given: the result has at most `max_bytes`.
pub(super) fn join(
    separated: &Separated<&[u8]>,
    max_bytes: usize,
) -> Result<Vec<u8>, &'static str> {
    let rest = separated.rest;
    let mut text = Vec::with_capacity(rest.len());
    let mut numbers = Numbers::of(separated)?;
    let mut at = 0;
    while at < rest.len() {
        let end = match rest[at] {
            b'"' => end_of_string(rest, at),
            _ => at + 1,
        };
        match rest[at] {
            MARK => text.extend_from_slice(numbers.next()?),
            _ => text.extend_from_slice(&rest[at..end]),
        }
        if text.len() > max_bytes {
            return Err("it is too large");
        }
        at = end;
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
    let length = bytes[at..].iter().position(|byte| !is_of_number(byte));
    length.map_or(bytes.len(), |length| at + length)
}

/// The bytes of a number with a fraction, if it is written as these bytes would be.
fn fraction(token: &[u8]) -> Option<[u8; 8]> {
    let text = std::str::from_utf8(token).ok().filter(|text| text.contains(['.', 'e']))?;
    let bytes = text.parse::<f64>().ok()?.to_be_bytes();
    (written(bytes)? == text).then_some(bytes)
}

/// A number with a fraction, as JSON has it; `None` of bytes that are no number.
fn written(bytes: [u8; 8]) -> Option<String> {
    Some(serde_json::Number::from_f64(f64::from_be_bytes(bytes))?.to_string())
}

/// The numbers of a separated text, one after the other.
struct Numbers<'a> {
    order: &'a [u8],
    heads: &'a [u8],
    tails: &'a [u8],
    /// How many fractions were read.
    read: usize,
    recent: Recent,
}

impl<'a> Numbers<'a> {
    fn of(separated: &Separated<&'a [u8]>) -> Result<Self, &'static str> {
        let Separated { order, heads, tails, .. } = *separated;
        match heads.len() * TAIL_BYTES == tails.len() * HEAD_BYTES {
            true => Ok(Self { order, heads, tails, read: 0, recent: Recent::default() }),
            false => Err(MISSING),
        }
    }

    fn next(&mut self) -> Result<&[u8], &'static str> {
        let first = *self.order.first().ok_or(MISSING)?;
        if first.is_ascii_uppercase() {
            self.order = &self.order[1..];
            let at = self.recent.index(first - b'A').ok_or(MISSING)?;
            return Ok(&self.recent.numbers[at]);
        }
        let number = match first {
            FRACTION => {
                self.order = &self.order[1..];
                self.next_fraction().ok_or(MISSING)?
            }
            _ => {
                let window = &self.order[..self.order.len().min(MAX_NUMBER_BYTES + 1)];
                let end = window.iter().position(|byte| *byte == END).ok_or(MISSING)?;
                self.order = &self.order[end + 1..];
                window[..end].to_vec()
            }
        };
        let at = self.recent.add(number);
        Ok(&self.recent.numbers[at])
    }

    fn next_fraction(&mut self) -> Option<Vec<u8>> {
        let (count, at) = (self.heads.len() / HEAD_BYTES, self.read);
        if at >= count {
            return None;
        }
        self.read += 1;
        let mut bytes = [0; HEAD_BYTES + TAIL_BYTES];
        for (plane, byte) in bytes.iter_mut().take(HEAD_BYTES).enumerate() {
            *byte = *self.heads.get(plane * count + at)?;
        }
        let tail = self.tails.get(at * TAIL_BYTES..(at + 1) * TAIL_BYTES)?;
        bytes[HEAD_BYTES..].copy_from_slice(tail);
        written(bytes).map(String::into_bytes)
    }
}

/// The last different numbers, in a ring.
#[derive(Default)]
struct Recent {
    numbers: Vec<Vec<u8>>,
    /// Where the next one goes.
    next: usize,
}

impl Recent {
    /// The letter of a number that is one of the last: how many were added after it, which is the
    /// same in each row.
    fn letter(&self, number: &[u8]) -> Option<u8> {
        let (at, count) = (self.numbers.iter().position(|it| it == number)?, self.numbers.len());
        Some(b'A' + ((self.next + count - 1 - at) % count) as u8)
    }

    /// The index of the number after which so many were added.
    fn index(&self, distance: u8) -> Option<usize> {
        let (count, distance) = (self.numbers.len(), usize::from(distance));
        (distance < count).then(|| (self.next + 2 * count - 1 - distance) % count)
    }

    /// Adds a number; returns its index.
    fn add(&mut self, number: Vec<u8>) -> usize {
        let at = self.next;
        match self.numbers.get_mut(at) {
            Some(oldest) => *oldest = number,
            None => self.numbers.push(number),
        }
        self.next = (at + 1) % RECENT;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn borrowed(separated: &Separated<Vec<u8>>) -> Separated<&[u8]> {
        let Separated { rest, order, heads, tails } = separated;
        Separated { rest, order, heads, tails }
    }

    fn round_trip(json: &str) -> (Separated<Vec<u8>>, String) {
        let separated = separate(json);
        let joined = join(&borrowed(&separated), 1 << 20).unwrap();
        (separated, String::from_utf8(joined).unwrap())
    }

    #[test]
    fn long_numbers_leave_marks_and_repeated_ones_are_letters() {
        let json =
            r#"{"a":80.123456,"b":[1,2.5,80.123456,-1.5e-300,1234567],"c":"9.123456 \" # \\"}"#;
        let (separated, joined) = round_trip(json);
        assert_eq!(joined, json);
        let rest = String::from_utf8(separated.rest).unwrap();
        assert_eq!(rest, r##"{"a":#,"b":[1,2.5,#,#,#],"c":"9.123456 \" # \\"}"##);
        assert_eq!(separated.order, b"fAf1234567,");
        assert_eq!((separated.heads.len(), separated.tails.len()), (4, 12));
    }

    #[test]
    fn a_number_that_is_written_in_another_way_stays_as_it_is() {
        let json = "[80.1234560,1e0005,0.000001000,0.30000000000000004,123456789012345678901]";
        let (separated, joined) = round_trip(json);
        assert_eq!(joined, json);
        assert_eq!(separated.heads.len(), 2, "one of them is as serde_json writes it");
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
        let joined = |rest: &[u8], order: &[u8], heads: &[u8], tails: &[u8], max_bytes| {
            join(&Separated { rest, order, heads, tails }, max_bytes)
        };
        for order in [&b""[..], b"A", b"1.2345678", b",B", b"f", b"ff", &[b'1'; 200]] {
            joined(b"[#,#]", order, &[0x40, 0x40], &[1; 6], 1_000).unwrap_err();
        }
        // No number, and fewer bytes than two fractions have.
        joined(b"#", b"f", &[0x7f, 0xff], &[0xff; 6], 1_000).unwrap_err();
        joined(b"#", b"f", &[0x40, 0x40], &[1; 5], 1_000).unwrap_err();
        let many = vec![MARK; 10_000];
        let order = b"123456789012345678901234567890,AAAA";
        assert_eq!(joined(&many, order, b"", b"", 50).unwrap_err(), "it is too large");
        // A string without an end is read to the end of the text.
        assert_eq!(joined(br#"["a\"#, b"", b"", b"", 100).unwrap(), br#"["a\"#);
    }
}
