//! A profile as text: to be kept, and read and compared by people.
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
//! Behind `train` and `test` stands how many lines follow, each with a call, an earlier one, and
//! the bits of their distances (bit `i - 1`: `i` calls earlier). Behind `end` stands a hash of all
//! above it, so that a text which was cut or changed is refused, whatever was changed. There is
//! one text for a profile: what is read and written again is the same, byte for byte.
//!
//! Several profiles in one file follow a head of their own: `oscost ph profiles 1`, `count 12`.

use std::fmt::Write as _;

use oscost_model::hash;
use thiserror::Error;

use super::constants::{ALL, Constants};
use super::profile::{CALLS, Key, Pairs, Profile, State};

const ONE: &str = "oscost ph profile";
const SEVERAL: &str = "oscost ph profiles";
/// Raised when a line changes its meaning.
const VERSION: &str = "1";

/// The longest text of a profile: twice 512 times 512 lines of 12 bytes are below it.
pub const MAX_FILE_BYTES: usize = 8 << 20;
/// The longest text of several: a thousand times what a shell's profile takes.
pub const MAX_COLLECTION_BYTES: usize = 64 << 20;
/// As many profiles are read from one text: in memory, each may take half a MiB.
pub const MAX_PROFILES: usize = 1_024;
/// The kernel's longest path (PATH_MAX), of which each byte may have become three, and some words
/// of the kernel's behind it.
const MAX_EXECUTABLE_BYTES: usize = 3 * 4_096 + 64;

