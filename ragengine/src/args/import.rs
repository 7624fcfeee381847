//! Arguments of `ragengine import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Server;

/// The systems whose indexes can be imported.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// Import an index that KAITO's RAGEngine persisted with POST /persist/NAME.
    ///
    /// The documents keep their ids and metadata. Their texts are joined from KAITO's chunks, and are split and embedded
    /// anew, unless --keep-vectors is given. Documents that were imported before and have not changed are skipped, so an
    /// interrupted import can be run again. See docs/migrating-from-kaito.md.
    Kaito(ImportKaito),
}

/// Arguments of `ragengine import kaito`.
#[derive(Debug, Args)]
pub struct ImportKaito {
    /// The folder of the persisted index. docstore.json and index_store.json are read.
    pub folder: PathBuf,
    /// The index. It is created if it does not exist. [default: the name of the persisted index]
    #[arg(long, value_name = "NAME")]
    pub index: Option<String>,
    /// Keep KAITO's chunks and their vectors, instead of splitting and embedding the texts anew. The index must not
    /// exist, and the server must have the embedding model of KAITO's RAGEngine, which samples show. The FAISS file is
    /// read, too.
    #[arg(long)]
    pub keep_vectors: bool,
    /// The source of these documents.
    #[arg(long, value_name = "NAME", default_value = "kaito")]
    pub source: String,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}
