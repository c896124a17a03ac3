//! Records that gzip(1) has packed.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

/// How the files of gzip(1) begin.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The content of a file that may be packed: at most one byte more than `max_bytes` of a packed one,
/// which the caller refuses. What is longer than that is not unpacked: it may be cut.
pub(crate) fn content(bytes: Vec<u8>, max_bytes: usize) -> io::Result<Vec<u8>> {
    if bytes.starts_with(&MAGIC) && bytes.len() <= max_bytes {
        unpacked(&bytes, max_bytes)
    } else {
        Ok(bytes)
    }
}

/// A packed text, or its first `max_bytes` and one more: a small file may unpack to a huge one.
pub(crate) fn unpacked(packed: &[u8], max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    MultiGzDecoder::new(packed).take(max_bytes as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_packed_file_is_unpacked_and_any_other_is_as_it_is() {
        let packed_text = packed(b"{\"schema\":1}");
        assert_eq!(content(packed_text.clone(), 100).unwrap(), b"{\"schema\":1}");
        assert_eq!(content(b"{}".to_vec(), 10).unwrap(), b"{}");
        let twice = [packed_text.clone(), packed(b"\n")].concat();
        assert_eq!(content(twice, 100).unwrap(), b"{\"schema\":1}\n", "two packed parts");
    }

    #[test]
    fn a_bomb_is_unpacked_up_to_the_limit_and_a_cut_file_is_an_error() {
        let bomb = packed(&b" ".repeat(1 << 20));
        assert_eq!(content(bomb.clone(), 4_000).unwrap().len(), 4_001);
        assert!(content(bomb[..bomb.len() / 2].to_vec(), 2 << 20).is_err());
        assert_eq!(content(bomb.clone(), 10).unwrap(), bomb, "longer than the limit as it is");
    }
}
