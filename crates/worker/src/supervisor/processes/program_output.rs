//! The output of a program, of which the beginning, the end and a digest are kept.

use std::fs::File;

use oscost_model::program::OutputDigest;

use crate::supervisor::protocol::io::read_some;

/// The number of last bytes of output that are kept.
const MAX_TAIL_BYTES: usize = 16 << 10;
/// The number of first bytes of standard output that are kept.
const MAX_HEAD_BYTES: usize = 4 << 10;

/// Which output of a program is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    /// Standard error; its standard output goes to /dev/null.
    Stderr,
    /// Standard output, too.
    Both,
}

/// The output of a program.
#[derive(Default)]
pub(super) struct ProgramOutput {
    head: Vec<u8>,
    tail: Vec<u8>,
    pub(crate) bytes: u64,
    newlines: u64,
    has_partial_line: bool,
    /// Of standard output.
    pub(super) digest: OutputDigest,
}

impl ProgramOutput {
    /// Reads once from a stream, and closes it at its end.
    pub(super) fn read_from(&mut self, from: &mut Option<File>, is_open: Capture) {
        let Some(stream) = from else { return };
        let before = self.tail.len();
        let Ok(read @ 1..) = read_some(stream, &mut self.tail) else {
            *from = None;
            return;
        };
        self.bytes += read as u64;
        let new = &self.tail[before..];
        if is_open == Capture::Both {
            let room = MAX_HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend_from_slice(&new[..room.min(read)]);
            self.digest.add(new);
            self.newlines += new.iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.has_partial_line = new.last() != Some(&b'\n');
        }
        let surplus = self.tail.len().saturating_sub(MAX_TAIL_BYTES);
        if surplus > 0 {
            // Drops the partial line: half of a number would look like a number.
            let rest = self.tail[surplus..].iter().position(|&byte| byte == b'\n');
            self.tail.drain(..surplus + rest.map_or(0, |end| end + 1));
        }
    }

    /// The first line of standard output, without newline; `None` while it is incomplete.
    pub(super) fn first_line(&self) -> Option<Vec<u8>> {
        let end = self.head.iter().position(|&byte| byte == b'\n');
        let end = end.or((self.head.len() == MAX_HEAD_BYTES).then_some(MAX_HEAD_BYTES))?;
        Some(self.head[..end].trim_ascii_end().to_vec())
    }

    /// The number of lines on standard output.
    pub(super) fn line_count(&self) -> u64 {
        self.newlines + u64::from(self.has_partial_line)
    }

    /// The last output.
    pub(super) fn tail_text(&self) -> String {
        String::from_utf8_lossy(&self.tail).into_owned()
    }

    /// The last output as the end of a message about a program that was stopped.
    pub(super) fn last_output_clause(&self) -> String {
        self.tail_clause("; last output: ")
    }

    /// `lead` and the last lines of output, as the end of a message; empty without output.
    pub(super) fn tail_clause(&self, lead: &str) -> String {
        const LINES: usize = 5;
        const LETTERS: usize = 600;
        let last = self.tail_text();
        let lines = last.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        let lines = lines[lines.len().saturating_sub(LINES)..].join("; ");
        let surplus = lines.chars().count().saturating_sub(LETTERS);
        match lines.is_empty() {
            true => String::new(),
            false => [lead, &printable(lines.chars().skip(surplus))].concat(),
        }
    }
}

/// Foreign text without characters that a terminal would interpret.
pub(super) fn printable(letters: impl Iterator<Item = char>) -> String {
    let mut shown = String::new();
    for letter in letters {
        match letter {
            '\'' | '"' | '\\' => shown.push(letter),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(words: &str) -> ProgramOutput {
        ProgramOutput { tail: words.as_bytes().to_vec(), ..ProgramOutput::default() }
    }

    #[test]
    fn a_message_has_the_last_five_lines_of_output_and_no_control_characters() {
        assert_eq!(output("a\n\n  b \r\nc\nd\ne\nf\n").tail_clause(": "), ": b; c; d; e; f");
        assert_eq!(output("\x1b[2J'\"\\\u{202e}").tail_clause(": "), r#": \u{1b}[2J'"\\u{202e}"#);
        assert_eq!((output("").tail_clause(": "), output(" \n").tail_clause(": ")), <_>::default());
        assert_eq!(output(&"x".repeat(700)).tail_clause("").len(), 600);
    }

    #[test]
    fn a_first_line_is_complete_or_of_the_maximum_length() {
        let first = |words: &str| {
            ProgramOutput { head: words.into(), ..ProgramOutput::default() }.first_line()
        };
        assert_eq!(first("port 7 \r\nmore"), Some(b"port 7".to_vec()));
        assert_eq!((first(""), first("port")), (None, None));
        assert_eq!(first(&"x".repeat(MAX_HEAD_BYTES)).map(|line| line.len()), Some(MAX_HEAD_BYTES));
    }
}
