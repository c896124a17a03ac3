//! Debian packages: the kernel image in one (deb(5)).
//!
//! A package is an ar(5) archive whose members are packed tar(5) archives. It is untrusted: its
//! size, what its members unpack to and the memory of their decoders are bounded, nothing of it is
//! written to a file, and no length that it names is allocated before that many bytes were read.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use thiserror::Error;

use super::error::{ImageError, MAX_IMAGE_BYTES, excerpt, image_too_large, unusable_kernel};
use super::header;
use crate::files::input_file;

/// The first bytes of a package, which is an ar(5) archive.
pub(super) const MAGIC: &[u8] = b"!<arch>\n";
/// The prefix of the names of kernel packages.
pub(super) const PREFIX: &str = "linux-image-";
/// The largest package that is read: those of kernels with all their modules have 130 MB.
const MAX_PACKAGE_BYTES: u64 = 1 << 30;
/// What the files of a package may unpack to: kernels with all their modules have 0.6 GB.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// What an xz decoder may allocate. `xz -9` needs 65 MiB; the zstd decoder has a limit of its own.
const MAX_XZ_MEMORY_KIB: u32 = 128 << 10;
/// The largest `control` file: Debian's are below 10 KB.
const MAX_CONTROL_BYTES: u64 = 1 << 20;
const AR_HEADER_BYTES: usize = 60;
/// The beginning of the name of the member that has the files; its suffix names the compression.
const FILES_STEM: &str = "data.tar";
/// The most members that are looked at: a package has three.
const MAX_MEMBERS: u32 = 64;

/// Why a file of a package cannot be read.
#[derive(Debug, Error)]
pub(super) enum PackageError {
    /// The package cannot be read, or has another format.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// The package ends early, or has another format.
    #[error("{0}")]
    Malformed(String),
    /// The file is larger than allowed.
    #[error("a file in it is too large")]
    TooLarge,
}

/// Reads the kernel image in a package.
pub(super) fn extract_kernel(requested: &str, package: &Path) -> Result<Vec<u8>, ImageError> {
    let image = open_member(package, FILES_STEM)
        .and_then(|files| find_file(files, is_kernel_path, MAX_IMAGE_BYTES));
    match image {
        Ok(Some(image)) => Ok(image),
        Ok(None) => Err(without_kernel(requested, package)),
        Err(PackageError::TooLarge) => Err(image_too_large(requested)),
        Err(error) => Err(unreadable_package(requested, &error)),
    }
}

/// The error for a package that cannot be read.
pub(super) fn unreadable_package(requested: &str, error: &PackageError) -> ImageError {
    let why = format!("the package cannot be read: {}", excerpt(&error.to_string()));
    unusable_kernel(requested, why, "`oscost kernels fetch` downloads it again")
}

/// Checks that a package has its files and is not cut short, by the sizes of its members; nothing is
/// unpacked. That finds what a full disk, an interrupted copy or another program has left.
pub(super) fn check_package(package: &Path) -> Result<(), PackageError> {
    let mut archive = input_file::open(package)?;
    let end = archive.metadata()?.len();
    let mut magic = Vec::new();
    archive.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    if magic != MAGIC {
        return Err(PackageError::Malformed("it is not an ar archive".to_owned()));
    }
    let mut at = MAGIC.len() as u64;
    for _ in 0..MAX_MEMBERS {
        let member = Member::read(&mut archive)?;
        at = at.saturating_add(AR_HEADER_BYTES as u64).saturating_add(member.bytes);
        if at > end {
            return Err(PackageError::Malformed("it ends within a member".to_owned()));
        }
        if member.name.starts_with(FILES_STEM) {
            return Ok(());
        }
        // Members begin at even offsets.
        at = at.next_multiple_of(2);
        archive.seek(SeekFrom::Start(at))?;
    }
    Err(PackageError::Malformed("it has no files".to_owned()))
}

/// A member of a package, by its header.
struct Member {
    name: String,
    bytes: u64,
}

impl Member {
    /// Reads its header.
    fn read(archive: &mut impl Read) -> Result<Self, PackageError> {
        let mut header = [0; AR_HEADER_BYTES];
        archive.read_exact(&mut header).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => PackageError::Malformed("it is cut short".to_owned()),
            _ => error.into(),
        })?;
        let name = String::from_utf8_lossy(&header[..16]);
        let name = name.trim_end_matches([' ', '/']).to_owned();
        let size = str::from_utf8(&header[48..58]).ok().and_then(|size| size.trim().parse().ok());
        match size.filter(|_| header.ends_with(b"`\n")) {
            Some(bytes) => Ok(Self { name, bytes }),
            None => Err(PackageError::Malformed("it is not an ar archive".to_owned())),
        }
    }
}

/// Opens a member of a package and unpacks it; `stem` is its name without the suffix that names the
/// compression.
fn open_member(package: &Path, stem: &str) -> Result<impl Read, PackageError> {
    let mut archive = File::open(package)?.take(MAX_PACKAGE_BYTES);
    skip(&mut archive, MAGIC.len() as u64)?;
    loop {
        let Member { name, bytes } = Member::read(&mut archive)?;
        if let Some(suffix) = name.strip_prefix(stem) {
            return Ok(decoder(suffix, archive.take(bytes))?.take(MAX_UNPACKED_BYTES));
        }
        // Members begin at even offsets.
        skip(&mut archive, bytes.next_multiple_of(2))?;
    }
}

