use std::io::ErrorKind;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gix_error::Error;
use gix_hash::ObjectId;
use gix_protocol::fetch::negotiate::{Action, Round, one_round};
use gix_protocol::fetch::{Arguments, Context, Negotiate, Options, Response, Shallow, Tags};
use gix_protocol::handshake::Ref;
use gix_protocol::ls_refs::RefPrefixes;
use gix_protocol::{Handshake, LsRefsCommand};
use gix_transport::Service;
use gix_utils::progress::Discard;
use reqwest::Url;

use super::bounded::Allowance;
use super::limited::Limited;
use super::pack::Pack;
use super::reference::Reference;
use super::transport::{self, Transport};
use crate::address::Resolver;
use crate::credentials::{WEB_KEYS, WebCredentials};
use crate::{Access, FetchError, Proxies};

/// The maximum length of a server's error message that is shown, in characters.
const MAX_REASON_CHARS: usize = 300;

/// When to stop receiving.
#[derive(Clone, Copy)]
pub struct StopCondition<'a> {
    /// Receiving fails at this time.
    pub deadline: Instant,
    /// Becomes true when the caller is cancelled.
    pub interrupt: &'a AtomicBool,
}

/// A repository on a server.
#[derive(Debug)]
pub struct Remote {
    url: String,
    credentials: WebCredentials,
    resolver: Resolver,
    proxies: Proxies,
    timeout: Duration,
    max_repository_bytes: u64,
    max_file_bytes: u64,
}

/// The objects of a commit to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Only folders. A server without partial clones also sends files.
    Folders,
    /// Folders and files. A server with partial clones leaves out files that are too large.
    Files,
}

/// A connection to the server, after the handshake.
pub struct Connection<'a> {
    remote: &'a Remote,
    transport: Transport,
    allowance: Allowance,
    handshake: Handshake,
}

/// Requests one commit, without offering any objects.
struct SingleCommit {
    commit: ObjectId,
    filter: String,
    is_filtered: bool,
}

impl Remote {
    /// Does not connect yet.
    pub fn new(url: &Url, credentials: WebCredentials, access: &Access, max_file_bytes: u64) -> Self {
        Self {
            url: url.to_string(),
            credentials,
            resolver: Resolver::new(&access.addresses, &access.proxies),
            proxies: access.proxies.clone(),
            timeout: access.limits.request_timeout,
            max_repository_bytes: access.limits.max_repository_bytes,
            max_file_bytes,
        }
    }

    /// The address of the repository.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The maximum size of a file, in bytes.
    pub fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }

    /// Connects, and performs the handshake.
    pub fn connect(&self) -> Result<Connection<'_>, FetchError> {
        let transport = transport::connect(&self.url, &self.credentials, (&self.resolver, &self.proxies), self.timeout);
        let (mut transport, allowance) = transport.map_err(FetchError::Answer)?;
        // The credentials are already in the header of the request, and there are no others.
        let no_credentials = |_| Ok(None);
        let handshake =
            gix_protocol::handshake(&mut transport, Service::UploadPack, no_credentials, Vec::new(), &mut Discard)
                .map_err(|error| self.explain(&error))?;
        Ok(Connection { remote: self, transport, allowance, handshake })
    }

    fn explain(&self, error: &Error) -> FetchError {
        if error.is_unauthenticated() {
            return FetchError::Unauthorized { status: 401, keys: WEB_KEYS };
        }
        if let Some(client) = error.downcast_any_ref::<reqwest::Error>() {
            return match client.status().map(|status| status.as_u16()) {
                Some(status @ (401 | 403)) => FetchError::Unauthorized { status, keys: WEB_KEYS },
                Some(status) => FetchError::Status { status },
                None => FetchError::from_client(client, self.timeout),
            };
        }
        let kinds =
            error.iter_errors().filter_map(|error| error.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
        for kind in kinds {
            match kind {
                ErrorKind::FileTooLarge => return FetchError::TooLarge { max_bytes: self.max_repository_bytes },
                ErrorKind::TimedOut => return FetchError::Timeout { seconds: self.timeout.as_secs() },
                _ => {}
            }
        }
        if error.is_resource_exhausted() {
            let max_bytes = self.max_file_bytes;
            return FetchError::Answer(format!(
                "the repository has a file larger than {max_bytes} bytes, which its server cannot leave out: \
                 set uploadpack.allowFilter on the server, or remove the file"
            ));
        }
        FetchError::Answer(in_words(error))
    }
}

