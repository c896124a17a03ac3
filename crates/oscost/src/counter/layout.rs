//! The memory layout of what the programs and this process share: see bpf/layout.bpf.h.

use std::collections::BTreeMap;

use nix::errno::Errno;
use oscost_model::call_classes::{CallClass, FormWords, SizeOf, class_of};
use oscost_model::call_flags::{
    AT_EMPTY_PATH, CLONE_THREAD, CLONE_VFORK, CLONE_VM, FUTEX_COMMAND_MASK, MAP_ANONYMOUS,
    MAP_FIXED, MAP_FIXED_NOREPLACE, O_CREAT, O_TMPFILE,
};
use oscost_model::call_form::{BegunCall, FOREIGN_CALL, FormKey, OTHER_FORMS, TaskView};
use oscost_model::call_names::Arch;
use oscost_model::descriptor_kind::{
    DISK_FILE, NO_DESCRIPTOR, UNKNOWN_KIND, kind_of_anonymous_inode, kind_of_protocol,
};

/// Calls with a number below this have a class (`CALLS`).
const CALLS: u32 = 512;
/// The number under which calls of 32-bit programs are counted (`FOREIGN`).
const FOREIGN: u32 = u32::MAX;
/// The number under which forms are counted that had no room (`OTHER`).
const OTHER: u32 = u32::MAX - 1;
/// The depth of a call without a path that could be read (`NO_DEPTH`).
const NO_DEPTH: u16 = u16::MAX;
/// The bytes of a `struct form`.
pub const FORM_BYTES: usize = 32;
/// The bytes of a `struct class`.
const CLASS_BYTES: usize = 12;

/// Bits of `form.flags`.
const EMPTY_PATH: u8 = 1;
const WORD_UNREAD: u8 = 2;
const SHARED: u8 = 4;
const HAS_LOADER: u8 = 8;
const WOKE: u8 = 16;
const APPENDS: u8 = 32;

/// What a call does to what is counted (`enum act`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    /// It executes a program: its path is gone when it returns.
    Execute,
    /// It never returns.
    Exit,
    /// It may be a mark.
    Mark,
}

/// What is done by the call of this name.
fn act_of(name: &str) -> Act {
    match name {
        "execve" | "execveat" => Act::Execute,
        "exit" | "exit_group" => Act::Exit,
        "prctl" => Act::Mark,
        _ => Act::Nothing,
    }
}

/// Which word of a call is part of its form (`enum words`), and which bits of it.
struct ClassWords {
    number: u8,
    argument: usize,
    mask: u64,
}

fn class_words(words: FormWords) -> ClassWords {
    let of = |number, argument, mask| ClassWords { number, argument, mask };
    match words {
        FormWords::Outcome | FormWords::Execute => of(0, 0, 0),
        FormWords::Descriptor => of(1, 0, 0),
        FormWords::Close => of(6, 0, 0),
        FormWords::Write => of(8, 0, 0),
        // O_TMPFILE contains O_DIRECTORY.
        FormWords::Open(flags) => of(2, flags, O_CREAT | O_TMPFILE),
        FormWords::OpenHow(at) => of(9, at, O_CREAT | O_TMPFILE),
        FormWords::Stat(flags) => of(3, flags, AT_EMPTY_PATH),
        FormWords::Request(_) => of(4, 1, u64::from(u32::MAX)),
        FormWords::Family => of(4, 0, u64::from(u32::MAX)),
        FormWords::Map => of(4, 3, MAP_ANONYMOUS | MAP_FIXED | MAP_FIXED_NOREPLACE),
        FormWords::Futex => of(7, 1, FUTEX_COMMAND_MASK),
        // Whether the memory is shared decides whether its mappings are counted.
        FormWords::Clone => of(4, 0, CLONE_THREAD | CLONE_VFORK | CLONE_VM),
        FormWords::Clone3 => of(5, 0, CLONE_THREAD | CLONE_VFORK | CLONE_VM),
    }
}

