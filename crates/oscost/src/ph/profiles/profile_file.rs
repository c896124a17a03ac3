//! The text format of profiles, which people can read and compare.
//!
//! ```text
//! oscost ph profile 1
//! arch x86_64
//! constant window 9
//! ...
//! device 2049
//! inode 131
//! executable "/usr/bin/dash"
//! state training
//! calls 7186
//! train-count 7186
//! last-mod-count 1066
//! anomalies 0
//! frozen-at-s never
//! train 2
//! 3 257 5
//! 257 3 2
//! test 0
//! end 6c62272e07bb014262b821756295c58d
//! ```
//!
//! `train` and `test` are followed by their number of lines, each with a call, an earlier call, and
//! their positions as bits (bit `i - 1`: `i` calls earlier). `end` is followed by a hash of all
//! lines above it, so that a truncated or changed text is refused. The text of a profile is unique:
//! reading and writing it again gives the same bytes.
//!
//! Several profiles in one file follow a header: `oscost ph profiles 1`, `count 12`.

use std::fmt::Write as _;

use oscost_model::hash;
use oscost_model::untrusted_text::truncate;
use thiserror::Error;

use crate::ph::constants::{ALL, Constants};
use crate::ph::profiles::profile::{CALLS, Key, PairEntry, Pairs, Profile, State};

const PROFILE_HEADER: &str = "oscost ph profile";
const COLLECTION_HEADER: &str = "oscost ph profiles";
/// Raised when the meaning of a line changes.
const VERSION: &str = "1";

/// The maximum size of a profile's text: more than twice 512 times 512 lines of 12 bytes.
pub const MAX_FILE_BYTES: usize = 8 << 20;
/// The maximum size of a collection's text: a thousand times a shell's profile.
pub const MAX_COLLECTION_BYTES: usize = 64 << 20;
/// The maximum number of profiles in a collection: each may take half a MiB of memory.
pub const MAX_PROFILES: usize = 1_024;
/// The kernel's longest path (PATH_MAX), each byte of which may have become three, and a suffix of
/// the kernel's.
const MAX_EXECUTABLE_BYTES: usize = 3 * 4_096 + 64;

/// Why a text is not a valid profile.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {why}")]
pub struct Refusal {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub why: String,
}

/// The text of a profile. A path longer than the kernel's maximum is truncated.
pub fn write(profile: &Profile) -> String {
    let Profile { key, executable, state, calls, train_count, last_mod_count, anomalies, .. } =
        profile;
    let mut text = format!("{PROFILE_HEADER} {VERSION}\narch {}\n", std::env::consts::ARCH);
    for constant in &ALL {
        // Writing to a String cannot fail, here and below.
        let _ =
            writeln!(text, "constant {} {}", constant.name, (constant.get)(&profile.learned_with));
    }
    let executable = quoted(truncated(executable, MAX_EXECUTABLE_BYTES));
    let frozen_at = profile.frozen_at_s.map_or("never".to_owned(), |at| at.to_string());
    let _ = write!(
        text,
        "device {}\ninode {}\nexecutable {executable}\nstate {}\ncalls {calls}\n\
         train-count {train_count}\nlast-mod-count {last_mod_count}\nanomalies {anomalies}\n\
         frozen-at-s {frozen_at}\n",
        key.device,
        key.inode,
        state.text(),
    );
    for (name, pairs) in [("train", &profile.train), ("test", &profile.test)] {
        let _ = writeln!(text, "{name} {}", pairs.entries().count());
        for PairEntry { current, previous, bits } in pairs.entries() {
            let _ = writeln!(text, "{current} {previous} {bits}");
        }
    }
    with_hash(text)
}

/// Appends the last line of a profile, with the hash of the text.
///
/// The hash detects accidental changes, not deliberate ones.
pub fn with_hash(mut text: String) -> String {
    let _ = writeln!(text, "end {}", hash::content(text.as_bytes()));
    text
}

/// The text of a collection; `None` if it exceeds the limits of [`read_all`].
pub fn write_all(profiles: &[Profile]) -> Option<String> {
    let mut text = format!("{COLLECTION_HEADER} {VERSION}\ncount {}\n", profiles.len());
    for profile in profiles {
        text += &write(profile);
        if text.len() > MAX_COLLECTION_BYTES {
            return None;
        }
    }
    (profiles.len() <= MAX_PROFILES).then_some(text)
}

/// Parses the text of a profile.
pub fn read(bytes: &[u8]) -> Result<Profile, Refusal> {
    let mut lines = Lines::new(bytes, MAX_FILE_BYTES)?;
    let profile = profile(&mut lines)?;
    lines.end()?;
    Ok(profile)
}

