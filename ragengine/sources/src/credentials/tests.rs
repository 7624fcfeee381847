use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (key, value) in files {
        std::fs::write(folder.path().join(key), value).unwrap();
    }
    folder
}

fn header(files: &[(&str, &str)], scheme: TokenScheme) -> Result<String, String> {
    let read = WebCredentials::read(Some(folder(files).path()), scheme).map_err(|error| error.to_string())?;
    let header = read.header.unwrap();
    assert!(header.is_sensitive());
    Ok(header.to_str().unwrap().to_owned())
}

#[test]
fn a_secret_is_a_token_or_a_name_and_a_password() {
    // printf 'me:secret' | base64, and so on.
    let cases = [
        (&[("token", "abc\n")][..], TokenScheme::Bearer, "Bearer abc"),
        (&[("token", "abc")], TokenScheme::Password, "Basic Z2l0OmFiYw=="),
        (&[("token", "abc"), ("username", "me")], TokenScheme::Password, "Basic bWU6YWJj"),
        (&[("username", "me"), ("password", "secret\n")], TokenScheme::Bearer, "Basic bWU6c2VjcmV0"),
        (&[("username", "me"), ("password", "secret")], TokenScheme::Password, "Basic bWU6c2VjcmV0"),
    ];
    for (files, scheme, expected) in cases {
        assert_eq!(header(files, scheme).unwrap(), expected);
    }
    assert!(WebCredentials::read(None, TokenScheme::Bearer).unwrap().header.is_none());
}

#[test]
fn the_error_of_an_invalid_secret_names_the_keys() {
    let cases: &[&[(&str, &str)]] =
        &[&[], &[("username", "me")], &[("password", "secret")], &[("token", "")], &[("Token", "abc")]];
    for files in cases {
        let error = header(files, TokenScheme::Bearer).unwrap_err();
        assert!(error.contains("token, or username and password"), "{error}");
        assert!(!error.contains("secret\n") && !error.contains("abc"), "{error}");
    }
    let error = header(&[("token", "a\u{1}b")], TokenScheme::Bearer).unwrap_err();
    assert!(error.contains("cannot be sent"), "{error}");
    let error = header(&[("token", "a"), ("ca.crt", "no certificate")], TokenScheme::Bearer).unwrap_err();
    assert!(error.contains("ca.crt"), "{error}");
}

#[test]
fn the_keys_of_a_bucket_come_in_pairs() {
    let read = |files: &[(&str, &str)]| BucketCredentials::read(Some(folder(files).path()));
    let keys = read(&[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "key\n"), ("AWS_SESSION_TOKEN", "t")])
        .unwrap()
        .keys
        .unwrap();
    assert_eq!(
        (keys.access_key_id.as_str(), keys.secret_access_key.as_str(), keys.session_token.as_deref()),
        ("id", "key", Some("t"))
    );
    for files in [&[][..], &[("AWS_ACCESS_KEY_ID", "id")], &[("AWS_SECRET_ACCESS_KEY", "key")]] {
        let error = read(files).err().unwrap().to_string();
        assert!(error.contains("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{error}");
    }
    assert!(BucketCredentials::read(None).unwrap().keys.is_none());
}
