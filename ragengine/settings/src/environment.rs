use std::net::SocketAddr;

use crate::{Invalid, Reranking, SecretReference, Settings};

/// An environment variable that overrides a setting.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentOverride {
    /// The variable's name.
    pub name: &'static str,
    /// The setting's path in the file.
    pub setting: &'static str,
    apply: fn(&mut Settings, &str) -> Result<(), String>,
}

/// Every environment variable that overrides a setting, in the order in which they apply.
pub const ENVIRONMENT: &[EnvironmentOverride] = &[
    EnvironmentOverride { name: "LISTEN", setting: "listen", apply: listen },
    EnvironmentOverride { name: "ADMIN_LISTEN", setting: "adminListen", apply: admin_listen },
    EnvironmentOverride { name: "DATA_DIR", setting: "dataDir", apply: data_dir },
    EnvironmentOverride {
        name: "EMBEDDING_MODEL",
        setting: "embedding.local.modelID, or embedding.remote.model if embedding.remote is set",
        apply: embedding_model,
    },
    EnvironmentOverride { name: "EMBED_MODEL", setting: "the same as EMBEDDING_MODEL", apply: embedding_model },
    EnvironmentOverride { name: "LLM_URL", setting: "inferenceService.url", apply: llm_url },
    EnvironmentOverride {
        name: "LLM_API_KEY",
        setting: "inferenceService.apiKey (the key itself)",
        apply: llm_api_key,
    },
    EnvironmentOverride { name: "LLM_MODEL", setting: "inferenceService.model", apply: llm_model },
    EnvironmentOverride {
        name: "PRIMARY_MODEL_ID",
        setting: "inferenceService.model (the same as LLM_MODEL)",
        apply: llm_model,
    },
    EnvironmentOverride {
        name: "GEN_MODEL",
        setting: "inferenceService.model (the same as LLM_MODEL)",
        apply: llm_model,
    },
    EnvironmentOverride {
        name: "OPENROUTER_API_KEY",
        setting: "inferenceService.apiKey (the key itself), and inferenceService.url unless it is set",
        apply: openrouter_api_key,
    },
    EnvironmentOverride {
        name: "RAG_DOCUMENT_NODE_TOKEN_APPROXIMATION",
        setting: "retrieval.tokensPerChunk",
        apply: tokens_per_chunk,
    },
    EnvironmentOverride { name: "RERANK_MODEL", setting: "rerank.model", apply: rerank_model },
    EnvironmentOverride { name: "RERANK_SCORE_THRESHOLD", setting: "rerank.scoreSpread", apply: score_spread },
    EnvironmentOverride {
        name: "ENABLE_LLM_RERANKING",
        setting: "endpoints.query.rerank and endpoints.chat.rerank: conditional (true) or never (false)",
        apply: enable_reranking,
    },
    EnvironmentOverride {
        name: "ENABLE_QUERY_REFORMULATION",
        setting: "endpoints.chat.reformulate",
        apply: enable_reformulation,
    },
    EnvironmentOverride {
        name: "MAX_CONTEXT_TOKENS",
        setting: "endpoints.chat.maxContextTokens",
        apply: max_context_tokens,
    },
    EnvironmentOverride { name: "TEMPERATURE", setting: "endpoints.chat.temperature", apply: temperature },
    EnvironmentOverride { name: "MAX_TOKENS", setting: "endpoints.chat.maxTokens", apply: max_tokens },
    EnvironmentOverride { name: "MIN_SIMILARITY", setting: "retrieval.minSimilarity", apply: min_similarity },
    EnvironmentOverride { name: "REDIS_HOST", setting: "redis.url, with REDIS_PORT or 6379", apply: redis_host },
    EnvironmentOverride { name: "REDIS_PORT", setting: "redis.url (needs REDIS_HOST)", apply: redis_port },
    EnvironmentOverride {
        name: "RABBITMQ_HOST",
        setting: "events.url, with RABBITMQ_PORT or 5672",
        apply: rabbitmq_host,
    },
    EnvironmentOverride { name: "RABBITMQ_PORT", setting: "events.url (needs RABBITMQ_HOST)", apply: rabbitmq_port },
    EnvironmentOverride { name: "ENABLE_RESPONSE_CACHE", setting: "cache.enabled", apply: enable_cache },
    EnvironmentOverride { name: "OTEL_EXPORTER_OTLP_ENDPOINT", setting: "tracing.otlpEndpoint", apply: otlp_endpoint },
];