/// Why a text is no profile that can be read here.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {why}")]
pub struct Refusal {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

/// A profile's text. Of a path that is longer than any of the kernel's, the beginning is kept.
pub fn write(profile: &Profile) -> String {
    let Profile { key, executable, state, calls, train_count, last_mod_count, anomalies, .. } =
        profile;
    let mut text = format!("{ONE} {VERSION}\narch {}\n", std::env::consts::ARCH);
    for constant in &ALL {
        // Writing to a String cannot fail, here and below.
        let _ =
            writeln!(text, "constant {} {}", constant.name, (constant.get)(&profile.learnt_with));
    }
    let executable = quoted(beginning(executable, MAX_EXECUTABLE_BYTES));
    let frozen = profile.frozen_at_s.map_or("never".to_owned(), |at| at.to_string());
    let _ = write!(
        text,
        "device {}\ninode {}\nexecutable {executable}\nstate {}\ncalls {calls}\n\
         train-count {train_count}\nlast-mod-count {last_mod_count}\nanomalies {anomalies}\n\
         frozen-at-s {frozen}\n",
        key.device,
        key.inode,
        state.text(),
    );
    for (name, pairs) in [("train", &profile.train), ("test", &profile.test)] {
        let _ = writeln!(text, "{name} {}", pairs.cells().count());
        for (current, previous, bits) in pairs.cells() {
            let _ = writeln!(text, "{current} {previous} {bits}");
        }
    }
    sealed(text)
}

/// The text with its last line.
///
/// It guards against accidents: whoever can write the file can also write the right last line.
pub fn sealed(mut text: String) -> String {
    let _ = writeln!(text, "end {}", hash::content(text.as_bytes()));
    text
}

/// The text of several profiles; `None` if it were longer than [`read_all`] takes.
pub fn write_all(profiles: &[Profile]) -> Option<String> {
    let mut text = format!("{SEVERAL} {VERSION}\ncount {}\n", profiles.len());
    for profile in profiles {
        text += &write(profile);
        if text.len() > MAX_COLLECTION_BYTES {
            return None;
        }
    }
    (profiles.len() <= MAX_PROFILES).then_some(text)
}

/// Reads a profile's text.
pub fn read(bytes: &[u8]) -> Result<Profile, Refusal> {
    let mut lines = Lines::of(bytes, MAX_FILE_BYTES)?;
    let profile = profile(&mut lines)?;
    lines.end()?;
    Ok(profile)
}

/// Reads the text of several profiles, each of another executable.
pub fn read_all(bytes: &[u8]) -> Result<Vec<Profile>, Refusal> {
    let mut lines = Lines::of(bytes, MAX_COLLECTION_BYTES)?;
    head(&mut lines, SEVERAL)?;
    let count: usize = lines.number("count", 0..=MAX_PROFILES as u64)?;
    let mut profiles: Vec<Profile> = Vec::new();
    let mut keys = std::collections::BTreeSet::new();
    for _ in 0..count {
        let profile = profile(&mut lines)?;
        if !keys.insert(profile.key) {
            return lines.refuse("this executable has a profile above already");
        }
        profiles.push(profile);
    }
    lines.end()?;
    Ok(profiles)
}

/// The first line of a text of that kind.
fn head(lines: &mut Lines<'_>, kind: &str) -> Result<(), Refusal> {
    let version = lines.field(kind)?;
    if version != VERSION {
        let known = format!("this oscost reads version {VERSION}");
        return lines.refuse(&format!("it is of version {}, and {known}", shown(version)));
    }
    Ok(())
}

fn profile(lines: &mut Lines<'_>) -> Result<Profile, Refusal> {
    let begin = lines.read;
    head(lines, ONE)?;
    let (arch, here) = (lines.field("arch")?, std::env::consts::ARCH);
    if arch != here {
        let why =
            format!("it is of {}, where calls have other numbers than on {here}", shown(arch));
        return lines.refuse(&why);
    }
    let mut learnt_with = Constants::default();
    for constant in &ALL {
        let (least, most) = (*constant.within.start(), *constant.within.end());
        let name = format!("constant {}", constant.name);
        (constant.set)(&mut learnt_with, lines.number(&name, least.into()..=most.into())?);
    }
    let any = 0..=u64::MAX;
    let mut read = Profile {
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
        frozen_at_s: frozen(lines)?,
        ..Profile::new(Key { device: 0, inode: 0 }, String::new())
    };
    read.learnt_with = learnt_with;
    read.train = pairs(lines, "train")?;
    read.test = pairs(lines, "test")?;
    let written = lines.all.get(begin..lines.read).unwrap_or_default();
    let sum = hash::content(written.as_bytes());
    if lines.field("end")? != sum {
        return lines.refuse("what stands above it is not what was written: it was changed");
    }
    Ok(read)
}

fn executable(lines: &mut Lines<'_>) -> Result<String, Refusal> {
    let text = lines.field("executable")?;
    match unquoted(text) {
        Some(name) if name.len() <= MAX_EXECUTABLE_BYTES && quoted(&name) == text => Ok(name),
        Some(name) if name.len() > MAX_EXECUTABLE_BYTES => lines.refuse("no path is so long"),
        _ => lines.refuse(&format!("{} is not a path in quotes", shown(text))),
    }
}

fn state(lines: &mut Lines<'_>) -> Result<State, Refusal> {
    let text = lines.field("state")?;
    match State::ALL.into_iter().find(|state| state.text() == text) {
        Some(state) => Ok(state),
        None => lines.refuse(&format!("{} is not training, frozen or normal", shown(text))),
    }
}

fn frozen(lines: &mut Lines<'_>) -> Result<Option<u64>, Refusal> {
    let text = lines.field("frozen-at-s")?;
    if text == "never" {
        return Ok(None);
    }
    match decimal(text) {
        Some(at) => Ok(Some(at)),
        None => lines.refuse(&format!("{} is neither a number nor `never`", shown(text))),
    }
}

fn pairs(lines: &mut Lines<'_>, name: &str) -> Result<Pairs, Refusal> {
    let count: usize = lines.number(name, 0..=(CALLS * CALLS) as u64)?;
    let mut pairs = Pairs::default();
    let mut last = None;
    for _ in 0..count {
        let line = lines.next_line()?;
        let mut words = line.split(' ').map(decimal);
        let worker = match (words.next(), words.next(), words.next(), words.next()) {
            (Some(Some(current)), Some(Some(previous)), Some(Some(bits)), None) => {
                let call = |it: u64| u16::try_from(it).ok().filter(|it| usize::from(*it) < CALLS);
                let bits = u8::try_from(bits).ok().filter(|bits| *bits != 0);
                call(current).zip(call(previous)).zip(bits)
            }
            _ => None,
        };
        let Some(((current, previous), bits)) = worker else {
            let form = "two calls below 512 and bits from 1 to 255";
            return lines.refuse(&format!("{} is not {form}", shown(line)));
        };
        if last >= Some((current, previous)) {
            return lines.refuse("it does not come after the line above it");
        }
        last = Some((current, previous));
        if pairs.add(current, previous, bits).is_none() {
            return lines.refuse("a profile has no place for it");
        }
    }
    Ok(pairs)
}

/// The lines of a text, one after the other.
struct Lines<'a> {
    all: &'a str,
    /// How many bytes were read, and how many lines.
    read: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(bytes: &'a [u8], most: usize) -> Result<Self, Refusal> {
        if bytes.len() > most {
            let why = format!("the text is longer than the {} MiB of any profile", most >> 20);
            return Err(Refusal { line: 1, why });
        }
        let fits = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        match (bytes.iter().position(|byte| !fits(byte)), str::from_utf8(bytes)) {
            (None, Ok(all)) => Ok(Self { all, read: 0, line: 0 }),
            (at, _) => {
                let before = bytes.get(..at.unwrap_or(0)).unwrap_or_default();
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(Refusal { line, why: "it has a byte that is in no profile".to_owned() })
            }
        }
    }

