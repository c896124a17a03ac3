//! bpf(2) on maps and programs by the raw instruction, as the subject of a measurement.

use std::cell::UnsafeCell;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::bpf::{empty_program, load};
use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// Commands of bpf(2) and kinds of programs (linux/bpf.h).
const MAP_CREATE: u64 = 0;
const MAP_LOOKUP_ELEM: u64 = 1;
const MAP_UPDATE_ELEM: u64 = 2;
const MAP_DELETE_ELEM: u64 = 3;
const PROG_TEST_RUN: u64 = 10;
const SOCKET_FILTER: u32 = 1;

/// The entries of a map: so few that its memory is a page or two.
const ENTRIES: u32 = 64;

/// The key and the value of the one entry that is used. Not 0, which an array holds from the
/// beginning.
const KEY: u32 = 7;
const VALUE: u64 = 0x0123_4567_89ab_cdef;

/// The packet that a program is given: longer than the header of a frame, which the kernel demands.
const PACKET_BYTES: usize = 64;

/// The kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// The key is an index; all entries exist from the beginning.
    Array,
    /// A hash table whose entries are allocated when it is created.
    Hash,
}

impl MapKind {
    /// Its number (`enum bpf_map_type`).
    fn number(self) -> u32 {
        match self {
            MapKind::Hash => 1,
            MapKind::Array => 2,
        }
    }
}

/// `union bpf_attr`, as BPF_MAP_CREATE takes it.
#[repr(C)]
struct MapAttribute {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    pad: u32,
}

/// As the commands on elements take it.
#[repr(C)]
struct ElementAttribute {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// As BPF_PROG_TEST_RUN takes it.
#[repr(C)]
struct RunAttribute {
    program: u32,
    result: u32,
    bytes_in: u32,
    bytes_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
}

/// Where keys and values are passed.
#[repr(C)]
struct Cells {
    key: u32,
    value: u64,
}

/// A map with one entry in use, or none after a deletion.
pub struct Map {
    fd: OwnedFd,
    cells: Box<UnsafeCell<Cells>>,
}

impl Map {
    /// A new map whose entry is set.
    pub fn new(kind: MapKind) -> Result<Self, Errno> {
        let fd = create(kind).map_err(|error| explain_error("make an eBPF map", error))?;
        // SAFETY: the descriptor is new and owned here.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let map = Self { fd, cells: Box::new(UnsafeCell::new(Cells { key: KEY, value: 0 })) };
        map.update().map_err(|error| explain_error("update an eBPF map", error))?;
        Ok(map)
    }

    /// BPF_MAP_UPDATE_ELEM of the entry, which need not exist.
    #[inline(always)]
    pub fn update(&self) -> Result<(), Errno> {
        // SAFETY: the cells are there, and nothing borrows them.
        unsafe { (&raw mut (*self.cells.get()).value).write(VALUE) };
        self.command(MAP_UPDATE_ELEM, self.value_address())
    }

    /// BPF_MAP_LOOKUP_ELEM of the entry, which must hold what was last written.
    #[inline(always)]
    pub fn look_up(&self) -> Result<(), Errno> {
        let cells = self.cells.get();
        // SAFETY: the cells are there, and nothing borrows them.
        unsafe { (&raw mut (*cells).value).write(0) };
        self.command(MAP_LOOKUP_ELEM, self.value_address())?;
        // SAFETY: as above.
        let found = unsafe { (&raw const (*cells).value).read() };
        if found == VALUE { Ok(()) } else { Err(Errno::EPROTO) }
    }

    /// BPF_MAP_DELETE_ELEM of the entry, which must exist; no array can do that.
    #[inline(always)]
    pub fn delete(&self) -> Result<(), Errno> {
        // The kernel refuses an address in a field that the command does not have.
        self.command(MAP_DELETE_ELEM, 0)
    }

    #[inline(always)]
    fn value_address(&self) -> u64 {
        // SAFETY: the cells are there: this only computes an address.
        unsafe { &raw mut (*self.cells.get()).value as u64 }
    }

    #[inline(always)]
    fn command(&self, command: u64, value: u64) -> Result<(), Errno> {
        let map = self.fd.as_raw_fd() as u32;
        // The key is the first field.
        let key = self.cells.get() as u64;
        let element = ElementAttribute { map, pad: 0, key, value, flags: 0 };
        // SAFETY: key and value have the sizes of the map's, and nothing borrows them.
        unsafe { bpf(command, &raw const element) }.map(drop)
    }
}

/// BPF_MAP_CREATE, and close(2) of the map. The kernel frees it later, in a workqueue.
#[inline(always)]
pub fn create_and_close(kind: MapKind) -> Result<(), Errno> {
    let fd = create(kind)?;
    // SAFETY: the descriptor is the one that was just opened.
    raw_result(unsafe { arch::syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) }).map(drop)
}

