//! Imports an index with its vectors: it becomes a backup, which the server restores. Nothing is embedded but samples,
//! which show whether the vectors are of the server's embedding model.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use ragengine_client::wire::{Document, IndexSettings};
use ragengine_client::{Client, ClientError, RestoreOptions, content_hash};
use ragengine_index::archive::{ArchiveWriter, IndexHeader, MAX_BLOCK_BYTES, Manifest, Piece, Row, read};
use ragengine_index::record::{ChunkRecord, DocumentRecord};
use ragengine_kaito::{ImportedChunk, ImportedDocument, PersistedVectors};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::super::backup::{Target, to_file, unless_stopped};
use super::super::restore::send_file;

/// The number of chunks that are embedded to compare their vectors.
const SAMPLES: usize = 8;

/// The part of a chunk that is embedded, in characters: about as much as small models embed.
const SAMPLE_CHARACTERS: usize = 800;

/// Vectors of the same text are at least this similar (cosine). KAITO also embeds the metadata, so they are not equal.
/// Those of two models have nothing in common: their similarity is around 0.
const MIN_SIMILARITY: f32 = 0.5;

/// How long the server may send or take no data.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is imported, and to where.
pub struct KeptIndex<'a> {
    /// The name of the index, which must not exist.
    pub index: &'a str,
    /// The source of its documents.
    pub source: &'a str,
    /// Its documents.
    pub documents: Vec<ImportedDocument>,
    /// The vectors of their chunks.
    pub vectors: PersistedVectors,
}

impl KeptIndex<'_> {
    /// Makes the index on the server. Returns the number of its documents and of its chunks.
    ///
    /// # Errors
    ///
    /// When the server has such an index, or another embedding model, or does not answer, and when a vector cannot be
    /// read. The server has not changed then.
    pub async fn send(self, client: &Client) -> anyhow::Result<(u64, u64)> {
        match client.index(self.index).await {
            Ok(_) => return Err(exists(self.index)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        let folder = tempfile::tempdir().context("cannot write to the folder for temporary files: set TMPDIR")?;
        let (manifest, header) = self.compared(client, folder.path()).await?;
        let file = folder.path().join("index.tar");
        let index = self.index;
        // A signal during the writing is seen before the sending.
        unless_stopped(async {
            let counts = self.write(&file, manifest, header)?;
            tokio::task::yield_now().await;
            let sent = send_file(client, &file, RestoreOptions { overwrite: false, index: None }, PATIENCE).await;
            // Somebody made the index during the upload.
            let is_there =
                |error: &anyhow::Error| error.downcast_ref::<ClientError>().is_some_and(ClientError::is_conflict);
            sent.map_err(|error| if is_there(&error) { exists(index) } else { error })?;
            Ok(counts)
        })
        .await
    }

    /// Lets the server embed some chunks, and compares the vectors. Returns how a backup of this server begins, and how
    /// one of its indexes does.
    async fn compared(&self, client: &Client, folder: &Path) -> anyhow::Result<(Manifest, IndexHeader)> {
        let name = format!("import-{}", uuid::Uuid::new_v4().simple());
        // The samples are deleted when a signal stops it, too.
        let backup = unless_stopped(self.samples_of(client, &name, folder)).await;
        if let Err(error) = client.delete_index(&name).await
            && !error.is_not_found()
        {
            warn!(index = name, %error, "the index of the samples could not be deleted: delete it");
        }
        let Samples { manifest, header, embedded } = read_samples(&backup?)?;
        let (here, there) = (self.vectors.dimensions(), header.record.dimensions);
        let model = &header.record.model;
        ensure!(
            here == there,
            "the vectors have {here} dimensions, and those of the server's embedding model ({model}) {there}: start \
             the server with the model of KAITO's RAGEngine, or import without --keep-vectors"
        );
        let mut similarity = 0.0;
        for (node_id, vector) in &embedded {
            similarity += dot(&self.vector(node_id)?, vector) / embedded.len() as f32;
        }
        ensure!(
            similarity >= MIN_SIMILARITY,
            "the vectors are of another embedding model than the server's ({model}): those of the same texts have a \
             similarity of {similarity:.2}. Start the server with the model of KAITO's RAGEngine, or import without \
             --keep-vectors"
        );
        Ok((manifest, header))
    }

    /// Makes an index of samples on the server, and returns a backup of it.
    async fn samples_of(&self, client: &Client, name: &str, folder: &Path) -> anyhow::Result<PathBuf> {
        client.put_index(name, &IndexSettings::default()).await?;
        client.add(name, samples(&self.documents)).await?;
        let target = Target { file: folder.join("samples.tar"), folder: None };
        to_file(client, &target, Some(name), PATIENCE).await?;
        Ok(target.file)
    }

    /// Writes the index as a backup. Returns the number of its documents and of its chunks.
    fn write(self, file: &Path, manifest: Manifest, header: IndexHeader) -> anyhow::Result<(u64, u64)> {
        let documents = self.documents.len() as u64;
        let chunks = self.documents.iter().map(|document| document.chunks.len() as u64).sum();
        let header = IndexHeader { documents, chunks, next_document: documents, next_row: chunks, ..header };
        let output = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
        let manifest = Manifest { indexes: vec![self.index.to_owned()], ..manifest };
        let mut archive = ArchiveWriter::begin(BufWriter::new(output), &manifest)?;
        archive.index(self.index, &header)?;
        let mut first_row = 0;
        for (number, document) in (0_u64..).zip(&self.documents) {
            archive.row(&self.document_row(number, first_row, document))?;
            for (ordinal, chunk) in (0_u32..).zip(&document.chunks) {
                let record = chunk_record(number, ordinal, chunk);
                archive.row(&Row::Chunk { record, vector: self.vector(&chunk.node_id)?, page: None })?;
            }
            first_row += document.chunks.len() as u64;
        }
        archive.end()?.flush()?;
        Ok((documents, chunks))
    }

    fn document_row(&self, number: u64, first_row: u64, document: &ImportedDocument) -> Row {
        let ImportedDocument { doc_id, text, metadata, chunks } = document;
        let record = DocumentRecord {
            doc_id: doc_id.clone(),
            metadata: Value::Object(metadata.clone()).to_string(),
            source: Some(self.source.to_owned()),
            content_hash: content_hash(text, metadata),
            first_row,
            chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
            text_bytes: text.len() as u64,
        };
        Row::Document { number, record, text: text.clone(), revision: None }
    }

    /// The vector of a chunk, of length 1.
    fn vector(&self, node_id: &str) -> anyhow::Result<Vec<f32>> {
        let vector = self.vectors.of(node_id).context("the vectors cannot be kept: import without --keep-vectors")?;
        let length = dot(&vector, &vector).sqrt();
        ensure!(length.is_normal(), "the vector of chunk '{node_id}' has no direction: import without --keep-vectors");
        Ok(vector.iter().map(|value| value / length).collect())
    }
}

/// The error that the index is there already.
fn exists(index: &str) -> anyhow::Error {
    anyhow!("index '{index}' exists, and --keep-vectors makes a new one: delete it, or name another one with --index")
}

/// The beginnings of the longest chunks, of different documents where there are as many. Their ids are those of the
/// chunks.
fn samples<'a>(documents: &'a [ImportedDocument]) -> Vec<Document> {
    let longest = |document: &'a ImportedDocument| document.chunks.iter().max_by_key(|chunk| chunk.text.len());
    let mut chunks: Vec<&ImportedChunk> = documents.iter().filter_map(longest).collect();
    chunks.sort_by_key(|chunk| std::cmp::Reverse(chunk.text.len()));
    chunks.truncate(SAMPLES);
    let document = |chunk: &ImportedChunk| Document {
        doc_id: Some(chunk.node_id.clone()),
        text: chunk.text.trim_start().chars().take(SAMPLE_CHARACTERS).collect(),
        ..Document::default()
    };
    chunks.into_iter().map(document).collect()
}

