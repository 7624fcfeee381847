use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

/// The commands of one session. Their paths are those of the standard, below `/session/{id}`.
pub struct Wire {
    session: String,
    http: reqwest::Client,
}

/// Why the driver did not do something: the name of the error, as in the standard, and its description.
#[derive(Debug)]
pub struct Failure {
    pub error: String,
    pub message: String,
}

impl Failure {
    /// Whether the page may become ready for the command a moment later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self.error.as_str(),
            "no such element"
                | "stale element reference"
                | "element not interactable"
                | "element click intercepted"
                | "invalid element state"
        )
    }
}

impl Wire {
    /// Begins a session of the driver at this address.
    pub async fn connect(driver: &str, capabilities: &Value) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().unwrap();
        let request = http.post(format!("{driver}/session")).json(capabilities);
        let started = value(request).await.unwrap_or_else(|failure| panic!("no browser: {failure:?}"));
        Self { session: format!("{driver}/session/{}", started["sessionId"].as_str().unwrap()), http }
    }

    pub async fn get(&self, command: &str) -> Result<Value, Failure> {
        value(self.http.get(format!("{}/{command}", self.session))).await
    }

    pub async fn post(&self, command: &str, body: Value) -> Result<Value, Failure> {
        value(self.http.post(format!("{}/{command}", self.session)).json(&body)).await
    }
}

async fn value(request: reqwest::RequestBuilder) -> Result<Value, Failure> {
    let reply: Value = request.send().await.unwrap().json().await.unwrap();
    let text = |name: &str| reply["value"][name].as_str().unwrap_or_default().to_owned();
    match &reply["value"]["error"] {
        Value::String(error) => Err(Failure { error: error.clone(), message: text("message") }),
        _ => Ok(reply["value"].clone()),
    }
}

/// The path of the first of these programs that is installed.
pub fn find_program(names: &[&str]) -> String {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    let mut paths = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = paths.find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("none of {names:?} is installed: run `make setup`")).to_str().unwrap().to_owned()
}
