//! What the command line says, and the parts that have to be there.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// Compares the running server with the floor of its parts, and prints one table of ratios.
///
/// It takes some minutes and both of two processor cores; what else runs meanwhile disturbs it. The exit code is 1 when a limit is
/// missed, and 2 when nothing could be measured.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub struct Arguments {
    /// Measure little of everything, in about a minute: to see that it works, not how fast.
    #[arg(long)]
    pub quick: bool,
    /// Measure only this.
    #[arg(long, value_name = "SUBJECT")]
    pub only: Option<Subject>,
    /// Chunks of the large index.
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub chunks: usize,
    /// Only fill the large index in this folder; the program starts itself so.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub fill: Option<PathBuf>,
    /// Print the table as Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// The folder that has the embedding model below `models`.
    #[arg(long, value_name = "FOLDER", env = "RAGENGINE_CACHE")]
    pub cache: PathBuf,
    /// Debian's nginx, which the passing on of chats is compared with.
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
}

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Chats from an index.
    Chat,
    /// Retrieval while documents are added.
    BesideIngest,
    /// Copies of an index: persisted, loaded, backed up, restored.
    Copies,
    /// Documents that are difficult to cut.
    Cutting,
    /// Many clients at once, more than are let in.
    Flood,
    /// Chats without an index, against nginx.
    PassThrough,
    /// Whether the server says that it lives while every route gets its worst input.
    Probes,
    /// Retrieval.
    Retrieve,
    /// Streamed chats.
    Streams,
    /// Keeping an index in step with its sources.
    Sync,
    /// A large index of vectors that are made, not embedded.
    Vectors,
}

/// The programs and files that are measured.
#[derive(Debug)]
pub struct Parts {
    /// The server.
    pub server: PathBuf,
    /// The reverse proxy.
    pub nginx: PathBuf,
    /// The folder of the embedding model.
    pub model: PathBuf,
}

impl Parts {
    /// Looks for all of them.
    ///
    /// # Errors
    ///
    /// Says which is missing, and how to get it.
    pub fn find(arguments: &Arguments) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("this program's own place is not known")?;
        let server = own.with_file_name("ragengine");
        require(&server, "build the workspace first: cargo build --workspace")?;
        require(&arguments.nginx, "apt-get install nginx-light, or name another with --nginx")?;
        let cache = std::path::absolute(&arguments.cache)?;
        let model = cache.join("models/sentence-transformers/all-MiniLM-L6-v2");
        require(&model, "`make bench` fetches it; --cache or RAGENGINE_CACHE names another folder")?;
        Ok(Self { server, nginx: arguments.nginx.clone(), model })
    }
}

fn require(path: &Path, advice: &str) -> anyhow::Result<()> {
    ensure!(path.exists(), "{} is missing: {advice}", path.display());
    Ok(())
}
