/// The options of events are invalid. The texts contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventsError {
    /// The URL is invalid. The text does not quote it.
    #[error("events.url is invalid: {0}")]
    Url(&'static str),
    /// The exchange's name is invalid.
    #[error("events.exchange is invalid: {0}")]
    Exchange(&'static str),
    /// The source is invalid.
    #[error("the source of events must have 1 to 1,024 bytes")]
    Source,
}

impl EventsError {
    /// The error's kind, for logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Url(_) => "invalid_url",
            Self::Exchange(_) => "invalid_exchange",
            Self::Source => "invalid_source",
        }
    }
}
