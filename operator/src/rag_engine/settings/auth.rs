//! Who may use the server.

use std::path::Path;

use ragengine_operator_api::{AccessRules, Auth, DefaultAccess, RagEngineSpec, WRITE_TOKEN, Writes};
use ragengine_settings::{self as settings, Settings};

use super::{Access, api_keys_folder, named};
use crate::access_rules::{default_access, wrong_rule};
use crate::defaults::Defaults;
use crate::names::Identity;

/// The folder of the files that the operator hands over. The server reads them again when they change.
pub const AUTH_FOLDER: &str = "/etc/ragengine-auth";
/// The key of the rules of indexes in the ConfigMap, and their name in [`AUTH_FOLDER`].
pub const ACCESS_FILE: &str = "access.yaml";
/// The key of the keys of the cluster's ServiceAccount tokens, and their name in [`AUTH_FOLDER`].
pub const KEYS_FILE: &str = "jwks.json";

/// Whether callers of an engine must prove who they are.
pub fn has_modes(spec: &RagEngineSpec) -> bool {
    !spec.auth.modes.is_empty()
}

/// The settings of a specification. The name of the cluster's issuer is that of most clusters: see
/// [`with_cluster_issuer`].
pub(super) fn auth(auth: &Auth, identity: &Identity, defaults: &Defaults) -> settings::Auth {
    let Auth { writes, modes, api_keys_secret, default_access: _, session_token, jwt } = auth;
    let of_server = settings::Auth::default();
    let AccessRules { read, write } = default_access(auth);
    let has_modes = !modes.is_empty();
    let further = jwt.iter().map(|issuer| settings::JwtIssuer {
        issuer: issuer.issuer.clone(),
        audience: issuer.audience.clone(),
        jwks_url: Some(issuer.jwks_url.clone()),
        ..settings::JwtIssuer::default()
    });
    let key_prefix = session_token.as_ref().and_then(|session| session.key_prefix.clone());
    settings::Auth {
        write_token: (*writes == Writes::Token).then(|| Access::Write.file()),
        write_token_source: (*writes == Writes::Token).then(|| {
            let secret = format!(
                "the Secret {} (key {WRITE_TOKEN}) in the namespace {}",
                identity.write_token(),
                identity.namespace
            );
            // With modes, writes cannot be open.
            if has_modes {
                secret
            } else {
                format!("{secret}; auth.writes: open in the RAGEngine lets everybody write")
            }
        }),
        modes: modes.iter().filter_map(|mode| named(Some(mode), None)).collect(),
        api_keys_folder: api_keys_secret.as_ref().map(|_| api_keys_folder()),
        access_file: has_modes.then(|| Path::new(AUTH_FOLDER).join(ACCESS_FILE)),
        default_access: settings::AccessRules { read, write },
        session_token: settings::SessionToken { key_prefix: key_prefix.unwrap_or(of_server.session_token.key_prefix) },
        jwt: has_modes.then(|| of_the_cluster(identity, defaults)).into_iter().chain(further).collect(),
        ..settings::Auth::default()
    }
}

fn of_the_cluster(identity: &Identity, defaults: &Defaults) -> settings::JwtIssuer {
    let Identity { name, namespace, .. } = identity;
    settings::JwtIssuer {
        issuer: format!("https://kubernetes.default.svc.{}", defaults.cluster_domain),
        audience: format!("http://{name}.{namespace}.svc"),
        jwks_url: None,
        jwks_file: Some(Path::new(AUTH_FOLDER).join(KEYS_FILE)),
        kubernetes: true,
    }
}

/// The settings with the name of the cluster's issuer as the API server states it. A further issuer of the same name is
/// left out: the server refuses two, and only the cluster's has the right keys.
pub fn with_cluster_issuer(mut settings: Settings, issuer: &str) -> Settings {
    settings.auth.jwt.retain(|found| found.kubernetes || found.issuer != issuer);
    let of_cluster = settings.auth.jwt.iter_mut().filter(|found| found.kubernetes);
    of_cluster.for_each(|found| issuer.clone_into(&mut found.issuer));
    settings
}

/// What is wrong with rules that the definition does not refuse.
pub(super) fn wrong_rules(auth: &Auth) -> Vec<String> {
    let DefaultAccess { read, write } = auth.default_access.clone().unwrap_or_default();
    let wrong = |list: &str, rules: Option<Vec<String>>| {
        wrong_rule(rules.iter().flatten()).map(|wrong| format!("auth.defaultAccess.{list}: {wrong}"))
    };
    [wrong("read", read), wrong("write", write)].into_iter().flatten().collect()
}
