//! The loops of STREAM.

use crate::kernel::memory::stream::{StreamArrays, StreamKernel};

use super::super::prelude::*;

pub(super) const STREAM: Bench = Bench {
    id: "memory/stream",
    asks: "How many bytes per second do the four loops of STREAM move?",
    op: "the loop over three arrays of `size` bytes: copy c[i] = a[i], scale b[i] = 3 c[i], add \
         c[i] = a[i] + b[i], triad a[i] = b[i] + 3 c[i], with numbers of 64 bits, as the compiler \
         makes them for the baseline of the architecture: 16 bytes per instruction, ordinary \
         stores. Bytes are counted as STREAM does: two arrays for copy and scale, three for add \
         and triad. One CPU; pages of 4 KiB; each array begins 17 lines later in its page than the \
         one before. Not included: mapping and the first touch; checking the last result; fixed \
         costs of a batch, which the slope over once and twice the bytes removes.",
    expected: "10 GB/s by copy and scale, 12 by add and triad, if no cache holds the arrays; 20 \
               and 25 if the third level does",
    why: "Arithmetic is free next to memory: what differs is the share of stores. An ordinary \
          store reads the line before it overwrites it, which STREAM does not count, so that copy \
          and scale move three bytes for two counted, add and triad four for three. A compiler \
          that calls memcpy(3) for copy, or that uses non-temporal stores, gets a third more (act \
          `stream` of memory/bandwidth). STREAM asks for arrays of four times the last cache: on a \
          machine with more than some 64 MiB of it these lie within. One CPU rarely uses all that \
          the memory could give.",
    compare_with: &[
        "memory/bandwidth:act=copy,size=67108864",
        "memory/bandwidth:act=stream,size=67108864",
    ],
    unit: Unit::BytesPerSecond,
    axes: &[
        Axis {
            name: "kernel",
            sets: "the loop",
            points: Points::Words(&["copy", "scale", "add", "triad"]),
            default_points: Points::Words(&["copy", "scale", "add", "triad"]),
        },
        Axis {
            name: "size",
            sets: "bytes of each of the three arrays",
            points: Points::Numbers(&[2_097_152, 33_554_432]),
            default_points: Points::Numbers(&[33_554_432]),
        },
    ],
    needs: &[
        Need::resource(Resource::SmallPages),
        Need::resource(Resource::Memory(128)).when(&[("size", "33554432")]),
    ],
    in_price_list: false,
    source: "STREAM (McCalpin 1995), stream.c; stress-ng stream; lmbench stream",
    build: |params| {
        let kernel = match params.word("kernel") {
            "copy" => StreamKernel::Copy,
            "scale" => StreamKernel::Scale,
            "add" => StreamKernel::Add,
            _ => StreamKernel::Triad,
        };
        let arrays = StreamArrays::new(kernel, params.number("size") as usize)?;
        Ok(Work::from_body(Shape::Transfer, Passes(arrays)))
    },
    ..Bench::DEFAULT
};

/// Passes of a loop through its arrays.
struct Passes(StreamArrays);

impl WorkBody for Passes {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.0.transfer(iterations * u64::from(unroll));
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        if self.0.is_right() {
            return Ok(());
        }
        Err(Errno::check_failed("a loop has written other elements than it computes".to_owned()))
    }
}
