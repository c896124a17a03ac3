//! The firmware's hardware table (SMBIOS, also called DMI): memory modules and the bus clock.
//!
//! The table also contains serial numbers, asset tags and the machine's id. They are not read: of
//! the strings only the names of memory sockets are, to count channels.

use oscost_model::facts::MemoryModule;

/// Maximum number of structures: a server with 64 memory sockets has some 200.
const MAX_STRUCTURES: usize = 4096;

/// Structure types: processor, memory device, end of table.
const PROCESSOR: u8 = 4;
const MEMORY_DEVICE: u8 = 17;
const END: u8 = 127;

/// Memory types by their number (SMBIOS 3.7, table 78).
const MEMORY_TYPES: &[(u8, &str)] = &[
    (0x0f, "SDRAM"),
    (0x12, "DDR"),
    (0x13, "DDR2"),
    (0x18, "DDR3"),
    (0x1a, "DDR4"),
    (0x1b, "LPDDR"),
    (0x1c, "LPDDR2"),
    (0x1d, "LPDDR3"),
    (0x1e, "LPDDR4"),
    (0x20, "HBM"),
    (0x21, "HBM2"),
    (0x22, "DDR5"),
    (0x23, "LPDDR5"),
    (0x24, "HBM3"),
];

/// The contents of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dmi {
    /// Memory modules, equal ones counted; `None` if the table describes no memory socket.
    pub modules: Option<Vec<MemoryModule>>,
    /// Memory sockets.
    pub slots: Option<u32>,
    /// Channels with a module, if the names of all their sockets contain the channel.
    pub channels: Option<u32>,
    /// Clock of the processor's bus, in MHz.
    pub bus_mhz: Option<u32>,
}

/// Parses the table. A damaged structure ends it; what precedes it is kept.
pub fn parse(table: &[u8]) -> Dmi {
    let mut dmi = Dmi::default();
    let mut channels: Option<Vec<String>> = Some(Vec::new());
    let mut rest = table;
    for _ in 0..MAX_STRUCTURES {
        let Some((structure, behind)) = next(rest) else { break };
        rest = behind;
        match structure.kind {
            END => break,
            PROCESSOR => dmi.bus_mhz = dmi.bus_mhz.or(structure.known_word(0x12).map(u32::from)),
            MEMORY_DEVICE => {
                dmi.slots = Some(dmi.slots.unwrap_or(0).saturating_add(1));
                let modules = dmi.modules.get_or_insert_default();
                if let Some(module) = module(&structure) {
                    add_module(modules, module);
                    let names = [structure.text(0x11), structure.text(0x10)];
                    let channel = names.iter().flatten().find_map(|name| channel(name));
                    match (channel, &mut channels) {
                        (Some(channel), Some(known_channels))
                            if known_channels.contains(&channel) => {}
                        (Some(channel), Some(known_channels)) => known_channels.push(channel),
                        // One socket without a channel name: the count would be wrong.
                        _ => channels = None,
                    }
                }
            }
            _ => {}
        }
    }
    let channels = channels.filter(|channels| !channels.is_empty());
    dmi.channels = channels.and_then(|channels| u32::try_from(channels.len()).ok());
    dmi
}

/// One structure: its fields, and the strings that follow.
struct Structure<'a> {
    kind: u8,
    fields: &'a [u8],
    texts: &'a [u8],
}

/// The first structure in `bytes`, and the rest. A structure is a header of four bytes (type,
/// length, handle), fields up to that length, then null-terminated strings, then another zero.
fn next(bytes: &[u8]) -> Option<(Structure<'_>, &[u8])> {
    let (&kind, &len) = (bytes.first()?, bytes.get(1)?);
    if len < 4 {
        return None;
    }
    let fields = bytes.get(..usize::from(len))?;
    let behind = bytes.get(usize::from(len)..)?;
    let end = behind.windows(2).position(|pair| pair == [0, 0])?;
    let structure = Structure { kind, fields, texts: behind.get(..end)? };
    Some((structure, behind.get(end + 2..)?))
}

