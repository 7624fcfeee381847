//! Helper program of the tests. It runs in the cluster, in an image without a shell. Each command prints one line of
//! JSON, or ends with an error.

mod content;
mod control;
mod disk;
mod files;
mod folder;
mod git;
mod kill;
mod load;
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
        /// The HTTP method.
        method: reqwest::Method,
        /// The URL.
        url: reqwest::Url,
        /// The body, as JSON.
        #[arg(long)]
        body: Option<String>,
        /// The expected status. Another status is an error.
        #[arg(long)]
        expect: Option<u16>,
        /// The time limit in seconds for connecting, and the time limit for the reply.
        #[arg(long, default_value_t = 120)]
        timeout_seconds: u64,
        /// A bearer token to send.
        #[arg(env = "BEARER_TOKEN", long, hide_env_values = true)]
        token: Option<String>,
    },
    /// Kills the only process of a program in a pod with SIGKILL. Needs access to the node's processes.
    Kill {
        /// The pod's uid.
        #[arg(long)]
        pod_uid: String,
        /// The program's name as `ps` shows it, up to 15 bytes.
        #[arg(long)]
        program: String,
    },
    /// Writes to a file until the file system is full.
    Fill {
        /// The path of the file.
        file: PathBuf,
    },
    /// Removes a file.
    Remove {
        /// The path of the file.
        file: PathBuf,
    },
    /// Serves a scripted language model and embedding model, until SIGTERM.
    Upstream {
        /// The port to listen on.
        #[arg(long, default_value_t = 8000)]
        port: u16,
        /// The only API key that is accepted. Default: every request is accepted.
        #[arg(long)]
        key: Option<String>,
        /// The answer to every question.
        #[arg(long, default_value = "This is a scripted answer.")]
        answer: String,
    },
    /// Writes, deletes, searches and chats until SIGTERM, and reports whether each answer was right.
    Load {
        /// The base URL of the server.
        server: reqwest::Url,
        /// The index.
        index: String,
    },
    /// Serves the files of a folder over http, until SIGTERM.
    Files {
        /// The path of the folder.
        folder: PathBuf,
        /// The only bearer token that is accepted. Default: every request is accepted.
        #[arg(long)]
        token: Option<String>,
    },
    /// Serves a repository over https, until SIGTERM.
    Git {
        /// The folder for the repository.
        work: PathBuf,
        /// The host name in the certificate.
        #[arg(long)]
        host: String,
        /// The user who may read the repository.
        #[arg(long)]
        username: String,
        /// The user's password.
        #[arg(long)]
        password: String,
    },
    /// Serves a bucket over the S3 protocol, until SIGTERM.
    S3 {
        /// The folder for the bucket.
        work: PathBuf,
        /// The access key of the user who may read the bucket.
        #[arg(long)]
        access_key: String,
        /// The secret key of that user.
        #[arg(long)]
        secret_key: String,
    },
    /// Waits for SIGTERM, so that a test can run other commands in the container.
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
        Command::Load { server, index } => return load::run(server, index).await,
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
