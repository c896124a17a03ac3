//! One file out of a stream in tar's form, as far as a kernel in a package needs it.
//!
//! A kernel's release has 64 bytes at most, so that its path always fits the 100 of a header's own
//! name: what extends longer names (GNU's and POSIX's entries of their own) is passed over as any
//! other file is.

use std::io::{self, Read};

/// Headers and contents come in blocks of so many bytes.
const BLOCK: usize = 512;
const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;
/// A plain file; a zero byte in archives from before POSIX.
const PLAIN: [u8; 2] = [b'0', 0];
/// What a whole package may unpack to: kernels with all their modules have 0.6 GB.
const MAX_ARCHIVE_BYTES: u64 = 8 << 30;

/// Why no file came out of a stream.
#[derive(Debug)]
pub(super) enum TarError {
    /// The stream cannot be read.
    Read(io::Error),
    /// What comes is not in tar's form, or without an end.
    Malformed(&'static str),
    /// The file has more bytes than are wanted.
    TooLarge,
}

impl From<io::Error> for TarError {
    fn from(error: io::Error) -> Self {
        TarError::Read(error)
    }
}

/// Reads the first plain file whose path is `wanted`, of `most` bytes; `None` where there is none.
pub(super) fn find_file(
    stream: impl Read,
    wanted: impl Fn(&[u8]) -> bool,
    most: u64,
) -> Result<Option<Vec<u8>>, TarError> {
    let mut stream = stream.take(MAX_ARCHIVE_BYTES);
    loop {
        let mut header = [0; BLOCK];
        match read_block(&mut stream, &mut header)? {
            0 => return Ok(None),
            BLOCK => {}
            _ => return Err(TarError::Malformed("it is cut short within a header")),
        }
        if header == [0; BLOCK] {
            return Ok(None); // Two such blocks are the end; nothing follows the first.
        }
        if Some(checksum(&header)) != octal(&header[CHECKSUM]) {
            return Err(TarError::Malformed("the sum of a header is wrong"));
        }
        let size = octal(&header[SIZE]).filter(|&size| size <= MAX_ARCHIVE_BYTES);
        let size = size.ok_or(TarError::Malformed("the size of a file is no number"))?;
        let name = &header[NAME];
        let name = name.split(|&byte| byte == 0).next().unwrap_or(name);
        if PLAIN.contains(&header[KIND]) && wanted(name) {
            if size > most {
                return Err(TarError::TooLarge);
            }
            let mut file = Vec::new();
            stream.take(size).read_to_end(&mut file)?;
            return match file.len() as u64 == size {
                true => Ok(Some(file)),
                false => Err(TarError::Malformed("it is cut short within a file")),
            };
        }
        let padded = size.next_multiple_of(BLOCK as u64);
        if io::copy(&mut stream.by_ref().take(padded), &mut io::sink())? < padded {
            return Err(TarError::Malformed("it is cut short within a file"));
        }
    }
}

/// Reads until the block is full or the stream has ended, and says how far it came.
fn read_block(stream: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut full = 0;
    while full < block.len() {
        match stream.read(&mut block[full..]) {
            Ok(0) => break,
            Ok(read) => full += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(full)
}

/// The sum of a header's bytes, its own place taken as blanks.
fn checksum(header: &[u8; BLOCK]) -> u64 {
    let bytes = header.iter().enumerate();
    bytes.map(|(at, &byte)| u64::from(if CHECKSUM.contains(&at) { b' ' } else { byte })).sum()
}

/// A number as tar writes it: octal digits, with blanks before and a blank or a zero byte behind.
/// GNU's form for sizes of 8 GiB and more is no number here.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|byte| matches!(byte, 0 | b' ')).unwrap_or(digits.len());
    let text = str::from_utf8(&digits[..end]).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 8).ok()
}
