//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Retrieval-augmented chat over the OpenAI API, answered from your documents, with their sources.
#[derive(Debug, Parser)]
#[command(name = "ragengine", version, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the server.
    Serve(SettingsFile),
    /// Send a file or the files of a folder to a running server. A second time only what changed is sent.
    Ingest(Ingest),
    /// Write a backup of all indexes of a running server to a file, or to a new file in a folder.
    Backup(Backup),
    /// Make all indexes of a backup in a running server.
    Restore(Restore),
    /// Make an index of a running server hold exactly what the sources of a task hold: what an Index resource has done in the cluster.
    ///
    /// Sources are asked through the proxies that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name, the server is asked directly.
    Sync(Sync),
    /// Read files for another process of this program.
    #[command(hide = true)]
    ParseWorker,
    /// Read the settings, say what is wrong with them, and start nothing.
    CheckConfig(SettingsFile),
    /// Print the server's API as an OpenAPI document.
    Openapi,
    /// Print every setting with its meaning and default, as Markdown.
    SettingsReference,
    /// Print the reference of all metrics, in Markdown.
    MetricsReference,
}

/// Where the settings are.
#[derive(Debug, Args)]
pub struct SettingsFile {
    /// The settings, a YAML file. Without one the defaults hold.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What is to be done.
#[derive(Debug, Args)]
pub struct Sync {
    /// The task, a YAML file: the server, the index, the sources. docs/sync.md describes it.
    #[arg(long, value_name = "FILE")]
    pub task: PathBuf,
    /// An existing folder for files while they are looked at. [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub work_folder: Option<PathBuf>,
    /// Refuse a task of another synchronisation than this one.
    #[arg(long, value_name = "ID", env = "RAGENGINE_SYNC_ID")]
    pub sync_id: Option<String>,
    /// The uid of the task's owner, which the server keeps beside its sources.
    #[arg(long, value_name = "UID", env = "RAGENGINE_OWNER_UID")]
    pub owner_uid: Option<String>,
    /// Where the owner is known: whoever looks for owners that are gone looks at those of one scope.
    #[arg(long, value_name = "SCOPE", env = "RAGENGINE_OWNER_SCOPE", default_value = "", hide_default_value = true)]
    pub owner_scope: String,
    /// What becomes of the owner's sources when it is gone.
    #[arg(long, value_enum, env = "RAGENGINE_WHEN_OWNER_IS_GONE", default_value = "retain")]
    pub when_owner_is_gone: WhenOwnerIsGone,
    /// Addresses of the Kubernetes API server, besides its Service's: sources may not use them.
    #[arg(long, value_name = "ADDRESS", env = "RAGENGINE_API_SERVER", value_delimiter = ',')]
    pub api_server: Vec<IpAddr>,
}

/// What becomes of a source when its owner is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhenOwnerIsGone {
    /// It is deleted, by whoever looks for owners that are gone.
    Delete,
    /// It stays.
    Retain,
}

/// What is sent, and where to.
#[derive(Debug, Args)]
pub struct Ingest {
    /// A file, or a folder: its text files are sent, without what its .gitignore names and without hidden files.
    pub path: PathBuf,
    /// The index. It is made when it is not there.
    #[arg(long, value_name = "NAME")]
    pub index: String,
    /// The name that groups these documents in the index. Their ids begin with it. [default: the name of the file or folder]
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Delete documents of this source whose files are gone.
    #[arg(long)]
    pub delete_missing: bool,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// What is backed up, and where to.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file, which is there only when the backup is whole and has been read again; or an existing folder for a file
    /// ragengine-YYYYMMDDTHHMMSSZ.tar.
    #[arg(long, value_name = "PATH")]
    pub output: PathBuf,
    /// In a folder: delete all but so many of the newest backups after this one.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Give up when nothing has arrived for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_seconds: u64,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// What is restored, and into what.
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup, or a folder for the newest that `backup` has made in it. It is read once before anything is sent.
    #[arg(long, value_name = "PATH")]
    pub input: PathBuf,
    /// Put its indexes in the place of those that have their names. Without this, one that is there stops all of it. Other indexes stay in any
    /// case.
    #[arg(long)]
    pub overwrite: bool,
    /// Restore only this index of the backup.
    #[arg(long, value_name = "NAME")]
    pub index: Option<String>,
    /// Give up when nothing has been taken for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_seconds: u64,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// Which server, and what it wants.
#[derive(Debug, Args)]
pub struct Server {
    /// The server.
    #[arg(long = "server", value_name = "URL", env = "RAGENGINE_SERVER", default_value = "http://127.0.0.1:5000")]
    pub url: String,
    /// A file with the server's write token, where it wants one. [default: the token in the environment variable RAGENGINE_WRITE_TOKEN,
    /// when it is set]
    #[arg(long, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
}