impl Structure<'_> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.fields.get(offset).copied()
    }

    fn word(&self, offset: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.fields.get(offset..)?.first_chunk()?))
    }

    fn double(&self, offset: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.fields.get(offset..)?.first_chunk()?))
    }

    /// A word whose 0 and 0xffff mean "unknown".
    fn known_word(&self, offset: usize) -> Option<u16> {
        self.word(offset).filter(|&word| word != 0 && word != 0xffff)
    }

    /// The string whose number, from 1, is at this offset.
    fn text(&self, offset: usize) -> Option<String> {
        let number = usize::from(self.byte(offset)?.checked_sub(1)?);
        let text = self.texts.split(|&byte| byte == 0).nth(number)?;
        Some(String::from_utf8_lossy(text).trim().chars().take(64).collect())
    }
}

/// A memory device; `None` for a socket without a module.
fn module(structure: &Structure<'_>) -> Option<MemoryModule> {
    let size_mib = match structure.word(0x0c)? {
        0 => return None,
        0xffff => None,
        // Too large for this field: another one has it, in MiB.
        0x7fff => structure.double(0x1c).map(|mib| u64::from(mib & 0x7fff_ffff)),
        // With the highest bit set the unit is KiB.
        kib if kib & 0x8000 != 0 => Some(u64::from(kib & 0x7fff) / 1024),
        mib => Some(u64::from(mib)),
    };
    let kind = structure.byte(0x12).filter(|&kind| kind > 2).map(|kind| {
        let named = MEMORY_TYPES.iter().find(|(number, _)| *number == kind);
        named.map_or_else(|| format!("type {kind}"), |(_, name)| (*name).to_owned())
    });
    // The configured speed, since SMBIOS 2.7; otherwise the maximum speed.
    let speed = structure.known_word(0x20).or_else(|| structure.known_word(0x15));
    Some(MemoryModule {
        size_mib,
        kind,
        speed_mts: speed.map(u32::from),
        data_bits: structure.known_word(0x0a).map(u32::from),
        count: 1,
    })
}

fn add_module(modules: &mut Vec<MemoryModule>, module: MemoryModule) {
    let same = |other: &&mut MemoryModule| MemoryModule { count: 1, ..(*other).clone() } == module;
    match modules.iter_mut().find(same) {
        Some(other) => other.count = other.count.saturating_add(1),
        None => modules.push(module),
    }
}