/// Parses the text of a collection; each profile belongs to another executable.
pub fn read_all(bytes: &[u8]) -> Result<Vec<Profile>, Refusal> {
    let mut lines = Lines::new(bytes, MAX_COLLECTION_BYTES)?;
    check_header(&mut lines, COLLECTION_HEADER)?;
    let count: usize = lines.number("count", 0..=MAX_PROFILES as u64)?;
    let mut profiles: Vec<Profile> = Vec::new();
    let mut keys = std::collections::BTreeSet::new();
    for _ in 0..count {
        let profile = profile(&mut lines)?;
        if !keys.insert(profile.key) {
            return lines.refuse("this executable has another profile above");
        }
        profiles.push(profile);
    }
    lines.end()?;
    Ok(profiles)
}

/// Checks the first line of a profile or a collection.
fn check_header(lines: &mut Lines<'_>, header: &str) -> Result<(), Refusal> {
    let version = lines.field(header)?;
    if version != VERSION {
        let why = format!(
            "its version is {}; this oscost reads version {VERSION}",
            quote_excerpt(version)
        );
        return lines.refuse(&why);
    }
    Ok(())
}

fn profile(lines: &mut Lines<'_>) -> Result<Profile, Refusal> {
    let begin = lines.read_bytes;
    check_header(lines, PROFILE_HEADER)?;
    let (arch, own) = (lines.field("arch")?, std::env::consts::ARCH);
    if arch != own {
        let arch = quote_excerpt(arch);
        let why =
            format!("it was learned on {arch}, whose call numbers differ from those of {own}");
        return lines.refuse(&why);
    }
    let mut learned_with = Constants::default();
    for constant in &ALL {
        let (min, max) = (*constant.range.start(), *constant.range.end());
        let name = format!("constant {}", constant.name);
        (constant.set)(&mut learned_with, lines.number(&name, min.into()..=max.into())?);
    }
    let any = 0..=u64::MAX;
    let mut profile = Profile {
        key: Key {
            device: lines.number("device", any.clone())?,
            inode: lines.number("inode", any.clone())?,
        },
        executable: executable(lines)?,
        state: state(lines)?,
        calls: lines.number("calls", any.clone())?,
        train_count: lines.number("train-count", any.clone())?,
        last_mod_count: lines.number("last-mod-count", any.clone())?,
        anomalies: lines.number("anomalies", any.clone())?,
        frozen_at_s: frozen_at(lines)?,
        ..Profile::new(Key { device: 0, inode: 0 }, String::new())
    };
    profile.learned_with = learned_with;
    profile.train = pairs(lines, "train")?;
    profile.test = pairs(lines, "test")?;
    let hashed = lines.all.get(begin..lines.read_bytes).unwrap_or_default();
    let hash = hash::content(hashed.as_bytes());
    if lines.field("end")? != hash {
        return lines.refuse("the hash does not match: the lines above it were changed");
    }
    Ok(profile)
}

fn executable(lines: &mut Lines<'_>) -> Result<String, Refusal> {
    let text = lines.field("executable")?;
    match unquoted(text) {
        Some(name) if name.len() <= MAX_EXECUTABLE_BYTES && quoted(&name) == text => Ok(name),
        Some(name) if name.len() > MAX_EXECUTABLE_BYTES => lines.refuse("the path is too long"),
        _ => lines.refuse(&format!("{} is not a path in quotes", quote_excerpt(text))),
    }
}

fn state(lines: &mut Lines<'_>) -> Result<State, Refusal> {
    let text = lines.field("state")?;
    match State::ALL.into_iter().find(|state| state.text() == text) {
        Some(state) => Ok(state),
        None => lines.refuse(&format!("{} is not training, frozen or normal", quote_excerpt(text))),
    }
}

fn frozen_at(lines: &mut Lines<'_>) -> Result<Option<u64>, Refusal> {
    let text = lines.field("frozen-at-s")?;
    if text == "never" {
        return Ok(None);
    }
    match decimal(text) {
        Some(at) => Ok(Some(at)),
        None => lines.refuse(&format!("{} is neither a number nor `never`", quote_excerpt(text))),
    }
}

fn pairs(lines: &mut Lines<'_>, name: &str) -> Result<Pairs, Refusal> {
    let count: usize = lines.number(name, 0..=(CALLS * CALLS) as u64)?;
    let mut pairs = Pairs::default();
    let mut last = None;
    for _ in 0..count {
        let line = lines.next_line()?;
        let Some(PairEntry { current, previous, bits }) = pair_entry(line) else {
            let form = "two calls below 512 and bits from 1 to 255";
            return lines.refuse(&format!("{} is not {form}", quote_excerpt(line)));
        };
        if last >= Some((current, previous)) {
            return lines.refuse("it is not in order after the line above it");
        }
        last = Some((current, previous));
        if pairs.add(current, previous, bits).is_none() {
            return lines.refuse("a call number is too large");
        }
    }
    Ok(pairs)
}

