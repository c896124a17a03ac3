//! gzip (RFC 1952) and its method deflate (RFC 1951): the kernel's own configuration is packed so.
//!
//! Small rather than fast, and bounded: neither what goes in nor what comes out may be endless.

/// Codes are at most this long.
const MAX_BITS: usize = 15;

/// Lengths of a copy: the least one of each code, and how many further bits add to it.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The order in which the lengths of the codes of code lengths stand.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Unpacks a gzip file of one member; `None` if it is none, is garbled, or would become longer than
/// `max_bytes`.
pub fn gunzip(packed: &[u8], max_bytes: usize) -> Option<Vec<u8>> {
    let header: &[u8; 10] = packed.first_chunk()?;
    // The magic number, the method deflate, and no flag but that of a file name.
    let [0x1f, 0x8b, 8, flags @ (0 | 8), ..] = *header else { return None };
    let mut body = packed.get(header.len()..)?;
    if flags == 8 {
        let end = body.iter().position(|&byte| byte == 0)?;
        body = body.get(end + 1..)?;
    }
    let mut bits = Bits { bytes: body, at: 0, held: 0, count: 0 };
    let plain = inflate(&mut bits, max_bytes)?;
    // Behind it stand a check sum and the length.
    let trailer = body.get(bits.at..)?;
    let length = u32::from_le_bytes(*trailer.get(4..)?.first_chunk()?);
    (length as usize == plain.len()).then_some(plain)
}

/// A stream of bits, the lowest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    fn take(&mut self, want: u32) -> Option<u32> {
        while self.count < want {
            self.held |= u32::from(*self.bytes.get(self.at)?) << self.count;
            self.at += 1;
            self.count += 8;
        }
        let value = self.held & ((1 << want) - 1);
        self.held >>= want;
        self.count -= want;
        Some(value)
    }

    /// The next symbol of a code.
    fn symbol(&mut self, code: &Code) -> Option<u16> {
        let (mut value, mut first, mut index) = (0i32, 0i32, 0i32);
        for len in 1..=MAX_BITS {
            value |= self.take(1)? as i32;
            let count = i32::from(code.counts[len]);
            if value - first < count {
                return code.symbols.get(usize::try_from(index + value - first).ok()?).copied();
            }
            index += count;
            first = (first + count) << 1;
            value <<= 1;
        }
        None
    }
}

/// A canonical Huffman code: how many symbols have each length, and the symbols by length.
struct Code {
    counts: [u16; MAX_BITS + 1],
    symbols: Vec<u16>,
}

impl Code {
    fn of(lengths: &[u8]) -> Option<Code> {
        let mut counts = [0u16; MAX_BITS + 1];
        for &len in lengths {
            *counts.get_mut(usize::from(len))? += 1;
        }
        counts[0] = 0;
        let mut left = 1i32;
        for &count in &counts[1..] {
            left = (left << 1) - i32::from(count);
            if left < 0 {
                return None; // More codes than there are bits for.
            }
        }
        // Those of one length stay in their order.
        let mut symbols = Vec::with_capacity(lengths.len());
        for wanted in 1..=MAX_BITS {
            let of_length = (0u16..).zip(lengths).filter(|(_, len)| usize::from(**len) == wanted);
            symbols.extend(of_length.map(|(symbol, _)| symbol));
        }
        Some(Code { counts, symbols })
    }
}

fn inflate(bits: &mut Bits<'_>, max_bytes: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => stored(bits, &mut out, max_bytes)?,
            1 => {
                let lengths: Vec<u8> = (0..288)
                    .map(|symbol| match symbol {
                        0..144 => 8,
                        144..256 => 9,
                        256..280 => 7,
                        _ => 8,
                    })
                    .collect();
                packed(bits, &Code::of(&lengths)?, &Code::of(&[5; 30])?, &mut out, max_bytes)?;
            }
            2 => {
                let (literals, distances) = codes(bits)?;
                packed(bits, &literals, &distances, &mut out, max_bytes)?;
            }
            _ => return None,
        }
        if last {
            return Some(out);
        }
    }
}

/// A block that is not packed: it begins at a whole byte with its length, twice.
fn stored(bits: &mut Bits<'_>, out: &mut Vec<u8>, max_bytes: usize) -> Option<()> {
    // At most seven bits are held here, and they belong to a byte that has been begun.
    (bits.held, bits.count) = (0, 0);
    let header: &[u8; 4] = bits.bytes.get(bits.at..)?.first_chunk()?;
    let len = u16::from_le_bytes([header[0], header[1]]);
    if len != !u16::from_le_bytes([header[2], header[3]]) {
        return None;
    }
    let begin = bits.at + header.len();
    let content = bits.bytes.get(begin..begin + usize::from(len))?;
    bits.at = begin + content.len();
    out.extend_from_slice(content);
    (out.len() <= max_bytes).then_some(())
}

/// The two codes that a block brings along, packed by a third one.
fn codes(bits: &mut Bits<'_>) -> Option<(Code, Code)> {
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let given = bits.take(4)? as usize + 4;
    let mut lengths = [0u8; 19];
    for &place in ORDER.iter().take(given) {
        lengths[place] = bits.take(3)? as u8;
    }
    let code = Code::of(&lengths)?;
    let mut lengths: Vec<u8> = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let (value, times) = match bits.symbol(&code)? {
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            len => (u8::try_from(len).ok()?, 1),
        };
        lengths.extend(std::iter::repeat_n(value, times as usize));
    }
    if lengths.len() > literals + distances {
        return None;
    }
    Some((Code::of(&lengths[..literals])?, Code::of(&lengths[literals..])?))
}

