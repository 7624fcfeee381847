//! Who may do what: authentication of callers ([`Authenticator`]), rules for indexes ([`AccessRules`]), limits for each
//! caller ([`TokenBuckets`]), and the audit log ([`AuditRecord`]).
//!
//! A caller has a name, the [`Principal`], which its API key, its session or its JWT proves. No token is kept, shown or
//! logged: in memory are only hashes.

mod api_keys;
mod audit;
mod authenticator;
mod buckets;
mod clock;
mod identity;
mod jwt;
mod options;
mod principal;
mod problem;
mod refused;
mod rules;
mod session;
mod small_file;

pub use api_keys::{ApiKeys, NotRead};
pub use audit::AuditRecord;
pub use authenticator::Authenticator;
pub use buckets::{Empty, TokenBuckets};
pub use identity::{Identity, Standing};
pub use jwt::{IssuerOptions, KeysAt, OPERATOR_AUDIENCE};
pub use options::{AuthError, AuthOptions, Mode};
pub use principal::{Principal, PrincipalError};
pub use refused::{Dependency, Refused};
pub use rules::{Access, AccessError, AccessRules, Action, Rule, RuleError, RuleTexts, Rules};
pub use session::{SessionError, read_session};
