use std::fmt;
use std::time::Duration;

/// A request that was answered, or not.
#[derive(Clone, PartialEq, Eq)]
pub struct Call {
    /// In the words of RBAC.
    pub verb: &'static str,
    /// In the words of RBAC.
    pub resource: String,
    /// Empty where the object has no name yet.
    pub name: String,
    /// None: there was no answer.
    pub status: Option<u16>,
}

impl fmt::Debug for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        write!(formatter, "{} {} {} {status}", self.verb, self.resource, self.name)
    }
}

impl Call {
    /// Whether it is one of those that change nothing.
    pub fn is_read(&self) -> bool {
        ["get", "list", "watch"].contains(&self.verb)
    }
}

/// How a request goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It is refused, and nothing is done.
    Refusal(u16, &'static str),
    /// Nothing is done and nothing is answered.
    Silence,
    /// It is done, and the reply cannot be read.
    Garbage,
    /// It is done at once and answered after this time.
    Late(Duration),
}