/// The same once, as a trial: the error says what is missing.
pub fn try_to_create(kind: MapKind) -> Result<(), Errno> {
    create_and_close(kind).map_err(|error| explain_error("make an eBPF map", error))
}

#[inline(always)]
fn create(kind: MapKind) -> Result<i64, Errno> {
    let map = MapAttribute {
        kind: kind.number(),
        key_bytes: size_of::<u32>() as u32,
        value_bytes: size_of::<u64>() as u32,
        entries: ENTRIES,
        flags: 0,
        pad: 0,
    };
    // SAFETY: the attribute points to nothing.
    unsafe { bpf(MAP_CREATE, &raw const map) }
}

/// An empty program of the kind that filters what a socket receives, which is attached to none.
pub struct SocketFilter {
    program: OwnedFd,
    packet: Box<[u8; PACKET_BYTES]>,
}

impl SocketFilter {
    /// Loads the program, and tries it.
    pub fn load() -> Result<Self, Errno> {
        let program = load(SOCKET_FILTER, &empty_program())?;
        let filter = Self { program, packet: Box::new([0; PACKET_BYTES]) };
        filter.run().map_err(|error| explain_error("run an eBPF program", error))?;
        Ok(filter)
    }

    /// BPF_PROG_TEST_RUN of one run, which must return 0.
    #[inline(always)]
    pub fn run(&self) -> Result<(), Errno> {
        let mut run = RunAttribute {
            program: self.program.as_raw_fd() as u32,
            // What the program does not return.
            result: u32::MAX,
            bytes_in: PACKET_BYTES as u32,
            bytes_out: 0,
            data_in: self.packet.as_ptr() as u64,
            data_out: 0,
            repeat: 1,
            duration: 0,
        };
        let at = &raw mut run;
        // SAFETY: the kernel reads the packet, and writes results into the local attribute.
        unsafe { bpf(PROG_TEST_RUN, at.cast_const()) }?;
        // SAFETY: the attribute is there.
        let result = unsafe { (&raw const (*at).result).read() };
        if result == 0 { Ok(()) } else { Err(Errno::EPROTO) }
    }
}

/// bpf(2).
///
/// # Safety
///
/// What the attribute points to must be valid for the command; the attribute must be writable for
/// those that return results in it.
#[inline(always)]
unsafe fn bpf<T>(command: u64, attribute: *const T) -> Result<i64, Errno> {
    let args = [command, attribute as u64, size_of::<T>() as u64, 0, 0, 0];
    // SAFETY: the kernel reads as many bytes as the attribute has; the caller guarantees the rest.
    raw_result(unsafe { arch::syscall(libc::SYS_bpf, args) })
}

/// Describes a refused command, with a hint.
fn explain_error(act: &str, error: Errno) -> Errno {
    let hint = match error {
        Errno::EPERM | Errno::EACCES => {
            "it needs root or CAP_BPF, or an ordinary user a kernel with \
             kernel.unprivileged_bpf_disabled=0"
        }
        Errno::ENOSYS => "this kernel has no bpf(2), or a filter hides it (CONFIG_BPF_SYSCALL)",
        Errno::ENOMEM => "before Linux 5.11 the memory of maps counts as locked: `ulimit -l`",
        _ => "it needs Linux 4.12",
    };
    Errno::unavailable(format!("cannot {act}: {error}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_layout_of_the_kernels_header() {
        assert_eq!(std::mem::offset_of!(ElementAttribute, key), 8);
        assert_eq!(std::mem::offset_of!(RunAttribute, data_in), 16);
        assert_eq!(size_of::<RunAttribute>(), 40);
        assert_eq!(std::mem::offset_of!(Cells, key), 0);
    }

    #[test]
    fn an_entry_is_there_until_it_is_deleted_and_a_refusal_names_what_is_needed() {
        let map = match Map::new(MapKind::Hash) {
            Ok(map) => map,
            Err(error) => {
                assert_eq!(error, Errno::UNAVAILABLE);
                return assert!(error.to_string().contains("; "), "{error}");
            }
        };
        for _ in 0..3 {
            assert_eq!(map.look_up(), Ok(()));
            assert_eq!(map.delete(), Ok(()));
            assert_eq!(map.look_up(), Err(Errno::ENOENT));
            assert_eq!(map.delete(), Err(Errno::ENOENT));
            assert_eq!(map.update(), Ok(()));
        }
        let array = Map::new(MapKind::Array).unwrap();
        assert_eq!(array.look_up(), Ok(()));
        assert_eq!(array.delete(), Err(Errno::EINVAL), "an array keeps its entries");
        for kind in [MapKind::Array, MapKind::Hash] {
            assert_eq!(try_to_create(kind), Ok(()));
        }
        if let Ok(filter) = SocketFilter::load() {
            assert_eq!(filter.run(), Ok(()));
        }
    }
}
