//! A table of a report as Parquet: its numbers as doubles, of which an unknown one is null, and all
//! else as text.

use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use crate::report::view::document::{Cell, Column, Table};

/// The table as Parquet, with the name and version of its columns. The same table is the same file,
/// to the byte.
pub fn table(schema: &str, table: &Table) -> Result<Vec<u8>> {
    let named = KeyValue::new("oscost.schema".to_owned(), schema.to_owned());
    let properties = WriterProperties::builder()
        .set_created_by("oscost".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![named]))
        .build();
    let fields = table.columns.iter().map(field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("oscost").with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (at, column) in table.columns.iter().enumerate() {
        let Some(mut writer) = group.next_column()? else { break };
        let cells = table.rows.iter().map(|row| row.cells.get(at));
        match column.is_number() {
            true => {
                let values: Vec<Option<f64>> = cells.map(|cell| number(cell?)).collect();
                let levels: Vec<i16> = values.iter().map(|it| i16::from(it.is_some())).collect();
                let known: Vec<f64> = values.into_iter().flatten().collect();
                writer.typed::<DoubleType>().write_batch(&known, Some(&levels), None)?;
            }
            false => {
                let text = |cell: Option<&Cell>| cell.map_or("", |it| &it.text).as_bytes().to_vec();
                let texts: Vec<ByteArray> = cells.map(|it| ByteArray::from(text(it))).collect();
                writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// How a column is declared.
fn field(column: &Column) -> Result<Arc<Type>> {
    let (physical, logical, repetition) = match column.is_number() {
        true => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        false => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(field.build()?))
}

/// The number of a cell, to its last digit; `None` of a cell without one.
fn number(cell: &Cell) -> Option<f64> {
    cell.value.as_deref()?.parse().ok().filter(|it: &f64| it.is_finite())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    use super::*;
    use crate::report::view::document::TableRow;

    #[test]
    fn numbers_are_read_back_to_the_last_bit_and_an_unknown_one_is_null() {
        let row = |name: &str, value: Option<f64>| {
            TableRow::of(vec![Cell::text(name), Cell::number("rounded", value)])
        };
        let rows = vec![row("=1+1 \u{e9}", Some(0.1 + 0.2)), row("", None)];
        let columns = vec![Column::text("case"), Column::number("median", "median")];
        let made = Table { columns, rows, ..Table::default() };
        let bytes = table("oscost.made-up/1", &made).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let file = SerializedFileReader::new(file).unwrap();
        let read: Vec<Vec<Field>> = file
            .get_row_iter(None)
            .unwrap()
            .map(|line| line.unwrap().get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(read[0], [text("=1+1 \u{e9}"), Field::Double(0.1 + 0.2)]);
        assert_eq!(read[1], [text(""), Field::Null]);
    }
}
