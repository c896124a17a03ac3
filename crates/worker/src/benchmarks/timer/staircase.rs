//! Four methods that find a clock's step from its readings: pure functions of a [`Meter`], so that
//! they are tested on simulated clocks whose step is known.

use std::collections::BTreeMap;

use crate::bench::Seed;
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
    let mut differences = Vec::with_capacity(meter.windows());
    for _ in 0..meter.windows() {
        meter.idle(seed.below(DITHER));
        differences.push(meter.window(seed.below(DITHER))?.unsigned_abs());
    }
    let all = differences.len();
    differences.retain(|&difference| difference != 0);
    let zero_differences = all - differences.len();
    /// With fewer differences than this, outliers cannot be distinguished from the rest.
    const MIN_DIFFERENCES: usize = 10;
    if differences.len() < MIN_DIFFERENCES {
        return coarse_step(meter, 0);
    }
    let rounding = meter.rounding();
    let levels = frequent(levels(&differences), MIN_SHARE * all as f64);
    let &(smallest, _) = levels.first().ok_or(Errno::EINVAL)?;
    if zero_differences as f64 > MIN_SHARE * all as f64 {
        let lowest: Vec<Level> =
            levels.into_iter().filter(|&(value, _)| value - smallest <= rounding).collect();
        // A step no larger than the rounding cannot be distinguished from it.
        return Ok(if smallest <= rounding { smallest as f64 } else { mean(&lowest) });
    }
    Ok(spacing(&levels, rounding).unwrap_or(smallest as f64))
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
    let rounding = meter.rounding();
    let mut lowest_by_doubling = vec![shortest_window(meter, 0, &mut seed)?];
    let mut steps = 1;
    while steps <= MAX_STEPS {
        lowest_by_doubling.push(shortest_window(meter, steps, &mut seed)?);
        if groups(&levels(&lowest_by_doubling), rounding).count() >= TREADS {
            let distances = (steps / FINENESS).max(1);
            let mut points = Vec::new();
            for point in 0..=POINTS {
                points.push(shortest_window(meter, point * distances, &mut seed)?);
            }
            if let Some(height) = height(&points, rounding) {
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
fn height(points: &[u64], rounding: u64) -> Option<f64> {
    // A tread with a single point is an outlier.
    let treads: Vec<Level> = groups(&levels(points), rounding)
        .filter(|group| group.iter().map(|&(_, times)| times).sum::<u64>() >= 2)
        .flatten()
        .copied()
        .collect();
    let (&(bottom, _), &(top, _)) = treads.first().zip(treads.last())?;
    spacing(&treads, rounding).filter(|&height| (top - bottom) as f64 >= 1.5 * height)
}

/// The step of a clock that is coarse compared with the work: waits until it advances, twice.
/// `steps` are executed between two readings.
///
/// If the process is preempted meanwhile, it misses steps and sees several as one: then the result
/// is the smallest of some, or the smallest difference between two of them.
fn coarse_step(meter: &mut dyn Meter, steps: u64) -> Result<f64, Errno> {
    const MAX_TRIES: usize = 4;
    let now = meter.read()?;
    let mut last = wait_for_step(meter, now, steps)?;
    let mut differences: Vec<u64> = Vec::new();
    for _ in 0..MAX_TRIES {
        let next = wait_for_step(meter, last.reading, steps)?;
        let step = (next.reading - last.reading).unsigned_abs();
        if last.on_time && next.on_time {
            return Ok(step as f64);
        }
        differences.push(step);
        last = next;
    }
    let smallest = differences.iter().copied().min().unwrap_or(0);
    let distances =
        differences.iter().flat_map(|one| differences.iter().map(|other| one.abs_diff(*other)));
    // Differences below a tenth are the tolerance within which steps are equal.
    let distances = distances.filter(|&difference| 10 * difference > smallest);
    Ok(distances.fold(smallest, u64::min) as f64)
}

/// A clock has advanced.
struct Advance {
    reading: i64,
    /// The previous reading was recent.
    on_time: bool,
}

fn wait_for_step(meter: &mut dyn Meter, from: i64, steps: u64) -> Result<Advance, Errno> {
    /// Sixteen readings take some microseconds, with an interruption tens of microseconds.
    const RECENT_NS: u64 = 100_000;
    let start_ns = meter.now_ns();
    loop {
        let check_ns = meter.now_ns();
        for _ in 0..16 {
            meter.idle(steps);
            let reading = meter.read()?;
            if reading != from {
                return Ok(Advance { reading, on_time: meter.now_ns() - check_ns < RECENT_NS });
            }
        }
        // The deadline had passed before these readings: a preempted process has read again since.
        if check_ns - start_ns > MAX_STEP_NS {
            return Err(Errno::ETIME);
        }
    }
}

/// A value and how often it occurs.
type Level = (u64, u64);

/// Each value once, in ascending order.
fn levels(values: &[u64]) -> Vec<Level> {
    let mut differences: BTreeMap<u64, u64> = BTreeMap::new();
    for &value in values {
        *differences.entry(value).or_default() += 1;
    }
    differences.into_iter().collect()
}

/// Those that occur at least `min_times` times; all of them if there are none.
fn frequent(levels: Vec<Level>, min_times: f64) -> Vec<Level> {
    let is_frequent = |&&(_, times): &&Level| times as f64 >= min_times;
    match levels.iter().filter(is_frequent).copied().collect::<Vec<_>>() {
        none if none.is_empty() => levels,
        some => some,
    }
}

/// Groups of levels that may be the same value, differing by rounding only.
fn groups(levels: &[Level], rounding: u64) -> impl Iterator<Item = &[Level]> {
    levels.chunk_by(move |one, other| other.0 - one.0 <= rounding)
}

/// The distance between the groups. If all levels form one group, the clock is as fine as its
/// rounding or finer, and its step is the smallest difference between two levels.
fn spacing(levels: &[Level], rounding: u64) -> Option<f64> {
    let groups_means: Vec<f64> = groups(levels, rounding).map(mean).collect();
    if groups_means.len() < 2 {
        let distances = levels.windows(2).map(|pair| pair[1].0 - pair[0].0);
        return distances.min().map(|difference| difference as f64);
    }
    let mut distances: Vec<f64> = groups_means.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let all: f64 = distances.iter().sum();
    distances.sort_by(f64::total_cmp);
    // The lower of the two medians: a missing group makes a distance too large, never too small.
    // Then the mean over all distances, each counted as the nearest whole number of steps.
    let one = distances[(distances.len() - 1) / 2];
    Some(all / distances.iter().map(|distance| (distance / one).round().max(1.0)).sum::<f64>())
}

/// The mean of the values in a group.
fn mean(group: &[Level]) -> f64 {
    let times: u64 = group.iter().map(|&(_, times)| times).sum();
    let sum: f64 = group.iter().map(|&(value, times)| value as f64 * times as f64).sum();
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
        rounding: u64,
        seed: Seed,
        stands_still: bool,
        counts_down: bool,
        /// One reading in this many is off by one unit.
        error_one_in: u64,
        /// One reading in this many is followed by that many nanoseconds of preemption.
        preemption: Option<(u64, f64)>,
    }

    impl SimulatedClock {
        fn of(quantum_ns: f64, read_ns: f64) -> Self {
            Self {
                now_ns: 1e9 + 0.123,
                quantum_ns,
                read_ns,
                step_ns: 0.2443,
                unit_ns: 1.0,
                rounding: 2,
                seed: Seed::new(9),
                stands_still: false,
                counts_down: false,
                error_one_in: u64::MAX,
                preemption: None,
            }
        }

        /// Time lost to a rare interruption, and the jitter of a slow read.
        fn noise(&mut self) -> f64 {
            let jitter = 0.03 * self.read_ns * self.seed.unit();
            if self.seed.below(5_000) == 0 { 20_000.0 } else { jitter }
        }

        fn reading_error(&mut self) -> i64 {
            i64::from(self.error_one_in != u64::MAX && self.seed.below(self.error_one_in) == 0)
        }
    }

    impl Meter for SimulatedClock {
        fn read(&mut self) -> Result<i64, Errno> {
            self.now_ns += self.read_ns / 2.0;
            let whole = (self.now_ns / self.quantum_ns).floor() * self.quantum_ns;
            let shown =
                (whole / self.unit_ns).floor() as i64 * self.unit_ns as i64 + self.reading_error();
            self.now_ns += self.read_ns / 2.0 + self.noise();
            if let Some((one_in, ns)) = self.preemption
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
            self.rounding
        }

        fn windows(&self) -> usize {
            1_000
        }
    }

    type Method = fn(&mut dyn Meter) -> Result<f64, Errno>;

    fn is_near(step: f64, true_step: f64) -> bool {
        (step / true_step - 1.0).abs() <= 0.03
    }

    #[test]
    fn both_sound_methods_find_the_step_of_a_known_clock() {
        for (name, method) in [("quantum", quantum as Method), ("staircase", staircase)] {
            for quantum_ns in [5.0, 10.0, 10.0147, 41.667, 100.0] {
                for read_ns in [6.3, 22.7, 151.9, 402.3] {
                    for counts_down in [false, true] {
                        let clock = SimulatedClock::of(quantum_ns, read_ns);
                        let step = method(&mut SimulatedClock { counts_down, ..clock }).unwrap();
                        let message =
                            format!("{name} of {quantum_ns} ns, read in {read_ns}: {step}");
                        assert!(is_near(step, quantum_ns), "{message}");
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
                        rounding: 0,
                        ..SimulatedClock::of(quantum_ns, read_ns)
                    };
                    let step = method(&mut clock).unwrap();
                    // A tick of 4 ms reported in units of 10 ms steps by 10 ms.
                    let true_step = quantum_ns.max(unit_ns);
                    assert!(is_near(step, true_step), "{quantum_ns} in {unit_ns}: {step}");
                }
            }
        }
    }

    #[test]
    fn a_clock_as_fine_as_its_unit_steps_by_its_unit() {
        for method in [quantum as Method, staircase] {
            for read_ns in [7.7, 22.7, 151.9] {
                let step = method(&mut SimulatedClock::of(0.3, read_ns)).unwrap();
                assert_eq!(step, 1.0, "read in {read_ns}");
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
                    SimulatedClock { error_one_in: 1_000, ..SimulatedClock::of(26.0, read_ns) };
                let step = method(&mut clock).unwrap();
                assert!(is_near(step, 26.0), "{name}, read in {read_ns}: {step}");
            }
        }
        let mut clock = SimulatedClock { error_one_in: 500, ..SimulatedClock::of(26.0, 6.3) };
        assert_eq!(minimum(&mut clock), Ok(1.0));
    }

    #[test]
    fn steps_missed_while_preempted_are_not_taken_for_one() {
        for method in [quantum as Method, staircase] {
            // Two milliseconds of running, then ten preempted: half of the steps are missed.
            let preemption = Some((2_000_000 / 23, 10e6));
            let correct = (0..20).filter(|&seed| {
                let clock =
                    SimulatedClock { rounding: 0, preemption, ..SimulatedClock::of(4e6, 22.7) };
                let step = method(&mut SimulatedClock { seed: Seed::new(seed), ..clock }).unwrap();
                is_near(step, 4e6)
            });
            let correct = correct.count();
            assert!(correct >= 15, "only {correct} of 20 are right");
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
            let start_ns = clock.now_ns;
            assert_eq!(method(&mut clock), Err(Errno::ETIME));
            assert!(clock.now_ns - start_ns < 100e6, "it took {} ns", clock.now_ns - start_ns);
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
