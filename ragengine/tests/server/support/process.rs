use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::model_directory;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ragengine");

/// A server in a process of its own.
pub struct Process {
    child: Child,
    pub url: String,
}

/// A command with the test's settings and none of the caller's environment that could change them.
pub fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    for name in ["LISTEN", "DATA_DIR", "LLM_URL", "LLM_API_KEY", "LLM_MODEL", "EMBEDDING_MODEL", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}

impl Process {
    /// Starts a server on a data folder and waits until it is ready.
    pub fn start(data: &Path) -> Self {
        let port = free_port();
        let mut child = command(data, port).stderr(Stdio::null()).spawn().unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_ready(&url) {
            assert!(child.try_wait().unwrap().is_none(), "the server ended");
            assert!(Instant::now() < deadline, "the server was not ready in time");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { child, url }
    }

    /// SIGKILL: nothing that the program does about its end is done.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and the exit code.
    pub fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn command(data: &Path, port: u16) -> Command {
    let mut command = program();
    command
        .arg("serve")
        .env("LISTEN", format!("127.0.0.1:{port}"))
        .env("DATA_DIR", data)
        .env("EMBEDDING_MODEL", model_directory())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// What a server that must not start says before it ends.
pub fn refusal(data: &Path) -> String {
    let mut child = command(data, free_port()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success(), "it started");
    said
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_ready(url: &str) -> bool {
    let (url, http) = (format!("{url}/readyz"), reqwest::Client::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { http.get(url).send().await.is_ok_and(|response| response.status().is_success()) })
}