    fn refuse<T>(&self, why: &str) -> Result<T, Refusal> {
        Err(Refusal { line: self.line.max(1), why: why.to_owned() })
    }

    fn next_line(&mut self) -> Result<&'a str, Refusal> {
        self.line += 1;
        let rest = self.all.get(self.read..).unwrap_or_default();
        match rest.split_once('\n') {
            Some((line, _)) => {
                self.read += line.len() + 1;
                Ok(line)
            }
            // A file of another kind may have no line at all: its beginning says so.
            None if self.read == 0 && !rest.is_empty() => {
                self.read = rest.len();
                Ok(rest)
            }
            None => self.refuse("the text is cut off here"),
        }
    }

    /// What stands behind a name in the next line.
    fn field(&mut self, name: &str) -> Result<&'a str, Refusal> {
        let line = self.next_line()?;
        match line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')) {
            Some(value) => Ok(value),
            None => self.refuse(&format!("`{name} ...` must stand here, not {}", shown(line))),
        }
    }

    /// The number behind a name.
    fn number<T: TryFrom<u64>>(
        &mut self,
        name: &str,
        within: std::ops::RangeInclusive<u64>,
    ) -> Result<T, Refusal> {
        let text = self.field(name)?;
        let number = decimal(text).filter(|number| within.contains(number));
        match number.and_then(|number| T::try_from(number).ok()) {
            Some(number) => Ok(number),
            None => {
                let (least, most) = (within.start(), within.end());
                let why = format!("{} is not a number from {least} to {most}", shown(text));
                self.refuse(&why)
            }
        }
    }

    /// Nothing follows.
    fn end(&mut self) -> Result<(), Refusal> {
        if self.read == self.all.len() {
            return Ok(());
        }
        self.line += 1;
        self.refuse("more follows than there are profiles")
    }
}

/// A number in its one form: no sign, no zeros before it.
fn decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// Words of a text, for a message. No byte of it is a control character: see [`Lines::of`].
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown += "...";
    }
    format!("`{shown}`")
}

/// As much of a text as fits into so many bytes.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Any text in quotes, as plain ASCII.
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

/// What stands between the quotes; `None` if it is not of this form.
fn unquoted(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut plain = String::new();
    while let Some((before, escaped)) = rest.split_once('\\') {
        plain += before;
        rest = match escaped.strip_prefix("u{") {
            Some(code) => {
                let (digits, rest) = code.split_once('}')?;
                plain.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                rest
            }
            None => {
                let c = escaped.chars().next()?;
                plain.push(c);
                escaped.get(c.len_utf8()..)?
            }
        };
    }
    plain += rest;
    Some(plain)
}

#[cfg(test)]
mod tests;
