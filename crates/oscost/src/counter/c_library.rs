//! The C library of a program: at its functions clock reads are counted.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The first bytes of a program, which have its headers and the name of its loader.
const HEAD_BYTES: u64 = 64 << 10;
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
        let head = head_of(&file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        match start_of(&head).ok_or_else(|| format!("{shown} is no 64-bit program"))? {
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
    // glibc, before its version 2.34, and musl.
    let is_library = name == "libc.so.6"
        || name.starts_with("ld-musl-")
        || (name.starts_with("libc-2.") && name.ends_with(".so"));
    is_library.then_some(path)
}

fn head_of(file: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(file)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// What starts the program that begins so; `None` if it is none that is known.
fn start_of(head: &[u8]) -> Option<Start> {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next()?;
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        return Some(Start::Interpreter(path_of(words.next()?)));
    }
    // An ELF file of 64 bits, little-endian.
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(u64_at(head, 32)?).ok()?;
    let (entry_bytes, entries) = (u16_at(head, 54)?, u16_at(head, 56)?);
    for entry in 0..usize::from(entries) {
        let at = table.checked_add(entry * usize::from(entry_bytes))?;
        let header = head.get(at..)?;
        if u32_at(header, 0)? == PT_INTERP {
            let from = usize::try_from(u64_at(header, 8)?).ok()?;
            let bytes = usize::try_from(u64_at(header, 32)?).ok()?;
            let name = head.get(from..from.checked_add(bytes)?)?;
            let name = name.split(|&byte| byte == 0).next()?;
            return Some(Start::Loader(path_of(name)));
        }
    }
    Some(Start::Kernel)
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
    use super::*;

    /// An ELF file with a segment of this type, which has the name of a loader.
    fn elf(kind: u32) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&1_u16.to_le_bytes());
        let mut header = kind.to_le_bytes().to_vec();
        header.resize(56, 0);
        header[8..16].copy_from_slice(&120_u64.to_le_bytes());
        header[32..40].copy_from_slice(&9_u64.to_le_bytes());
        [file, header, b"/lib/ld.\0".to_vec()].concat()
    }

    #[test]
    fn a_program_tells_its_loader_a_script_its_interpreter() {
        assert_eq!(start_of(&elf(3)), Some(Start::Loader(PathBuf::from("/lib/ld."))));
        assert_eq!(start_of(&elf(1)), Some(Start::Kernel));
        let script = Some(Start::Interpreter(PathBuf::from("/bin/sh")));
        assert_eq!(start_of(b"#! /bin/sh -e\nexit"), script);
        for other in [&b""[..], b"#!", b"#!\n", b"\x7fELF\x01\x01", b"MZ"] {
            assert_eq!(start_of(other), None, "{other:?}");
        }
        let whole = elf(3);
        for end in 0..whole.len() {
            assert_ne!(start_of(&whole[..end]), start_of(&whole), "cut at {end}");
        }
    }

    #[test]
    fn the_c_library_is_found_in_a_memory_map() {
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 08:01 123    {path}");
        for (path, is_library) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", true),
            ("/lib/libc-2.31.so", true),
            ("/lib/ld-musl-x86_64.so.1", true),
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
        fs::write(&file, elf(1)).unwrap();
        let why = c_library_of_program(&file).unwrap_err();
        assert!(why.ends_with("is linked statically: it has no shared C library"), "{why}");
        fs::write(&file, format!("#!{}\n", file.display())).unwrap();
        assert!(c_library_of_program(&file).unwrap_err().contains("script of a script"));
        fs::write(&file, elf(3)).unwrap();
        let why = c_library_of_program(&file).unwrap_err();
        assert!(why.starts_with("its loader /lib/ld. cannot be found"), "{why}");
        let why = c_library_of_program(&folder.path().join("none")).unwrap_err();
        assert!(why.contains("cannot be read"), "{why}");
        // The number of no process.
        assert!(c_library_of_process(u32::MAX).unwrap_err().contains("cannot be read"));
    }
}
