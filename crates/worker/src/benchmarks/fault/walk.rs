//! A walk over fresh pages: each batch touches the next of them, and every page is touched once.

use std::fs::File;

use crate::kernel::event::process_state::ProcessState;
use crate::kernel::ipc::context_switch::sched_yield;
use crate::kernel::memory::blocks::ScrambledOrder;
use crate::kernel::memory::region::{
    Access, HUGE_BYTES, HugePagesDisabled, PAGE_BYTES, PageKind, Region, free_range, unnamed_file,
};
use crate::kernel::memory::userfaultfd::HandledRegion;
use crate::kernel::process::{self, WaitTarget};

use super::super::prelude::*;
use super::expected_faults::{ExpectedFaults, FaultKind};
use super::single_touch::single_touches;

/// The size of the study's mapping: 8 MiB, 2048 pages, a page table of four pages.
const BYTES: usize = 8 << 20;
/// The size of a mapping that is mapped, touched and unmapped in one op: the range of one page of
/// the page table. A batch of 8 MiB would take milliseconds, in which a shared machine is rarely
/// undisturbed.
pub(super) const WHOLE_BYTES: usize = HUGE_BYTES;
/// Huge pages that are only read cost no memory and hardly any time: a batch takes more of them.
const BYTES_READ: usize = 64 << 20;
/// Pages that the kernel maps at once around a cached one (`fault_around_bytes`).
const FAULT_AROUND_PAGES: usize = 16;

/// The order of a walk.
pub(super) const ORDER: Axis = Axis {
    name: "order",
    sets: "order in which the pages of the mapping are touched",
    points: Points::Words(&["ascending", "random"]),
    default_points: Points::Words(&["ascending"]),
};
/// The memory that every mapping here needs: the largest is 64 MiB.
pub(super) const MEMORY: Need = Need::resource(Resource::Memory(80));
/// A walk counts pages of 4 KiB.
pub(super) const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

/// The order in which pages are touched, as the axis names it.
pub(super) fn touch_order(pieces: usize, word: &str) -> Vec<u32> {
    let order = ScrambledOrder::with_bits(pieces.ilog2());
    (0..pieces as u32)
        .map(|piece| match word {
            "random" => order.nth(u64::from(piece)) as u32,
            _ => piece,
        })
        .collect()
}

/// The page size, as the axis names it.
pub(super) fn page_size(word: &str) -> PageKind {
    match word {
        "thp" => PageKind::Transparent,
        "hugetlb" => PageKind::Huge,
        _ => PageKind::Small,
    }
}

fn access(word: &str) -> Access {
    if word == "read" { Access::Read } else { Access::Write }
}

/// How the pages of a walk become fresh again when all have been touched.
enum Source {
    /// They are remapped.
    Remapped(Region),
    /// They are remapped, from a file whose pages must all be cached.
    Cached(Region),
    /// A child is forked, which shares them, and which exits at once unless it `lives`.
    Forked { region: Region, lives: bool, child: Option<u32> },
    /// They are dropped, and a handler thread fills them in; `filled` is the expected number so
    /// far.
    Userfaultfd { region: HandledRegion, filled: u64 },
}

impl Source {
    fn region(&self) -> &Region {
        match self {
            Source::Remapped(region) | Source::Cached(region) | Source::Forked { region, .. } => {
                region
            }
            Source::Userfaultfd { region, .. } => region.region(),
        }
    }
}

