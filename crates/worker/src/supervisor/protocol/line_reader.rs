//! Reads lines of bounded length from a stream.

use std::io::Read;

use oscost_model::protocol::MAX_LINE_BYTES;

use super::io::read_some;
use crate::kernel::Errno;

/// The bytes that have been read and not yet returned as lines.
#[derive(Default)]
pub(crate) struct LineReader {
    bytes: Vec<u8>,
}

impl LineReader {
    /// Reads once; false at the end of the stream. A line that is too long is an error.
    pub(crate) fn read_from(&mut self, from: &mut impl Read) -> Result<bool, Errno> {
        let read = read_some(from, &mut self.bytes)?;
        if self.bytes.len() > MAX_LINE_BYTES && !self.bytes.contains(&b'\n') {
            return Err(Errno(libc::EMSGSIZE));
        }
        Ok(read > 0)
    }

    /// The next complete line, without its newline.
    pub(crate) fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        line.pop();
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_returned_whole_however_they_arrive() {
        let mut lines = LineReader::default();
        assert!(lines.read_from(&mut &b"a\nb"[..]).unwrap());
        assert_eq!(lines.next_line(), Some(b"a".to_vec()));
        assert_eq!(lines.next_line(), None);
        assert!(lines.read_from(&mut &b"c\n"[..]).unwrap());
        assert_eq!(lines.next_line(), Some(b"bc".to_vec()));
        assert!(!lines.read_from(&mut &b""[..]).unwrap());
    }
}