/// `struct class`.
fn class_bytes(name: &str) -> Vec<u8> {
    let class = class_of(name);
    let words = class_words(class.words);
    let (size, size_argument) = match class.size {
        SizeOf::Nothing => (0, 0),
        SizeOf::Result | SizeOf::ReadyDescriptors | SizeOf::Messages => (1, 0),
        SizeOf::Argument(at) | SizeOf::Descriptors(at) => (2, at),
        SizeOf::DescriptorSets => (3, 0),
        SizeOf::ProgramArguments => (4, 0),
        SizeOf::Mappings => (5, 0),
    };
    // 0 is no path, and no descriptor of a file.
    let path = class.path.map_or(0, |at| at + 1);
    let reads = class.reads.map_or(0, |at| at + 1);
    let mask = words.mask as u32;
    let act = act_of(name);
    let plain = u8::from(is_plain(class, act));
    let arguments = [words.argument as u8, size_argument as u8];
    let form = [words.number, arguments[0], size, arguments[1]];
    let rest = [path as u8, act as u8, reads as u8, plain];
    [&mask.to_ne_bytes()[..], &form, &rest].concat()
}

/// Whether nothing but the number of a call and its error is part of its form, and nothing else about it
/// matters: its sum has a place of its own.
fn is_plain(class: CallClass, act: Act) -> bool {
    matches!(class.words, FormWords::Outcome)
        && matches!(class.size, SizeOf::Nothing)
        && class.path.is_none()
        && class.reads.is_none()
        && matches!(act, Act::Nothing | Act::Mark)
}

/// The numbers of calls that have a class or do something else that matters, and their entries.
fn class_entries(arch: Arch) -> impl Iterator<Item = (u32, Vec<u8>)> {
    arch.calls()
        .filter(|&(number, _)| number < CALLS)
        .map(|(number, name)| (number, class_bytes(name)))
}

/// The table `classes`. The entry of a number without a call is zeros: nothing about it matters.
pub fn class_table(arch: Arch) -> Vec<u8> {
    let entries: BTreeMap<u32, Vec<u8>> = class_entries(arch).collect();
    (0..CALLS)
        .flat_map(|number| entries.get(&number).cloned().unwrap_or_else(|| vec![0; CLASS_BYTES]))
        .collect()
}

/// The key of the forms that had no room.
pub fn other_key() -> Vec<u8> {
    let mut key = vec![0; FORM_BYTES];
    for (byte, of_number) in key.iter_mut().zip(OTHER.to_ne_bytes()) {
        *byte = of_number;
    }
    key
}

/// A `struct form`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RawForm {
    call: u32,
    word: u32,
    error: u16,
    depth: u16,
    kind: u8,
    size: u8,
    flags: u8,
    name: String,
}

impl RawForm {
    /// `None` if the bytes are too few.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; FORM_BYTES] = bytes.try_into().ok()?;
        let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u16_at = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let name = bytes.get(16..)?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        Some(Self {
            call: u32_at(0)?,
            word: u32_at(4)?,
            error: u16_at(8)?,
            depth: u16_at(10)?,
            kind: bytes[12],
            size: bytes[13],
            flags: bytes[14],
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
        })
    }

    /// The most bytes, descriptors, mappings or messages of its size class.
    fn size_class(&self) -> Option<u64> {
        match self.size {
            0 => None,
            1 => Some(0),
            size => Some(1_u64.checked_shl(u32::from(size) - 2).unwrap_or(1 << 63)),
        }
    }

    /// The kind of its descriptor (`enum kind`).
    fn kind_text(&self) -> String {
        match self.kind {
            0 => String::new(),
            1 => NO_DESCRIPTOR.to_owned(),
            3 => "file".to_owned(),
            4 => "directory".to_owned(),
            5 => "pipe".to_owned(),
            6 => "tty".to_owned(),
            7 => "proc".to_owned(),
            8 => "device".to_owned(),
            9 => kind_of_protocol(&self.name),
            10 => kind_of_anonymous_inode(&self.name),
            11 => "pidfd".to_owned(),
            12 => DISK_FILE.to_owned(),
            _ => UNKNOWN_KIND.to_owned(),
        }
    }

    /// The arguments of a call with this form, as far as the form depends on them.
    fn arguments(&self, class: CallClass) -> [u64; 6] {
        let mut args = [0; 6];
        let mut set = |at: usize, value: u64| {
            if let Some(argument) = args.get_mut(at) {
                *argument = value;
            }
        };
        set(class_words(class.words).argument, self.word.into());
        if let SizeOf::Argument(at) | SizeOf::Descriptors(at) = class.size
            && let Some(size) = self.size_class()
        {
            set(at, size);
        }
        args
    }
}

