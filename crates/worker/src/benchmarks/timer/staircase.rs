//! Four methods that find a clock's step from its readings: pure functions of a [`Meter`], so that
//! they are tested on simulated clocks whose step is known.

use std::collections::BTreeMap;

use oscost_model::seed::Seed;

use crate::kernel::Errno;

/// A clock, and work whose length is known in steps (dependent increments).
///
/// Readings are in the clock's own unit: nanoseconds, or ticks of a counter.
pub(super) trait Meter {
    /// A reading.
    fn read(&mut self) -> Result<i64, Errno>;

    /// The difference of two readings with that many steps between them.
    fn window(&mut self, steps: u64) -> Result<i64, Errno>;

    /// Executes steps, untimed.
    fn idle(&mut self, steps: u64);

    /// Nanoseconds of a clock that is known to advance.
    fn now_ns(&mut self) -> u64;

    /// Readings that differ by no more than this may differ by rounding only: 2 where a fine clock
    /// is converted to whole nanoseconds, or a counter to whole ticks; otherwise 0.
    fn rounding(&self) -> u64;

    /// The number of windows to take: fewer where each of them enters the kernel.
    fn windows(&self) -> usize;
}

/// A kernel tick is at most 10 ms; a clock that has not advanced for this long stands still.
const MAX_STEP_NS: u64 = 50_000_000;

/// Steps between two readings of a coarse clock: well below a microsecond.
const COARSE_STEPS: u64 = 512;

/// More steps than this, some 20 us, take longer than any clock step except that of a kernel tick.
const MAX_STEPS: u64 = 1 << 16;

/// Values that occur less often than this are rounding errors or outliers.
const MIN_SHARE: f64 = 0.01;

/// Up to this many steps execute untimed before a window, so that it opens at a random phase of the
/// clock's step: windows of a fixed period would lock to the phase of the clock.
const DITHER: u64 = 64;

/// q: the step of the clock, as shown by windows of slightly different lengths.
///
/// If two consecutive readings are often equal, the clock is coarser than its read, and the step is
/// the smallest difference that occurs often. Otherwise the differences lie on a comb whose teeth
/// are one step apart.
pub(super) fn quantum(meter: &mut dyn Meter) -> Result<f64, Errno> {
    let mut seed = Seed::new(1);
    let mut seen = Vec::with_capacity(meter.windows());
    for _ in 0..meter.windows() {
        meter.idle(seed.below(DITHER));
        seen.push(meter.window(seed.below(DITHER))?.unsigned_abs());
    }
    let all = seen.len();
    seen.retain(|&difference| difference != 0);
    let still = all - seen.len();
    /// With fewer differences than this, outliers cannot be told from the rest.
    const FEW: usize = 10;
    if seen.len() < FEW {
        return coarse_step(meter, 0);
    }
    let blur = meter.rounding();
    let levels = frequent(levels(&seen), MIN_SHARE * all as f64);
    let &(smallest, _) = levels.first().ok_or(Errno::EINVAL)?;
    if still as f64 > MIN_SHARE * all as f64 {
        let lowest: Vec<Level> =
            levels.into_iter().filter(|&(value, _)| value - smallest <= blur).collect();
        // A step no larger than the rounding cannot be distinguished from it.
        return Ok(if smallest <= blur { smallest as f64 } else { mean(&lowest) });
    }
    Ok(spacing(&levels, blur).unwrap_or(smallest as f64))
}

/// The mean difference of two consecutive readings: the method of study cse221-2014.
pub(super) fn back_to_back(meter: &mut dyn Meter) -> Result<f64, Errno> {
    let reads = meter.windows();
    let first = meter.read()?;
    let mut last = first;
    for _ in 0..reads {
        last = meter.read()?;
    }
    Ok((last - first).abs() as f64 / reads as f64)
}

/// The smallest non-zero difference of two consecutive readings: phase one of study cse736-2019.
pub(super) fn minimum(meter: &mut dyn Meter) -> Result<f64, Errno> {
    let mut smallest: Option<u64> = None;
    for _ in 0..meter.windows() {
        match meter.window(0)?.unsigned_abs() {
            0 => {}
            difference => smallest = Some(smallest.map_or(difference, |it| it.min(difference))),
        }
    }
    match smallest {
        Some(difference) => Ok(difference as f64),
        None => coarse_step(meter, 0),
    }
}

