//! The command line of a process.

use std::fs;

use oscost_model::program::{MAX_COMMAND_BYTES, MAX_COMMAND_WORDS};
use oscost_model::untrusted_text::is_control;

/// The words of the command line of a process, or its name in brackets, as ps(1) shows it. They are
/// within the bounds of a command.
pub fn command_of(process: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = words_of(&line);
    if !words.is_empty() {
        return words;
    }
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    vec![format!("[{}]", readable(name.trim_ascii_end()))]
}

/// The words of /proc/PID/cmdline, as many as a command may have. A process writes there what it
/// wants.
fn words_of(line: &[u8]) -> Vec<String> {
    let line = line.get(..MAX_COMMAND_BYTES).unwrap_or(line);
    let mut words: Vec<String> = Vec::new();
    let mut left = MAX_COMMAND_BYTES;
    let found = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    for word in found.take(MAX_COMMAND_WORDS) {
        // A replaced character is longer than what it stands for.
        let word = first_bytes(readable(word), left);
        if word.is_empty() {
            break;
        }
        left -= word.len();
        words.push(word);
    }
    words
}

/// The text of these bytes. What is no text, and what controls a terminal except the lines and tabs
/// of scripts, is replaced: a bill with it could not be read back.
fn readable(bytes: &[u8]) -> String {
    let replaced = |letter: char| match letter {
        '\n' | '\t' => letter,
        _ if is_control(letter) => char::REPLACEMENT_CHARACTER,
        _ => letter,
    };
    String::from_utf8_lossy(bytes).chars().map(replaced).collect()
}

/// A text without the characters that end after so many bytes.
fn first_bytes(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        let is_within = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=max_bytes).rev().find(is_within).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_command_line_are_text_within_the_bounds_of_a_command() {
        let line = b"sh\0-c\0echo 1\n\techo 2\0\x1b[31m\r\xff\xe2\x80\xae\xe2\x81\xa6.\0\0";
        let last = "\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}\u{fffd}.";
        assert_eq!(words_of(line), ["sh", "-c", "echo 1\n\techo 2", last]);
        assert_eq!(words_of(b""), Vec::<String>::new());
        let many = words_of(&b"a\0".repeat(MAX_COMMAND_WORDS + 1));
        assert_eq!(many.len(), MAX_COMMAND_WORDS);
        // Each of these bytes becomes a character of three.
        let mut long = b"a\0".to_vec();
        long.resize(MAX_COMMAND_BYTES, 0xff);
        let sizes: Vec<usize> = words_of(&long).iter().map(String::len).collect();
        assert_eq!(sizes, [1, MAX_COMMAND_BYTES - 1]);
    }
}
