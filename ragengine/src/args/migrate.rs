use std::path::PathBuf;

use clap::Args;

/// Arguments of `ragengine migrate`.
#[derive(Debug, Args)]
pub struct Migrate {
    /// The name of the index.
    #[arg(long, value_name = "NAME")]
    pub index: String,
    /// The URL of the server that has the index.
    #[arg(long, value_name = "URL")]
    pub from: String,
    /// The URL of the server that gets it.
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// A file with the write token of the server that has the index. [default: the token in the environment variable
    /// RAGENGINE_WRITE_TOKEN, if it is set]
    #[arg(long, value_name = "PATH")]
    pub from_token_file: Option<PathBuf>,
    /// A file with the write token of the server that gets it. [default: as above]
    #[arg(long, value_name = "PATH")]
    pub to_token_file: Option<PathBuf>,
    /// Replace an index of this name.
    #[arg(long)]
    pub overwrite: bool,
    /// The folder for a temporary file with the whole index.
    #[arg(long, value_name = "PATH", default_value = "/tmp", env = "TMPDIR")]
    pub folder: PathBuf,
    /// Fail when one of the servers sends or accepts no data for this many seconds. A server with a vector database
    /// reads the whole index before it sends it.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_seconds: u64,
}
