//! The four loops of STREAM (McCalpin 1995) over three arrays of floating-point numbers.

use crate::kernel::Errno;
use crate::kernel::cpu::black_box::opaque;
use crate::kernel::memory::region::{PAGE_BYTES, PageKind, Region};

/// The elements of a cache line. The loops go line by line: a line's elements are all loaded before
/// one is stored, so that the compiler needs no proof that the arrays are apart.
const LINE_ELEMENTS: usize = 8;
const LINE_BYTES: usize = LINE_ELEMENTS * size_of::<f64>();

type Line = [f64; LINE_ELEMENTS];

/// By how many bytes an array begins later in its page than the one before: 17 lines. At the same
/// place of a page a load waits for a store to another array whose address ends in the same 12
/// bits, since the processor compares only those at first.
const STAGGER_BYTES: usize = 17 * LINE_BYTES;

/// The scalar by which elements are multiplied.
const SCALAR: f64 = 3.0;

/// The elements of the arrays `a`, `b` and `c` before any loop has run. No loop writes what its
/// target holds already.
const INITIAL: [f64; 3] = [1.0, 2.0, 4.0];

/// The arrays by their index.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKernel {
    /// `c[i] = a[i]`
    Copy,
    /// `b[i] = 3 * c[i]`
    Scale,
    /// `c[i] = a[i] + b[i]`
    Add,
    /// `a[i] = b[i] + 3 * c[i]`
    Triad,
}

impl StreamKernel {
    /// The bytes of a line of each array that it loads or stores, as STREAM counts them: what a
    /// store reads before it overwrites it counts nothing.
    fn bytes_per_line(self) -> u64 {
        let arrays = match self {
            StreamKernel::Copy | StreamKernel::Scale => 2,
            StreamKernel::Add | StreamKernel::Triad => 3,
        };
        arrays * LINE_BYTES as u64
    }

    /// The array that it writes, and what its elements become.
    fn target(self) -> (usize, f64) {
        let [a, b, c] = INITIAL;
        match self {
            StreamKernel::Copy => (C, a),
            StreamKernel::Scale => (B, SCALAR * c),
            StreamKernel::Add => (C, a + b),
            StreamKernel::Triad => (A, b + SCALAR * c),
        }
    }
}

/// Three arrays, and the loop that runs through them.
pub struct StreamArrays {
    arrays: [Region; 3],
    kernel: StreamKernel,
    /// The bytes of an array.
    bytes: usize,
    /// The offset at which the next transfer starts.
    position: usize,
    /// The offset of the line that was written last.
    last: Option<usize>,
}

