/// The class of an error. Each protocol maps it to a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request is invalid.
    Invalid,
    /// The request lacks valid credentials.
    Unauthorized,
    /// The client may not do this.
    Forbidden,
    /// The request's host name is not one of this server's names.
    Misdirected,
    /// The media type of the body is not supported.
    MediaType,
    /// The requested object does not exist.
    NotFound,
    /// The request conflicts with the current state.
    Conflict,
    /// The body of the request broke off or timed out.
    Lost,
    /// The body of the request is too large.
    TooLarge,
    /// The server or an upstream server is overloaded.
    Busy,
    /// The request was begun but timed out.
    Late,
    /// The server is temporarily unavailable.
    Unavailable,
    /// The disk is full.
    Full,
    /// An upstream server did not give a usable reply.
    Upstream,
    /// An upstream server refused the request with this HTTP status.
    RefusedUpstream(u16),
    /// An internal error of this server.
    Internal,
}
