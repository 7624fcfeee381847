use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::error::KaitoError;
use crate::faiss_file::{Layout, layout};
use crate::id_map::vector_numbers;

/// The file, and its older name.
const FILES: [&str; 2] = ["default__vector_store.json", "vector_store.json"];

/// The vectors of a persisted index. They are read one by one, because they may be larger than the memory.
#[derive(Debug)]
pub struct PersistedVectors {
    file: File,
    name: &'static str,
    layout: Layout,
    /// The number of each chunk's vector.
    numbers: HashMap<String, i64>,
    /// How many chunks have each number.
    chunks: HashMap<i64, usize>,
    /// The place of each number in the file, and how many vectors have it. Empty if they are numbered by their places.
    places: HashMap<i64, (u64, usize)>,
}

impl PersistedVectors {
    /// Opens the vectors in the folder of a persisted index.
    ///
    /// # Errors
    ///
    /// [`KaitoError`] if a file is missing, damaged, or of another kind.
    pub fn open(folder: &Path) -> Result<Self, KaitoError> {
        let name = FILES.into_iter().find(|name| folder.join(name).is_file()).unwrap_or(FILES[0]);
        let file = File::open(folder.join(name)).map_err(|error| KaitoError::Read { file: name, error })?;
        let layout = layout(BufReader::new(&file)).map_err(|reason| KaitoError::Faiss { file: name, reason })?;
        let mut places: HashMap<i64, (u64, usize)> = HashMap::new();
        for (place, number) in (0_u64..).zip(layout.numbers.iter().flatten()) {
            places.entry(*number).or_insert((place, 0)).1 += 1;
        }
        let numbers = vector_numbers(folder)?;
        let mut chunks: HashMap<i64, usize> = HashMap::new();
        numbers.values().for_each(|number| *chunks.entry(*number).or_default() += 1);
        Ok(Self { file, name, layout, numbers, chunks, places })
    }

    /// The number of values in a vector.
    pub fn dimensions(&self) -> usize {
        self.layout.dimensions
    }

    /// The vector of a chunk, as KAITO stored it.
    ///
    /// # Errors
    ///
    /// [`KaitoError::Vector`] if there is none, or if it cannot be told from others: KAITO uses a number again when a
    /// document is added after another one was deleted. [`KaitoError::SharedNumber`] if the vector may be that of
    /// another chunk for the same reason. [`KaitoError::Read`] if the file cannot be read.
    pub fn of(&self, node_id: &str) -> Result<Vec<f32>, KaitoError> {
        let wrong = |count| KaitoError::Vector { node_id: node_id.to_owned(), count };
        let chunks = self.numbers.get(node_id).and_then(|number| self.chunks.get(number)).copied().unwrap_or(0);
        if chunks > 1 {
            return Err(KaitoError::SharedNumber { node_id: node_id.to_owned(), chunks });
        }
        let place = match (self.numbers.get(node_id), &self.layout.numbers) {
            (None, _) => return Err(wrong(0)),
            (Some(number), None) => u64::try_from(*number).ok().filter(|place| *place < self.layout.count),
            (Some(number), Some(_)) => match self.places.get(number) {
                Some((_, count @ 2..)) => return Err(wrong(*count)),
                found => found.map(|(place, _)| *place),
            },
        };
        let mut bytes = vec![0; self.layout.dimensions * 4];
        let at = self.layout.vectors_at + place.ok_or_else(|| wrong(0))? * bytes.len() as u64;
        self.file.read_exact_at(&mut bytes, at).map_err(|error| KaitoError::Read { file: self.name, error })?;
        Ok(bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
    }
}

#[cfg(test)]
mod tests;
