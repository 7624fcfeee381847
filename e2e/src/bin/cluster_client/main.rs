//! What the tests have done from within the cluster, where there is no shell. Each command prints one line of JSON, or ends with an error.

mod content;
mod control;
mod disk;
mod files;
mod folder;
mod git;
mod kill;
mod request;
mod s3;
mod tls;
mod upstream;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
#[command(name = "cluster-client")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Sends a request and prints the reply.
    Request {
        /// Its method.
        method: reqwest::Method,
        /// Where it goes.
        url: reqwest::Url,
        /// Its body, which is JSON.
        #[arg(long)]
        body: Option<String>,
        /// The status that the reply must have.
        #[arg(long)]
        expect: Option<u16>,
        /// How long a connection is tried, and then how long the reply may take.
        #[arg(long, default_value_t = 120)]
        timeout_seconds: u64,
        /// A bearer token to send.
        #[arg(env = "BEARER_TOKEN", long, hide_env_values = true)]
        token: Option<String>,
    },
    /// Kills the only process of a pod that has this program, with SIGKILL. It has to see the node's processes.
    Kill {
        /// The pod's uid.
        #[arg(long)]
        pod_uid: String,
        /// The program's name, up to 15 bytes, as `ps` shows it.
        #[arg(long)]
        program: String,
    },
    /// Writes to a file until the file system is full.
    Fill {
        /// The file.
        file: PathBuf,
    },
    /// Removes a file.
    Remove {
        /// The file.
        file: PathBuf,
    },
    /// Answers as a language model and as an embedding model would, until SIGTERM.
    Upstream {
        /// Where it listens.
        #[arg(long, default_value_t = 8000)]
        port: u16,
        /// The only key that it takes. Not set: it takes all, and none.
        #[arg(long)]
        key: Option<String>,
        /// What it answers to every question.
        #[arg(long, default_value = "I was told to say this.")]
        answer: String,
    },
    /// Serves the files of a folder over http, until SIGTERM.
    Files {
        /// The folder.
        folder: PathBuf,
        /// The only bearer token that it takes. Not set: it takes all, and none.
        #[arg(long)]
        token: Option<String>,
    },
    /// Serves a repository over https, until SIGTERM.
    Git {
        /// Where the repository is made.
        work: PathBuf,
        /// The name that the certificate is for.
        #[arg(long)]
        host: String,
        /// Who may read it.
        #[arg(long)]
        username: String,
        /// With which password.
        #[arg(long)]
        password: String,
    },
    /// Serves a bucket as S3 does, until SIGTERM.
    S3 {
        /// Where the bucket is made.
        work: PathBuf,
        /// The access key of who may read it.
        #[arg(long)]
        access_key: String,
        /// The secret key that belongs to it.
        #[arg(long)]
        secret_key: String,
    },
    /// Waits for SIGTERM, so that other commands can be run beside it.
    Wait,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let printed = match Arguments::parse().command {
        Command::Request { method, url, body, expect, timeout_seconds, token } => {
            let timeout = Duration::from_secs(timeout_seconds);
            request::send(request::Request { method, url, body, expect, timeout, token }).await?
        }
        Command::Kill { pod_uid, program } => kill::kill(&pod_uid, &program)?,
        Command::Fill { file } => disk::fill(&file)?,
        Command::Remove { file } => disk::remove(&file)?,
        Command::Upstream { port, key, answer } => return upstream::serve(port, key, answer).await,
        Command::Files { folder, token } => return files::serve(folder, token).await,
        Command::Git { work, host, username, password } => return git::serve(work, &host, &username, &password).await,
        Command::S3 { work, access_key, secret_key } => return s3::serve(work, access_key, secret_key).await,
        Command::Wait => {
            signal(SignalKind::terminate())?.recv().await;
            return Ok(());
        }
    };
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(())
}
