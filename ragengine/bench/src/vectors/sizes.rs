use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::memory;

/// Resident memory of this process, in bytes.
pub fn resident() -> anyhow::Result<u64> {
    Ok(memory::of_process(std::process::id())?.resident)
}

/// Disk space of the files in a folder, in bytes.
pub fn disk(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { disk(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}
