//! A bill as a row of its table.

use oscost_model::bill::Bill;
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::store::error::Cause;
use crate::store::tables::json::to_json;
use crate::store::tables::schema::{create_bills, has_bills};

/// Whether this store has a bill with this id.
pub(in crate::store) fn has_bill(conn: &Connection, id: &str) -> Result<bool, Cause> {
    if !has_bills(conn)? {
        return Ok(false);
    }
    Ok(conn.prepare_cached("SELECT 1 FROM bill WHERE id = ?1")?.exists([id])?)
}

/// Inserts a bill whose id no run and no other bill has.
pub(in crate::store) fn insert_bill(
    tx: &Transaction<'_>,
    bill: &Bill,
    imported: bool,
) -> Result<(), Cause> {
    create_bills(tx)?;
    if tx.prepare_cached("SELECT 1 FROM run WHERE id = ?1")?.exists([&bill.id])? {
        return Err(Cause::Exists);
    }
    tx.prepare_cached(
        "INSERT INTO bill
         (id, started, ended, label, program, pid, processor, system_ns, imported, bill)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO NOTHING RETURNING key",
    )?
    .query_row(
        (
            &bill.id,
            &bill.started,
            &bill.ended,
            &bill.label,
            to_json(&bill.program)?,
            bill.watched.as_ref().map(|it| it.pid),
            &bill.machine.cpu.model_name,
            bill.trials.system_time.ns,
            imported,
            to_json(bill)?,
        ),
        |row| row.get::<_, i64>(0),
    )
    .optional()?
    .ok_or(Cause::Exists)?;
    Ok(())
}

/// Deletes a bill that was made here, if there is one with this id.
pub(in crate::store) fn delete_own_bill(tx: &Transaction<'_>, id: &str) -> Result<(), Cause> {
    if has_bills(tx)? {
        tx.execute("DELETE FROM bill WHERE id = ?1 AND NOT imported", [id])?;
    }
    Ok(())
}

/// Deletes a bill; returns whether there was one.
pub(in crate::store) fn delete_bill(tx: &Transaction<'_>, id: &str) -> Result<bool, Cause> {
    if !has_bills(tx)? {
        return Ok(false);
    }
    Ok(tx.execute("DELETE FROM bill WHERE id = ?1", [id])? > 0)
}
