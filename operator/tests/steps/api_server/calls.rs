use std::fmt;
use std::time::Duration;

/// A recorded request.
#[derive(Clone, PartialEq, Eq)]
pub struct Call {
    /// The RBAC verb.
    pub verb: &'static str,
    /// The RBAC resource, with its subresource: `deployments`, `indexes/status`.
    pub resource: String,
    /// Empty in a `create`, whose name is in the body.
    pub name: String,
    /// The HTTP status, or `None` without an answer.
    pub status: Option<u16>,
}

impl fmt::Debug for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        write!(formatter, "{} {} {} {status}", self.verb, self.resource, self.name)
    }
}

impl Call {
    /// Whether the request only reads.
    pub fn is_read(&self) -> bool {
        ["get", "list", "watch"].contains(&self.verb)
    }
}

/// How a request fails.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Refused with this HTTP status and message. Nothing is stored.
    Refusal(u16, &'static str),
    /// Never answered. Nothing is stored.
    Silence,
    /// Stored, but the reply is not JSON.
    Garbage,
    /// Stored at once, and answered after this time.
    Late(Duration),
}

/// Whether the cluster has Karpenter's definitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Karpenter {
    #[default]
    Absent,
    Present,
    /// The API server does not say.
    Silent,
}