/// A backup of the index of samples.
struct Samples {
    manifest: Manifest,
    header: IndexHeader,
    /// The first vector of each sample, by its id.
    embedded: Vec<(String, Vec<f32>)>,
}

fn read_samples(file: &Path) -> anyhow::Result<Samples> {
    let (mut manifest, mut header, mut embedded) = (None, None, Vec::new());
    let mut document = None;
    let source = BufReader::new(File::open(file)?);
    read(source, MAX_BLOCK_BYTES, |piece| {
        match piece {
            Piece::Manifest(read) => manifest = Some(read),
            Piece::Index(_, read) => header = Some(*read),
            Piece::Rows(rows) => rows.into_iter().for_each(|row| match row {
                Row::Document { record, .. } => document = Some(record.doc_id),
                Row::Chunk { vector, .. } => embedded.extend(document.take().map(|doc_id| (doc_id, vector))),
                Row::Sync { .. } => {}
            }),
        }
        Ok::<(), anyhow::Error>(())
    })?;
    let (Some(manifest), Some(header)) = (manifest, header) else { bail!("the server sent a backup without an index") };
    ensure!(!embedded.is_empty(), "the server embedded none of the samples");
    Ok(Samples { manifest, header, embedded })
}

/// The hash is that of no text: when the document changes, its chunks are embedded anew.
fn chunk_record(document: u64, ordinal: u32, chunk: &ImportedChunk) -> ChunkRecord {
    let hash = Sha256::digest(format!("kaito\0{}\0{}", chunk.node_id, chunk.text)).into();
    ChunkRecord { document, ordinal, heading: None, text: chunk.text.clone(), hash }
}

/// The inner product, which is the cosine of vectors of length 1.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
