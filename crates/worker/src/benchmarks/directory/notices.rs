//! What an observer of all openings of files costs those who open them: fanotify(7).

use std::ffi::CString;

use crate::benchmarks::prelude::*;
use crate::kernel::file::entries::{Folder, close, numbered_names};
use crate::kernel::file::fanotify::OpenNotices;
use crate::kernel::file::location::Location;

/// Names in the folder, and ops in a batch: equal events are merged, so that each op has a name of
/// its own.
const NAMES: u64 = 256;

pub(super) const FANOTIFY: Bench = Bench {
    id: "directory/fanotify",
    asks: "What does a program that watches the openings of files add to an open?",
    op: "openat(2) for reading of one of 256 names in a folder on a tmpfs, each name once in a \
         batch, and close(2), by the raw instruction. With `mark=absent` nobody watches; with \
         `mark=present` a group of fanotify(7), FAN_CLASS_NOTIF, has a mark on the folder for its \
         children (FAN_OPEN, FAN_EVENT_ON_CHILD) and queues an event for each op; with \
         `mark=read` the process also reads the event by read(2), which opens the file anew for \
         the reader, and closes that descriptor by close(2). Not included: the mark, and with \
         `mark=present` reading and counting the events after each batch.",
    expected: "some 1 us; some 0.5 us more with a mark, and some 1.5 us more for the reader",
    why: "The opener allocates the event, with references to the file's path and to its own \
          process, compares it with equal ones in the queue, and wakes the reader. The reader gets \
          a descriptor with each event: read(2) contains an open. Scanners for viruses and \
          indexers pay it for each file that anyone opens. One that decides about the open \
          (FAN_CLASS_CONTENT) makes the opener wait for two switches besides.",
    calls: &[
        exactly("openat", 1),
        exactly("read", 1).when(&[("mark", "read")]),
        exactly("close", 2).when(&[("mark", "read")]),
        exactly("close", 1).when(&[("mark", "present")]),
        exactly("close", 1).when(&[("mark", "absent")]),
    ],
    floor: &[at_least(2, KERNEL_ENTRY), at_least(2, KERNEL_ENTRY).when(&[("mark", "read")])],
    compare_with: &["directory/inotify:change=write,watch=present"],
    axes: &[Axis {
        name: "mark",
        sets: "whether the folder is watched, and whether the op also reads the event",
        points: Points::Words(&["absent", "present", "read"]),
        default_points: Points::Words(&["absent", "present", "read"]),
    }],
    needs: &[
        Need::capability(Capability::SysAdmin).when(&[("mark", "present")]),
        Need::capability(Capability::SysAdmin).when(&[("mark", "read")]),
    ],
    in_price_list: false,
    source: "fanotify(7), fanotify_init(2), fanotify_mark(2); fs/notify/fanotify; stress-ng \
             fanotify",
    build: |params| {
        let folder = Folder::new(Location::Tmpfs)?;
        let names = numbered_names(NAMES as usize)?;
        folder.add_files(&names)?;
        let (notices, reads) = match params.word("mark") {
            "absent" => (None, false),
            mark => (Some(OpenNotices::of(folder.file())?), mark == "read"),
        };
        let body = Opens { notices, folder, names, next_name: 0, reads };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(NAMES))
    },
    ..Bench::DEFAULT
};

/// Openings of the names in a folder, one after the other.
struct Opens {
    // Dropped in this order: the group ends before the folder is removed.
    notices: Option<OpenNotices>,
    folder: Folder,
    names: Vec<CString>,
    next_name: usize,
    reads: bool,
}

impl Opens {
    #[inline(always)]
    fn open_next(&mut self) -> Result<(), Errno> {
        let name = self.names.get(self.next_name).ok_or(Errno::E2BIG)?;
        self.next_name += 1;
        close(self.folder.entry(name).open_to_read()?)?;
        match &self.notices {
            Some(notices) if self.reads => notices.take_one(),
            _ => Ok(()),
        }
    }
}

impl WorkBody for Opens {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.next_name = 0;
        self.notices.as_ref().map_or(Ok(()), |notices| notices.take_all().map(drop))
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.open_next().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    /// Each op has queued one event, which was read at once or is there now.
    fn verify(&mut self) -> Result<(), Errno> {
        let Some(notices) = &self.notices else { return Ok(()) };
        let expected = if self.reads { 0 } else { self.next_name as u64 };
        match notices.take_all()? {
            events if events == expected => Ok(()),
            events => Err(Errno::check_failed(format!(
                "{} openings should have left {expected} events, and left {events}",
                self.next_name
            ))),
        }
    }
}