/// The decoder of a member, by the suffix of its name.
fn decoder(suffix: &str, member: impl Read + 'static) -> Result<Box<dyn Read>, PackageError> {
    Ok(match suffix {
        "" => Box::new(member),
        ".gz" => Box::new(GzDecoder::new(member)),
        ".xz" => Box::new(XzReader::new_mem_limit(member, true, MAX_XZ_MEMORY_KIB)),
        ".zst" => Box::new(StreamingDecoder::new(member).map_err(io::Error::other)?),
        other => {
            let why = format!("its files are packed as `{}`", excerpt(other));
            return Err(PackageError::Malformed(why));
        }
    })
}

fn skip(reader: &mut impl Read, bytes: u64) -> Result<(), PackageError> {
    match io::copy(&mut reader.take(bytes), &mut io::sink())? {
        read if read == bytes => Ok(()),
        _ => Err(PackageError::Malformed("it ends within a member".to_owned())),
    }
}

/// Reads the first regular file whose path is `wanted`, of at most `max_bytes`, in a tar archive.
///
/// A kernel's release has 64 bytes at most, so its path fits the header's own name. Entries that
/// extend longer names (GNU and POSIX) are skipped like other files, and not read into memory.
pub(super) fn find_file(
    archive: impl Read,
    wanted: impl Fn(&[u8]) -> bool,
    max_bytes: u64,
) -> Result<Option<Vec<u8>>, PackageError> {
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() || !wanted(&entry.path_bytes()) {
            continue;
        }
        let size = entry.size();
        if size > max_bytes {
            return Err(PackageError::TooLarge);
        }
        let mut file = Vec::new();
        entry.read_to_end(&mut file)?;
        return match file.len() as u64 == size {
            true => Ok(Some(file)),
            false => Err(PackageError::Malformed("it ends within a file".to_owned())),
        };
    }
    Ok(None)
}

/// Whether a path in a package is a kernel's. Debian installs kernels in /boot, other distributions
/// next to their modules.
fn is_kernel_path(path: &[u8]) -> bool {
    let Ok(path) = str::from_utf8(path) else { return false };
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let in_boot = path.strip_prefix("boot/vmlinuz-").is_some_and(|rest| !rest.contains('/'));
    let modules = path.strip_prefix("usr/").unwrap_or(path).strip_prefix("lib/modules/");
    in_boot || modules.is_some_and(|rest| rest.split_once('/').is_some_and(|it| it.1 == "vmlinuz"))
}

/// The error for a package without a kernel. A meta package only depends on the kernel's package.
fn without_kernel(requested: &str, package: &Path) -> ImageError {
    let why = "the package contains no kernel";
    let control = control(package).unwrap_or_default();
    let name = field(&control, "Package").unwrap_or_default();
    let depends = field(&control, "Depends").unwrap_or_default();
    match kernel_dependency(depends) {
        Some(next) => {
            let why = format!("{why}: {} only depends on another one", excerpt(name));
            unusable_kernel(requested, why, format!("`oscost kernels fetch {next}` gets that one"))
        }
        None if name.is_empty() => unusable_kernel(requested, why, header::KERNEL_HINT),
        None => {
            let hint = "the names of kernel packages begin with linux-image-; `oscost kernels list \
                        --available` lists them";
            unusable_kernel(requested, format!("{why}; it is {}", excerpt(name)), hint)
        }
    }
}

/// The description of a package.
fn control(package: &Path) -> Result<String, PackageError> {
    let files = open_member(package, "control.tar")?;
    let is_control = |path: &[u8]| matches!(path, b"./control" | b"control");
    let control = find_file(files, is_control, MAX_CONTROL_BYTES)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&control).into_owned())
}

/// A field of a package's description (deb-control(5)), as in a `control` file or in apt's output.
pub(super) fn field<'a>(description: &'a str, name: &str) -> Option<&'a str> {
    let values = description.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    values.map(str::trim).next()
}

/// The kernel package among the dependencies of another one.
pub(super) fn kernel_dependency(depends: &str) -> Option<&str> {
    let words = depends.split([',', '|']).filter_map(|it| it.split_whitespace().next());
    // `NAME:ARCHITECTURE`.
    let mut names = words.map(|word| word.split_once(':').map_or(word, |(name, _)| name));
    names.find(|name| is_package_name(name) && name.starts_with(PREFIX))
}

/// Whether a text can be a package's name. No program takes such a name for an option, a path or a
/// pattern.
pub(super) fn is_package_name(text: &str) -> bool {
    const MAX_BYTES: usize = 128;
    let is_letter_or_digit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_allowed = |byte: u8| is_letter_or_digit(byte) || b"+.~-".contains(&byte);
    text.len() <= MAX_BYTES
        && text.bytes().next().is_some_and(is_letter_or_digit)
        && text.bytes().all(is_allowed)
}