/// The step height of the staircase that the smallest differences form as more and more steps are
/// inserted between two readings: phase two of study cse736-2019.
///
/// The number of steps doubles until the clock has advanced twice; then forty step counts up to two
/// and a half times that number are tried, one sixteenth apart.
pub(super) fn staircase(meter: &mut dyn Meter) -> Result<f64, Errno> {
    const TREADS: usize = 3;
    const FINENESS: u64 = 16;
    const POINTS: u64 = 40;
    let mut seed = Seed::new(2);
    let blur = meter.rounding();
    let mut climbed = vec![shortest_window(meter, 0, &mut seed)?];
    let mut steps = 1;
    while steps <= MAX_STEPS {
        climbed.push(shortest_window(meter, steps, &mut seed)?);
        if groups(&levels(&climbed), blur).count() >= TREADS {
            let apart = (steps / FINENESS).max(1);
            let mut points = Vec::new();
            for point in 0..=POINTS {
                points.push(shortest_window(meter, point * apart, &mut seed)?);
            }
            if let Some(height) = height(&points, blur) {
                return Ok(height);
            }
        }
        steps *= 2;
    }
    coarse_step(meter, COARSE_STEPS)
}

/// The smallest of some windows with that many steps: a disturbance can only lengthen a window.
fn shortest_window(meter: &mut dyn Meter, steps: u64, seed: &mut Seed) -> Result<u64, Errno> {
    let mut lowest = u64::MAX;
    for _ in 0..(meter.windows() / 64).max(8) {
        meter.idle(seed.below(DITHER));
        lowest = lowest.min(meter.window(steps)?.unsigned_abs());
    }
    Ok(lowest)
}

/// The height of a step; `None` unless the points form a staircase of at least two steps.
fn height(points: &[u64], blur: u64) -> Option<f64> {
    // A tread with a single point is an outlier.
    let treads: Vec<Level> = groups(&levels(points), blur)
        .filter(|heap| heap.iter().map(|&(_, times)| times).sum::<u64>() >= 2)
        .flatten()
        .copied()
        .collect();
    let (&(bottom, _), &(top, _)) = treads.first().zip(treads.last())?;
    spacing(&treads, blur).filter(|&height| (top - bottom) as f64 >= 1.5 * height)
}

/// The step of a clock that is coarse compared with the work: waits until it advances, twice.
/// `steps` are executed between two readings.
///
/// If the process is preempted meanwhile, it misses steps and sees several as one: then the result
/// is the smallest of some, or the smallest difference between two of them.
fn coarse_step(meter: &mut dyn Meter, steps: u64) -> Result<f64, Errno> {
    const MOST_TRIES: usize = 4;
    let now = meter.read()?;
    let mut last = wait_for_step(meter, now, steps)?;
    let mut seen: Vec<u64> = Vec::new();
    for _ in 0..MOST_TRIES {
        let next = wait_for_step(meter, last.reading, steps)?;
        let step = (next.reading - last.reading).unsigned_abs();
        if last.on_time && next.on_time {
            return Ok(step as f64);
        }
        seen.push(step);
        last = next;
    }
    let smallest = seen.iter().copied().min().unwrap_or(0);
    let apart = seen.iter().flat_map(|one| seen.iter().map(|other| one.abs_diff(*other)));
    // Differences below a tenth are the tolerance within which steps are equal.
    let apart = apart.filter(|&difference| 10 * difference > smallest);
    Ok(apart.fold(smallest, u64::min) as f64)
}

/// A clock has advanced.
struct Advance {
    reading: i64,
    /// The previous reading was recent.
    on_time: bool,
}

fn wait_for_step(meter: &mut dyn Meter, from: i64, steps: u64) -> Result<Advance, Errno> {
    /// Sixteen readings take some microseconds, with an interruption tens of microseconds.
    const SHORTLY_NS: u64 = 100_000;
    let begun = meter.now_ns();
    loop {
        let looked = meter.now_ns();
        for _ in 0..16 {
            meter.idle(steps);
            let reading = meter.read()?;
            if reading != from {
                return Ok(Advance { reading, on_time: meter.now_ns() - looked < SHORTLY_NS });
            }
        }
        // The deadline had passed before these readings: a preempted process has read again since.
        if looked - begun > MAX_STEP_NS {
            return Err(Errno::ETIME);
        }
    }
}

/// A value and how often it occurs.
type Level = (u64, u64);

/// Each value once, in ascending order.
fn levels(values: &[u64]) -> Vec<Level> {
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    for &value in values {
        *seen.entry(value).or_default() += 1;
    }
    seen.into_iter().collect()
}

/// Those that occur at least `least` times; all of them if there are none.
fn frequent(levels: Vec<Level>, least: f64) -> Vec<Level> {
    let often = |&&(_, times): &&Level| times as f64 >= least;
    match levels.iter().filter(often).copied().collect::<Vec<_>>() {
        none if none.is_empty() => levels,
        some => some,
    }
}

