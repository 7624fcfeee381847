use anyhow::anyhow;
use ragengine_client::{Client, ClientError};
use ragengine_settings::SecretReference;

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

/// Adds a remedy to errors about a missing token or an unreachable server.
pub fn with_advice(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ClientError>() {
        Some(refused) if refused.is_unauthorized() => {
            anyhow!("{refused}: give the token with --token-file PATH, or in {TOKEN_VARIABLE}")
        }
        Some(unreachable) if unreachable.is_unreachable() => {
            anyhow!("{unreachable}: start the server with `ragengine serve`, or give another URL with --server")
        }
        _ => error,
    }
}
