//! Ranges of open descriptors, each of which one close_range(2) closes.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

use crate::kernel::Errno;
use crate::kernel::arch::syscall;
use crate::kernel::errno::raw_result;
use crate::kernel::process::limits;

/// Which files the descriptors of a range refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeFiles {
    /// All to one, which stays open.
    Shared,
    /// Each to its own, which closing releases.
    Own,
}

/// Descriptors of /dev/null in successive ranges, opened before a batch and closed by it.
pub struct DescriptorRanges {
    /// The number of the first descriptor.
    first: u64,
    shared: File,
    files: RangeFiles,
    per_range: u64,
    max_ranges: u64,
    /// Open descriptors: from the first number, those of the closed ranges included.
    opened: u64,
    /// Ranges that were closed.
    closed: u64,
}

impl DescriptorRanges {
    /// The lowest first number: above the ordinary descriptors of a worker, which has some more at
    /// high numbers.
    const LOWEST_FIRST: u64 = 128;
    /// At most so many descriptors, whose preparation is untimed.
    const MAX_DESCRIPTORS: u64 = 1_024 + Self::SPARE;
    /// Room in the table for a descriptor or two while others are opened.
    const SPARE: u64 = 16;

    /// Ranges of so many descriptors.
    #[inline(never)]
    pub fn new(files: RangeFiles, per_range: u64) -> Result<Self, Errno> {
        let limit = limits::raise_descriptor_limit()?;
        let Gap { first, count } = Gap::find(Self::LOWEST_FIRST..limit, Self::MAX_DESCRIPTORS);
        let max_ranges = count.saturating_sub(Self::SPARE) / per_range;
        if max_ranges == 0 {
            return Err(Errno::unavailable(format!(
                "{per_range} descriptors do not fit into a process here, which may have {limit}: \
                 `ulimit -n` sets the limit"
            )));
        }
        let shared = File::open("/dev/null")?;
        let ranges = Self { first, shared, files, per_range, max_ranges, opened: 0, closed: 0 };
        // Nothing is open at the highest number; Linux 5.9 has the call.
        close_range(u64::from(u32::MAX), 1)?;
        Ok(ranges)
    }

    /// The number of ranges that can be open at once.
    pub fn max_ranges(&self) -> u64 {
        self.max_ranges
    }

    /// Opens so many ranges, none of which is closed.
    pub fn prepare(&mut self, ranges: u64) -> Result<(), Errno> {
        self.close_all()?;
        for position in 0..ranges * self.per_range {
            let number = (self.first + position) as i32;
            let own = match self.files {
                RangeFiles::Shared => None,
                RangeFiles::Own => Some(File::open("/dev/null")?),
            };
            let from = own.as_ref().unwrap_or(&self.shared).as_raw_fd();
            // SAFETY: plain numbers; the new descriptor belongs to this value.
            let fd = Errno::check(unsafe { libc::fcntl(from, libc::F_DUPFD_CLOEXEC, number) })?;
            if fd != number {
                // SAFETY: it was just created, elsewhere than wanted.
                unsafe { libc::close(fd) };
                return Err(Errno::EBUSY);
            }
            self.opened = position + 1;
        }
        Ok(())
    }

    /// Closes the next range.
    #[inline(always)]
    pub fn close_next(&mut self) -> Result<(), Errno> {
        let before = self.closed * self.per_range;
        if before + self.per_range > self.opened {
            return Err(Errno::EBADF);
        }
        close_range(self.first + before, self.per_range)?;
        self.closed += 1;
        Ok(())
    }

    /// Whether every descriptor of a closed range is closed, and every other one is open.
    pub fn verify(&self) -> Result<(), Errno> {
        for position in 0..self.opened {
            let number = (self.first + position) as i32;
            // SAFETY: the command only queries.
            let is_open = unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
            if is_open != (position >= self.closed * self.per_range) {
                return Err(Errno::EPROTO);
            }
        }
        Ok(())
    }

    /// Closes what a batch has left open.
    fn close_all(&mut self) -> Result<(), Errno> {
        let closed = self.closed * self.per_range;
        if self.opened > closed {
            close_range(self.first + closed, self.opened - closed)?;
        }
        (self.opened, self.closed) = (0, 0);
        Ok(())
    }
}

impl Drop for DescriptorRanges {
    fn drop(&mut self) {
        // A drop cannot report an error.
        let _ = self.close_all();
    }
}

/// Successive numbers of descriptors, none of which is open.
struct Gap {
    first: u64,
    count: u64,
}

impl Gap {
    /// The first gap of `wanted` numbers, or else the largest.
    fn find(numbers: Range<u64>, wanted: u64) -> Self {
        let mut largest = Gap { first: numbers.start, count: 0 };
        let mut gap = Gap { first: numbers.start, count: 0 };
        for number in numbers {
            // SAFETY: the command only queries.
            let is_open = unsafe { libc::fcntl(number as i32, libc::F_GETFD) } >= 0;
            gap = match is_open {
                true => Gap { first: number + 1, count: 0 },
                false => Gap { count: gap.count + 1, ..gap },
            };
            if gap.count > largest.count {
                largest = Gap { ..gap };
            }
            if largest.count >= wanted {
                break;
            }
        }
        largest
    }
}

/// close_range(2) of so many numbers, of which this file has opened all or none.
#[inline(always)]
fn close_range(first: u64, count: u64) -> Result<(), Errno> {
    let args = [first, first + count - 1, 0, 0, 0, 0];
    // SAFETY: the descriptors belong to the caller.
    raw_result(unsafe { syscall(libc::SYS_close_range, args) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn open_descriptors_are_no_part_of_a_gap() {
        in_own_process(|| {
            let file = File::open("/dev/null").unwrap();
            for number in [150, 152, 160] {
                // SAFETY: plain numbers; the process ends with the test.
                let fd = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, number) };
                assert_eq!(fd, number);
            }
            let found = |wanted| {
                let gap = Gap::find(140..170, wanted);
                (gap.first, gap.count)
            };
            assert_eq!(found(5), (140, 5));
            assert_eq!(found(20), (140, 10), "the largest");
            assert_eq!(found(9), (140, 9));
            assert_eq!((Gap::find(151..170, 7).first, Gap::find(151..170, 8).first), (153, 161));
        });
    }

    #[test]
    fn a_range_is_closed_as_a_whole_and_no_other_descriptor_is() {
        in_own_process(|| {
            for files in [RangeFiles::Shared, RangeFiles::Own] {
                for per_range in [1, 16] {
                    let before = open_descriptors();
                    let mut ranges = match DescriptorRanges::new(files, per_range) {
                        Ok(ranges) => ranges,
                        Err(error) if error.is_unavailable() => continue,
                        Err(error) => panic!("{error}"),
                    };
                    for (prepared, run) in [(3, 3), (5, 2), (1, 1), (0, 0)] {
                        ranges.prepare(prepared).unwrap();
                        for _ in 0..run {
                            assert_eq!(ranges.close_next(), Ok(()));
                        }
                        assert_eq!(ranges.verify(), Ok(()), "{files:?}, {per_range}");
                        let left = (prepared - run) * per_range;
                        // With the descriptor of the file that is shared.
                        assert_eq!(open_descriptors() as u64, before as u64 + left + 1);
                    }
                    assert_eq!(ranges.close_next(), Err(Errno::EBADF));
                    ranges.prepare(2).unwrap();
                    drop(ranges);
                    assert_eq!(open_descriptors(), before);
                }
            }
        });
    }
}
