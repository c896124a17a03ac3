//! A table as Parquet: what pandas and DuckDB read with its types.

use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;

use crate::report::view::export::{Cells, Heading, Kind, Value};

/// The table as Parquet. The same table is the same file, to the byte: it holds no date and no
/// version but its own.
pub fn parquet(sheet: &impl Cells) -> Result<Vec<u8>> {
    let key_value = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder()
        .set_created_by("oscost".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![
            key_value("oscost.schema", sheet.schema()),
            key_value("oscost.runs", sheet.records()),
        ]))
        .build();
    let headings = sheet.headings();
    let fields = headings.iter().map(field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("oscost").with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (at, heading) in headings.iter().enumerate() {
        let Some(mut writer) = group.next_column()? else { break };
        write(&mut writer, SheetColumn { heading, at }, sheet)?;
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// A column of a table.
#[derive(Clone, Copy)]
struct SheetColumn<'a> {
    heading: &'a Heading,
    /// Which one it is.
    at: usize,
}

/// How a column is declared.
fn field(heading: &Heading) -> Result<Arc<Type>> {
    let (physical, logical) = match heading.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Integer => (Physical::INT64, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
    };
    let repetition = match heading.unknown {
        Some(_) => Repetition::OPTIONAL,
        None => Repetition::REQUIRED,
    };
    let field = Type::primitive_type_builder(heading.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(field.build()?))
}

fn write(
    writer: &mut SerializedColumnWriter<'_>,
    column: SheetColumn<'_>,
    sheet: &impl Cells,
) -> Result<()> {
    match column.heading.kind {
        Kind::Text => values::<ByteArrayType, _>(writer, column, sheet, |value| match value {
            Value::Text(text) => Some(ByteArray::from(text.into_owned().into_bytes())),
            _ => None,
        }),
        Kind::Float => values::<DoubleType, _>(writer, column, sheet, |value| match value {
            Value::Float(number) => Some(number),
            _ => None,
        }),
        Kind::Integer => values::<Int64Type, _>(writer, column, sheet, |value| match value {
            Value::Integer(number) => Some(number),
            _ => None,
        }),
        Kind::Boolean => values::<BoolType, _>(writer, column, sheet, |value| match value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        }),
    }
}

/// Writes the known values of a column, and a definition level for each line.
fn values<T: DataType, S: Cells>(
    writer: &mut SerializedColumnWriter<'_>,
    SheetColumn { heading, at }: SheetColumn<'_>,
    sheet: &S,
    read: fn(Value<'_>) -> Option<T::T>,
) -> Result<()> {
    let (mut known, mut levels) = (Vec::new(), Vec::new());
    for line in 0..sheet.line_count() {
        let value = read(sheet.cell(line, at));
        levels.push(i16::from(value.is_some()));
        known.extend(value);
    }
    let levels = match heading.unknown {
        Some(_) => Some(levels.as_slice()),
        None if known.len() == levels.len() => None,
        None => {
            let text = format!("a line has no `{}`, which every line has", heading.name);
            return Err(ParquetError::General(text));
        }
    };
    writer.typed::<T>().write_batch(&known, levels, None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    use super::*;
    use crate::report::view::export::Sheet;
    use crate::report::view::export::tests::record;

    #[test]
    fn what_is_written_is_read_back_to_the_last_bit() {
        let mut record = record();
        record.label = Some("=1+1, \"\u{e9}\u{4e2d}\"\n'".to_owned());
        let sheet = Sheet::rows(&record);
        let bytes = parquet(&sheet).unwrap();
        assert_eq!(bytes, parquet(&sheet).unwrap());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let file = SerializedFileReader::new(file).unwrap();
        let about = file.metadata().file_metadata();
        assert_eq!(about.created_by(), Some("oscost"));
        let metadata = about.key_value_metadata().unwrap();
        assert!(
            metadata.iter().any(|it| it.value.as_deref() == Some("oscost.rows/1")),
            "{metadata:?}"
        );
        let mut lines = 0;
        for (at, line) in file.get_row_iter(None).unwrap().enumerate() {
            let line = line.unwrap();
            for ((name, field), (column, value)) in
                line.get_column_iter().zip(sheet.columns.iter().zip(sheet.line(at)))
            {
                assert_eq!(name, column.name);
                let read = match field {
                    Field::Null => Value::Unknown,
                    Field::Str(text) => text.into(),
                    Field::Double(number) => Value::Float(*number),
                    Field::Long(number) => Value::Integer(*number),
                    Field::Bool(truth) => Value::Boolean(*truth),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(read, value, "{name}");
            }
            lines += 1;
        }
        assert_eq!(lines, sheet.len());
    }
}
