//! adjtimex(2), read-only, which needs no privilege.

use oscost_model::watch::ClockDiscipline;

use crate::kernel::Errno;

/// `ADJ_OFFSET_SS_READ`: the remaining correction of an adjtime(3).
const ADJTIME_LEFT: libc::c_uint = 0xa001;

/// Parts per million in the unit of `freq`: it counts 2^-16 ppm.
const PPM: f64 = 65_536.0;

fn read_timex(modes: libc::c_uint) -> Result<libc::timex, Errno> {
    // SAFETY: all-zero bits are a valid timex, and the call fills it in.
    unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        timex.modes = modes;
        Errno::check(libc::adjtimex(&raw mut timex))?;
        Ok(timex)
    }
}

/// How the kernel disciplines its clock; a sandbox may refuse the call.
pub fn discipline() -> Result<ClockDiscipline, Errno> {
    let timex = read_timex(0)?;
    let has = |bit| timex.status & bit != 0;
    // STA_NANO selects the offset's unit.
    let unit_ns = if has(libc::STA_NANO) { 1 } else { 1_000 };
    Ok(ClockDiscipline {
        synchronized: !has(libc::STA_UNSYNC),
        pll: has(libc::STA_PLL),
        fll: has(libc::STA_FLL),
        offset_ns: timex.offset * unit_ns,
        freq_ppm: timex.freq as f64 / PPM,
        tick_us: timex.tick,
        adjtime_us: read_timex(ADJTIME_LEFT).ok().map(|left| left.offset),
    })
}
