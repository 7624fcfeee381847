use std::path::Path;

use roaring::RoaringBitmap;
use tantivy::directory::{MmapDirectory, OwnedBytes, RamDirectory};
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::indexer::merge_filtered_segments;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{
    BitSet, Directory, Index, IndexReader, IndexSettings, ReloadPolicy, Searcher, SegmentReader, TantivyDocument,
    TantivyError,
};

use super::analysis::{Analyzer, MarkedTexts, TextKind};

/// tantivy's name of the analysis of a field that names none.
const ANALYSIS: &str = "default";

/// Memory that tantivy plans for while it makes a segment, in bytes. It takes more for a large one.
const PLANNED_BYTES: usize = 1 << 20;

/// The text of a chunk, before it is analysed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkText {
    /// The chunk's row.
    pub row: u64,
    /// How it is analysed.
    pub kind: TextKind,
    /// The name of its document, the headings above it, and its text.
    pub text: String,
}

/// The full text of some chunks, and their rows by position. It is immutable.
pub struct TextSegment {
    index: Index,
    searcher: Searcher,
    rows: Vec<u64>,
    is_on_disk: bool,
}

impl TextSegment {
    /// Analyses chunks, in memory.
    ///
    /// # Errors
    ///
    /// If tantivy fails.
    pub fn of_chunks(analyzer: &Analyzer, chunks: &[ChunkText]) -> Result<Self, TantivyError> {
        let analyses = TokenizerManager::new();
        analyses.register(ANALYSIS, TextAnalyzer::from(MarkedTexts(analyzer.clone())));
        let builder = Index::builder().schema(schema()).settings(settings()).tokenizers(analyses);
        let mut writer = builder.single_segment_index_writer(RamDirectory::create(), PLANNED_BYTES)?;
        for chunk in chunks {
            let mut document = TantivyDocument::new();
            document.add_text(field(), Analyzer::marked(chunk.kind, &chunk.text));
            writer.add_document(document)?;
        }
        Self::of_index(writer.finalize()?, chunks.iter().map(|chunk| chunk.row).collect(), false)
    }

    /// Merges segments in memory, without these positions of each.
    ///
    /// # Errors
    ///
    /// If tantivy fails.
    pub fn merged(segments: &[(&Self, &RoaringBitmap)]) -> Result<Self, TantivyError> {
        Self::of_index(merge(segments, RamDirectory::create())?, rows_left(segments), false)
    }

    /// Merges segments into files in a folder, which must be empty. [`Self::read`] reads them.
    ///
    /// # Errors
    ///
    /// If tantivy or the disk fails.
    pub fn write_merged(segments: &[(&Self, &RoaringBitmap)], folder: &Path) -> Result<Vec<u64>, TantivyError> {
        merge(segments, MmapDirectory::open(folder)?)?.directory().sync_directory()?;
        Ok(rows_left(segments))
    }

    /// Opens the files that [`Self::write_merged`] wrote, and compares them with their checksums.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, or the number of chunks is not that of the rows.
    pub fn read(folder: &Path, rows: Vec<u64>) -> Result<Self, TantivyError> {
        let index = Index::open(MmapDirectory::open(folder)?)?;
        if let Some(damaged) = index.validate_checksum()?.iter().next() {
            return Err(TantivyError::SystemError(format!("the checksum of {} is wrong", damaged.display())));
        }
        Self::of_index(index, rows, true)
    }

    fn of_index(index: Index, rows: Vec<u64>, is_on_disk: bool) -> Result<Self, TantivyError> {
        debug_assert!(rows.is_sorted(), "rows only grow");
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let documents = searcher.segment_readers().iter().map(|segment| segment.max_doc() as usize).sum::<usize>();
        if searcher.segment_readers().len() > 1 || documents != rows.len() || index.schema() != schema() {
            return Err(TantivyError::SystemError("the full text does not belong to its rows".to_owned()));
        }
        Ok(Self { index, searcher, rows, is_on_disk })
    }

    /// The rows of its chunks, by position.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Whether it is read from files.
    pub fn is_on_disk(&self) -> bool {
        self.is_on_disk
    }

    /// Its size, in bytes.
    ///
    /// # Errors
    ///
    /// If tantivy cannot read it.
    pub fn bytes(&self) -> Result<u64, TantivyError> {
        Ok(self.searcher.space_usage()?.total().get_bytes())
    }

    /// tantivy's searcher of the segment.
    pub fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// tantivy's reader of the segment. None if it has no chunks.
    pub fn reader(&self) -> Option<&SegmentReader> {
        self.searcher.segment_readers().first()
    }
}

/// The only field. Positions of words are not needed.
pub fn field() -> Field {
    Field::from_field_id(0)
}

fn schema() -> Schema {
    let indexing = TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqs).set_fieldnorms(true);
    let mut schema = Schema::builder();
    schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    schema.build()
}

fn settings() -> IndexSettings {
    IndexSettings::default()
}

fn merge(
    segments: &[(&TextSegment, &RoaringBitmap)],
    directory: impl Into<Box<dyn Directory>>,
) -> Result<Index, TantivyError> {
    let (mut parts, mut alive) = (Vec::new(), Vec::new());
    for (segment, dead) in segments {
        parts.extend(segment.index.searchable_segments()?);
        alive.push((!dead.is_empty()).then(|| alive_positions(segment.rows.len(), dead)));
    }
    merge_filtered_segments(&parts, settings(), alive, directory)
}

fn alive_positions(count: usize, dead: &RoaringBitmap) -> AliveBitSet {
    let mut alive = BitSet::with_max_value_and_full(u32::try_from(count).unwrap_or(u32::MAX));
    dead.iter().for_each(|position| alive.remove(position));
    let mut bytes = Vec::new();
    let written = write_alive_bitset(&alive, &mut bytes);
    debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
    AliveBitSet::open(OwnedBytes::new(bytes))
}

fn rows_left(segments: &[(&TextSegment, &RoaringBitmap)]) -> Vec<u64> {
    let left = |(segment, dead): &(&TextSegment, &RoaringBitmap)| {
        let rows = (0..).zip(&segment.rows).filter(|(position, _)| !dead.contains(*position));
        rows.map(|(_, row)| *row).collect::<Vec<_>>()
    };
    segments.iter().flat_map(left).collect()
}
