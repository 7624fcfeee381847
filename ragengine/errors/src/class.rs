/// What kind of trouble an error is, for whoever sent the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request cannot be served as it is.
    Invalid,
    /// It needs a right that it does not show.
    Unauthorized,
    /// Whoever asks may not.
    Forbidden,
    /// It was sent to a server that does not answer for the name that was asked.
    Misdirected,
    /// What was sent is of a kind that is not taken.
    MediaType,
    /// What it names is not there.
    NotFound,
    /// It contradicts what is there.
    Conflict,
    /// What was sent did not arrive, or not in time.
    Lost,
    /// What was sent is larger than it may be.
    TooLarge,
    /// The server, or what it asks, is busy.
    Busy,
    /// It was begun, and not done in time.
    Late,
    /// It cannot be served now, and can later.
    Unavailable,
    /// The disk is full.
    Full,
    /// Another server that it takes gave no answer that can be used.
    Upstream,
    /// Another server refused it, with this HTTP status.
    RefusedUpstream(u16),
    /// The server's own fault.
    Internal,
}
