//! The setup header of a kernel image (x86 boot protocol).
//!
//! The kernel's Documentation/arch/x86/boot.rst has its layout. An image that does not match its
//! header is refused here with the reason: an emulator would hang with an empty screen.

/// The forms in which a kernel can be named.
pub(super) const KERNEL_HINT: &str = "name a bzImage, a Debian package of a kernel, or a version; \
                                      `oscost kernels list` lists those on this machine";

/// Offset of the number of 512-byte sectors of the setup after the first one.
const SETUP_SECTORS: usize = 0x1f1;
/// Offset of the size of the code after the setup, in paragraphs of 16 bytes.
const PARAGRAPHS: usize = 0x1f4;
const BOOT_FLAG: usize = 0x1fe;
const MAGIC: usize = 0x202;
const PROTOCOL: usize = 0x206;
/// Offset of the offset of the version text, relative to [`VERSION_BASE`].
const VERSION: usize = 0x20e;
const VERSION_BASE: usize = 0x200;
const LOAD_FLAGS: usize = 0x211;
const LOADED_HIGH: u8 = 1;
const MORE_LOAD_FLAGS: usize = 0x236;
const HAS_64_BIT_ENTRY: u16 = 1;
/// Protocol 2.06 (Linux 2.6.22): command lines of more than 255 bytes.
const MIN_PROTOCOL: u16 = 0x206;
/// Protocol 2.12 (Linux 3.8) says whether there is a 64-bit entry.
const ENTRY_FLAG_PROTOCOL: u16 = 0x20c;
/// `utsname.release` has 65 bytes with its terminating zero.
const MAX_RELEASE_BYTES: usize = 64;
/// The version text has some 120 bytes.
const MAX_VERSION_BYTES: usize = 512;
/// The end of the fields that are read here.
const HEADER_BYTES: usize = 0x238;
/// The setup has at most 255 sectors after the first: this many bytes of a file contain all of it.
pub(super) const SETUP_BYTES: u64 = 256 * 512;

/// A reason why an image cannot be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageDefect {
    /// The reason.
    pub(super) why: String,
    /// What to do about it.
    pub(super) hint: String,
}

/// The contents of a kernel's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Its release (`uname -r`).
    pub(super) release: String,
    /// The build of that release, if its version text has one: for Debian, the package's version.
    pub(super) build: Option<String>,
    /// The size of its setup and its code.
    bytes: u64,
}

impl Header {
    /// Reads the header from the beginning of an image, which must contain the whole setup.
    pub(super) fn read(image: &[u8]) -> Result<Header, ImageDefect> {
        let is_kernel = number(image, BOOT_FLAG) == Some(0xaa55)
            && image.get(MAGIC..).is_some_and(|it| it.starts_with(b"HdrS"));
        if !is_kernel {
            return Err(not_a_kernel(image));
        }
        if image.len() < HEADER_BYTES {
            return Err(flaw("it is truncated within its header"));
        }
        let protocol = number(image, PROTOCOL).unwrap_or(0);
        if protocol < MIN_PROTOCOL {
            let (major, minor) = (protocol >> 8, protocol & 0xff);
            return Err(flaw(format!(
                "it has boot protocol {major}.{minor:02}; 2.06 (Linux 2.6.22) is the oldest that \
                 oscost boots"
            )));
        }
        let entry = number(image, MORE_LOAD_FLAGS).unwrap_or(0);
        if protocol >= ENTRY_FLAG_PROTOCOL && entry & HAS_64_BIT_ENTRY == 0 {
            return Err(flaw("it is a 32-bit kernel, but the worker is a 64-bit program"));
        }
        if image[LOAD_FLAGS] & LOADED_HIGH == 0 {
            return Err(flaw("it is a zImage, which is loaded below 1 MiB, not a bzImage"));
        }
        // A header of 0 sectors means 4: the setup of Linux 1.3.
        let sectors = if image[SETUP_SECTORS] == 0 { 4 } else { usize::from(image[SETUP_SECTORS]) };
        let setup = (sectors + 1) * 512;
        let low = number(image, PARAGRAPHS).unwrap_or(0);
        let high = number(image, PARAGRAPHS + 2).unwrap_or(0);
        let paragraphs = u64::from(low) | u64::from(high) << 16;
        let text = number(image, VERSION).filter(|&offset| offset != 0);
        let text = text.map(|offset| VERSION_BASE + usize::from(offset));
        let text = text.and_then(|start| image.get(start..setup.min(image.len())));
        let Some((release, build)) = text.and_then(parse_version) else {
            return Err(flaw("its setup contains no release"));
        };
        Ok(Header { release, build, bytes: setup as u64 + paragraphs * 16 })
    }

    /// Checks that a file of `bytes` bytes is complete. It may be longer: a signature follows the
    /// code.
    pub(super) fn check_size(&self, bytes: u64) -> Result<(), ImageDefect> {
        match bytes >= self.bytes {
            true => Ok(()),
            false => Err(flaw(format!(
                "it is truncated: its header names {} bytes, but it has {bytes}",
                self.bytes
            ))),
        }
    }
}

/// The release and the build in a zero-terminated text such as `6.1.0-56-cloud-amd64 (user@host) #1
/// SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-16)`.
fn parse_version(text: &[u8]) -> Option<(String, Option<String>)> {
    let text = text.get(..MAX_VERSION_BYTES).unwrap_or(text);
    let text = &text[..text.iter().position(|&byte| byte == 0)?];
    let text = str::from_utf8(text).ok()?;
    let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_graphic());
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let release = words.next().filter(is_plain).filter(|it| it.len() <= MAX_RELEASE_BYTES)?;
    let words: Vec<&str> = words.filter(is_plain).collect();
    let debian = words.iter().position(|&word| word == "Debian");
    let build = debian
        .and_then(|at| words.get(at + 1))
        .or_else(|| words.iter().find(|word| word.starts_with('#')))
        .map(|&word| word.to_owned());
    Some((release.to_owned(), build))
}

/// Why a file is not a kernel for this machine, judged by its first bytes.
fn not_a_kernel(image: &[u8]) -> ImageDefect {
    let is_at = |at: usize, magic: &[u8]| image.get(at..).is_some_and(|it| it.starts_with(magic));
    if image.is_empty() {
        return flaw("it is empty");
    }
    if is_at(0, b"\x7fELF") {
        return ImageDefect {
            why: "it is an ELF file, such as a vmlinux; oscost needs a bzImage".to_owned(),
            hint: "in the kernel's build directory, the bzImage is arch/x86/boot/bzImage"
                .to_owned(),
        };
    }
    if is_at(56, b"ARM\x64") {
        return flaw("it is a kernel for aarch64, but this machine is x86_64");
    }
    let formats = [
        (&b"\x1f\x8b"[..], "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x02\x21\x4c\x18", "lz4"),
        (b"BZh", "bzip2"),
    ];
    if let Some((_, format)) = formats.iter().find(|(magic, _)| is_at(0, magic)) {
        return flaw(format!("it is a {format} file, perhaps an initrd, not a kernel"));
    }
    if is_at(0, b"070701") || is_at(0, b"070702") {
        return flaw("it is a cpio archive, perhaps an initrd, not a kernel");
    }
    flaw("it is not a kernel: it has no boot sector with a kernel's header")
}

fn flaw(why: impl Into<String>) -> ImageDefect {
    ImageDefect { why: why.into(), hint: KERNEL_HINT.to_owned() }
}

/// A 16-bit number of the header, which is little-endian.
fn number(image: &[u8], at: usize) -> Option<u16> {
    let bytes = image.get(at..at + 2)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}
