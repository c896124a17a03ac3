//! Adds to a study the second placement of rows whose placement it does not state.

use oscost_model::untrusted_text::ParseError;
use toml::Spanned;

use super::raw::{self, RawPlacement};
use super::reader::Reader;
use crate::studies::study::{Placement, Series, Subject, Table, TableRow};

impl Reader<'_> {
    /// Replaces each row and series without a placement by one for each placement.
    pub(super) fn add_placements(
        &self,
        raw: &raw::Study,
        tables: &mut [Table],
    ) -> Result<(), ParseError> {
        for (raw, table) in raw.tables.iter().zip(tables) {
            let mut rows: Vec<TableRow> = Vec::new();
            for (raw, row) in raw.rows.iter().zip(&table.rows) {
                let placements = self.placements(raw.placement.as_ref(), row)?;
                let names = || table.figures.iter().flat_map(|figure| figure.formula.rows());
                if let (Some(at), true) = (&raw.placement, names().any(|name| name == row.name)) {
                    let why = "a column refers to this row, which is two rows without a placement";
                    return Err(self.error(at, why));
                }
                rows.extend(placements.into_iter().map(|placement| row_in(row, placement)));
            }
            let mut series: Vec<Series> = Vec::new();
            for (raw, one) in raw.series.iter().zip(&table.series) {
                let its = &table.rows[one.rows()];
                let Some(row) = its.first() else { continue };
                for placement in self.placements(raw.placement.as_ref(), row)? {
                    let name = format!("{}{}", one.name, placement.suffix());
                    series.push(Series { name, first: rows.len(), placement, ..one.clone() });
                    rows.extend(its.iter().map(|row| row_in(row, placement)));
                }
            }
            (table.rows, table.series) = (rows, series);
        }
        Ok(())
    }

    /// The placements of a row: both if the study states none.
    fn placements(
        &self,
        raw: Option<&Spanned<RawPlacement>>,
        row: &TableRow,
    ) -> Result<Vec<Placement>, ParseError> {
        let Some(raw) = raw else { return Ok(vec![Placement::Stated]) };
        let RawPlacement::NotGiven = raw.as_ref();
        let has_axis = row.case().is_some_and(|case| Placement::OneCpu.of_case(case).is_some());
        if row.peer || !has_axis {
            let why = "a placement needs a case with peer_cpu=same or peer_cpu=other, and no peer";
            return Err(self.error(raw, why));
        }
        Ok(Placement::BOTH.to_vec())
    }
}

/// A row in a placement: with its name and its case. Only the placement in which it
/// is written is compared with other studies.
fn row_in(row: &TableRow, placement: Placement) -> TableRow {
    let case = row.case().and_then(|case| placement.of_case(case));
    let is_written = case.as_deref() == row.case();
    TableRow {
        name: format!("{}{}", row.name, placement.suffix()),
        placement,
        same_as: row.same_as.filter(|_| is_written),
        subject: case.map_or_else(|| row.subject.clone(), Subject::Case),
        ..row.clone()
    }
}
