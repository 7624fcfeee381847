use serde::Deserialize;

use super::{IssuerOptions, OPERATOR_AUDIENCE};
use crate::{Identity, Principal};

/// What the subjects of Kubernetes' service accounts begin with.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The claims that are read.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    aud: Audiences,
    /// In seconds since 1970.
    pub exp: f64,
    groups: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audiences {
    One(String),
    Several(Vec<String>),
}

/// The claim that selects the issuer, before anything was checked.
#[derive(Deserialize)]
pub(super) struct IssuerOnly {
    pub iss: String,
}

/// What a token says whose signature, times, issuer and audience are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verified {
    /// The caller.
    pub identity: Identity,
    /// Whether the token is for this server.
    pub is_for_server: bool,
    /// Whether the token is from the cluster's issuer and for the operator's use of servers.
    pub is_for_operator: bool,
}

impl Claims {
    /// What the claims say.
    ///
    /// # Errors
    ///
    /// Which claim is wrong, without its value.
    pub fn verified(&self, issuer: &IssuerOptions) -> Result<Verified, &'static str> {
        if self.iss != issuer.issuer {
            return Err("iss is another issuer");
        }
        let is_for_server = self.aud.include(&issuer.audience);
        let is_for_operator = issuer.kubernetes && self.aud.include(OPERATOR_AUDIENCE);
        if !is_for_server && !is_for_operator {
            return Err("aud does not include this server");
        }
        let principal = principal(&self.sub, issuer.kubernetes)?;
        let identity = Identity::with_groups(principal, self.groups.as_deref().unwrap_or_default());
        Ok(Verified { identity, is_for_server, is_for_operator })
    }
}

impl Audiences {
    fn include(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Several(several) => several.iter().any(|one| one == audience),
        }
    }
}

/// The caller of a subject. Only the cluster's issuer names service accounts.
fn principal(subject: &str, is_cluster: bool) -> Result<Principal, &'static str> {
    let account = subject.strip_prefix(SERVICE_ACCOUNT).filter(|_| is_cluster);
    let principal = match account.map(|account| account.split_once(':')) {
        Some(Some((namespace, name))) => Principal::service_account(namespace, name),
        Some(None) => return Err("sub is not a service account"),
        None => Principal::user(subject),
    };
    principal.map_err(|_| "sub cannot be the name of a caller")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_user_or_a_service_account_of_the_cluster() {
        for (subject, is_cluster, expected) in [
            ("ann", false, Some("user:ann")),
            ("ann", true, Some("user:ann")),
            ("system:serviceaccount:web:app", true, Some("serviceAccount:web/app")),
            ("system:serviceaccount:web:app", false, Some("user:system:serviceaccount:web:app")),
            ("system:node:n1", true, Some("user:system:node:n1")),
            ("system:serviceaccount:web", true, None),
            ("system:serviceaccount:web:", true, None),
            ("system:serviceaccount:web:*", true, None),
            ("system:serviceaccount:we/b:a", true, None),
            ("system:serviceaccount:a:b:c", true, None),
            ("", false, None),
            ("a\nb", false, None),
        ] {
            let got = principal(subject, is_cluster).ok();
            assert_eq!(got.as_ref().map(Principal::as_str), expected, "{subject}");
        }
    }
}
