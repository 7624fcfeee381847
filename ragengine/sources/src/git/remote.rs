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

use super::limited::Limited;
use super::pack::Pack;
use super::reference::Reference;
use super::transport::{self, Transport};
use crate::address::Resolver;
use crate::credentials::{WEB_KEYS, WebCredentials};
use crate::{Access, FetchError, Proxies};

/// How much of what a server says about an error is shown, in characters.
const MAX_REASON_CHARS: usize = 300;

/// How long something is received.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// It fails after this.
    pub deadline: Instant,
    /// True: nobody waits for it any more.
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

/// What of a commit is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Only its folders, where the server can do that.
    Folders,
    /// Its files as well, but for those that are too long, where the server can leave them out.
    Files,
}

/// A conversation with the server.
pub struct Connection<'a> {
    remote: &'a Remote,
    transport: Transport,
    handshake: Handshake,
}

/// Asks for one commit, without having anything.
struct Wants {
    commit: ObjectId,
    filter: String,
    is_filtered: bool,
}

impl Remote {
    /// A repository at an address.
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

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The longest file that is received, in bytes.
    pub fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }

    /// Begins a conversation.
    pub fn connect(&self) -> Result<Connection<'_>, FetchError> {
        let transport = transport::connect(&self.url, &self.credentials, (&self.resolver, &self.proxies), self.timeout);
        let mut transport = transport.map_err(FetchError::Answer)?;
        // Whatever there is was sent already: there is nobody to ask for more.
        let ask_nobody = |_| Ok(None);
        let handshake =
            gix_protocol::handshake(&mut transport, Service::UploadPack, ask_nobody, Vec::new(), &mut Discard)
                .map_err(|error| self.explain(&error))?;
        Ok(Connection { remote: self, transport, handshake })
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
                "a file in it is longer than {max_bytes} bytes, and its server does not leave out such files: uploadpack.allowFilter allows that there"
            ));
        }
        FetchError::Answer(in_words(error))
    }
}

impl Connection<'_> {
    /// The commit that a reference means, if the server has it.
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

    /// Receives one commit without those before it.
    pub fn receive(
        &mut self,
        commit: ObjectId,
        part: Part,
        folder: &Path,
        until: Until<'_>,
    ) -> Result<Pack, FetchError> {
        let Until { deadline, interrupt } = until;
        let remote = self.remote;
        let filter = match part {
            Part::Folders => "blob:none".to_owned(),
            Part::Files => format!("blob:limit={}", remote.max_file_bytes + 1),
        };
        let folder = super::private_folder("pack-", folder)?.keep();
        let mut wants = Wants { commit, filter, is_filtered: false };
        let mut received = None;
        let max_object_bytes = usize::try_from(remote.max_file_bytes).unwrap_or(usize::MAX);
        let take = |content: &mut dyn std::io::BufRead,
                    _: &mut dyn gix_utils::progress::DynNestedProgress,
                    interrupt: &AtomicBool| {
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
        gix_protocol::fetch(&mut wants, take, Discard, interrupt, context, options)
            .map_err(|error| remote.explain(&error))?;
        let pack = received.ok_or_else(|| FetchError::Answer("the server sent nothing".into()))?;
        Ok(if part == Part::Folders && wants.is_filtered { pack } else { pack.with_files() })
    }
}

impl Negotiate for Wants {
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

/// What an error says, with the reasons that it has.
fn in_words(error: &Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in error.iter_errors().map(ToString::to_string) {
        if !words.iter().any(|word| word.contains(&part)) {
            words.push(part);
        }
    }
    words.join(": ").chars().take(MAX_REASON_CHARS).collect()
}
