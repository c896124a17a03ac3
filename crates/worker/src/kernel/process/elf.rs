//! Minimal ELF programs, assembled byte by byte: what exec(2) starts when exec(2) itself is
//! measured.
//!
//! Both programs are one instruction sequence, `exit_group(0)`, in an ELF file of the layout below;
//! no compiler, linker or C library is involved. The dynamic one also names an interpreter and the
//! C library: the kernel maps the interpreter (ld.so), which finds, maps, relocates and initialises
//! the library before it jumps to the same instructions.
//!
//! ```text
//! offset  bytes       what
//!      0     64       Elf64_Ehdr: ET_EXEC, this machine, entry at the code
//!     64  56 each     Elf64_Phdr: PT_INTERP (dynamic only, first, as the ABI requires)
//!                                 PT_LOAD    the whole file at 0x40_0000, readable, executable
//!                                 PT_DYNAMIC (dynamic only)
//!                                 PT_GNU_STACK, so that the stack is not executable
//!      .  some        the code
//!      .  16 each     Elf64_Dyn (dynamic only): NEEDED, STRTAB, STRSZ, SYMTAB, SYMENT, NULL
//!      .     24       Elf64_Sym (dynamic only): the null symbol that every table begins with
//!      .  some        strings (dynamic only): "\0", the library's name, the interpreter's path
//! ```
//!
//! A third program, and the interpreter that it names, have the same instructions in as many segments
//! as the files of today's linkers, so that the kernel maps as much: headers and constants, code, more
//! constants, and data. Both are position-independent.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

/// The load address: the linkers' default for programs that are not position-independent.
const BASE: u64 = 0x40_0000;

const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const DYNAMIC_ENTRY: usize = 16;
const SYMBOL: usize = 24;

