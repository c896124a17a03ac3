//! The table of texts: summaries refer to each of their texts by its key.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Transaction};

use crate::store::error::Cause;

/// Deletes texts that are no longer used.
pub(in crate::store) fn delete_unused_texts(tx: &Transaction<'_>) -> Result<(), Cause> {
    let columns = [
        ("summary", &["tool", "worker", "catalog", "link", "peer"][..]),
        (
            "machine_state",
            &[
                "machine",
                "kernel",
                "release",
                "build_id",
                "microcode",
                "command_line",
                "mitigations",
                "modules",
                "tracers",
                "clock",
                "class",
            ],
        ),
        ("figure", &["of_case", "target", "unit", "mode", "subject", "file", "monitor", "flags"]),
    ];
    let used = columns.into_iter().flat_map(|(table, columns)| {
        columns.iter().map(move |it| format!("SELECT {it} FROM {table} WHERE {it} IS NOT NULL"))
    });
    let used: Vec<String> = used.collect();
    tx.execute(&format!("DELETE FROM text WHERE key NOT IN ({})", used.join(" UNION ")), [])?;
    Ok(())
}

/// The keys of texts, each looked up once.
pub(in crate::store) struct TextTable<'a> {
    insert: CachedStatement<'a>,
    select: CachedStatement<'a>,
    known: HashMap<String, i64>,
}

impl<'a> TextTable<'a> {
    pub(in crate::store) fn of(tx: &'a Transaction<'_>) -> Result<Self, Cause> {
        Ok(Self {
            insert: tx
                .prepare_cached("INSERT INTO text (value) VALUES (?1) ON CONFLICT DO NOTHING")?,
            select: tx.prepare_cached("SELECT key FROM text WHERE value = ?1")?,
            known: HashMap::new(),
        })
    }

    pub(in crate::store) fn key(&mut self, text: &str) -> Result<i64, Cause> {
        if let Some(&key) = self.known.get(text) {
            return Ok(key);
        }
        self.insert.execute([text])?;
        let key = self.select.query_row([text], |row| row.get(0))?;
        self.known.insert(text.to_owned(), key);
        Ok(key)
    }

    pub(in crate::store) fn optional_key(
        &mut self,
        text: Option<&String>,
    ) -> Result<Option<i64>, Cause> {
        text.map(|text| self.key(text)).transpose()
    }
}