/// Kills a waiting child and reaps it, unless it belongs to another process: the work of a twin was
/// built by its parent.
fn end_child(child: &mut Option<u32>) -> Result<(), Errno> {
    let Some(pid) = child.take() else { return Ok(()) };
    process::kill(pid);
    match process::wait(WaitTarget::Child(pid), true) {
        Ok(_) | Err(Errno::ECHILD) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Fails if the child has exited by itself: then its pages are no longer shared.
fn check_child_alive(child: Option<u32>) -> Result<(), Errno> {
    match child.map(|pid| process::wait(WaitTarget::Child(pid), false)) {
        Some(Ok(Some(_))) => Err(Errno::ECHILD),
        _ => Ok(()),
    }
}

/// Waits until the child sleeps: otherwise it would still run during the first batch, and its calls
/// would be counted as the op's.
fn wait_until_asleep(child: Option<u32>) -> Result<(), Errno> {
    let Some(pid) = child else { return Ok(()) };
    let state = ProcessState::open(pid)?;
    while !state.is_asleep()? {
        check_child_alive(child)?;
        sched_yield()?;
    }
    Ok(())
}

/// The walk. A piece is what one fault maps: one page, or several.
struct Walk {
    source: Source,
    order: Vec<u32>,
    next: usize,
    pages: usize,
    access: Access,
    expected_faults: ExpectedFaults,
}

impl Walk {
    /// A walk over pieces of `pages` pages in this order; each piece is one fault.
    fn new(source: Source, order: Vec<u32>, pages: usize, access: Access) -> Self {
        // As if all had been touched: the first batch makes them fresh.
        let next = order.len();
        Self {
            source,
            order,
            next,
            pages,
            access,
            expected_faults: ExpectedFaults::new(FaultKind::Any),
        }
    }

    fn work(self, ops_per_piece: u64) -> Work {
        // After a fork the first piece is touched untimed.
        let skipped = usize::from(matches!(self.source, Source::Forked { .. }));
        let max_pieces = (self.order.len() - skipped) as u64;
        Work::from_prepared_body(Shape::WithLoop, self)
            .with_max_batch_ops(max_pieces)
            .with_op_count(ops_per_piece)
    }

    fn refresh(&mut self) -> Result<(), Errno> {
        self.next = 0;
        match &mut self.source {
            Source::Remapped(region) => region.remap(),
            Source::Cached(region) => {
                let cached = region.resident_pages()? * PAGE_BYTES == region.bytes();
                if cached { region.remap() } else { Err(Errno::UNVERIFIED) }
            }
            Source::Userfaultfd { region, .. } => region.region().advise(libc::MADV_DONTNEED),
            Source::Forked { lives, child, .. } => {
                end_child(child)?;
                let parent = std::process::id();
                *child = Some(process::fork(|| {
                    if process::die_with_parent(parent).is_err() {
                        return 1;
                    }
                    process::pause_forever()
                })?);
                if *lives {
                    wait_until_asleep(*child)?;
                } else {
                    end_child(child)?;
                }
                // The fork has made the stack and heap of this process copy-on-write too: executing
                // the path once resolves that, untimed.
                self.step(1)
            }
        }
    }

    fn step(&mut self, pieces: usize) -> Result<(), Errno> {
        let order = self.order.get(self.next..self.next + pieces).ok_or(Errno::E2BIG)?;
        self.source.region().touch(order, self.pages, self.access)?;
        self.next += pieces;
        Ok(())
    }
}

impl WorkBody for Walk {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        if let Source::Userfaultfd { filled, .. } = &mut self.source {
            *filled += ops;
        }
        if self.next + ops as usize > self.order.len() {
            self.refresh()?;
        }
        self.expected_faults.expect(ops)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        match &self.source {
            // Only the handler thread fills in what is touched.
            Source::Userfaultfd { region, filled } if region.handled_faults() != *filled => {
                return Err(Errno::UNVERIFIED);
            }
            Source::Forked { child, .. } => check_child_alive(*child)?,
            _ => {}
        }
        self.expected_faults.check()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let pieces = (iterations * u64::from(unroll)) as usize;
        self.step(pieces).map_err(|errno| OpError { op: 0, errno })
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        if let Source::Forked { child, .. } = &mut self.source {
            // A drop cannot report an error.
            let _ = end_child(child);
        }
    }
}

/// Touches this many bytes once and frees them. Memory that a guest kernel has had free for some
/// seconds may be returned to its hypervisor (free page reporting), and the first touch is then a
/// fault of the host too; recently freed memory is allocated first, and is backed.
pub(super) fn ensure_backed(bytes: usize) -> Result<(), Errno> {
    Region::anonymous(bytes, PageKind::Small).map(|region| region.touch_all(Access::Write))
}

/// Fresh zero-filled pages.
pub(super) fn zero_fill(params: Params<'_>) -> Result<Work, Errno> {
    let (pages, access) = (page_size(params.word("pages")), access(params.word("access")));
    if params.word("map") == "inside" {
        return whole_mappings(pages, access, params.word("order"));
    }
    let huge = pages != PageKind::Small;
    let bytes = match (params.value("mapping_mib"), pages, access) {
        (Some(&Value::Number(mib)), ..) => (mib << 20) as usize,
        (_, PageKind::Transparent, Access::Read) => BYTES_READ,
        _ => BYTES,
    };
    let piece = if huge { HUGE_BYTES / PAGE_BYTES } else { 1 };
    let order = touch_order(bytes / PAGE_BYTES / piece, params.word("order"));
    let region = Region::anonymous(bytes, pages)?;
    if access == Access::Write {
        // Like ensure_backed(), with pages of this size.
        region.touch_all(access);
    }
    match params.value("between") {
        Some(Value::Word(between)) if between != "nothing" => {
            return single_touches(region, between);
        }
        _ => {}
    }
    let source = Source::Remapped(region);
    Ok(Walk::new(source, order, piece, access).work(piece as u64))
}

/// Pages that a child shares, or has shared.
pub(super) fn copy_on_write(params: Params<'_>) -> Result<Work, Errno> {
    let region = Region::anonymous(BYTES, PageKind::Small)?;
    region.touch_all(Access::Write);
    ensure_backed(BYTES)?;
    let lives = params.word("child") == "lives";
    let source = Source::Forked { region, lives, child: None };
    let order = touch_order(BYTES / PAGE_BYTES, params.word("order"));
    Ok(Walk::new(source, order, 1, Access::Write).work(1))
}

/// Pages of a cached file.
pub(super) fn cached_file(params: Params<'_>) -> Result<Work, Errno> {
    let region = Region::private_file(filled_file(BYTES)?, BYTES)?;
    let source = Source::Cached(region);
    let pieces = BYTES / PAGE_BYTES / FAULT_AROUND_PAGES;
    Ok(match params.number("stride") {
        4_096 => {
            Walk::new(source, touch_order(pieces, "ascending"), FAULT_AROUND_PAGES, Access::Read)
                .work(FAULT_AROUND_PAGES as u64)
        }
        _ => {
            let order = touch_order(pieces, "ascending").into_iter();
            let order = order.map(|piece| piece * FAULT_AROUND_PAGES as u32).collect();
            Walk::new(source, order, 1, Access::Read).work(1)
        }
    })
}

/// An unnamed file with this many bytes in it.
pub(super) fn filled_file(bytes: usize) -> Result<File, Errno> {
    use std::io::Write;
    let mut file = unnamed_file()?;
    let piece = vec![1u8; 64 << 10];
    for _ in 0..bytes / piece.len() {
        file.write_all(&piece)?;
    }
    Ok(file)
}

/// Pages that a handler thread fills in.
pub(super) fn userfaultfd(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match params.word("peer_cpu") {
        "other" => Some(params.context.other_cpu.ok_or(Errno::EOPNOTSUPP)?),
        _ => params.context.cpu,
    };
    ensure_backed(BYTES)?;
    let region = HandledRegion::new(Region::anonymous(BYTES, PageKind::Small)?, cpu)?;
    let mut order = touch_order(BYTES / PAGE_BYTES, "ascending");
    // The last page signals the handler to end.
    order.pop();
    let source = Source::Userfaultfd { region, filled: 0 };
    Ok(Walk::new(source, order, 1, Access::Write).work(1))
}

/// A mapping that is created, touched from end to end, and removed.
struct WholeMapping {
    hint: usize,
    pages: PageKind,
    order: Vec<u32>,
    access: Access,
    expected_faults: ExpectedFaults,
    /// Huge pages are disabled once for the process, since a call for each mapping would be part of
    /// the op.
    _no_huge_pages: Option<HugePagesDisabled>,
}

fn whole_mappings(pages: PageKind, access: Access, word: &str) -> Result<Work, Errno> {
    let no_huge_pages = (pages == PageKind::Small).then(HugePagesDisabled::new).transpose()?;
    let mapping = WholeMapping {
        hint: free_range(WHOLE_BYTES, HUGE_BYTES)?,
        pages,
        order: touch_order(WHOLE_BYTES / PAGE_BYTES, word),
        access,
        expected_faults: ExpectedFaults::new(FaultKind::Any),
        _no_huge_pages: no_huge_pages,
    };
    Ok(Work::from_prepared_body(Shape::WithLoop, mapping)
        .with_op_count((WHOLE_BYTES / PAGE_BYTES) as u64))
}

impl WholeMapping {
    fn run_once(&self) -> Result<(), Errno> {
        let region = Region::at_hint(self.hint, WHOLE_BYTES, self.pages, 0)?;
        if self.pages == PageKind::Transparent {
            region.advise(libc::MADV_HUGEPAGE)?;
        }
        region.touch(&self.order, 1, self.access)?;
        region.unmap()
    }
}

impl WorkBody for WholeMapping {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        let fault_bytes = if self.pages == PageKind::Small { PAGE_BYTES } else { HUGE_BYTES };
        self.expected_faults.expect(ops * (WHOLE_BYTES / fault_bytes) as u64)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.expected_faults.check()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.run_once().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }
}