impl StreamArrays {
    /// Maps three arrays of `bytes` bytes, a multiple of a page, with all pages present.
    pub fn new(kernel: StreamKernel, bytes: usize) -> Result<Self, Errno> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let array = |value: f64| -> Result<Region, Errno> {
            // Where the kernel places it, with room for the stagger.
            let mut region = Region::at_hint(0, bytes + PAGE_BYTES, PageKind::Small, 0)?;
            region.disable_huge_pages()?;
            region.words_mut().fill(value.to_bits());
            Ok(region)
        };
        let arrays = [array(INITIAL[A])?, array(INITIAL[B])?, array(INITIAL[C])?];
        Ok(Self { arrays, kernel, bytes, position: 0, last: None })
    }

    /// Runs the loop until it has moved `bytes` bytes, rounded up to a line: from where it ended,
    /// and from the arrays' begin again at their end.
    pub fn transfer(&mut self, bytes: u64) {
        let mut left = bytes.div_ceil(self.kernel.bytes_per_line());
        while left > 0 {
            let there = (self.bytes - self.position) / LINE_BYTES;
            let now = there.min(usize::try_from(left).unwrap_or(usize::MAX));
            let end = self.position + now * LINE_BYTES;
            self.run(self.position, end);
            self.last = Some(end - LINE_BYTES);
            self.position = if end == self.bytes { 0 } else { end };
            left -= now as u64;
        }
    }

    /// Whether the line that was written last holds what the loop computes; `true` if none was.
    pub fn is_right(&mut self) -> bool {
        let Some(last) = self.last else { return true };
        let (array, value) = self.kernel.target();
        let first = (stagger(array) + last) / size_of::<f64>();
        let words = &self.arrays[array].words_mut()[first..first + LINE_ELEMENTS];
        words.iter().all(|&word| word == value.to_bits())
    }

    /// The lines between two offsets. Each loop is compiled separately.
    #[inline(never)]
    fn run(&mut self, begin: usize, end: usize) {
        match self.kernel {
            StreamKernel::Copy => self.lines(begin, end, [A, A, C], |a, _| a),
            StreamKernel::Scale => {
                self.lines(begin, end, [C, C, B], |c, _| c.map(|c| SCALAR * c));
            }
            StreamKernel::Add => self.lines(begin, end, [A, B, C], |a, b| {
                std::array::from_fn(|element| a[element] + b[element])
            }),
            StreamKernel::Triad => self.lines(begin, end, [B, C, A], |b, c| {
                std::array::from_fn(|element| b[element] + SCALAR * c[element])
            }),
        }
    }

    /// Writes to the third of these arrays what `act` computes of the other two.
    #[inline(always)]
    fn lines(
        &mut self,
        begin: usize,
        end: usize,
        which: [usize; 3],
        act: impl Fn(Line, Line) -> Line,
    ) {
        let [one, other, to] = which.map(|array| self.arrays[array].address() + stagger(array));
        let mut offset = begin;
        while offset < end {
            // Out of the compiler's sight, or it would call memcpy(3) for the loop that copies.
            let to = opaque((to + offset) as u64) as *mut Line;
            // SAFETY: the line lies inside each array, which is aligned to a line; any bits are
            // numbers, and the target is borrowed exclusively.
            unsafe {
                let (one, other) = ((one + offset) as *const Line, (other + offset) as *const Line);
                to.write(act(one.read(), other.read()));
            }
            offset += LINE_BYTES;
        }
    }
}

/// Where an array begins in its mapping.
fn stagger(array: usize) -> usize {
    array * STAGGER_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: [StreamKernel; 4] =
        [StreamKernel::Copy, StreamKernel::Scale, StreamKernel::Add, StreamKernel::Triad];

    /// How many lines of the target hold the result, from its begin on.
    fn written_lines(arrays: &mut StreamArrays) -> usize {
        let (array, value) = arrays.kernel.target();
        let (first, count) = (stagger(array) / 8, arrays.bytes / 8);
        let words = &arrays.arrays[array].words_mut()[first..first + count];
        words.iter().take_while(|&&word| word == value.to_bits()).count() / LINE_ELEMENTS
    }

    #[test]
    fn every_loop_computes_its_elements_and_no_more_of_them() {
        for kernel in KERNELS {
            let mut arrays = StreamArrays::new(kernel, 8_192).unwrap();
            assert!(arrays.is_right());
            assert_eq!(written_lines(&mut arrays), 0, "{kernel:?}");
            let per_line = kernel.bytes_per_line();
            arrays.transfer(3 * per_line);
            assert_eq!(written_lines(&mut arrays), 3, "{kernel:?}");
            // A byte takes a line.
            arrays.transfer(1);
            assert_eq!(written_lines(&mut arrays), 4, "{kernel:?}");
            arrays.transfer(0);
            assert_eq!(arrays.position, 4 * LINE_BYTES);
            assert!(arrays.is_right());
            // Twice around.
            arrays.transfer(256 * per_line);
            assert_eq!(written_lines(&mut arrays), 128, "{kernel:?}");
            assert_eq!(arrays.position, 4 * LINE_BYTES);
            assert!(arrays.is_right());
            let (array, _) = kernel.target();
            arrays.arrays[array].words_mut().fill(0);
            assert!(!arrays.is_right(), "{kernel:?}");
        }
    }

    #[test]
    fn an_array_of_no_page_is_refused() {
        for bytes in [0, 64, 4_097] {
            assert!(StreamArrays::new(StreamKernel::Add, bytes).is_err(), "{bytes}");
        }
    }
}