impl Settings {
    /// Applies the variables of [`ENVIRONMENT`] that `lookup` finds. An empty value counts as not set.
    ///
    /// # Errors
    ///
    /// The first variable whose value is invalid for its setting.
    pub fn override_from(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<(), Invalid> {
        refuse(&lookup)?;
        for variable in ENVIRONMENT {
            let Some(value) = lookup(variable.name).filter(|value| !value.is_empty()) else { continue };
            (variable.apply)(self, &value)
                .map_err(|message| Invalid { setting: format!("environment variable {}", variable.name), message })?;
        }
        Ok(())
    }
}

/// Variables that mean the same. Different values are refused, because only one of them could apply.
const SAME: [&[&str]; 3] = [
    &["LLM_MODEL", "PRIMARY_MODEL_ID", "GEN_MODEL"],
    &["EMBEDDING_MODEL", "EMBED_MODEL"],
    &["LLM_API_KEY", "OPENROUTER_API_KEY"],
];

/// Refuses variables that contradict each other, or have no setting.
fn refuse(lookup: &impl Fn(&str) -> Option<String>) -> Result<(), Invalid> {
    let value = |name: &str| lookup(name).filter(|value| !value.is_empty());
    let wrong = |name: &str, message: String| Invalid { setting: format!("environment variable {name}"), message };
    for names in SAME {
        let mut set = names.iter().filter_map(|name| Some((name, value(name)?)));
        let Some((first, of_first)) = set.next() else { continue };
        if let Some((other, _)) = set.find(|(_, of_other)| *of_other != of_first) {
            return Err(wrong(
                other,
                format!("has another value than {first}, which means the same: keep one of them"),
            ));
        }
    }
    match value("RETRIEVAL_URL") {
        None => Ok(()),
        Some(_) => {
            let message = "there is no separate retrieval service, because this server searches its own indexes: \
                           remove the variable";
            Err(wrong("RETRIEVAL_URL", message.to_owned()))
        }
    }
}

fn listen(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.listen = address(value)?;
    Ok(())
}

fn admin_listen(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.admin_listen = Some(address(value)?);
    Ok(())
}

fn address(value: &str) -> Result<SocketAddr, String> {
    value.parse().map_err(|_| format!("'{value}' is not an address and port such as 127.0.0.1:5000"))
}

fn data_dir(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.data_dir = value.into();
    Ok(())
}

fn embedding_model(settings: &mut Settings, value: &str) -> Result<(), String> {
    match &mut settings.embedding.remote {
        Some(remote) => remote.model = value.to_owned(),
        None => settings.embedding.local.get_or_insert_default().model_id = value.to_owned(),
    }
    Ok(())
}

fn llm_url(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.inference_service.url = Some(value.to_owned());
    Ok(())
}

/// Stores a reference instead of the key, so that the settings never hold a secret.
fn llm_api_key(settings: &mut Settings, _value: &str) -> Result<(), String> {
    settings.inference_service.api_key = Some(SecretReference::Env("LLM_API_KEY".to_owned()));
    Ok(())
}

/// As [`llm_api_key`].
fn openrouter_api_key(settings: &mut Settings, _value: &str) -> Result<(), String> {
    settings.inference_service.api_key = Some(SecretReference::Env("OPENROUTER_API_KEY".to_owned()));
    settings.inference_service.url.get_or_insert_with(|| "https://openrouter.ai/api/v1".to_owned());
    Ok(())
}

fn llm_model(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.inference_service.model = Some(value.to_owned());
    Ok(())
}

fn tokens_per_chunk(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.retrieval.tokens_per_chunk = tokens(value)?;
    Ok(())
}

fn rerank_model(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.rerank.model = Some(value.to_owned());
    Ok(())
}

fn score_spread(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.rerank.score_spread = value.parse().map_err(|_| format!("'{value}' is not a number such as 0.05"))?;
    Ok(())
}

fn enable_reranking(settings: &mut Settings, value: &str) -> Result<(), String> {
    let reranking = if boolean(value)? { Reranking::Conditional } else { Reranking::Never };
    (settings.endpoints.query.rerank, settings.endpoints.chat.rerank) = (reranking, reranking);
    Ok(())
}

fn boolean(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("'{value}' is not true or false")),
    }
}

fn enable_reformulation(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.endpoints.chat.reformulate = boolean(value)?;
    Ok(())
}

