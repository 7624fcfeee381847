use serde::{Deserialize, Serialize};

/// Something happened in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A question arrived.
    QuerySubmitted(QuerySubmitted),
    /// A model answered.
    ResponseGenerated(ResponseGenerated),
}

/// A question arrived, and its caller may ask. What is unknown is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuerySubmitted {
    /// The question.
    pub query: String,
    /// Who asked.
    pub user_id: Option<String>,
    /// The conversation.
    pub session_id: Option<String>,
    /// The model that is to answer.
    pub model_id: Option<String>,
}

/// A model answered. What is unknown is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseGenerated {
    /// The question.
    pub query: String,
    /// The answer.
    pub response: String,
    /// The model that answered.
    pub model_id: Option<String>,
    /// The time from the question to the end of the answer, in milliseconds.
    pub latency_ms: Option<u64>,
    /// How many sources the answer cites.
    pub citation_count: Option<u64>,
    /// How many chunks were found.
    pub retrieval_count: Option<u64>,
    /// Who asked.
    pub user_id: Option<String>,
}

impl Event {
    /// The event's name, for metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::QuerySubmitted(_) => "query_submitted",
            Self::ResponseGenerated(_) => "response_generated",
        }
    }

    /// The routing key of its message.
    pub fn routing_key(&self) -> &'static str {
        match self {
            Self::QuerySubmitted(_) => "analytics.query.submitted",
            Self::ResponseGenerated(_) => "analytics.response.generated",
        }
    }

    /// The attribute `type` of CloudEvents.
    pub fn cloud_event_type(&self) -> &'static str {
        match self {
            Self::QuerySubmitted(_) => "dev.ragengine.query.submitted",
            Self::ResponseGenerated(_) => "dev.ragengine.response.generated",
        }
    }
}

impl From<QuerySubmitted> for Event {
    fn from(event: QuerySubmitted) -> Self {
        Self::QuerySubmitted(event)
    }
}

impl From<ResponseGenerated> for Event {
    fn from(event: ResponseGenerated) -> Self {
        Self::ResponseGenerated(event)
    }
}
