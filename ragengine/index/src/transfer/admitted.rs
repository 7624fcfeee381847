//! Checks the embedding settings of a backup. They are untrusted: an attacker could use them to get a key of this
//! server.

use ragengine_settings::{EmbeddingSource, LocalEmbedding, RemoteEmbedding};

/// Returns the settings without what a stranger must not control: a key is only sent where it is sent already, models
/// are fetched only from known hubs, and they run with this server's number of threads. An endpoint may be anywhere,
/// because it gets only the texts of the index that names it. `known` are the settings of the server, which come first,
/// and of its indexes.
pub(super) fn admitted(source: EmbeddingSource, known: &[EmbeddingSource]) -> EmbeddingSource {
    match source {
        EmbeddingSource::Remote(mut remote) => {
            let is_known = remotes(known).any(|other| other.url == remote.url && other.api_key == remote.api_key);
            remote.api_key = remote.api_key.filter(|_| is_known);
            EmbeddingSource::Remote(remote)
        }
        EmbeddingSource::Local(mut local) => {
            let usual = LocalEmbedding::default();
            let own = locals(known).next().unwrap_or(&usual);
            (local.threads, local.queue) = (own.threads, own.queue);
            let same_hub = |other: &&LocalEmbedding| other.hub_url == local.hub_url;
            match locals(known).find(same_hub).or((local.hub_url == usual.hub_url).then_some(&usual)) {
                Some(hub) => local.hub_token.clone_from(&hub.hub_token),
                None => (local.hub_url, local.hub_token) = (own.hub_url.clone(), own.hub_token.clone()),
            }
            EmbeddingSource::Local(local)
        }
    }
}

fn remotes(known: &[EmbeddingSource]) -> impl Iterator<Item = &RemoteEmbedding> {
    known.iter().filter_map(|source| match source {
        EmbeddingSource::Remote(remote) => Some(remote),
        EmbeddingSource::Local(_) => None,
    })
}

fn locals(known: &[EmbeddingSource]) -> impl Iterator<Item = &LocalEmbedding> {
    known.iter().filter_map(|source| match source {
        EmbeddingSource::Local(local) => Some(local),
        EmbeddingSource::Remote(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(json: &str) -> EmbeddingSource {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_key_is_only_sent_where_it_is_sent_already() {
        let known = [
            source(r#"{"remote": {"url": "https://a/v1", "model": "m", "apiKey": {"env": "A"}}}"#),
            source(r#"{"local": {"hubUrl": "https://mirror", "hubToken": {"env": "T"}}}"#),
        ];
        // The settings in the backup, and what remains of them.
        let table = [
            (r#"{"remote": {"url": "https://a/v1", "model": "other", "apiKey": {"env": "A"}}}"#, None),
            (r#"{"remote": {"url": "https://b/v1", "model": "m"}}"#, None),
            (
                r#"{"remote": {"url": "https://b/v1", "model": "m", "apiKey": {"env": "A"}}}"#,
                Some(r#"{"remote": {"url": "https://b/v1", "model": "m"}}"#),
            ),
            (
                r#"{"remote": {"url": "https://a/v1", "model": "m", "apiKey": {"file": "/etc/passwd"}}}"#,
                Some(r#"{"remote": {"url": "https://a/v1", "model": "m"}}"#),
            ),
            (r#"{"local": {"modelID": "a/b", "hubUrl": "https://mirror", "hubToken": {"env": "T"}}}"#, None),
            (r#"{"local": {"modelID": "a/b"}}"#, None),
            (
                r#"{"local": {"modelID": "a/b", "threads": 4000000000, "queue": 0}}"#,
                Some(r#"{"local": {"modelID": "a/b"}}"#),
            ),
            (
                r#"{"local": {"modelID": "a/b", "hubToken": {"file": "/etc/passwd"}}}"#,
                Some(r#"{"local": {"modelID": "a/b"}}"#),
            ),
            (
                r#"{"local": {"modelID": "a/b", "hubUrl": "https://evil", "hubToken": {"env": "T"}}}"#,
                Some(r#"{"local": {"modelID": "a/b", "hubUrl": "https://mirror", "hubToken": {"env": "T"}}}"#),
            ),
        ];
        for (sent, left) in table {
            assert_eq!(admitted(source(sent), &known), source(left.unwrap_or(sent)), "{sent}");
        }
        let usual = source(r#"{"local": {"modelID": "a/b"}}"#);
        assert_eq!(admitted(source(r#"{"local": {"modelID": "a/b", "hubUrl": "https://evil"}}"#), &[]), usual);
    }
}
