//! The C library of a program: at its functions clock reads are counted.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The first bytes of a file, which have the first line of a script, or the header of an ELF file.
const HEAD_BYTES: u64 = 4 << 10;
/// The program headers of a file that the kernel executes are at most so long,
const MAX_TABLE_BYTES: u64 = 64 << 10;
/// and each is at least as long as this.
const MIN_ENTRY_BYTES: u16 = 56;
/// The longest name of a loader (PATH_MAX).
const MAX_LOADER_BYTES: u64 = 4 << 10;
/// The interpreter of a script may be a script; the kernel follows four.
const MAX_SCRIPTS: u32 = 5;

/// The type of a segment that names the dynamic loader (elf(5)).
const PT_INTERP: u32 = 3;

/// What starts a program.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Start {
    /// A dynamic loader (PT_INTERP).
    Loader(PathBuf),
    /// An interpreter: it is a script.
    Interpreter(PathBuf),
    /// The kernel alone: it is linked statically.
    Kernel,
}

/// The C library that a program will map; or why that is not known. Programs that it starts may have
/// another one.
pub fn c_library_of_program(file: &Path) -> Result<PathBuf, String> {
    let mut file = file.to_owned();
    for _ in 0..MAX_SCRIPTS {
        let shown = file.display();
        let start = File::open(&file).and_then(|file| start_of(&file));
        let start = start.map_err(|error| format!("{shown} cannot be read: {error}"))?;
        match start.ok_or_else(|| format!("{shown} is no 64-bit program"))? {
            Start::Loader(loader) => return library_of_loader(&loader),
            Start::Kernel => {
                return Err(format!("{shown} is linked statically: it has no shared C library"));
            }
            Start::Interpreter(interpreter) => file = interpreter,
        }
    }
    Err(format!("{} is a script of a script of a script", file.display()))
}

/// The C library that a running process has mapped; or why that is not known.
pub fn c_library_of_process(pid: u32) -> Result<PathBuf, String> {
    let maps = fs::read(format!("/proc/{pid}/maps"))
        .map_err(|error| format!("the memory map of process {pid} cannot be read: {error}"))?;
    let maps = String::from_utf8_lossy(&maps);
    let library = maps.lines().find_map(mapped_library);
    let library = library.ok_or_else(|| format!("process {pid} has mapped no C library"))?;
    // As the process sees it, which may be in a container.
    Ok(PathBuf::from(format!("/proc/{pid}/root/{library}")))
}

/// The path in a line of a memory map, without its first slash, if it is that of a C library.
fn mapped_library(line: &str) -> Option<&str> {
    let (_, path) = line.split_once('/')?;
    let name = path.rsplit('/').next().unwrap_or(path);
    // glibc, before its version 2.34, and musl, whose loader may be a link to its library.
    let is_library = ["libc.so.6", "libc.so"].contains(&name)
        || name.starts_with("ld-musl-")
        || name.starts_with("libc.musl-")
        || (name.starts_with("libc-2.") && name.ends_with(".so"));
    is_library.then_some(path)
}

/// What starts the program in a file; `None` if it is none that is known. The name of a loader may be
/// anywhere in it: tools that change it put it at the end.
fn start_of(file: &File) -> io::Result<Option<Start>> {
    let head = bytes_at(file, 0, HEAD_BYTES)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        return Ok(interpreter_of(line).map(Start::Interpreter));
    }
    let Some(HeaderTable { at, entries, entry_bytes }) = HeaderTable::of(&head) else {
        return Ok(None);
    };
    let Some(table) = whole_at(file, at, u64::from(entries) * u64::from(entry_bytes))? else {
        return Ok(None);
    };
    let mut headers = table.chunks_exact(usize::from(entry_bytes));
    let Some(header) = headers.find(|header| u32_at(header, 0) == Some(PT_INTERP)) else {
        return Ok(Some(Start::Kernel));
    };
    let place = u64_at(header, 8).zip(u64_at(header, 32));
    let Some((from, bytes)) = place.filter(|&(_, bytes)| bytes <= MAX_LOADER_BYTES) else {
        return Ok(None);
    };
    let name = whole_at(file, from, bytes)?;
    Ok(name.map(|name| {
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        Start::Loader(path_of(&name[..end]))
    }))
}

/// The interpreter in the first line of a script, behind its `#!`.
fn interpreter_of(script: &[u8]) -> Option<PathBuf> {
    let line = script.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().map(path_of)
}

/// Where the program headers of a file are.
struct HeaderTable {
    at: u64,
    entries: u16,
    entry_bytes: u16,
}

impl HeaderTable {
    /// That of an ELF file of 64 bits, little-endian, which begins so.
    fn of(head: &[u8]) -> Option<Self> {
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (at, entry_bytes) = (u64_at(head, 32)?, u16_at(head, 54)?);
        let entries = u16_at(head, 56)?;
        let fits = u64::from(entries) * u64::from(entry_bytes) <= MAX_TABLE_BYTES;
        (fits && entry_bytes >= MIN_ENTRY_BYTES).then_some(Self { at, entries, entry_bytes })
    }
}