/// The channel in the name of a socket, with what precedes it (a processor, a node):
/// `P0 CHANNEL A`, `Node0_Channel1_Dimm0`, `DIMM_B2`, `ChannelA-DIMM0`.
fn channel(name: &str) -> Option<String> {
    let name = name.to_ascii_uppercase();
    let end_of = |word: &str| name.find(word).map(|at| at + word.len());
    let (behind, letter_only) = match end_of("CHANNEL") {
        Some(end) => (end, false),
        None => (end_of("DIMM")?, true),
    };
    let (before, rest) = name.split_at_checked(behind)?;
    let rest = rest.trim_start_matches([' ', '_', '-']);
    let token: String = match rest.chars().next()? {
        letter if letter.is_ascii_alphabetic() => letter.to_string(),
        // A number after DIMM counts sockets, not channels.
        digit if digit.is_ascii_digit() && !letter_only => {
            rest.chars().take_while(char::is_ascii_digit).take(3).collect()
        }
        _ => return None,
    };
    Some(format!("{before}{token}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure of `kind` with these fields after its header, then its strings.
    fn structure(kind: u8, fields: &[u8], texts: &[&str]) -> Vec<u8> {
        let mut bytes = vec![kind, fields.len() as u8 + 4, 0, 0];
        bytes.extend(fields);
        for text in texts {
            bytes.extend(text.as_bytes());
            bytes.push(0);
        }
        bytes.extend(if texts.is_empty() { &[0, 0][..] } else { &[0] });
        bytes
    }

    /// A memory device of 34 bytes; strings 1 and 2 name its socket, 3 is its serial number.
    fn device(size: u16, kind: u8, speed: u16, set: u16, texts: [&str; 3]) -> Vec<u8> {
        let mut fields = [0u8; 30];
        let mut word = |at: usize, value: u16| {
            fields[at - 4..at - 2].copy_from_slice(&value.to_le_bytes());
        };
        word(0x08, 72);
        word(0x0a, 64);
        word(0x0c, size);
        word(0x15, speed);
        word(0x20, set);
        fields[0x0c..=0x0d].copy_from_slice(&[1, 2]);
        fields[0x12 - 4] = kind;
        fields[0x18 - 4] = 3;
        structure(MEMORY_DEVICE, &fields, &texts)
    }

    fn processor() -> Vec<u8> {
        let mut fields = [0u8; 20];
        fields[0x12 - 4..0x14 - 4].copy_from_slice(&100u16.to_le_bytes());
        structure(PROCESSOR, &fields, &["CPU 1", "Maker"])
    }

    #[test]
    fn modules_channels_and_the_bus_clock_are_read() {
        let table = [
            structure(1, &[0; 8], &["Vendor", "MACHINE-SERIAL"]),
            processor(),
            device(16384, 0x1a, 3200, 2933, ["DIMM 0", "P0 CHANNEL A", "SERIAL1"]),
            device(16384, 0x1a, 3200, 2933, ["DIMM 0", "P0 CHANNEL B", "SERIAL2"]),
            device(0, 0x02, 0, 0, ["DIMM 1", "P0 CHANNEL B", ""]),
            structure(END, &[], &[]),
            device(1, 0x1a, 1, 1, ["DIMM 9", "P9 CHANNEL Z", "behind the end"]),
        ]
        .concat();
        let module = MemoryModule {
            size_mib: Some(16384),
            kind: Some("DDR4".into()),
            speed_mts: Some(2933),
            data_bits: Some(64),
            count: 2,
        };
        let dmi = parse(&table);
        assert_eq!(dmi.modules, Some(vec![module]));
        assert_eq!((dmi.slots, dmi.channels, dmi.bus_mhz), (Some(3), Some(2), Some(100)));
        assert!(!format!("{dmi:?}").contains("SERIAL"));
    }

    #[test]
    fn sizes_that_do_not_fit_their_field_are_read() {
        let sized = |size: u16, extended: u32| {
            let mut bytes = device(size, 0x22, 4800, 0, ["A", "B", "C"]);
            bytes[0x1c..0x20].copy_from_slice(&extended.to_le_bytes());
            parse(&bytes).modules.unwrap().remove(0)
        };
        assert_eq!(sized(0x7fff, 65_536).size_mib, Some(65_536));
        assert_eq!(sized(0x8000 | 2048, 0).size_mib, Some(2));
        assert_eq!(sized(0xffff, 0).size_mib, None);
        // No configured speed: the maximum.
        assert_eq!(sized(1024, 0).speed_mts, Some(4800));
    }

    #[test]
    fn channels_are_counted_only_if_every_socket_names_its_own() {
        let key = |name| channel(name);
        assert_eq!(key("P1 CHANNEL A").as_deref(), Some("P1 CHANNELA"));
        assert_eq!(key("Node0_Channel1_Dimm0").as_deref(), Some("NODE0_CHANNEL1"));
        assert_eq!(key("ChannelB-DIMM0").as_deref(), Some("CHANNELB"));
        assert_eq!(key("DIMM_B2").as_deref(), Some("DIMMB"));
        assert_eq!(key("DIMM 0"), None);
        assert_eq!(key("BANK 0"), None);
        assert_eq!(key("CHANNEL"), None);
        let table = [
            device(1024, 0x18, 667, 667, ["DIMM_A1", "BANK 0", "s"]),
            device(1024, 0x18, 667, 667, ["DIMM 3", "BANK 1", "s"]),
        ]
        .concat();
        assert_eq!(parse(&table).channels, None);
    }

    #[test]
    fn a_table_truncated_or_damaged_at_any_byte_is_harmless() {
        let table =
            [processor(), device(16384, 0x1a, 3200, 3200, ["DIMM 0", "CHANNEL A", "S"])].concat();
        for len in 0..table.len() {
            let dmi = parse(&table[..len]);
            assert!(dmi.modules.is_none_or(|modules| modules.len() <= 1), "{len} bytes");
            for byte in [0, 1, 0x7f, 0xff] {
                let mut garbled = table.clone();
                garbled[len] = byte;
                parse(&garbled);
            }
        }
        assert_eq!(parse(&[]), Dmi::default());
        assert_eq!(parse(&[17, 3, 0, 0, 0, 0]), Dmi::default());
    }

    #[test]
    fn a_guest_without_modules_has_an_empty_list() {
        let table = device(0, 2, 0, 0, ["DIMM 0", "", ""]);
        assert_eq!(parse(&table).modules, Some(vec![]));
        assert_eq!(parse(&table).slots, Some(1));
    }
}