/// A packed block: bytes, and copies of what came before.
fn packed(
    bits: &mut Bits<'_>,
    literals: &Code,
    distances: &Code,
    out: &mut Vec<u8>,
    max_bytes: usize,
) -> Option<()> {
    loop {
        match bits.symbol(literals)? {
            byte @ 0..256 => out.push(byte as u8),
            256 => return Some(()),
            code => {
                let (least, more) = *LENGTHS.get(usize::from(code) - 257)?;
                let len = usize::from(least) + bits.take(u32::from(more))? as usize;
                let code = u32::from(bits.symbol(distances)?);
                let back = match code {
                    0..4 => code + 1,
                    // Each pair of codes covers twice the distances of the one before.
                    4..30 => {
                        let more = code / 2 - 1;
                        ((2 + code % 2) << more) + 1 + bits.take(more)?
                    }
                    _ => return None,
                };
                let from = out.len().checked_sub(back as usize)?;
                for at in from..from + len {
                    out.push(out[at]);
                }
            }
        }
        if out.len() > max_bytes {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CONFIG_HZ=250` and a line end in one block that is not packed.
    const STORED: &[u8] = &[
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x03, 0x01, 0x0e, 0x00, 0xf1, 0xff,
        0x43, 0x4f, 0x4e, 0x46, 0x49, 0x47, 0x5f, 0x48, 0x5a, 0x3d, 0x32, 0x35, 0x30, 0x0a, 0xfb,
        0x5f, 0x3a, 0x01, 0x0e, 0x00, 0x00, 0x00,
    ];

    /// The same, packed with the code that needs no table.
    const FIXED: &[u8] = &[
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x73, 0xf6, 0xf7, 0x73, 0xf3,
        0x74, 0x8f, 0xf7, 0x88, 0xb2, 0x35, 0x32, 0x35, 0xe0, 0x02, 0x00, 0xfb, 0x5f, 0x3a, 0x01,
        0x0e, 0x00, 0x00, 0x00,
    ];

    /// What [`many`] makes, packed with a table of its own.
    const DYNAMIC: &[u8] = &[
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x6d, 0x92, 0x3b, 0x0a, 0x80,
        0x40, 0x14, 0x03, 0x7b, 0x4f, 0xe3, 0x4b, 0xd6, 0x5f, 0xb1, 0x95, 0xa0, 0xd8, 0xb8, 0x16,
        0xf6, 0x9e, 0xc0, 0x03, 0x78, 0x7b, 0xb1, 0xd4, 0xb1, 0x0d, 0x19, 0x18, 0x42, 0xc6, 0xb2,
        0x4e, 0xcb, 0x7c, 0x94, 0x6d, 0x5f, 0xca, 0x7a, 0xd4, 0xf9, 0xac, 0xc6, 0x57, 0x12, 0xf9,
        0xfa, 0x24, 0x42, 0x62, 0x50, 0x09, 0x9d, 0x06, 0x49, 0x0b, 0xaa, 0x43, 0xa7, 0x47, 0x32,
        0xd0, 0xb0, 0x46, 0x29, 0x68, 0x1d, 0x22, 0x68, 0xb6, 0x28, 0x1e, 0x0d, 0xc1, 0x96, 0x2d,
        0xba, 0x47, 0x4f, 0x70, 0xe0, 0x9a, 0xb4, 0x57, 0x00, 0x14, 0x47, 0x17, 0xed, 0x95, 0x08,
        0x72, 0x77, 0xd1, 0x5e, 0x1d, 0x41, 0x4e, 0x2f, 0xda, 0x9b, 0x87, 0x31, 0xb7, 0xf7, 0xcf,
        0x65, 0xf8, 0x19, 0x73, 0x7b, 0xd3, 0xde, 0xbc, 0x8d, 0xb9, 0xbd, 0x69, 0xef, 0xe7, 0x39,
        0x37, 0xa5, 0xde, 0x3e, 0xe8, 0xee, 0x02, 0x00, 0x00,
    ];

    fn many() -> String {
        let value = |i: u32| if i.is_multiple_of(3) { "m" } else { "y" };
        (0..40).map(|i| format!("CONFIG_OPTION_{i}={}\n", value(i))).collect()
    }

    #[test]
    fn each_sort_of_block_is_unpacked() {
        assert_eq!(gunzip(STORED, 100).as_deref(), Some(&b"CONFIG_HZ=250\n"[..]));
        assert_eq!(gunzip(FIXED, 100).as_deref(), Some(&b"CONFIG_HZ=250\n"[..]));
        assert_eq!(gunzip(DYNAMIC, 1 << 20).as_deref(), Some(many().as_bytes()));
    }

    #[test]
    fn a_file_name_in_the_header_is_passed_over() {
        let named = [&FIXED[..3], &[8], &FIXED[4..10], b"config\0", &FIXED[10..]].concat();
        assert_eq!(gunzip(&named, 100), gunzip(FIXED, 100));
    }

    #[test]
    fn what_would_become_too_long_is_nothing() {
        let len = many().len();
        assert!(gunzip(DYNAMIC, len).is_some());
        assert_eq!(gunzip(DYNAMIC, len - 1), None);
        assert_eq!(gunzip(STORED, 13), None);
    }

    #[test]
    fn a_file_cut_or_garbled_at_any_byte_does_no_harm() {
        assert_eq!(gunzip(b"CONFIG_HZ=250\n", 100), None);
        for file in [STORED, FIXED, DYNAMIC] {
            for at in 0..file.len() {
                assert_eq!(gunzip(&file[..at], 1 << 20), None, "{at} bytes");
                for bit in 0..8 {
                    let mut garbled = file.to_vec();
                    garbled[at] ^= 1 << bit;
                    assert!(gunzip(&garbled, 5_000).is_none_or(|plain| plain.len() <= 5_000));
                }
            }
        }
    }
}
