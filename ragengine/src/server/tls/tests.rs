use std::fs;

use tempfile::TempDir;

use super::*;

/// A folder with a certificate and its key.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    renew(&folder);
    folder
}

fn renew(folder: &TempDir) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    fs::write(folder.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
}

fn settings(folder: &TempDir) -> TlsSettings {
    let file = |name: &str| Some(folder.path().join(name));
    TlsSettings { certificate_file: file("tls.crt"), key_file: file("tls.key") }
}

fn served(tls: &Tls) -> Vec<u8> {
    tls.certificate.0.read().cert[0].to_vec()
}

#[test]
fn no_files_mean_no_encryption() {
    assert!(Tls::open(&TlsSettings::default()).unwrap().is_none());
}

#[test]
fn a_renewed_certificate_replaces_the_last_one() {
    let folder = folder();
    let tls = Tls::open(&settings(&folder)).unwrap().unwrap();
    let first = served(&tls);
    tls.refresh();
    assert_eq!(served(&tls), first);
    renew(&folder);
    tls.refresh();
    assert_ne!(served(&tls), first);
}

#[test]
fn files_that_cannot_be_used_change_nothing_until_they_are_mended() {
    let folder = folder();
    let tls = Tls::open(&settings(&folder)).unwrap().unwrap();
    let first = served(&tls);
    let key = fs::read(folder.path().join("tls.key")).unwrap();
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    for broken in [other.as_str(), "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        fs::write(folder.path().join("tls.key"), broken).unwrap();
        tls.refresh();
        assert_eq!(served(&tls), first, "{broken}");
    }
    fs::remove_file(folder.path().join("tls.key")).unwrap();
    tls.refresh();
    tls.refresh();
    fs::write(folder.path().join("tls.key"), key).unwrap();
    tls.refresh();
    assert_eq!(served(&tls), first);
    renew(&folder);
    tls.refresh();
    assert_ne!(served(&tls), first);
}

#[test]
fn the_error_names_the_file_and_nothing_of_its_content() {
    let folder = folder();
    let error = |settings: &TlsSettings| Tls::open(settings).err().map(|error| error.to_string()).unwrap();
    let missing = TlsSettings { key_file: Some(folder.path().join("none")), ..settings(&folder) };
    assert!(error(&missing).contains("tls.keyFile") && error(&missing).contains("none"), "{}", error(&missing));
    fs::write(folder.path().join("tls.key"), "secret words").unwrap();
    let no_key = error(&settings(&folder));
    assert!(no_key.contains("has no private key in PEM") && !no_key.contains("secret"), "{no_key}");
    fs::write(folder.path().join("tls.key"), rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(error(&settings(&folder)).contains("cannot be used"), "{}", error(&settings(&folder)));
    let pipe = TlsSettings { key_file: Some("/dev/zero".into()), ..settings(&folder) };
    assert!(error(&pipe).contains("it is not a file"), "{}", error(&pipe));
}
