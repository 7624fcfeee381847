use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, anyhow, ensure};
use ragengine_client::{Client, ClientError};
use ragengine_settings::SecretReference;
use serde::de::DeserializeOwned;

use crate::args::Server;
use crate::secrets;

/// The environment variable with the server's write token. `--token-file` takes precedence.
const TOKEN_VARIABLE: &str = "RAGENGINE_WRITE_TOKEN";

/// Creates a client, with the write token if one is given.
///
/// # Errors
///
/// When the URL is invalid or the token cannot be read.
pub fn client(server: &Server) -> anyhow::Result<Client> {
    let client = Client::new(&server.url)?;
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let reference = match &server.token_file {
        Some(path) => Some(SecretReference::File(path.clone())),
        None => is_set(TOKEN_VARIABLE).then(|| SecretReference::Env(TOKEN_VARIABLE.to_owned())),
    };
    match reference {
        Some(reference) => Ok(client.with_token(secrets::read(&reference)?.expose())?),
        None => Ok(client),
    }
}

/// Reads a task file.
///
/// # Errors
///
/// When the file cannot be read or is invalid.
pub fn read_task<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the task {}", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("the task in {} is invalid", path.display()))
}

/// Creates a client for the server of a task. The proxies in the environment are for hosts outside the cluster, so it
/// uses none.
///
/// # Errors
///
/// When the URL is invalid, or the authorities or the token cannot be read.
pub fn client_of_task(
    server: &str,
    ca_files: &[PathBuf],
    write_token: Option<&SecretReference>,
) -> anyhow::Result<Client> {
    let client = match authorities(ca_files)? {
        Some(pem) => Client::direct_trusting(server, &pem)?,
        None => Client::direct(server)?,
    };
    match write_token {
        Some(reference) => Ok(client.with_token(secrets::read(reference)?.expose())?),
        None => Ok(client),
    }
}

/// The content of the first of these files that exists and is not empty: some issuers write an empty `ca.crt`. `None` if
/// the task names no file.
fn authorities(files: &[PathBuf]) -> anyhow::Result<Option<Vec<u8>>> {
    for file in files {
        match fs::read(file) {
            Ok(pem) if pem.trim_ascii().is_empty() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return Ok(Some(read.with_context(|| format!("cannot read {}", file.display()))?)),
        }
    }
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    ensure!(files.is_empty(), "serverCaFiles: none of these files has a certificate: {}", names.join(", "));
    Ok(None)
}

/// Adds a remedy to errors about a missing token or an unreachable server.
pub fn with_advice(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ClientError>() {
        Some(refused) if refused.is_unauthorized() => {
            anyhow!(
                "{refused}: give the server's write token, with --token-file PATH or in {TOKEN_VARIABLE} (migrate: \
                 --from-token-file and --to-token-file; a task: writeToken)"
            )
        }
        Some(untrusted @ ClientError::Untrusted { .. }) => {
            anyhow!(
                "{untrusted}: add the certificate of its authority to those of the system, or name its file in \
                 serverCaFiles of the task"
            )
        }
        Some(unreachable) if unreachable.is_unreachable() => {
            anyhow!("{unreachable}: start the server with `ragengine serve`, or correct the URL")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_of_authorities_that_exists_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let [authority, certificate] = ["ca.crt", "tls.crt"].map(|name| folder.path().join(name));
        let files = [authority.clone(), certificate.clone()];
        assert_eq!(authorities(&[]).unwrap(), None);
        let error = authorities(&files).unwrap_err().to_string();
        assert!(error.contains("serverCaFiles") && error.contains("ca.crt") && error.contains("tls.crt"), "{error}");
        fs::write(&certificate, "server").unwrap();
        fs::write(&authority, "\n").unwrap();
        assert_eq!(authorities(&files).unwrap().as_deref(), Some("server".as_bytes()));
        fs::write(&authority, "authority").unwrap();
        assert_eq!(authorities(&files).unwrap().as_deref(), Some("authority".as_bytes()));
    }
}