/// Parses a line of pairs: `CALL EARLIER_CALL BITS`.
fn pair_entry(line: &str) -> Option<PairEntry> {
    let mut numbers = line.split(' ').map(decimal);
    let mut number = || numbers.next().flatten();
    let call = |number: u64| u16::try_from(number).ok().filter(|it| usize::from(*it) < CALLS);
    let (current, previous) = (call(number()?)?, call(number()?)?);
    let bits = u8::try_from(number()?).ok().filter(|bits| *bits != 0)?;
    numbers.next().is_none().then_some(PairEntry { current, previous, bits })
}

/// Reads the lines of a text in order.
struct Lines<'a> {
    all: &'a str,
    /// The number of bytes that were read.
    read_bytes: usize,
    /// The number of lines that were read.
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8], max_bytes: usize) -> Result<Self, Refusal> {
        if bytes.len() > max_bytes {
            let why = format!("it is longer than {} MiB, the limit", max_bytes >> 20);
            return Err(Refusal { line: 1, why });
        }
        let is_allowed = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        match (bytes.iter().position(|byte| !is_allowed(byte)), str::from_utf8(bytes)) {
            (None, Ok(all)) => Ok(Self { all, read_bytes: 0, line: 0 }),
            (at, _) => {
                let before = bytes.get(..at.unwrap_or(0)).unwrap_or_default();
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(Refusal {
                    line,
                    why: "it contains a byte that profiles never contain".to_owned(),
                })
            }
        }
    }

    fn refuse<T>(&self, why: &str) -> Result<T, Refusal> {
        Err(Refusal { line: self.line.max(1), why: why.to_owned() })
    }

    fn next_line(&mut self) -> Result<&'a str, Refusal> {
        self.line += 1;
        let rest = self.all.get(self.read_bytes..).unwrap_or_default();
        match rest.split_once('\n') {
            Some((line, _)) => {
                self.read_bytes += line.len() + 1;
                Ok(line)
            }
            // A file of another format may have no line break: its beginning is shown.
            None if self.read_bytes == 0 && !rest.is_empty() => {
                self.read_bytes = rest.len();
                Ok(rest)
            }
            None => self.refuse("the text ends here, and is incomplete"),
        }
    }

    /// The next line, which has this name: the value after it.
    fn field(&mut self, name: &str) -> Result<&'a str, Refusal> {
        let line = self.next_line()?;
        match line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')) {
            Some(value) => Ok(value),
            None => self.refuse(&format!("expected `{name} ...`, found {}", quote_excerpt(line))),
        }
    }

    /// The next line, which has this name: its number.
    fn number<T: TryFrom<u64>>(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<T, Refusal> {
        let text = self.field(name)?;
        let number = decimal(text).filter(|number| range.contains(number));
        match number.and_then(|number| T::try_from(number).ok()) {
            Some(number) => Ok(number),
            None => {
                let (min, max) = (range.start(), range.end());
                let why = format!("{} is not a number from {min} to {max}", quote_excerpt(text));
                self.refuse(&why)
            }
        }
    }

    /// Checks that the text ends here.
    fn end(&mut self) -> Result<(), Refusal> {
        if self.read_bytes == self.all.len() {
            return Ok(());
        }
        self.line += 1;
        self.refuse("the text continues after the last profile")
    }
}

/// A number without a sign and leading zeros.
fn decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// An excerpt of a text for a message. It has no control characters: see [`Lines::new`].
fn quote_excerpt(text: &str) -> String {
    format!("`{}`", truncate(text.to_owned(), 60))
}

/// The beginning of a text that fits into this number of bytes.
fn truncated(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// A text in quotes, with escapes, as printable ASCII.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            _ => quoted.extend(c.escape_unicode()),
        }
    }
    quoted.push('"');
    quoted
}

/// The inverse of [`quoted`]; `None` if the form is invalid.
fn unquoted(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    while let Some((before, escaped)) = rest.split_once('\\') {
        text += before;
        rest = match escaped.strip_prefix("u{") {
            Some(code) => {
                let (digits, rest) = code.split_once('}')?;
                text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                rest
            }
            None => {
                let c = escaped.chars().next()?;
                text.push(c);
                escaped.get(c.len_utf8()..)?
            }
        };
    }
    text += rest;
    Some(text)
}

#[cfg(test)]
mod tests;
