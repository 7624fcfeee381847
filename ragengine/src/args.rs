//! The command line.

mod eval;
mod import;
mod migrate;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use eval::{Eval, EvalRetrieval, EvalSplit, EvalThreshold};
pub use import::{Import, ImportKaito};
pub use migrate::Migrate;

/// Retrieval-augmented chat over the OpenAI API, answered from your documents, with their sources.
#[derive(Debug, Parser)]
#[command(name = "ragengine", version, arg_required_else_help = true)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the server.
    Serve(SettingsFile),
    /// Send a file, or the text files of a folder, to a running server. Unchanged files are skipped.
    Ingest(Ingest),
    /// Send the documents of another system's index to a running server.
    #[command(subcommand)]
    Import(Import),
    /// Measure how well an index of a running server answers questions whose relevant documents are known.
    ///
    /// Prints recall, MRR and nDCG, and the shares of questions that get any context, for each way to retrieve.
    Eval(Eval),
    /// Back up all indexes of a running server to a file, or to a new file in a folder.
    Backup(Backup),
    /// Restore the indexes of a backup into a running server.
    Restore(Restore),
    /// Copy an index from one running server to another without embedding its texts again, for example from FAISS to
    /// a vector database or back.
    ///
    /// The index keeps serving. What is written to it while it is copied may not be in the copy; the command says so.
    Migrate(Migrate),
    /// Make an index of a running server hold exactly the documents of a task's sources.
    ///
    /// The operator runs this command for an Index resource. Requests to sources use the proxies of HTTP_PROXY,
    /// HTTPS_PROXY, ALL_PROXY and NO_PROXY; requests to the server use no proxy.
    Sync(Sync),
    /// Parse files for `ragengine sync`, in a separate process.
    #[command(hide = true)]
    ParseWorker,
    /// Check the settings without starting the server.
    CheckConfig(SettingsFile),
    /// Print the OpenAPI document of the server's API.
    Openapi,
    /// Print all settings with their descriptions and defaults, as Markdown.
    SettingsReference,
    /// Print all metrics with their descriptions, as Markdown.
    MetricsReference,
}

/// Location of the settings.
#[derive(Debug, Args)]
pub struct SettingsFile {
    /// The settings file (YAML). [default: the default settings]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Arguments of `ragengine sync`.
#[derive(Debug, Args)]
pub struct Sync {
    /// The task file (YAML), with the server, the index and the sources. See docs/sync.md.
    #[arg(long, value_name = "FILE")]
    pub task: PathBuf,
    /// An existing folder for temporary files. [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub work_folder: Option<PathBuf>,
    /// A folder with mounted volumes. Symbolic links in the paths of a task's folders are not followed below it, because
    /// whoever writes into a volume could lead such a path out of it.
    #[arg(long, value_name = "FOLDER", env = "RAGENGINE_MOUNTS_FOLDER")]
    pub mounts_folder: Option<PathBuf>,
    /// Fail unless the task has this synchronisation id.
    #[arg(long, value_name = "ID", env = "RAGENGINE_SYNC_ID")]
    pub sync_id: Option<String>,
    /// The uid of the task's owner. The server stores it with the sources.
    #[arg(long, value_name = "UID", env = "RAGENGINE_OWNER_UID")]
    pub owner_uid: Option<String>,
    /// The scope of the owner, such as the uid of the server's volume claim. Deleted owners are only searched for in
    /// their scope.
    #[arg(long, value_name = "SCOPE", env = "RAGENGINE_OWNER_SCOPE", default_value = "", hide_default_value = true)]
    pub owner_scope: String,
    /// Whether the owner's sources are deleted with it.
    #[arg(long, value_enum, env = "RAGENGINE_WHEN_OWNER_IS_GONE", default_value = "retain")]
    pub when_owner_is_gone: WhenOwnerIsGone,
    /// Further addresses of the Kubernetes API server, which sources must not use. Its Service is always refused.
    #[arg(long, value_name = "ADDRESS", env = "RAGENGINE_API_SERVER", value_delimiter = ',')]
    pub api_server: Vec<IpAddr>,
}

/// What happens to a source when its owner is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhenOwnerIsGone {
    /// The sources are deleted, with their documents.
    Delete,
    /// The sources stay.
    Retain,
}

/// Arguments of `ragengine ingest`.
#[derive(Debug, Args)]
pub struct Ingest {
    /// A file or folder. Of a folder, all text files are sent except hidden files and files that .gitignore names.
    pub path: PathBuf,
    /// The index. It is created if it does not exist.
    #[arg(long, value_name = "NAME")]
    pub index: String,
    /// The source of these documents, and the start of their ids. [default: the name of the file or folder]
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Delete the documents of this source whose files no longer exist.
    #[arg(long)]
    pub delete_missing: bool,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `ragengine backup`.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to write, or an existing folder, in which the file is named ragengine-YYYYMMDDTHHMMSSZ.tar. The file
    /// appears only when the backup is complete and verified.
    #[arg(long, value_name = "PATH", required_unless_present = "task")]
    pub output: Option<PathBuf>,
    /// A task file (YAML) with the server, a bucket or folder, and the number of backups to keep. See
    /// docs/durability.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "keep", "url", "token_file"])]
    pub task: Option<PathBuf>,
    /// The number of backups to keep in the folder. Older ones are deleted after this one succeeds, except those that a
    /// task with `writer` made.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Fail when no data arrives for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_seconds: u64,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `ragengine restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup file, or a folder, of which the newest backup is used. The file is verified before it is sent.
    #[arg(long, value_name = "PATH", required_unless_present = "task")]
    pub input: Option<PathBuf>,
    /// A task file (YAML) with the server, and the bucket or folder with the backup. See docs/durability.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "url", "token_file"])]
    pub task: Option<PathBuf>,
    /// Replace existing indexes of the same names. Without this, nothing is restored if one of them exists. Other
    /// indexes stay in either case.
    #[arg(long)]
    pub overwrite: bool,
    /// Restore only this index of the backup.
    #[arg(long, value_name = "NAME")]
    pub index: Option<String>,
    /// Fail when the server accepts no data for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_seconds: u64,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// The server to use, and its write token.
#[derive(Debug, Args)]
pub struct Server {
    /// The URL of the server.
    #[arg(long = "server", value_name = "URL", env = "RAGENGINE_SERVER", default_value = "http://127.0.0.1:5000")]
    pub url: String,
    /// A file with the server's write token, if it needs one. [default: the token in the environment variable
    /// RAGENGINE_WRITE_TOKEN, if it is set]
    #[arg(long, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
}