/// So many bytes of a file from there on, or as many as it has.
fn bytes_at(file: &File, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let (mut reader, mut found) = (file, Vec::new());
    reader.seek(SeekFrom::Start(at))?;
    reader.take(bytes).read_to_end(&mut found)?;
    Ok(found)
}

/// So many bytes of a file from there on; `None` if it has not all of them.
fn whole_at(file: &File, at: u64, bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    if at.checked_add(bytes).is_none_or(|end| end > length) {
        return Ok(None);
    }
    let found = bytes_at(file, at, bytes)?;
    Ok((found.len() as u64 == bytes).then_some(found))
}

/// The C library of a dynamic loader: musl's is its own loader, glibc's lies beside it.
fn library_of_loader(loader: &Path) -> Result<PathBuf, String> {
    let shown = loader.display();
    let is_musl = loader.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl-"));
    let loader = fs::canonicalize(loader)
        .map_err(|error| format!("its loader {shown} cannot be found: {error}"))?;
    let library = if is_musl { loader } else { loader.with_file_name("libc.so.6") };
    match library.is_file() {
        true => Ok(library),
        false => Err(format!("there is no libc.so.6 beside its loader {shown}")),
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// An ELF file with a segment of this type, which has the name of a loader, at this place.
    fn elf(kind: u32, name_at: usize) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&1_u16.to_le_bytes());
        let mut header = kind.to_le_bytes().to_vec();
        header.resize(56, 0);
        header[8..16].copy_from_slice(&(name_at as u64).to_le_bytes());
        header[32..40].copy_from_slice(&9_u64.to_le_bytes());
        file.extend(header);
        file.resize(name_at, 0);
        file.extend(b"/lib/ld.\0");
        file
    }

    /// What starts the program of a file of these bytes.
    fn start(bytes: &[u8]) -> Option<Start> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        start_of(&file).unwrap()
    }

    #[test]
    fn a_program_tells_its_loader_a_script_its_interpreter() {
        let loader = Some(Start::Loader(PathBuf::from("/lib/ld.")));
        // A tool may have put the name behind all of the program.
        for name_at in [120, 200_000] {
            assert_eq!(start(&elf(PT_INTERP, name_at)), loader, "at {name_at}");
        }
        assert_eq!(start(&elf(1, 120)), Some(Start::Kernel));
        let script = Some(Start::Interpreter(PathBuf::from("/bin/sh")));
        assert_eq!(start(b"#! /bin/sh -e\nexit"), script);
        for other in [&b""[..], b"#!", b"#!\n", b"\x7fELF\x01\x01", b"MZ"] {
            assert_eq!(start(other), None, "{other:?}");
        }
        let whole = elf(PT_INTERP, 120);
        for end in 0..whole.len() {
            assert_eq!(start(&whole[..end]), None, "cut at {end}");
        }
        let with = |at: usize, value: u64| {
            let mut file = whole.clone();
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
            start(&file)
        };
        // The table, the name and its length are beyond all files.
        for at in [32, 72, 96] {
            assert_eq!(with(at, u64::MAX), None, "at {at}");
            assert_eq!(with(at, i64::MAX as u64), None, "at {at}");
        }
    }

    #[test]
    fn the_c_library_is_found_in_a_memory_map() {
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 08:01 123    {path}");
        for (path, is_library) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", true),
            ("/lib/libc-2.31.so", true),
            ("/lib/ld-musl-x86_64.so.1", true),
            ("/usr/lib/musl/lib/libc.so", true),
            ("/lib/libc.musl-x86_64.so.1", true),
            ("/usr/lib/libcrypt.so.1", false),
            ("[vdso]", false),
        ] {
            let expected = is_library.then(|| &path[1..]);
            assert_eq!(mapped_library(&line(path)), expected, "{path}");
        }
    }

    #[test]
    fn what_has_no_c_library_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        fs::write(&file, elf(1, 120)).unwrap();
        let why = c_library_of_program(&file).unwrap_err();
        assert!(why.ends_with("is linked statically: it has no shared C library"), "{why}");
        fs::write(&file, format!("#!{}\n", file.display())).unwrap();
        assert!(c_library_of_program(&file).unwrap_err().contains("script of a script"));
        fs::write(&file, elf(PT_INTERP, 120)).unwrap();
        let why = c_library_of_program(&file).unwrap_err();
        assert!(why.starts_with("its loader /lib/ld. cannot be found"), "{why}");
        let why = c_library_of_program(&folder.path().join("none")).unwrap_err();
        assert!(why.contains("cannot be read"), "{why}");
        // The number of no process.
        assert!(c_library_of_process(u32::MAX).unwrap_err().contains("cannot be read"));
    }
}