/// The task of a call that has a form, as far as the form depends on it.
impl TaskView for RawForm {
    fn descriptor(&mut self, _fd: u64) -> String {
        self.kind_text()
    }

    fn is_shared(&mut self, _fd: u64) -> bool {
        self.flags & SHARED != 0
    }

    fn appends(&mut self, _fd: u64, _bytes: u64) -> bool {
        self.flags & APPENDS != 0
    }

    fn has_loader(&mut self) -> bool {
        self.flags & HAS_LOADER != 0
    }

    fn argument_bytes(&mut self) -> Option<u64> {
        self.size_class()
    }

    fn mappings(&mut self) -> Option<u64> {
        self.size_class()
    }

    fn path(&mut self, _address: u64) -> Option<Vec<u8>> {
        match self.depth {
            NO_DEPTH => None,
            _ if self.flags & EMPTY_PATH != 0 => Some(Vec::new()),
            depth => Some(b"/".iter().copied().chain(b"x/".repeat(depth.into())).collect()),
        }
    }

    fn word(&mut self, _address: u64) -> Option<u64> {
        (self.flags & WORD_UNREAD == 0).then(|| self.word.into())
    }

    fn descriptors_in_sets(&mut self, _args: [u64; 6]) -> Option<u64> {
        self.size_class()
    }
}

/// The names of calls by their numbers.
#[derive(Clone, Debug)]
pub struct FormNames(BTreeMap<u32, &'static str>);

impl FormNames {
    /// Those of an architecture.
    pub fn of(arch: Arch) -> Self {
        Self(arch.calls().collect())
    }

    /// The form that a key stands for; `None` if the bytes are no key.
    pub fn form(&self, key: &[u8]) -> Option<FormKey> {
        let mut raw = RawForm::parse(key)?;
        let name = match raw.call {
            OTHER => return Some(FormKey::of(OTHER_FORMS.to_owned())),
            FOREIGN => FOREIGN_CALL.to_owned(),
            number => match self.0.get(&number) {
                Some(&name) => name.to_owned(),
                None => format!("syscall_{number}"),
            },
        };
        let class = class_of(&name);
        let args = raw.arguments(class);
        let call = BegunCall::new(&name, class, args, &mut raw);
        let is_error = raw.error != 0;
        let woken = i64::from(raw.flags & WOKE != 0);
        let value = match is_error {
            true => -i64::from(raw.error),
            false => raw.size_class().map_or(woken, |size| i64::try_from(size).unwrap_or(i64::MAX)),
        };
        Some(call.returned(value, is_error, error_name, &mut raw).key)
    }
}

/// The name of an error, as in errno(3).
fn error_name(number: i32) -> String {
    format!("{:?}", Errno::from_raw(number))
}

/// Numbers in some bytes; 0 where the bytes are too few.
pub fn read_u64s<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut numbers =
        bytes.chunks_exact(8).filter_map(|it| Some(u64::from_ne_bytes(it.try_into().ok()?)));
    [(); N].map(|()| numbers.next().unwrap_or(0))
}

/// Each number of two rows and its counterpart together.
pub fn plus_each<const N: usize>(mut one: [u64; N], other: [u64; N]) -> [u64; N] {
    for (sum, number) in one.iter_mut().zip(other) {
        *sum = sum.saturating_add(number);
    }
    one
}

#[cfg(test)]
mod tests;
