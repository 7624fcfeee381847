//! The file of a flat FAISS index, with or without numbers of its vectors: what `faiss.write_index` writes for an
//! `IndexFlatL2` or `IndexFlatIP`, alone or in an `IndexIDMap` (FAISS 1.15, `faiss/impl/index_write.cpp`). All values
//! are little endian.

use std::io::{self, Read, Seek, SeekFrom};

/// The widest vectors.
const MAX_DIMENSIONS: usize = 1 << 16;

/// The bytes of a value.
const VALUE_BYTES: u64 = 4;

/// What a file has, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of values in a vector.
    pub dimensions: usize,
    /// The number of vectors.
    pub count: u64,
    /// Where the first vector begins, in bytes. The others follow it.
    pub vectors_at: u64,
    /// The number of each vector, in order. None: they are numbered from 0.
    pub numbers: Option<Vec<i64>>,
}

/// Reads all but the vectors.
///
/// # Errors
///
/// A description of what is wrong with the file.
pub fn layout(mut file: impl Read + Seek) -> Result<Layout, String> {
    let length = file.seek(SeekFrom::End(0)).and_then(|length| file.rewind().map(|()| length)).map_err(unreadable)?;
    let kind = bytes::<4>(&mut file)?;
    match &kind {
        b"IxF2" | b"IxFI" | b"IxFl" => flat(&mut file, length),
        b"IxMp" | b"IxM2" => {
            let (_, count) = header(&mut file)?;
            match &bytes::<4>(&mut file)? {
                b"IxF2" | b"IxFI" | b"IxFl" => {}
                other => return Err(other_kind(other)),
            }
            let layout = flat(&mut file, length)?;
            let numbers = numbers(&mut file, &layout, length)?;
            if count != layout.count {
                return Err("it contradicts itself about the number of vectors".to_owned());
            }
            Ok(Layout { numbers: Some(numbers), ..layout })
        }
        other => Err(other_kind(other)),
    }
}

/// Reads a flat index after its kind, and leaves the file at its end.
fn flat(file: &mut (impl Read + Seek), length: u64) -> Result<Layout, String> {
    let (dimensions, count) = header(file)?;
    let values = u64::from_le_bytes(bytes(file)?);
    let vectors_at = file.stream_position().map_err(unreadable)?;
    let end = values.checked_mul(VALUE_BYTES).and_then(|bytes| bytes.checked_add(vectors_at));
    match end {
        Some(end) if end <= length && Some(values) == count.checked_mul(dimensions as u64) => {
            file.seek(SeekFrom::Start(end)).map_err(unreadable)?;
            Ok(Layout { dimensions, count, vectors_at, numbers: None })
        }
        _ => Err("its vectors are incomplete".to_owned()),
    }
}

/// Reads the dimensions and the number of vectors, and passes over the rest of the header: two unused numbers, whether
/// the index is trained, and its metric.
fn header(file: &mut impl Read) -> Result<(usize, u64), String> {
    let dimensions = usize::try_from(i32::from_le_bytes(bytes(file)?)).unwrap_or_default();
    let count = u64::try_from(i64::from_le_bytes(bytes(file)?)).map_err(|_| "its header is damaged".to_owned())?;
    let _: [u8; 17] = bytes(file)?;
    match i32::from_le_bytes(bytes(file)?) {
        0 | 1 if (1..=MAX_DIMENSIONS).contains(&dimensions) => Ok((dimensions, count)),
        0 | 1 => Err("its header is damaged".to_owned()),
        metric => Err(format!("its metric has the number {metric}, which is neither L2 nor the inner product")),
    }
}

fn numbers(file: &mut (impl Read + Seek), layout: &Layout, length: u64) -> Result<Vec<i64>, String> {
    let count = u64::from_le_bytes(bytes(file)?);
    let left = length - file.stream_position().map_err(unreadable)?;
    if count != layout.count || count.checked_mul(8).is_none_or(|bytes| bytes > left) {
        return Err("the numbers of its vectors are incomplete".to_owned());
    }
    (0..count).map(|_| Ok(i64::from_le_bytes(bytes(file)?))).collect()
}

fn bytes<const N: usize>(file: &mut impl Read) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn unreadable(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is incomplete".to_owned(),
        _ => error.to_string(),
    }
}

fn other_kind(kind: &[u8; 4]) -> String {
    format!("its kind is '{}'", kind.escape_ascii())
}

#[cfg(test)]
mod tests;
