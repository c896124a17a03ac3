//! The number of mappings of a task's memory (`map_count` of the kernel), as /proc tells it.

use std::fs::File;
use std::io::Read;

/// The bytes that are read at once: no allocation changes what is counted.
const CHUNK_BYTES: usize = 4_096;
/// The most that is read: with the usual limit (`vm.max_map_count`) the text has some 10 MiB.
const MAX_BYTES: u64 = 64 << 20;
/// How the last line ends where the kernel shows a page of its own: no mapping of the task.
const KERNEL_PAGE: &[u8] = b"[vsyscall]\n";

/// How many mappings the memory of a task has; `None` if that cannot be found out, or if they are
/// too many.
pub fn of_task(task: u32) -> Option<u64> {
    let maps = File::open(format!("/proc/{task}/maps")).ok()?;
    count_lines(maps.take(MAX_BYTES)).filter(|count| count.bytes < MAX_BYTES)?.mappings()
}

/// The lines of a text.
struct LineCount {
    bytes: u64,
    lines: u64,
    /// Its last bytes.
    end: [u8; KERNEL_PAGE.len()],
}

impl LineCount {
    /// The mappings that it describes; `None` of a task without memory.
    fn mappings(&self) -> Option<u64> {
        let of_kernel = u64::from(self.end == KERNEL_PAGE);
        self.lines.checked_sub(of_kernel).filter(|&mappings| mappings > 0)
    }
}

/// Counts the lines of a text; `None` if it cannot be read.
fn count_lines(mut text: impl Read) -> Option<LineCount> {
    let mut count = LineCount { bytes: 0, lines: 0, end: [0; KERNEL_PAGE.len()] };
    let mut chunk = [0; CHUNK_BYTES];
    loop {
        let bytes = text.read(&mut chunk).ok()?;
        let read = chunk.get(..bytes)?;
        if read.is_empty() {
            return Some(count);
        }
        count.bytes += read.len() as u64;
        count.lines += read.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let last = &read[read.len().saturating_sub(count.end.len())..];
        count.end.rotate_left(last.len());
        let at = count.end.len() - last.len();
        count.end[at..].copy_from_slice(last);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A text that is read in pieces of so many bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let piece = self.1.min(self.0.len());
            let (now, later) = self.0.split_at(piece);
            buffer[..piece].copy_from_slice(now);
            self.0 = later;
            Ok(piece)
        }
    }

    #[test]
    fn each_line_is_a_mapping_but_the_last_one_of_the_kernel() {
        let heap = "55d0-55f0 rw-p 00000000 00:00 0 [heap]\n";
        let page = "ffff-ffff --xp 00000000 00:00 0 [vsyscall]\n";
        let all = [heap, heap, page].concat();
        for piece in [1, 7, 40, 4_096] {
            let of = |text: &str| {
                let count = count_lines(Pieces(text.as_bytes(), piece)).unwrap();
                assert_eq!(count.bytes, text.len() as u64);
                count.mappings()
            };
            assert_eq!([of(&all), of(heap)], [Some(2), Some(1)], "{piece}");
            assert_eq!([of(page), of("")], [None, None], "{piece}");
        }
    }

    #[test]
    fn those_of_this_process_are_counted_and_those_of_no_task_are_not() {
        // Other tests map memory meanwhile.
        let lines = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|line| !line.ends_with("[vsyscall]")).count() as u64
        };
        let (before, found) = (lines(), of_task(std::process::id()).unwrap());
        assert!(found + 50 > before && found < before + 50, "{found}, {before} lines before");
        assert_eq!(of_task(u32::MAX), None);
    }
}
