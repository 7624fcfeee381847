use std::sync::Arc;

use ragengine_pipeline::request::Request;

use super::ongoing::Ongoing;
use crate::admission::{Deadline, Permit, Work};
use crate::app::App;
use crate::converse::Conversation;
use crate::error::ApiError;
use crate::language_model::Origin;
use crate::retrieval::stages::Endpoint;

/// The way in which a chat was requested.
#[derive(Clone)]
pub struct Way {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The conversation that the question belongs to.
    pub conversation: Option<Arc<Conversation>>,
    /// The number of chunks that the request asks for.
    pub top_k: Option<usize>,
}

/// A chat request, and the way in which it was made.
pub(super) struct Incoming {
    /// The request.
    pub request: Arc<Request>,
    /// The way.
    pub way: Way,
}

/// A chat request that has arrived. Starts its report and its deadline.
pub struct Arrival {
    pub(super) report: Ongoing,
    pub(super) deadline: ChatDeadline,
    /// The origin of the request.
    pub(super) origin: Origin,
    /// The permit of the queue, held until the request to an endpoint.
    pub(super) permit: Option<Permit>,
    /// The way in which it was requested.
    pub(super) way: Way,
}

impl Arrival {
    /// Starts the report and the deadline of a chat.
    pub fn new(app: &App, endpoint: Endpoint, origin: Origin, permit: Option<Permit>) -> Self {
        Self {
            report: Ongoing::begin(&app.metrics, endpoint, &origin.request_id),
            deadline: ChatDeadline(app.admission.deadline(Work::Chat)),
            origin,
            permit,
            way: Way { endpoint, conversation: None, top_k: None },
        }
    }

    /// The question belongs to this conversation.
    #[must_use]
    pub fn in_conversation(mut self, conversation: Option<Conversation>) -> Self {
        conversation.iter().for_each(|conversation| self.report.stage_was(conversation.stage.clone()));
        self.way.conversation = conversation.map(Arc::new);
        self
    }

    /// The request asks for this number of chunks.
    #[must_use]
    pub fn looking_for(mut self, top_k: Option<usize>) -> Self {
        self.way.top_k = top_k;
        self
    }

    /// Waits for the parsing of the request.
    ///
    /// # Errors
    ///
    /// The error of the parser, or [`crate::admission::Refused::Late`]. The report is ended then.
    pub async fn read<T>(
        self,
        app: &App,
        reading: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<(Self, T), ApiError> {
        match self.deadline.keep(app, reading).await {
            Ok(request) => Ok((self, request)),
            Err(error) => Err(self.report.failed(error)),
        }
    }
}

/// The deadline for all work of this server on a chat. The language model's time for the answer does not count. Its time
/// for side tasks does: they are short.
pub(super) struct ChatDeadline(Deadline);

impl ChatDeadline {
    /// Runs a part of the work. At the deadline the work is dropped, and the chat is counted as refused.
    pub async fn keep<T>(&self, app: &App, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
        let done = self.0.keep(work).await;
        done.inspect_err(|late| app.admission.refused(Work::Chat, late))?
    }
}
