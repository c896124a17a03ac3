//! Names of machines in Slurm's notation of a list of nodes: `n[1-2,4,6]`.

/// Of more runs of numbers the first are named.
const MAX_RUNS: usize = 40;
/// A number at the end of a name has so many digits at most.
const MAX_DIGITS: usize = 18;

/// Names that begin alike, and the numbers that they end with; empty for a name without one.
struct Alike<'a> {
    begin: &'a str,
    numbers: Vec<&'a str>,
}

/// Numbers in a row, each as wide as the first one, as a range of the notation has them.
struct Run<'a> {
    first: &'a str,
    last: &'a str,
    count: usize,
}

/// These names, those that begin alike together; of many, how many more there are.
pub(super) fn name_list(names: &[String]) -> String {
    let (mut room, mut left_out) = (MAX_RUNS, 0);
    let mut parts = Vec::new();
    for Alike { begin, numbers } in alike(names) {
        let mut runs = runs(numbers);
        left_out += runs.iter().skip(room).map(|run| run.count).sum::<usize>();
        runs.truncate(room);
        room -= runs.len();
        let ranges: Vec<String> = runs.iter().map(Run::text).collect();
        match &runs[..] {
            [] => {}
            [Run { count: 1, .. }] => parts.push(format!("{begin}{}", ranges.concat())),
            _ => parts.push(format!("{begin}[{}]", ranges.join(","))),
        }
    }
    let list = parts.join(",");
    if left_out == 0 { list } else { format!("{list} and {left_out} more") }
}

/// The names by their beginnings, in the order of the first of each.
fn alike(names: &[String]) -> Vec<Alike<'_>> {
    let mut found: Vec<Alike<'_>> = Vec::new();
    for name in names {
        let (begin, number) = parted(name);
        match found.iter_mut().find(|it| it.begin == begin && !number.is_empty()) {
            Some(it) => it.numbers.push(number),
            None => found.push(Alike { begin, numbers: vec![number] }),
        }
    }
    found
}

/// A name without the number at its end, and that number; the whole of a name that has none, or signs
/// that mean something in the notation.
fn parted(name: &str) -> (&str, &str) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (begin, number) = name.split_at(name.len() - digits.min(MAX_DIGITS));
    match begin.contains(['[', ']', ',', ' ']) {
        true => (name, ""),
        false => (begin, number),
    }
}

fn runs(mut numbers: Vec<&str>) -> Vec<Run<'_>> {
    numbers.sort_by_key(|number| (value(number), number.len()));
    let mut runs: Vec<Run<'_>> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run) if run.is_continued_by(number) => {
                run.last = number;
                run.count += 1;
            }
            _ => runs.push(Run { first: number, last: number, count: 1 }),
        }
    }
    runs
}

/// The value of a number of at most 18 digits; 0 without any.
fn value(digits: &str) -> u64 {
    digits.parse().unwrap_or_default()
}

impl Run<'_> {
    /// Whether these are the digits of the next number, as wide as the first one.
    fn is_continued_by(&self, digits: &str) -> bool {
        let (next, width) = (value(self.last) + 1, self.first.len());
        width > 0 && format!("{next:0width$}") == digits
    }

    fn text(&self) -> String {
        let Self { first, last, .. } = self;
        if first == last { (*first).to_owned() } else { format!("{first}-{last}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> String {
        name_list(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_in_a_row_are_a_range_and_names_that_begin_alike_are_together() {
        assert_eq!(list(&["n1", "n2", "n4", "n6"]), "n[1-2,4,6]");
        assert_eq!(list(&["n10", "gpu3", "n9", "n11", "login"]), "n[9-11],gpu3,login");
        assert_eq!(list(&["rack1n3", "rack2n3", "rack1n4"]), "rack1n[3-4],rack2n3");
        assert_eq!([list(&["n7"]), list(&[])], ["n7", ""]);
        assert_eq!(list(&["db", "db"]), "db,db", "two files may have one name");
    }

    #[test]
    fn numbers_have_the_width_of_the_first_of_their_range() {
        assert_eq!(list(&["n08", "n09", "n10"]), "n[08-10]");
        assert_eq!(list(&["n8", "n09", "n10"]), "n[8,09-10]");
        assert_eq!(list(&["n1", "n01", "n2"]), "n[1,01,2]");
        assert_eq!(list(&["7", "8"]), "[7-8]");
    }

    #[test]
    fn signs_of_the_notation_are_left_as_they_are_and_long_numbers_too() {
        assert_eq!(list(&["a[1", "a[2", "x, y2"]), "a[1,a[2,x, y2");
        let long = format!("n{}", "9".repeat(40));
        assert_eq!(list(&[&long]), long);
    }

    #[test]
    fn of_many_runs_the_first_are_named_and_the_others_counted() {
        let odd: Vec<String> = (0..60).map(|at| format!("n{}", 2 * at)).collect();
        let text = name_list(&odd);
        assert!(text.starts_with("n[0,2,4,") && text.ends_with(",78] and 20 more"), "{text}");
        let all: Vec<String> = (0..2_000).map(|at| format!("n{at}")).collect();
        assert_eq!(name_list(&all), "n[0-1999]");
    }
}