fn max_context_tokens(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.endpoints.chat.max_context_tokens = tokens(value)?;
    Ok(())
}

fn max_tokens(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.endpoints.chat.max_tokens = tokens(value)?;
    Ok(())
}

fn tokens(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("'{value}' is not a number of tokens"))
}

fn temperature(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.endpoints.chat.temperature =
        value.parse().map_err(|_| format!("'{value}' is not a number such as 0.4"))?;
    Ok(())
}

fn min_similarity(settings: &mut Settings, value: &str) -> Result<(), String> {
    let similarity = value.parse().map_err(|_| format!("'{value}' is not a number such as 0.75"))?;
    settings.retrieval.min_similarity = Some(similarity);
    Ok(())
}

fn redis_host(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.redis.url = Some(format!("redis://{value}:6379"));
    Ok(())
}

/// Replaces the port that [`redis_host`] has set.
fn redis_port(settings: &mut Settings, value: &str) -> Result<(), String> {
    let port: u16 = value.parse().map_err(|_| format!("'{value}' is not a port such as 6379"))?;
    settings.redis.url = Some(with_port(settings.redis.url.as_deref(), port).ok_or("needs REDIS_HOST")?);
    Ok(())
}

fn otlp_endpoint(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.tracing.otlp_endpoint = Some(value.to_owned());
    Ok(())
}

fn rabbitmq_host(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.events.url = Some(format!("amqp://{value}:5672"));
    Ok(())
}

/// Replaces the port that [`rabbitmq_host`] has set.
fn rabbitmq_port(settings: &mut Settings, value: &str) -> Result<(), String> {
    let port: u16 = value.parse().map_err(|_| format!("'{value}' is not a port such as 5672"))?;
    settings.events.url = Some(with_port(settings.events.url.as_deref(), port).ok_or("needs RABBITMQ_HOST")?);
    Ok(())
}

/// An address with another port. None if it has none.
fn with_port(url: Option<&str>, port: u16) -> Option<String> {
    let (address, _) = url?.rsplit_once(':').filter(|(address, _)| address.contains("://"))?;
    Some(format!("{address}:{port}"))
}

