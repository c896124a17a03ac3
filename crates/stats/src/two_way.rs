//! Tables of rows and columns whose values are a row's effect plus a column's, up to disturbances.

use super::order;

/// The largest number of rounds: each reduces what is left by a large factor, except in tables that
/// are mostly holes.
const MAX_ROUNDS: usize = 10;
/// A logarithm that changes by so little changes no printed digit.
const TOLERANCE: f64 = 1e-7;

/// The effects of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct MedianPolish {
    /// Of each row, around 0; NaN of a row without values.
    pub rows: Vec<f64>,
    /// Of each column; NaN of a column without values.
    pub columns: Vec<f64>,
}

/// Median polish (Tukey 1977) of a table of `columns` values in each row, NaN where there is none: the
/// medians of rows and columns are taken away in turns until nothing is left of them. `None` without
/// columns, or if the last row is not whole.
///
/// A quarter of the values may be disturbed, wherever they are.
pub fn median_polish(table: &[f64], columns: usize) -> Option<MedianPolish> {
    if columns == 0 || !table.len().is_multiple_of(columns) {
        return None;
    }
    let mut rows = vec![0.0; table.len() / columns];
    let mut of_columns = vec![0.0; columns];
    for _ in 0..MAX_ROUNDS {
        let mut change = 0.0f64;
        for (column, effect) in of_columns.iter_mut().enumerate() {
            let values =
                rows.iter().enumerate().map(|(row, by)| table[row * columns + column] - by);
            let now = median_of_numbers(values);
            change = change.max((now - *effect).abs());
            *effect = now;
        }
        for (row, effect) in rows.iter_mut().enumerate() {
            let values = &table[row * columns..(row + 1) * columns];
            let now = median_of_numbers(values.iter().zip(&of_columns).map(|(it, by)| it - by));
            change = change.max((now - *effect).abs());
            *effect = now;
        }
        if change < TOLERANCE {
            break;
        }
    }
    let middle = median_of_numbers(rows.iter().copied());
    if !middle.is_nan() {
        rows.iter_mut().for_each(|row| *row -= middle);
        of_columns.iter_mut().for_each(|column| *column += middle);
    }
    Some(MedianPolish { rows, columns: of_columns })
}

/// The median of those that are numbers; NaN without.
fn median_of_numbers(values: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    order::median_in_place(&mut numbers).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 0, 1, 2, 3, 4 around 2 and columns of 10, 20, 30, 40.
    fn additive() -> Vec<f64> {
        (0..20).map(|at| f64::from(at / 4) + 10.0 * f64::from(at % 4 + 1)).collect()
    }

    fn assert_additive(found: &MedianPolish) {
        let near = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-6)
        };
        assert!(near(&found.rows, &[-2.0, -1.0, 0.0, 1.0, 2.0]), "{found:?}");
        assert!(near(&found.columns, &[12.0, 22.0, 32.0, 42.0]), "{found:?}");
    }

    #[test]
    fn an_additive_table_is_taken_apart_in_spite_of_a_disturbed_cell_and_holes() {
        assert_additive(&median_polish(&additive(), 4).unwrap());
        let mut disturbed = additive();
        disturbed[0] = 1e6;
        assert_additive(&median_polish(&disturbed, 4).unwrap());
        let mut holes = additive();
        (holes[5], holes[14]) = (f64::NAN, f64::NAN);
        assert_additive(&median_polish(&holes, 4).unwrap());
    }

    #[test]
    fn what_has_no_values_has_no_effect_and_no_table_has_none() {
        let found = median_polish(&[1.0, f64::NAN, 3.0, f64::NAN], 2).unwrap();
        assert!(found.columns[1].is_nan() && (found.columns[0] - 2.0).abs() < 1e-9, "{found:?}");
        let empty = median_polish(&[f64::NAN, f64::NAN, 1.0, 2.0], 2).unwrap();
        assert!(empty.rows[0].is_nan() && empty.rows[1] == 0.0, "{empty:?}");
        assert_eq!([median_polish(&[1.0], 0), median_polish(&[1.0; 3], 2)], [None, None]);
    }
}