/// `mov eax, 231 (exit_group); xor edi, edi; syscall`
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[0xb8, 0xe7, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;

/// `mov x8, 94 (exit_group); mov x0, 0; svc 0`
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[0xc8, 0x0b, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;

// Kinds of files: at its address, or at any.
const EXECUTABLE: u64 = 2;
const SHARED_OBJECT: u64 = 3;

// Kinds of program headers, and their flags.
const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
const INTERP: u64 = 3;
const GNU_STACK: u64 = 0x6474_e551;
const EXECUTE: u64 = 1;
const WRITE: u64 = 2;
const READ: u64 = 4;

// Tags of dynamic entries, and how many entries there are, with the null one.
const NEEDED: u64 = 1;
const STRTAB: u64 = 5;
const SYMTAB: u64 = 6;
const STRSZ: u64 = 10;
const SYMENT: u64 = 11;
const ENTRIES: usize = 6;

/// From one segment to the next, in the file and in memory: the largest page size.
const SEGMENT: usize = 0x1_0000;
/// The access to each segment; the second one is the code.
const SEGMENTS: [u64; 4] = [READ, READ | EXECUTE, READ, READ | WRITE];
/// The bytes of a segment of constants or data.
const DATA: usize = 8;

/// The dynamic loader and library that a program names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loader {
    /// The path of its interpreter.
    pub interpreter: String,
    /// The library that it needs.
    pub library: String,
}

impl Loader {
    /// This system's loader, as /bin/sh names it, with its C library. `None` without a shell, if it
    /// is statically linked, or if its loader belongs to no known C library.
    pub fn of_system() -> Option<Self> {
        let interpreter = read_interpreter(Path::new("/bin/sh"))?;
        let name = Path::new(&interpreter).file_name()?.to_str()?;
        let library = if name.starts_with("ld-linux") {
            "libc.so.6".to_owned()
        } else {
            // musl: ld-musl-x86_64.so.1 is the loader, libc.musl-x86_64.so.1 the library.
            format!("libc.{}", name.strip_prefix("ld-")?)
        };
        Some(Self { interpreter, library })
    }
}

/// The smallest program that exits successfully, statically linked.
pub fn static_program() -> Vec<u8> {
    program(None)
}

/// The same, dynamically linked.
pub fn dynamic_program(loader: &Loader) -> Vec<u8> {
    program(Some(loader))
}

fn program(loader: Option<&Loader>) -> Vec<u8> {
    let headers = if loader.is_some() { 4 } else { 2 };
    let code = HEADER + headers * PROGRAM_HEADER;
    let dynamic = (code + CODE.len()).next_multiple_of(8);
    let symbols = dynamic + ENTRIES * DYNAMIC_ENTRY;
    let strings = symbols + SYMBOL;
    let mut names = String::new();
    let mut len = code + CODE.len();
    if let Some(loader) = loader {
        names = format!("\0{}\0{}\0", loader.library, loader.interpreter);
        len = strings + names.len();
    }
    let interpreter_len = loader.map_or(0, |loader| loader.interpreter.len() + 1);

    let mut words = WordWriter { bytes: Vec::with_capacity(len), base: BASE };
    words.elf_header(EXECUTABLE, code, headers);
    if loader.is_some() {
        words.program_header(INTERP, READ, len - interpreter_len, interpreter_len);
    }
    words.program_header(LOAD, READ | EXECUTE, 0, len);
    if loader.is_some() {
        words.program_header(DYNAMIC, READ, dynamic, ENTRIES * DYNAMIC_ENTRY);
    }
    words.program_header(GNU_STACK, READ | WRITE, 0, 0);
    words.bytes.extend_from_slice(CODE);
    if loader.is_some() {
        words.bytes.resize(dynamic, 0);
        let strings_at = BASE + strings as u64;
        let symbols_at = BASE + symbols as u64;
        let strings_len = names.len() as u64;
        for word in [
            [NEEDED, 1],
            [STRTAB, strings_at],
            [STRSZ, strings_len],
            [SYMTAB, symbols_at],
            [SYMENT, SYMBOL as u64],
            [0, 0],
        ]
        .as_flattened()
        {
            words.push(*word);
        }
        words.bytes.resize(strings, 0);
        words.bytes.extend_from_slice(names.as_bytes());
    }
    words.bytes
}

/// A loader that ends the program that names it at once.
pub fn minimal_loader() -> Vec<u8> {
    segmented(None)
}

/// The program that names the loader with this path.
pub fn program_with_loader(path: &CStr) -> Vec<u8> {
    segmented(Some(path))
}

fn segmented(loader: Option<&CStr>) -> Vec<u8> {
    let headers = SEGMENTS.len() + 1 + usize::from(loader.is_some());
    let path_at = HEADER + headers * PROGRAM_HEADER;
    let path = loader.map_or(&[][..], CStr::to_bytes_with_nul);
    let mut words = WordWriter { bytes: Vec::new(), base: 0 };
    words.elf_header(SHARED_OBJECT, SEGMENT, headers);
    if loader.is_some() {
        words.program_header(INTERP, READ, path_at, path.len());
    }
    let lengths = [path_at + path.len(), CODE.len(), DATA, DATA];
    for (at, (access, len)) in SEGMENTS.into_iter().zip(lengths).enumerate() {
        words.program_header(LOAD, access, at * SEGMENT, len);
    }
    words.program_header(GNU_STACK, READ | WRITE, 0, 0);
    words.bytes.extend_from_slice(path);
    words.bytes.resize(SEGMENT, 0);
    words.bytes.extend_from_slice(CODE);
    words.bytes.resize((SEGMENTS.len() - 1) * SEGMENT + DATA, 0);
    words.bytes
}

/// A byte buffer that is written in words, for a file that is loaded at `base`.
struct WordWriter {
    bytes: Vec<u8>,
    base: u64,
}

impl WordWriter {
    fn push(&mut self, word: u64) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// ELF of 64 bits, little-endian, version 1; no ABI of its own, and no sections.
    fn elf_header(&mut self, kind: u64, entry: usize, headers: usize) {
        let entry = self.base + entry as u64;
        for word in [
            0x0001_0102_464c_457f,
            0,
            1 << 32 | MACHINE << 16 | kind,
            entry,
            HEADER as u64,
            0,
            (PROGRAM_HEADER as u64) << 48 | (HEADER as u64) << 32,
            headers as u64,
        ] {
            self.push(word);
        }
    }

    fn program_header(&mut self, kind: u64, flags: u64, offset: usize, len: usize) {
        let address = if kind == GNU_STACK { 0 } else { self.base + offset as u64 };
        // Only LOAD segments are mapped.
        let align = if kind == LOAD { SEGMENT as u64 } else { 8 };
        for word in
            [flags << 32 | kind, offset as u64, address, address, len as u64, len as u64, align]
        {
            self.push(word);
        }
    }
}

/// The interpreter that a program names; `None` if it names none or is not a 64-bit ELF file.
pub fn read_interpreter(path: &Path) -> Option<String> {
    interpreter_from(File::open(path).ok()?)
}

fn interpreter_from(file: impl Read + Seek) -> Option<String> {
    /// No path is longer (PATH_MAX).
    const MAX_PATH_BYTES: usize = 4_096;
    let file = ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(&file)
        .ok()
        .filter(|header| header.is_little_endian())?;
    let segments = header.program_headers(LittleEndian, &file).ok()?;
    let path = segments
        .iter()
        .find_map(|segment| segment.interpreter(LittleEndian, &file).transpose())?
        .ok()
        .filter(|path| path.len() < MAX_PATH_BYTES)?;
    String::from_utf8(path.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn the_smallest_program_is_headers_and_three_instructions() {
        let program = static_program();
        assert_eq!(program.len(), 64 + 2 * 56 + CODE.len());
        assert_eq!(&program[program.len() - CODE.len()..], CODE);
        // The entry is where the code lies.
        let entry = u64::from_le_bytes(*program[24..].first_chunk().unwrap());
        assert_eq!(entry - BASE, (program.len() - CODE.len()) as u64);
    }

    #[test]
    fn the_interpreter_of_a_dynamic_program_is_read_back() {
        let loader =
            Loader { interpreter: "/lib/ld-linux.so.9".into(), library: "libc.so.6".into() };
        let program = dynamic_program(&loader);
        assert_eq!(interpreter_from(Cursor::new(&program)), Some(loader.interpreter));
        let library = b"\0libc.so.6\0";
        assert!(program.windows(library.len()).any(|part| part == library));
        assert_eq!(interpreter_from(Cursor::new(static_program())), None);
        assert_eq!(interpreter_from(Cursor::new(b"#!/bin/sh\n")), None);
    }

    #[test]
    fn a_program_with_a_loader_names_it_and_both_have_their_code_at_the_entry() {
        let program = program_with_loader(c"./loader");
        assert_eq!(interpreter_from(Cursor::new(&program)).as_deref(), Some("./loader"));
        let loader = minimal_loader();
        assert_eq!(interpreter_from(Cursor::new(&loader)), None);
        for file in [program, loader] {
            let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().unwrap());
            let entry = word(24) as usize;
            assert_eq!(&file[entry..entry + CODE.len()], CODE);
            let headers = (0..word(56)).map(|at| HEADER + at as usize * PROGRAM_HEADER);
            let loaded: Vec<usize> = headers.filter(|&at| word(at) as u32 == LOAD as u32).collect();
            // Each begins a page of its own, at the same place in memory, and lies in the file.
            assert_eq!(loaded.len(), SEGMENTS.len());
            for (number, &at) in loaded.iter().enumerate() {
                let [offset, address, len] = [8, 16, 32].map(|field| word(at + field) as usize);
                assert_eq!((offset, address), (number * SEGMENT, number * SEGMENT));
                assert!(len <= SEGMENT && offset + len <= file.len());
            }
        }
    }

    #[test]
    fn a_program_cut_at_any_byte_names_no_interpreter() {
        let loader = Loader { interpreter: "/lib/ld.so".into(), library: "libc.so".into() };
        let program = dynamic_program(&loader);
        for len in 0..program.len() {
            assert_eq!(interpreter_from(Cursor::new(&program[..len])), None, "{len} bytes");
        }
        // The table of headers, their number, a name's place and length: nothing that is believed.
        let mut wild = program;
        for at in [32, 56, 64 + 8, 64 + 32] {
            wild[at..at + 8].fill(0xff);
            assert_eq!(interpreter_from(Cursor::new(&wild)), None, "{at}");
        }
    }
}
