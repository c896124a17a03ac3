//! Calibrates a clock.

use oscost_model::clock::ClockKind;
use oscost_model::protocol::Event;

use crate::engine::calibrate::{CalibratedClock, calibrate};
use crate::engine::clock::{Syscall, Tsc, Vdso};
use crate::engine::instructions;
use crate::kernel::cpu::affinity;
use crate::supervisor::protocol::failure::failure;

pub(crate) fn calibrate_clock(id: u64, cpu: Option<u32>, kind: ClockKind) -> Event {
    if let Some(cpu) = cpu
        && let Err(error) = affinity::pin(cpu)
    {
        return failure(id, format!("pin to CPU {cpu}: {error}"));
    }
    let calibrated = match kind {
        ClockKind::Tsc => calibrate(&mut Tsc),
        ClockKind::Vdso => Vdso::find().ok().and_then(|mut vdso| calibrate(&mut vdso)),
        ClockKind::Syscall => calibrate(&mut Syscall),
        ClockKind::Instructions if !instructions::counts_instructions(&mut Tsc) => {
            return failure(id, "the counter does not count instructions here");
        }
        ClockKind::Instructions => calibrate(&mut Tsc).map(|clock| CalibratedClock {
            calibration: instructions::as_instructions(clock.calibration),
            ..clock
        }),
    };
    match calibrated {
        Some(CalibratedClock { calibration, sync }) => Event::Calibrated { id, calibration, sync },
        None => failure(id, format!("the {} clock does not advance", kind.text())),
    }
}
