use sha2::{Digest, Sha256};

use crate::support::{blocked, one, passed, policy, redacted};

const AWS: &str = "AKIA1234567890ABCDEF";
const AWS_2: &str = "AKIAZYXWVUTSRQPONMLK";

/// A secret made of parts, so that a scanner of secrets does not report it as a real one.
fn secrets() -> Vec<(&'static str, String)> {
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
    vec![
        ("AWS", AWS.to_owned()),
        ("AWS, temporary", AWS.replace("AKIA", "ASIA")),
        ("AWS, secret key", format!("aws_secret_access_key = {}", &letters[..40])),
        ("Google", format!("AIza{}", "A".repeat(35))),
        ("GitHub", format!("ghp_{}", &letters[..36])),
        ("GitHub", format!("gho_{}", &letters[..36])),
        ("GitHub", format!("ghu_{}", &letters[..36])),
        ("GitHub", format!("ghs_{}", &letters[..36])),
        ("GitHub", format!("ghr_{}", &letters[..36])),
        ("GitHub", format!("github_pat_{letters}")),
        ("GitLab", format!("glpat-{}", &letters[..20])),
        ("OpenAI", format!("sk-{}", &letters[..32])),
        ("OpenAI", format!("sk-proj-{letters}")),
        ("Slack", format!("xoxb-{}", "123456789012-abcdef")),
        ("Stripe", format!("sk_live_{}", &letters[..24])),
        ("Stripe", format!("rk_live_{}", &letters[..24])),
        ("bearer", format!("Bearer {letters}")),
        ("JWT", format!("eyJ{}.eyJ{}.{}", &letters[..17], &letters[..20], &letters[..30])),
        ("URL", format!("postgres://app:{}@db.example.com:5432/app", &letters[..8])),
        ("private key", pem("RSA PRIVATE KEY", "\n")),
        ("private key", pem("PRIVATE KEY", "\r\n")),
        ("private key", pem("OPENSSH PRIVATE KEY", "\\n")),
        ("private key", pem("EC PRIVATE KEY", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n")),
        ("private key", pem("PGP PRIVATE KEY BLOCK", "\n")),
    ]
}

fn pem(name: &str, newline: &str) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    format!("-----BEGIN {name}-----{newline}{line}\n{line}\nMIIE=\n-----END {name}-----")
}

#[test]
fn every_form_is_found_in_pieces() {
    let all = one("type: secrets");
    for (name, secret) in secrets() {
        let policy = policy(&all);
        let text = format!("Use {secret}, please");
        let shown = policy.check(&text).text;
        // What follows a URL without a space belongs to it.
        let expected = if name == "URL" { "Use ****** please" } else { "Use ******, please" };
        assert_eq!(shown, expected, "{name}");
        redacted(&all, &["Use ", &secret[..7], &secret[7..], ", please"], expected);
        redacted(&all, &["Use ", &secret], "Use ******");
        blocked(&one("type: secrets, action: block"), &["Use ", &secret[..7], &secret[7..]]);
    }
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "a risk-assessment-of-the-whole-project",
        "sk-learn-based-classification-models",
        "bearer of responsibilities everywhere",
        "The header is Authorization: Bearer <token>",
        "https://example.com:8080/path?user=a@b",
        "postgres://localhost/app",
        "an AKIA key, an AIza key, and ghp_ tokens",
        "-----BEGIN CERTIFICATE-----",
    ] {
        passed(&one("type: secrets"), &[text]);
    }
}

#[test]
fn the_first_line_of_a_private_key_counts() {
    redacted(
        &one("type: secrets"),
        &["It begins with -----BEGIN PRIVATE KEY----- and so on."],
        "It begins with ****** and so on.",
    );
}

#[test]
fn modes_of_redaction() {
    let text = ["Contact me at AKIA1234", "567890ABCDEF for access."];
    for field in ["redact_mode", "redactMode", "redact-mode"] {
        redacted(&one(&format!("type: secrets, {field}: partial")), &text, "Contact me at AK..EF for access.");
    }
    redacted(&one("type: secrets, redact_mode: ALL"), &text, "Contact me at ****** for access.");
    let hash = hex::encode(Sha256::digest(AWS));
    redacted(&one("type: secrets, redact_mode: hash"), &text, &format!("Contact me at {hash} for access."));
}

#[test]
fn several_secrets() {
    let all = one("type: secrets");
    let [a, b] = ["a".repeat(300), "b".repeat(300)];
    redacted(
        &all,
        &[&format!("{a} first {AWS}"), &format!("{b} second {AWS_2}")],
        &format!("{a} first ******{b} second ******"),
    );
    redacted(&all, &[&format!("Keys: {AWS} and {AWS_2}")], "Keys: ****** and ******");
    let github = "ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ";
    let google = format!("AIza{}", "A".repeat(35));
    redacted(&all, &[&format!("Keys: {AWS}, {github}, {google}")], "Keys: ******, ******, ******");
    let twenty = vec![AWS; 20].join(", ");
    redacted(&all, &["Keys: ", &twenty], &format!("Keys: {}", vec!["******"; 20].join(", ")));
}

#[test]
fn a_secret_that_is_split() {
    let all = one("type: secrets");
    redacted(&all, &["AWS key: AKIA1234", "567890ABCDEF"], "AWS key: ******");
    let a = "a".repeat(300);
    redacted(&all, &[&format!("{a} token = {AWS}"), " tail"], &format!("{a} token = ****** tail"));
    blocked(&one("type: secrets, action: block"), &["Contact me at AKIA1234", "567890ABCDEF for access."]);
}
