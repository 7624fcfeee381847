//! The forms of secrets that have a known shape.

use crate::patterns::{Accept, Candidate};

/// A form of secrets.
pub(super) struct Form {
    pub pattern: &'static str,
    pub accept: Option<Accept>,
}

const fn form(pattern: &'static str) -> Form {
    Form { pattern, accept: None }
}

/// A form whose pattern also matches words with hyphens. A secret has letters and digits.
const fn mixed(pattern: &'static str) -> Form {
    Form { pattern, accept: Some(if_mixed) }
}

fn if_mixed(text: &str) -> Candidate {
    let secret = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    let digits = secret.bytes().filter(u8::is_ascii_digit).count();
    if digits >= 1 && secret.len() > digits { Candidate::Match(text.len()) } else { Candidate::No }
}

/// A private key in the format PEM: the first line, the lines of headers and of base64, and the last line. In JSON, the
/// line breaks may be escaped. The first line alone counts.
const PRIVATE_KEY: &str = concat!(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
    r"(?:(?:[ \t\r\n]|\\[nr])*[A-Za-z][A-Za-z-]{3,20}: [^\r\n\\]*)*",
    r"(?:(?:[ \t\r\n]|\\[nr])*[A-Za-z0-9+/=]{24,})*",
    r"(?:(?:[ \t\r\n]|\\[nr])*[A-Za-z0-9+/=]*(?:[ \t\r\n]|\\[nr])*-----END [A-Z0-9 ]*-----)?",
);

/// All forms. An earlier one wins over a later one that begins at the same place.
pub(super) const FORMS: &[Form] = &[
    form(PRIVATE_KEY),
    // AWS: ids of access keys, and secret keys beside their name.
    form(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    form(r#"(?i:aws_?secret_?(?:access_?)?key)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?[A-Za-z0-9/+=]{40}"#),
    // Google.
    form(r"AIza[0-9A-Za-z_-]{35}"),
    // GitHub and GitLab.
    form(r"gh[pousr]_[A-Za-z0-9]{36,}"),
    form(r"github_pat_[A-Za-z0-9_]{22,}"),
    form(r"glpat-[A-Za-z0-9_-]{20,}"),
    // Stripe, before OpenAI's shorter prefix.
    form(r"[sr]k_live_[A-Za-z0-9]{16,}"),
    form(r"whsec_[A-Za-z0-9+/=]{24,}"),
    // OpenAI and others with the same prefix.
    mixed(r"\b{start-half}sk-[A-Za-z0-9_-]{20,}"),
    // Slack.
    mixed(r"\b{start-half}(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    // JSON web tokens, also as bearer tokens.
    form(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    mixed(r"\b{start-half}[Bb](?:earer|EARER)[ \t]{1,8}[A-Za-z0-9._~+/-]{16,}={0,2}"),
    // URLs with a password.
    form(r#"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@?#"'<>]*:[^\s/@?#"'<>]+@[^\s"'<>]*"#),
];
