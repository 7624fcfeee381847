use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// A larger file system is a mistake in the test.
const MAX_BYTES: usize = 1 << 30;

/// Writes to a file until the file system is full: first whole blocks, then single bytes.
pub fn fill(file: &Path) -> anyhow::Result<Value> {
    let mut open = File::create(file).with_context(|| file.display().to_string())?;
    let mut bytes = 0;
    for block in [vec![0; 1 << 16], vec![0; 1]] {
        while write(&mut open, &block).with_context(|| file.display().to_string())? {
            bytes += block.len();
            if bytes > MAX_BYTES {
                drop(remove(file));
                bail!("{} is on a file system with more room than {MAX_BYTES} bytes", file.display());
            }
        }
    }
    ensure!(bytes > 0, "the file system of {} was full already", file.display());
    Ok(json!({"bytes": bytes}))
}

/// Returns whether the bytes fitted.
fn write(file: &mut File, block: &[u8]) -> std::io::Result<bool> {
    match file.write_all(block) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::StorageFull => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a file.
pub fn remove(file: &Path) -> anyhow::Result<Value> {
    fs::remove_file(file).with_context(|| file.display().to_string())?;
    Ok(json!({"removed": file.display().to_string()}))
}
