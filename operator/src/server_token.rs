//! The token that the operator sends to servers whose callers must prove who they are.

use std::path::PathBuf;

use parking_lot::Mutex;
use tracing::warn;

/// The longest token, in bytes. Longer ones are not sent.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A projected token of the operator's ServiceAccount, in a file. The kubelet replaces it before it expires, so it is
/// read at each use.
#[derive(Debug, Default)]
pub struct ServerToken {
    file: Option<PathBuf>,
    /// Whether the last read failed, which is logged once.
    is_unreadable: Mutex<bool>,
}

impl ServerToken {
    /// The token in this file. None: no token is sent.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file, is_unreadable: Mutex::default() }
    }

    /// The token that is valid now. None: there is none, or it cannot be read.
    pub async fn read(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        let read = tokio::fs::read_to_string(file).await.map_err(|error| error.to_string()).and_then(usable);
        let was_unreadable = std::mem::replace(&mut *self.is_unreadable.lock(), read.is_err());
        match read {
            Ok(token) => Some(token),
            Err(error) => {
                if !was_unreadable {
                    let file = file.display();
                    warn!(%file, error, "the operator's token for servers cannot be read: they refuse its questions");
                }
                None
            }
        }
    }
}

fn usable(text: String) -> Result<String, String> {
    let token = text.trim();
    if !(1..=MAX_TOKEN_BYTES).contains(&token.len()) {
        return Err(format!("it has {} bytes instead of 1 to {MAX_TOKEN_BYTES}", token.len()));
    }
    Ok(if token.len() == text.len() { text } else { token.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_token_is_read_at_each_use() {
        let file = std::env::temp_dir().join(format!("ragengine-operator-token-{}", std::process::id()));
        let token = ServerToken::new(Some(file.clone()));
        assert_eq!(token.read().await, None, "the file does not exist");
        for text in ["first", "second\n"] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(token.read().await.as_deref(), Some(text.trim()));
        }
        std::fs::write(&file, "\n").unwrap();
        assert_eq!(token.read().await, None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(ServerToken::default().read().await, None);
    }
}
