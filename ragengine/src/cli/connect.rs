use anyhow::anyhow;
use ragengine_client::{Client, ClientError};
use ragengine_settings::SecretReference;

use crate::args::Server;
use crate::secrets;

/// The variable that holds the server's write token, when no file does.
const TOKEN_VARIABLE: &str = "RAGENGINE_WRITE_TOKEN";

/// A client with the write token, where there is one.
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

/// What the command's caller can do about it.
pub fn with_advice(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ClientError>() {
        Some(refused) if refused.is_unauthorized() => {
            anyhow!("{refused}: give the token with --token-file PATH, or in {TOKEN_VARIABLE}")
        }
        Some(unreachable) if unreachable.is_unreachable() => {
            anyhow!("{unreachable}: start the server with `ragengine serve`, or name another with --server")
        }
        _ => error,
    }
}
