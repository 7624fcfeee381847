use redb::{Database, ReadableTable as _, TableDefinition};

use crate::{StoreError, feedback, interactions};

/// Facts about the file.
const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");

/// The key of the format of the tables in [`META`].
const FORMAT: &str = "format";

/// The format of the tables. A file of another format is rejected.
const KNOWN_FORMAT: &str = "1";

/// Checks the format, and creates the tables that are missing, so that readers find all of them.
pub(super) fn prepare(database: &Database) -> Result<(), StoreError> {
    let mut transaction = database.begin_write().map_err(redb::Error::from)?;
    transaction.set_quick_repair(true);
    {
        let mut meta = transaction.open_table(META).map_err(redb::Error::from)?;
        let format = meta.get(FORMAT).map_err(redb::Error::from)?.map(|format| format.value().to_owned());
        match format.as_deref() {
            None => drop(meta.insert(FORMAT, KNOWN_FORMAT).map_err(redb::Error::from)?),
            Some(KNOWN_FORMAT) => {}
            Some(_) => return Err(StoreError::NewerSchema("state.redb in dataDir".to_owned())),
        }
    }
    feedback::create_tables(&transaction)?;
    interactions::create_tables(&transaction)?;
    transaction.commit().map_err(redb::Error::from)?;
    Ok(())
}
