//! Bills: kept when they are made, listed, read and imported.

use oscost_model::bill::{BILL_SCHEMA, Bill};
use rusqlite::{Connection, OptionalExtension, Row};

use super::check_bill::check_bill;
use super::error::{Cause, ImportError, StoreError};
use super::file::{Store, transaction};
use super::import::{check_schema, read};
use super::inspect;
use super::read::damaged;
use super::record_kind::RecordKind;
use super::tables::bill_row::{delete_own_bill, insert_bill};
use super::tables::schema::has_bills;

/// The maximum size of a bill: one with all forms that a counter tells apart, each an item, has some
/// 4 MB.
pub const MAX_BILL_BYTES: usize = 32 << 20;

/// A bill in the list of records.
#[derive(Clone, Debug, PartialEq)]
pub struct BillListing {
    /// A UUID in lower case.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC.
    pub ended: String,
    /// The label that the user gave it.
    pub label: Option<String>,
    /// The words of the command.
    pub program: Vec<String>,
    /// The running process that was watched; `None` of a command.
    pub pid: Option<u32>,
    /// The processor, if it is known.
    pub processor: Option<String>,
    /// The measured system time, in nanoseconds.
    pub system_ns: f64,
    /// Whether it was imported.
    pub imported: bool,
}

impl Store {
    /// All bills, the newest first.
    pub fn list_bills(&self) -> Result<Vec<BillListing>, StoreError> {
        list(&self.conn).map_err(|cause| self.error("list the bills of".to_owned(), cause))
    }

    /// Keeps a bill that was made here, in the place of an earlier state of it.
    pub fn keep_bill(&mut self, bill: &Bill) -> Result<(), StoreError> {
        // A number that JSON does not have could not be read again.
        inspect::inspect(bill, inspect::any_text)
            .map_err(|fault| Cause::Invalid(fault.to_string()))
            .and_then(|()| self.put_own_bill(bill))
            .and_then(|()| self.place())
            .map_err(|cause| self.error(format!("keep bill {} in", bill.id), cause))
    }

    /// Stores a bill that was made elsewhere, and returns its id.
    ///
    /// The stored bill is the parsed one: keys that this version does not know are left out.
    pub fn import_bill(&mut self, bytes: &[u8]) -> Result<String, ImportError> {
        let bill = validate_bill(bytes)?;
        match self.insert_foreign_bill(&bill) {
            Ok(()) => Ok(bill.id),
            Err(Cause::Exists) => Err(ImportError::BillExists { id: bill.id }),
            Err(cause) => Err(self.error(format!("import bill {} into", bill.id), cause).into()),
        }
    }

    /// The bill with exactly this id.
    pub fn load_bill(&self, id: &str) -> Result<Bill, StoreError> {
        load(&self.conn, id).map_err(|cause| self.error(format!("read bill {id} from"), cause))
    }

    fn put_own_bill(&mut self, bill: &Bill) -> Result<(), Cause> {
        let tx = transaction(&mut self.conn)?;
        delete_own_bill(&tx, &bill.id)?;
        insert_bill(&tx, bill, false)?;
        Ok(tx.commit()?)
    }

    fn insert_foreign_bill(&mut self, bill: &Bill) -> Result<(), Cause> {
        let tx = transaction(&mut self.conn)?;
        insert_bill(&tx, bill, true)?;
        Ok(tx.commit()?)
    }
}

/// Parses and checks an untrusted bill. Any bytes may be given, and memory use is proportional to
/// them. In the returned bill all numbers are finite, counts and times are not negative, and no
/// text is too long or contains control sequences for a terminal.
pub fn validate_bill(bytes: &[u8]) -> Result<Bill, ImportError> {
    if bytes.len() > MAX_BILL_BYTES {
        return Err(ImportError::BillTooLarge { bytes: bytes.len(), max_bytes: MAX_BILL_BYTES });
    }
    if check_schema(bytes, BILL_SCHEMA)? == RecordKind::Run {
        return Err(ImportError::IsRun);
    }
    let bill = read(bytes)?;
    check_bill(&bill)?;
    Ok(bill)
}

fn list(conn: &Connection) -> Result<Vec<BillListing>, Cause> {
    if !has_bills(conn)? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT id, started, ended, label, program, pid, processor, system_ns, imported
         FROM bill ORDER BY started DESC, id DESC",
    )?;
    let mut rows = statement.query([])?;
    let mut listings = Vec::new();
    while let Some(row) = rows.next()? {
        listings.push(listing(row)?);
    }
    Ok(listings)
}

fn listing(row: &Row<'_>) -> Result<BillListing, Cause> {
    let program: String = row.get("program")?;
    Ok(BillListing {
        id: row.get("id")?,
        started: row.get("started")?,
        ended: row.get("ended")?,
        label: row.get("label")?,
        program: serde_json::from_str(&program).map_err(|error| damaged("its command", error))?,
        pid: row.get("pid")?,
        processor: row.get("processor")?,
        system_ns: row.get("system_ns")?,
        imported: row.get("imported")?,
    })
}

fn load(conn: &Connection, id: &str) -> Result<Bill, Cause> {
    if !has_bills(conn)? {
        return Err(Cause::NoBill);
    }
    let json: String = conn
        .prepare_cached("SELECT bill FROM bill WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .ok_or(Cause::NoBill)?;
    serde_json::from_str(&json).map_err(|error| damaged("its bill", error))
}
