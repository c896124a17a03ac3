//! Ratios of many rows by many columns, as plain data.

/// Where the steps of a heat map's colours begin: slower or faster by these ratios.
pub const STEPS: [f64; 4] = [1.03, 1.1, 1.2, 1.5];

/// Ratios to a median, of which a colour is seen before a number is read.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// Its anchor, a constant.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// What a row is, in singular.
    pub row_noun: &'static str,
    /// What a column is, in singular.
    pub column_noun: &'static str,
    /// Its columns; neighbours of one group belong together.
    pub columns: Vec<HeatMapColumn>,
    /// Its rows, those that matter most first: where there is room for a few, those are shown.
    pub rows: Vec<HeatMapRow>,
    /// The order of its rows, as a button names it.
    pub order_name: &'static str,
    /// The order of its rows and columns, in a sentence; empty if it says nothing of them.
    pub order_note: String,
    /// The ratios, row by row; NaN where nothing was measured.
    pub ratios: Vec<f32>,
    /// Of each ratio, whether nothing is concluded from it; empty if something is from all.
    pub not_judged: Vec<bool>,
    /// How many of its rows a text shows; `None` shows all.
    pub rows_of_text: Option<usize>,
}

/// A column of a heat map.
#[derive(Clone, Debug)]
pub struct HeatMapColumn {
    /// Its name.
    pub name: String,
    /// The name of its group.
    pub group: String,
}

/// A row of a heat map.
#[derive(Clone, Debug)]
pub struct HeatMapRow {
    /// Its name.
    pub name: String,
    /// What it is one of; empty if that is not known.
    pub class: String,
    /// The middle of its ratios; `None` if it has none.
    pub ratio: Option<f64>,
}

/// Neighbouring columns of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnGroup<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its first column.
    pub first: usize,
    /// How many columns it has.
    pub count: usize,
}

impl HeatMap {
    /// The ratios of a row, one for each column.
    pub fn row(&self, at: usize) -> &[f32] {
        let count = self.columns.len();
        self.ratios.get(at * count..(at + 1) * count).unwrap_or_default()
    }

    /// Whether a cell has a ratio from which nothing is concluded.
    pub fn is_not_judged(&self, row: usize, column: usize) -> bool {
        let is_cell = column < self.columns.len();
        let at = row * self.columns.len() + column;
        is_cell && self.not_judged.get(at).copied().unwrap_or(false)
    }

    /// The groups of its columns, from the left.
    pub fn groups(&self) -> Vec<ColumnGroup<'_>> {
        let mut found: Vec<ColumnGroup<'_>> = Vec::new();
        for (at, HeatMapColumn { group, .. }) in self.columns.iter().enumerate() {
            match found.last_mut() {
                Some(last) if last.name == group => last.count += 1,
                _ => found.push(ColumnGroup { name: group, first: at, count: 1 }),
            }
        }
        found
    }
}

/// The step of a ratio: how many of [`STEPS`] it reaches, below 0 if it is faster; `None` if there
/// is none.
pub fn step(ratio: f32) -> Option<i32> {
    let ratio = f64::from(ratio);
    if !(ratio.is_finite() && ratio > 0.0) {
        return None;
    }
    let reached = |ratio: f64| STEPS.iter().filter(|step| ratio >= **step).count() as i32;
    Some(if ratio < 1.0 { -reached(1.0 / ratio) } else { reached(ratio) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_alike_in_both_directions_and_what_is_no_ratio_has_none() {
        assert_eq!([1.0, 1.02, 1.04, 1.15, 1.3, 9.0].map(step), [0, 0, 1, 2, 3, 4].map(Some));
        assert_eq!([0.99, 0.96, 0.88, 0.8, 0.1].map(step), [0, -1, -2, -3, -4].map(Some));
        assert_eq!([0.0, -1.0, f32::NAN, f32::INFINITY].map(step), [None; 4]);
    }

    #[test]
    fn neighbours_of_one_group_belong_together() {
        let column = |group: &str| HeatMapColumn { name: String::new(), group: group.to_owned() };
        let columns = ["a", "a", "b", "a"].map(column).to_vec();
        let map = HeatMap { columns, ratios: vec![1.0; 8], ..HeatMap::default() };
        let groups: Vec<(&str, usize, usize)> =
            map.groups().iter().map(|it| (it.name, it.first, it.count)).collect();
        assert_eq!(groups, [("a", 0, 2), ("b", 2, 1), ("a", 3, 1)]);
        assert_eq!((map.row(1).len(), map.row(2).len()), (4, 0));
        assert!(!map.is_not_judged(1, 1), "all are judged");
        let marked = HeatMap { not_judged: vec![false, true, false, false], ..map };
        assert_eq!([0, 1, 4].map(|column| marked.is_not_judged(0, column)), [false, true, false]);
    }
}
