//! The command line, and the programs and files that the benchmark needs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// Compares the running server with the minimum cost of its parts (the floor) and prints a table of ratios.
///
/// Takes some minutes and two processor cores; other programs that run at the same time distort the results. Exit code:
/// 1 if a limit is missed, 2 if the measurement failed.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub struct Arguments {
    /// Measure a small sample of everything, in about a minute. Checks that the benchmark works; the figures are not
    /// reliable.
    #[arg(long)]
    pub quick: bool,
    /// Measure only this subject.
    #[arg(long, value_name = "SUBJECT")]
    pub only: Option<Subject>,
    /// Number of chunks in the large index.
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub chunks: usize,
    /// Number of Weaviate's nodes, each of which has the whole index.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=7))]
    pub nodes: u8,
    /// Folder for the profiles of `--only profiles`, in files of Linux's `perf`.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub profiles: PathBuf,
    /// Only fill the large index in this folder. The program starts itself with this option.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub fill: Option<PathBuf>,
    /// Print the table as Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// Folder with the embedding model in the subfolder `models`.
    #[arg(long, value_name = "FOLDER", env = "RAGENGINE_CACHE")]
    pub cache: PathBuf,
    /// Path of Debian's nginx, the floor of chats that are passed through.
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
}

/// A subject that can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Chats with retrieval from an index.
    Chat,
    /// Retrieval while documents are added.
    BesideIngest,
    /// Requests of every kind with 1, 8, 32 and 256 clients.
    Clients,
    /// Copies of an index: persist, load, backup, restore.
    Copies,
    /// Splitting of difficult documents into chunks.
    Cutting,
    /// More concurrent clients than the server admits.
    Flood,
    /// Citations, guardrails, and answers from the cache.
    Grounded,
    /// Chats without an index, compared with nginx.
    PassThrough,
    /// Retrieval by vectors and words on larger indexes, compared with retrieval by vectors.
    Hybrid,
    /// Profiles of each kind of request, for flame graphs. Only on request: `--profiles` names the folder.
    Profiles,
    /// Latency of the liveness probe while every route gets its most expensive input.
    Probes,
    /// Retrieval.
    Retrieve,
    /// Conversations with many sessions in Redis and PostgreSQL, compared with a few in memory.
    Sessions,
    /// Streamed chats.
    Streams,
    /// Synchronisation of an index with its sources.
    Sync,
    /// A large index of generated vectors.
    Vectors,
    /// The same in Weaviate. Only on request: it is measured alone.
    Weaviate,
}

/// Programs and files that the benchmark uses.
#[derive(Debug)]
pub struct Parts {
    /// Executable of the server.
    pub server: PathBuf,
    /// Executable of nginx.
    pub nginx: PathBuf,
    /// Folder of the embedding model.
    pub model: PathBuf,
    /// Folder for profiles.
    pub profiles: PathBuf,
}

impl Parts {
    /// Finds all programs and files.
    ///
    /// # Errors
    ///
    /// If one is missing; the message says how to get it.
    pub fn find(arguments: &Arguments) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("the path of this program is unknown")?;
        let server = own.with_file_name("ragengine");
        require(&server, "build the workspace first: cargo build --workspace")?;
        require(&arguments.nginx, "install it with apt-get install nginx-light, or pass --nginx")?;
        let cache = std::path::absolute(&arguments.cache)?;
        let model = cache.join("models/sentence-transformers/all-MiniLM-L6-v2");
        require(&model, "`make bench` downloads it; --cache or RAGENGINE_CACHE selects another folder")?;
        Ok(Self { server, nginx: arguments.nginx.clone(), model, profiles: arguments.profiles.clone() })
    }
}

fn require(path: &Path, advice: &str) -> anyhow::Result<()> {
    ensure!(path.exists(), "{} is missing: {advice}", path.display());
    Ok(())
}