fn enable_cache(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.cache.enabled = boolean(value)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overridden(name: &str, value: &str) -> Result<Settings, Invalid> {
        let mut settings = Settings::default();
        settings.override_from(|asked| (asked == name).then(|| value.to_owned()))?;
        Ok(settings)
    }

    #[test]
    fn every_variable_changes_the_settings() {
        for variable in ENVIRONMENT {
            let value = match variable.name {
                "LISTEN" | "ADMIN_LISTEN" => "127.0.0.1:5055",
                "ENABLE_LLM_RERANKING" | "ENABLE_QUERY_REFORMULATION" | "ENABLE_RESPONSE_CACHE" => "false",
                // They have their own tests, because they need another variable.
                "REDIS_PORT" | "RABBITMQ_PORT" => continue,
                _ => "123",
            };
            assert_ne!(overridden(variable.name, value).unwrap(), Settings::default(), "{}", variable.name);
            assert_eq!(overridden(variable.name, "").unwrap(), Settings::default(), "{} empty", variable.name);
        }
    }

    #[test]
    fn a_boolean_is_true_or_false_in_any_case() {
        for (value, enabled) in [("true", true), ("TRUE", true), ("false", false), ("False", false)] {
            let (cache, reformulate) = ("ENABLE_RESPONSE_CACHE", "ENABLE_QUERY_REFORMULATION");
            assert_eq!(overridden(cache, value).unwrap().cache.enabled, enabled, "{value}");
            assert_eq!(overridden(reformulate, value).unwrap().endpoints.chat.reformulate, enabled, "{value}");
            let endpoints = overridden("ENABLE_LLM_RERANKING", value).unwrap().endpoints;
            let reranking = if enabled { Reranking::Conditional } else { Reranking::Never };
            assert_eq!((endpoints.query.rerank, endpoints.chat.rerank), (reranking, reranking), "{value}");
        }
    }

    #[test]
    fn the_embedding_model_overrides_the_source_in_use() {
        let mut settings = crate::from_yaml("embedding: {remote: {url: 'http://a/v1', model: old}}").unwrap();
        settings.override_from(|name| (name == "EMBEDDING_MODEL").then(|| "new".to_owned())).unwrap();
        assert_eq!(settings.embedding.remote.unwrap().model, "new");
        assert_eq!(settings.embedding.local, None);
    }

    #[test]
    fn an_api_key_is_not_copied_into_the_settings() {
        let settings = overridden("LLM_API_KEY", "sk-secret").unwrap();
        assert!(!format!("{settings:?}").contains("sk-secret"));
    }

    #[test]
    fn a_bad_value_names_its_variable() {
        let error = overridden("LISTEN", "here").unwrap_err();
        assert_eq!(
            error.to_string(),
            "environment variable LISTEN: 'here' is not an address and port such as 127.0.0.1:5000"
        );
        assert!(overridden("RAG_DOCUMENT_NODE_TOKEN_APPROXIMATION", "many").is_err());
        assert!(overridden("RERANK_SCORE_THRESHOLD", "near").is_err());
    }

    #[test]
    fn the_address_of_redis_has_two_variables() {
        for (host, port, url) in [
            (Some("cache"), None, "redis://cache:6379"),
            (Some("cache"), Some("7000"), "redis://cache:7000"),
            (Some("[::1]"), Some("7000"), "redis://[::1]:7000"),
        ] {
            let mut settings = Settings::default();
            let lookup = |name: &str| match name {
                "REDIS_HOST" => host.map(str::to_owned),
                "REDIS_PORT" => port.map(str::to_owned),
                _ => None,
            };
            settings.override_from(lookup).unwrap();
            assert_eq!(settings.redis.url.as_deref(), Some(url));
        }
        let lookup = |name: &str| match name {
            "RABBITMQ_HOST" => Some("broker".to_owned()),
            "RABBITMQ_PORT" => Some("5673".to_owned()),
            _ => None,
        };
        let mut settings = Settings::default();
        settings.override_from(lookup).unwrap();
        assert_eq!(settings.events.url.as_deref(), Some("amqp://broker:5673"));
        assert!(overridden("RABBITMQ_PORT", "7000").unwrap_err().to_string().ends_with("needs RABBITMQ_HOST"));
        assert!(overridden("REDIS_PORT", "7000").unwrap_err().to_string().ends_with("needs REDIS_HOST"));
        assert!(overridden("ENABLE_LLM_RERANKING", "maybe").is_err());
        assert!(overridden("MIN_SIMILARITY", "near").is_err());
    }

    #[test]
    fn variables_that_mean_the_same_must_agree() {
        let with = |values: &[(&str, &str)]| {
            let mut settings = Settings::default();
            let lookup =
                |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            settings.override_from(lookup).map(|()| settings)
        };
        let same = with(&[("PRIMARY_MODEL_ID", "gpt-4o"), ("GEN_MODEL", "gpt-4o"), ("LLM_MODEL", "")]).unwrap();
        assert_eq!(same.inference_service.model.as_deref(), Some("gpt-4o"));
        let error = with(&[("LLM_MODEL", "gpt-4o"), ("GEN_MODEL", "gpt-5")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "environment variable GEN_MODEL: has another value than LLM_MODEL, which means the same: keep one of them"
        );
        assert!(with(&[("EMBEDDING_MODEL", "a"), ("EMBED_MODEL", "b")]).is_err());
        let router = with(&[("OPENROUTER_API_KEY", "sk-secret")]).unwrap().inference_service;
        assert_eq!(router.url.as_deref(), Some("https://openrouter.ai/api/v1"));
        let own = with(&[("OPENROUTER_API_KEY", "sk-secret"), ("LLM_URL", "http://a")]).unwrap().inference_service;
        assert_eq!(own.url.as_deref(), Some("http://a"));
        assert!(!format!("{own:?}").contains("sk-secret"));
        let error = with(&[("RETRIEVAL_URL", "http://retrieval:8002")]).unwrap_err();
        assert!(error.to_string().ends_with("remove the variable"));
    }

    #[test]
    fn variables_of_the_reranker_set_its_model_and_its_spread() {
        assert_eq!(overridden("RERANK_MODEL", "small").unwrap().rerank.model.as_deref(), Some("small"));
        assert_eq!(
            overridden("RERANK_SCORE_THRESHOLD", "0.1").unwrap().rerank.score_spread.to_bits(),
            0.1_f32.to_bits()
        );
        let wide = overridden("RERANK_SCORE_THRESHOLD", "1.5").unwrap();
        assert_eq!(crate::validate(&wide)[0].setting, "rerank.scoreSpread");
    }
}