/// Groups of levels that may be the same value, differing by rounding only.
fn groups(levels: &[Level], blur: u64) -> impl Iterator<Item = &[Level]> {
    levels.chunk_by(move |one, other| other.0 - one.0 <= blur)
}

/// The distance between the groups. If all levels form one group, the clock is as fine as its
/// rounding or finer, and its step is the smallest difference between two levels.
fn spacing(levels: &[Level], blur: u64) -> Option<f64> {
    let heaps: Vec<f64> = groups(levels, blur).map(mean).collect();
    if heaps.len() < 2 {
        let apart = levels.windows(2).map(|pair| pair[1].0 - pair[0].0);
        return apart.min().map(|difference| difference as f64);
    }
    let mut apart: Vec<f64> = heaps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let all: f64 = apart.iter().sum();
    apart.sort_by(f64::total_cmp);
    // The lower of the two medians: a missing group makes a distance too large, never too small.
    // Then the mean over all distances, each counted as the nearest whole number of steps.
    let one = apart[(apart.len() - 1) / 2];
    Some(all / apart.iter().map(|distance| (distance / one).round().max(1.0)).sum::<f64>())
}

/// The mean of the values in a group.
fn mean(heap: &[Level]) -> f64 {
    let times: u64 = heap.iter().map(|&(_, times)| times).sum();
    let sum: f64 = heap.iter().map(|&(value, times)| value as f64 * times as f64).sum();
    sum / times.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulated clock: its step and all its costs are known.
    struct SimulatedClock {
        now_ns: f64,
        quantum_ns: f64,
        read_ns: f64,
        step_ns: f64,
        /// A reading is truncated to multiples of this.
        unit_ns: f64,
        blur: u64,
        seed: Seed,
        stands_still: bool,
        counts_down: bool,
        /// One reading in this many is off by one unit.
        odd_one_in: u64,
        /// One reading in this many is followed by that many nanoseconds of preemption.
        away: Option<(u64, f64)>,
    }

    impl SimulatedClock {
        fn of(quantum_ns: f64, read_ns: f64) -> Self {
            Self {
                now_ns: 1e9 + 0.123,
                quantum_ns,
                read_ns,
                step_ns: 0.2443,
                unit_ns: 1.0,
                blur: 2,
                seed: Seed::new(9),
                stands_still: false,
                counts_down: false,
                odd_one_in: u64::MAX,
                away: None,
            }
        }

        /// Time lost to a rare interruption, and the jitter of a slow read.
        fn noise(&mut self) -> f64 {
            let jitter = 0.03 * self.read_ns * self.seed.unit();
            if self.seed.below(5_000) == 0 { 20_000.0 } else { jitter }
        }

        fn odd(&mut self) -> i64 {
            i64::from(self.odd_one_in != u64::MAX && self.seed.below(self.odd_one_in) == 0)
        }
    }

    impl Meter for SimulatedClock {
        fn read(&mut self) -> Result<i64, Errno> {
            self.now_ns += self.read_ns / 2.0;
            let whole = (self.now_ns / self.quantum_ns).floor() * self.quantum_ns;
            let shown = (whole / self.unit_ns).floor() as i64 * self.unit_ns as i64 + self.odd();
            self.now_ns += self.read_ns / 2.0 + self.noise();
            if let Some((one_in, ns)) = self.away
                && self.seed.below(one_in) == 0
            {
                self.now_ns += ns * (0.5 + self.seed.unit());
            }
            Ok(match (self.stands_still, self.counts_down) {
                (true, _) => 7,
                (_, true) => 1_000_000_000_000 - shown,
                _ => shown,
            })
        }

        fn window(&mut self, steps: u64) -> Result<i64, Errno> {
            let first = self.read()?;
            self.idle(steps);
            Ok(self.read()? - first)
        }

        fn idle(&mut self, steps: u64) {
            self.now_ns += steps as f64 * self.step_ns;
        }

        fn now_ns(&mut self) -> u64 {
            self.now_ns += 20.0;
            self.now_ns as u64
        }

        fn rounding(&self) -> u64 {
            self.blur
        }

        fn windows(&self) -> usize {
            1_000
        }
    }

    type Method = fn(&mut dyn Meter) -> Result<f64, Errno>;

    fn is_near(found: f64, truth: f64) -> bool {
        (found / truth - 1.0).abs() <= 0.03
    }

    #[test]
    fn both_sound_methods_find_the_step_of_a_known_clock() {
        for (name, method) in [("quantum", quantum as Method), ("staircase", staircase)] {
            for quantum_ns in [5.0, 10.0, 10.0147, 41.667, 100.0] {
                for read_ns in [6.3, 22.7, 151.9, 402.3] {
                    for counts_down in [false, true] {
                        let clock = SimulatedClock::of(quantum_ns, read_ns);
                        let found = method(&mut SimulatedClock { counts_down, ..clock }).unwrap();
                        let what = format!("{name} of {quantum_ns} ns, read in {read_ns}: {found}");
                        assert!(is_near(found, quantum_ns), "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn clocks_of_microseconds_and_of_ticks_step_by_their_unit() {
        for method in [quantum as Method, staircase, minimum] {
            for (quantum_ns, unit_ns) in [(1_000.0, 1_000.0), (4e6, 1.0), (4e6, 1e7), (1e7, 1e7)] {
                for read_ns in [22.7, 402.3] {
                    let mut clock = SimulatedClock {
                        unit_ns,
                        blur: 0,
                        ..SimulatedClock::of(quantum_ns, read_ns)
                    };
                    let found = method(&mut clock).unwrap();
                    // A tick of 4 ms reported in units of 10 ms steps by 10 ms.
                    let truth = quantum_ns.max(unit_ns);
                    assert!(is_near(found, truth), "{quantum_ns} in {unit_ns}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_clock_as_fine_as_its_unit_steps_by_its_unit() {
        for method in [quantum as Method, staircase] {
            for read_ns in [7.7, 22.7, 151.9] {
                let found = method(&mut SimulatedClock::of(0.3, read_ns)).unwrap();
                assert_eq!(found, 1.0, "read in {read_ns}");
            }
        }
    }

    #[test]
    fn occasional_off_by_one_readings_do_not_make_the_step_one() {
        // What a hypervisor's scaling does to a counter; the minimum method is the negative
        // control.
        for (name, method) in [("quantum", quantum as Method), ("staircase", staircase)] {
            for read_ns in [6.3, 22.7] {
                let mut clock =
                    SimulatedClock { odd_one_in: 1_000, ..SimulatedClock::of(26.0, read_ns) };
                let found = method(&mut clock).unwrap();
                assert!(is_near(found, 26.0), "{name}, read in {read_ns}: {found}");
            }
        }
        let mut clock = SimulatedClock { odd_one_in: 500, ..SimulatedClock::of(26.0, 6.3) };
        assert_eq!(minimum(&mut clock), Ok(1.0));
    }

    #[test]
    fn steps_missed_while_preempted_are_not_taken_for_one() {
        for method in [quantum as Method, staircase] {
            // Two milliseconds of running, then ten preempted: half of the steps are missed.
            let away = Some((2_000_000 / 23, 10e6));
            let right = (0..20).filter(|&seed| {
                let clock = SimulatedClock { blur: 0, away, ..SimulatedClock::of(4e6, 22.7) };
                let found = method(&mut SimulatedClock { seed: Seed::new(seed), ..clock }).unwrap();
                is_near(found, 4e6)
            });
            let right = right.count();
            assert!(right >= 15, "only {right} of 20 are right");
        }
    }

    #[test]
    fn the_simple_methods_report_the_read_cost_as_the_step() {
        for read_ns in [151.9, 402.3] {
            let mut clock = SimulatedClock::of(10.0, read_ns);
            let mean = back_to_back(&mut clock).unwrap();
            assert!(mean >= read_ns, "{mean}");
            let smallest = minimum(&mut clock).unwrap();
            assert!(smallest >= read_ns - 10.0, "{smallest}");
        }
        let mean = back_to_back(&mut SimulatedClock::of(1_000.0, 22.7)).unwrap();
        assert!(mean < 100.0, "{mean}");
    }

    #[test]
    fn a_clock_that_stands_still_is_an_error_not_an_endless_loop() {
        for method in [quantum as Method, staircase, minimum] {
            let mut clock = SimulatedClock { stands_still: true, ..SimulatedClock::of(10.0, 22.7) };
            let begun = clock.now_ns;
            assert_eq!(method(&mut clock), Err(Errno::ETIME));
            assert!(clock.now_ns - begun < 100e6, "it took {} ns", clock.now_ns - begun);
        }
    }

    #[test]
    fn fewer_than_two_steps_are_not_a_staircase() {
        assert_eq!(height(&[20; 40], 2), None);
        assert_eq!(height(&[[20; 20], [30; 20]].concat(), 2), None);
        let stairs = [vec![20; 15], vec![30; 15], vec![40; 10]].concat();
        assert_eq!(height(&stairs, 2), Some(10.0));
        // One point between two treads is an accident.
        assert_eq!(height(&[stairs, vec![26]].concat(), 2), Some(10.0));
    }
}