impl Connection<'_> {
    /// The commit of a reference, if the server has it.
    pub fn find(&mut self, reference: &Reference) -> Result<Option<ObjectId>, FetchError> {
        if let Reference::Commit(commit) = reference {
            return Ok(Some(*commit));
        }
        let references = match self.handshake.refs.take() {
            Some(references) => references,
            None => self.list(reference)?,
        };
        Ok(reference.choose(&references))
    }

    fn list(&mut self, reference: &Reference) -> Result<Vec<Ref>, FetchError> {
        let mut prefixes = RefPrefixes::new();
        prefixes.extend(reference.names().into_iter().map(Into::into));
        let command = LsRefsCommand::new(Some(prefixes), &self.handshake.capabilities, agent());
        command.invoke_blocking(&mut self.transport, &mut Discard, false).map_err(|error| self.remote.explain(&error))
    }

    /// Receives one commit without its history.
    pub fn receive(
        &mut self,
        commit: ObjectId,
        part: Part,
        folder: &Path,
        until: StopCondition<'_>,
    ) -> Result<Pack, FetchError> {
        let StopCondition { deadline, interrupt } = until;
        let remote = self.remote;
        let filter = match part {
            Part::Folders => "blob:none".to_owned(),
            Part::Files => format!("blob:limit={}", remote.max_file_bytes + 1),
        };
        let folder = super::private_folder("pack-", folder)?.keep();
        let mut request = SingleCommit { commit, filter, is_filtered: false };
        let mut received = None;
        let allowance = self.allowance.clone();
        let max_object_bytes = usize::try_from(remote.max_file_bytes).unwrap_or(usize::MAX);
        let take = |content: &mut dyn std::io::BufRead,
                    _: &mut dyn gix_utils::progress::DynNestedProgress,
                    interrupt: &AtomicBool| {
            allowance.lift();
            let mut content = Limited::new(content, remote.max_repository_bytes, deadline);
            received = Pack::write(&mut content, &folder, max_object_bytes, interrupt)?;
            Ok(true)
        };
        let context = Context {
            handshake: &mut self.handshake,
            transport: &mut self.transport,
            user_agent: agent(),
            trace_packetlines: false,
        };
        let options = Options {
            shallow_file: folder.join("shallow"),
            shallow: &Shallow::DepthAtRemote(NonZeroU32::MIN),
            tags: Tags::None,
            reject_shallow_remote: false,
        };
        gix_protocol::fetch(&mut request, take, Discard, interrupt, context, options)
            .map_err(|error| remote.explain(&error))?;
        let pack = received.ok_or_else(|| FetchError::Answer("its pack is empty".into()))?;
        Ok(if part == Part::Folders && request.is_filtered { pack } else { pack.with_files() })
    }
}

impl Negotiate for SingleCommit {
    fn mark_complete_and_common_ref(&mut self) -> gix_error::Result<Action> {
        Ok(Action::MustNegotiate { remote_ref_target_known: Vec::new() })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _: &[bool]) -> bool {
        if arguments.can_use_filter() {
            arguments.filter(&self.filter);
            self.is_filtered = true;
        }
        arguments.want(self.commit);
        true
    }

    fn one_round(
        &mut self,
        _: &mut one_round::State,
        _: &mut Arguments,
        _: Option<&Response>,
    ) -> gix_error::Result<(Round, bool)> {
        let round =
            Round { haves_sent: 0, in_vain: 0, haves_to_send: 0, previous_response_had_at_least_one_in_common: false };
        Ok((round, true))
    }
}

fn agent() -> (&'static str, Option<String>) {
    ("agent", Some(concat!("ragengine/", env!("CARGO_PKG_VERSION")).into()))
}

/// The message of an error with those of its causes, shortened.
fn in_words(error: &Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in error.iter_errors().map(ToString::to_string) {
        if !words.iter().any(|word| word.contains(&part)) {
            words.push(part);
        }
    }
    words.join(": ").chars().take(MAX_REASON_CHARS).collect()
}
