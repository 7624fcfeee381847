use super::*;

fn range(text: &str) -> AddressRange {
    text.parse().unwrap()
}

#[test]
fn a_range_contains_the_addresses_with_its_prefix() {
    let cases = [
        ("10.0.0.0/8", "10.255.1.2", true),
        ("10.0.0.0/8", "11.0.0.0", false),
        ("0.0.0.0/0", "255.1.2.3", true),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.6", false),
        ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fe80::1", false),
        ("::/0", "10.0.0.1", false),
    ];
    for (text, address, expected) in cases {
        assert_eq!(range(text).contains(address.parse().unwrap()), expected, "{address} in {text}");
    }
}

#[test]
fn a_range_covers_the_ranges_inside_it() {
    let cases = [
        ("10.0.0.0/8", "10.0.0.0/8", true),
        ("10.0.0.0/8", "10.1.0.0/16", true),
        ("10.0.0.0/8", "10.1.2.3", true),
        ("10.1.0.0/16", "10.0.0.0/8", false),
        ("10.1.0.0/16", "10.1.0.0/8", false),
        ("10.0.0.0/8", "11.1.0.0/16", false),
        ("10.0.0.0/8", "fd00::/8", false),
    ];
    for (outer, inner, expected) in cases {
        assert_eq!(range(outer).covers(&range(inner)), expected, "{inner} in {outer}");
    }
}

#[test]
fn a_range_is_written_with_its_prefix() {
    for (text, written) in [("10.0.0.0/8", "10.0.0.0/8"), ("192.0.2.7", "192.0.2.7/32"), ("fd00::1", "fd00::1/128")] {
        assert_eq!(range(text).to_string(), written);
    }
    assert_eq!((range("10.0.0.0/32"), range("fd00::/128")), (range("10.0.0.0"), range("fd00::")));
}

#[test]
fn options_of_the_server_are_not_written() {
    let text = "{server: http://a, index: a, owner: a, syncId: a, sources: []}";
    let mut task: SyncTask = serde_saphyr::from_str(text).unwrap();
    assert!(!serde_saphyr::to_string(&task).unwrap().contains("settings"));
    task.settings.max_tokens = Some(256);
    assert!(serde_saphyr::to_string(&task).unwrap().contains("settings"));
}

#[test]
fn no_two_sources_have_the_same_name_on_the_server() {
    let cases: [(&str, &[&str], &str); 13] = [
        ("handbook", &["site", "faq"], ""),
        ("docs.example.com", &["my_Site-2"], ""),
        ("o", &["my site"], "contains ' '"),
        ("o", &["seit\u{e9}"], "contains"),
        ("o", &["-site"], "does not begin and end with a letter or a digit"),
        ("o", &[], ""),
        ("", &["site"], "the owner is empty"),
        ("a/b", &["site"], "the owner 'a/b' contains '/'"),
        ("o", &["site", "site"], "two sources have the name 'site'"),
        ("o", &["a.b"], "the name of a source 'a.b' contains '.'"),
        ("o", &["a/b"], "contains '/'"),
        ("o", &["a#b"], "contains '#'"),
        ("o", &["a\n"], "the name of a source 'a\\n' contains '\\n'"),
    ];
    for (owner, names, expected) in cases {
        let source = |name: &&str| Source {
            name: (*name).to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
            metadata: serde_json::Map::new(),
            origin: Origin::Inline(Inline::default()),
        };
        let text = "{server: http://a, index: a, owner: a, syncId: a, sources: []}";
        let task: SyncTask = serde_saphyr::from_str(text).unwrap();
        let task = SyncTask { owner: owner.to_owned(), sources: names.iter().map(source).collect(), ..task };
        match task.check_names() {
            Ok(()) => assert_eq!(expected, "", "{owner} {names:?}"),
            Err(error) => assert!(!expected.is_empty() && error.to_string().contains(expected), "{error}"),
        }
    }
}

#[test]
fn a_text_that_is_not_a_range_is_refused() {
    for text in ["", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/", "a/8"] {
        assert!(text.parse::<AddressRange>().is_err(), "{text}");
    }
}

#[test]
fn a_task_survives_being_written_and_read() {
    let task = SyncTask {
        server: "https://docs.default.svc".into(),
        server_ca_files: vec!["/server/ca.crt".into(), "/server/tls.crt".into()],
        write_token: Some(SecretReference::File("/token".into())),
        index: "handbook".into(),
        owner: "handbook".into(),
        sync_id: "a".into(),
        settings: IndexOptions { max_tokens: Some(256), overlap_tokens: Some(25), vector_index: "HNSW32".parse().ok() },
        confirmations: vec!["site@0123456789ab".into()],
        allowed_ranges: vec![range("10.0.0.0/8")],
        sources: vec![Source {
            name: "site".into(),
            include: vec!["docs/**/*.md".into()],
            exclude: Vec::new(),
            metadata: serde_json::from_str(r#"{"team": "platform"}"#).unwrap(),
            origin: Origin::Git(Git { url: "https://git/x".into(), reference: Some("main".into()), ..Git::default() }),
        }],
    };
    let text = serde_saphyr::to_string(&task).unwrap();
    assert!(text.contains("ref: main"), "{text}");
    assert_eq!(serde_saphyr::from_str::<SyncTask>(&text).unwrap(), task);
}

#[test]
fn empty_host_and_origin_lists_are_not_written() {
    let plain = ["http: {urls: [https://a/]}", "git: {url: https://a/x}", "s3: {bucket: a}"];
    let named = [
        "http: {urls: [https://a/], allowedOrigins: [https://b], credentialHosts: [a, '*.b:8443']}",
        "git: {url: https://a/x, credentialHosts: [a, '*.b:8443']}",
        "s3: {bucket: a, credentialHosts: [a, '*.b:8443']}",
    ];
    let hosts = ["a", "*.b:8443"];
    for (plain, named) in plain.into_iter().zip(named) {
        let read = |text: &str| serde_saphyr::from_str::<Origin>(text).unwrap();
        let hosts_of = |origin: &Origin| match origin {
            Origin::Http(http) => http.credential_hosts.clone(),
            Origin::Git(git) => git.credential_hosts.clone(),
            Origin::S3(s3) => s3.credential_hosts.clone(),
            _ => panic!("{origin:?}"),
        };
        assert_eq!(hosts_of(&read(named)), hosts);
        assert!(hosts_of(&read(plain)).is_empty());
        assert_eq!(read(&serde_saphyr::to_string(&read(named)).unwrap()), read(named));
        let written = serde_saphyr::to_string(&read(plain)).unwrap();
        assert!(!written.contains("allowedOrigins") && !written.contains("credentialHosts"), "{written}");
    }
    let Origin::Http(http) = serde_saphyr::from_str::<Origin>(named[0]).unwrap() else { panic!() };
    assert_eq!(http.allowed_origins, ["https://b"]);
}
