//! Lines out of a stream, bounded.

use std::io::Read;

use oscost_model::protocol::MAX_LINE_BYTES;

use super::io::read_some;
use crate::kernel::Errno;

/// What has been read, until its line is whole.
#[derive(Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// Reads once; false at the end of the stream. A line beyond all bounds is an error.
    pub(super) fn fill(&mut self, from: &mut impl Read) -> Result<bool, Errno> {
        let read = read_some(from, &mut self.bytes)?;
        if self.bytes.len() > MAX_LINE_BYTES && !self.bytes.contains(&b'\n') {
            return Err(Errno(libc::EMSGSIZE));
        }
        Ok(read > 0)
    }

    /// The next whole line, without its end.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
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
    fn lines_come_out_whole_however_they_arrive() {
        let mut lines = Lines::default();
        assert!(lines.fill(&mut &b"a\nb"[..]).unwrap());
        assert_eq!(lines.next(), Some(b"a".to_vec()));
        assert_eq!(lines.next(), None);
        assert!(lines.fill(&mut &b"c\n"[..]).unwrap());
        assert_eq!(lines.next(), Some(b"bc".to_vec()));
        assert!(!lines.fill(&mut &b""[..]).unwrap());
    }
}
