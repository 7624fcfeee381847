use crate::{Invalid, Settings, validate};

/// An error in the settings file.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is not YAML, has an unknown field, or has a value of the wrong type. The text has the line and column.
    #[error("{0}")]
    Syntax(String),
    /// The file is well-formed, but values are out of bounds or contradict each other.
    #[error("{}", list(.0))]
    Invalid(Vec<Invalid>),
}

fn list(invalid: &[Invalid]) -> String {
    invalid.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Parses settings from YAML. An empty text gives the defaults.
///
/// # Errors
///
/// [`SettingsError::Syntax`] with the position, or [`SettingsError::Invalid`] with every invalid setting.
pub fn from_yaml(yaml: &str) -> Result<Settings, SettingsError> {
    let settings = if is_blank(yaml) {
        Settings::default()
    } else {
        serde_saphyr::from_str(yaml).map_err(|error| {
            // The snippet is removed because it may quote a secret that was written there by mistake.
            SettingsError::Syntax(error.without_snippet().to_string())
        })?
    };
    match validate(&settings) {
        invalid if invalid.is_empty() => Ok(settings),
        invalid => Err(SettingsError::Invalid(invalid)),
    }
}

/// Whether the text has only comments, which YAML reads as null and not as an empty mapping.
fn is_blank(yaml: &str) -> bool {
    yaml.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#') || line == "---")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EmbeddingSource, SecretReference, VectorIndexKind};

    #[test]
    fn an_empty_file_gives_the_defaults() {
        for yaml in ["", "\n", "# only a comment\n", "---\n", "# a comment\n\n---\n"] {
            assert_eq!(from_yaml(yaml).unwrap(), Settings::default());
        }
    }

    #[test]
    fn settings_are_read_from_yaml() {
        let settings = from_yaml(
            "listen: 0.0.0.0:5000\ndataDir: /mnt/data\nvectorIndex: HNSW16_SQ8\nchunking: {maxTokens: 200}\n\
             embedding: {remote: {url: 'https://e/v1', model: m, dimensions: 3072, apiKey: {file: /run/key}}}\n\
             inferenceService: {url: 'http://l/v1', apiKey: {env: LLM_KEY}, contextWindowSize: 32768}\n",
        )
        .unwrap();
        assert_eq!(settings.vector_index, VectorIndexKind::HnswSq8 { m: 16 });
        assert_eq!(settings.chunking.max_tokens, Some(200));
        assert_eq!(settings.inference_service.api_key, Some(SecretReference::Env("LLM_KEY".into())));
        let EmbeddingSource::Remote(remote) = settings.embedding.source() else { panic!("not remote") };
        assert_eq!((remote.dimensions, remote.batch_size), (Some(3072), 64));
        assert_eq!((remote.max_tokens, remote.timeout_seconds), (8191, 60));
        assert_eq!(remote.api_key, Some(SecretReference::File("/run/key".into())));
    }

    #[test]
    fn settings_survive_being_written_and_read() {
        let yaml = serde_saphyr::to_string(&Settings::default()).unwrap();
        assert_eq!(from_yaml(&yaml).unwrap(), Settings::default(), "{yaml}");
    }

    #[test]
    fn a_secret_written_instead_of_its_location_is_not_quoted() {
        for yaml in [
            "auth:\n  writeToken: hunter2\n",
            "auth: {writeToken: [hunter2]}\n",
            "auth: {writeToken: {value: hunter2}}\n",
            "auth: {writeToken: {hunter2: x}}\n",
            "inferenceService: {apiKey: hunter2, url: 1}\n",
            "listen: x\nauth: {writeToken: {env: A, file: hunter2}}\n",
        ] {
            let message = from_yaml(yaml).unwrap_err().to_string();
            assert!(!message.contains("hunter2") && message.contains("line"), "{message}");
        }
        let message = from_yaml("auth: {writeToken: hunter2}\n").unwrap_err().to_string();
        assert!(message.contains("{env: NAME}") && message.contains("{file: PATH}"), "{message}");
    }

    #[test]
    fn a_secret_that_looks_like_a_number_is_not_quoted() {
        let secrets = ["12345678", "-12345678", "1234.5678", "20000000000000000000", "300000000000000000000000000000"];
        for secret in secrets {
            let message = from_yaml(&format!("auth: {{writeToken: {secret}}}")).unwrap_err().to_string();
            assert!(message.contains("{env: NAME}"), "{message}");
            assert!(!message.contains(secret.trim_start_matches('-')), "{message}");
        }
    }

    #[test]
    fn an_unknown_field_is_reported_with_its_position() {
        let message = from_yaml("listen: 127.0.0.1:1\nretrieval:\n  maxDistanse: 1.0\n").unwrap_err().to_string();
        assert!(message.contains("maxDistanse") && message.contains('3'), "{message}");
    }

    #[test]
    fn a_wrong_type_is_reported_with_its_position() {
        let message = from_yaml("retrieval:\n  minTopK: lots\n").unwrap_err().to_string();
        assert!(message.contains('2'), "{message}");
    }
}
