use ragengine_client::wire::sources::{
    MAX_CONFIRMATION_BYTES, MAX_ERROR_CHARACTERS, MAX_ERRORS, MAX_MESSAGE_CHARACTERS, MAX_OWNER_BYTES,
    MAX_PATH_CHARACTERS, MAX_REVISION_BYTES, MAX_SYNC_ID_BYTES,
};
use ragengine_client::wire::{FileError, PutSourceSync, SourceOwner};

const MAX_NAME_BYTES: usize = 128;

/// The record of a synchronisation is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSync(String);

/// Checks the record of a source's synchronisation.
///
/// # Errors
///
/// [`InvalidSync`] with the reason.
pub fn check_sync(source: &str, put: &PutSourceSync) -> Result<(), InvalidSync> {
    check_source(source)
        .and_then(|()| check_word("sync_id", &put.sync_id, MAX_SYNC_ID_BYTES))
        .and_then(|()| put.owner.as_ref().map_or(Ok(()), |owner| check_owner(source, owner)))
        .and_then(|()| put.revision.as_deref().map_or(Ok(()), |text| check_word("revision", text, MAX_REVISION_BYTES)))
        .and_then(|()| {
            let confirmation = put.confirmation.as_deref();
            confirmation.map_or(Ok(()), |text| check_word("confirmation", text, MAX_CONFIRMATION_BYTES))
        })
        .and_then(|()| {
            put.message.as_deref().map_or(Ok(()), |text| check_text("message", text, MAX_MESSAGE_CHARACTERS))
        })
        .and_then(|()| check_errors(put))
        .map_err(InvalidSync)
}

/// The same rules as for the names of indexes, but longer, because a name may combine two with a dot.
fn check_source(name: &str) -> Result<(), String> {
    let bytes = name.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if bytes.len() <= MAX_NAME_BYTES && is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(is_inner) {
        Ok(())
    } else {
        Err(format!(
            "'{}' is not a valid name of a synchronised source: use 1 to {MAX_NAME_BYTES} letters, digits, '.', '_' \
             or '-', with a letter or a digit at both ends",
            name.chars().take(80).collect::<String>()
        ))
    }
}

/// The name of a source must start with its owner's name, so deleting an owner's documents never affects another owner.
fn check_owner(source: &str, owner: &SourceOwner) -> Result<(), String> {
    check_word("owner.name", &owner.name, MAX_OWNER_BYTES)?;
    check_word("owner.uid", &owner.uid, MAX_OWNER_BYTES)?;
    if !owner.scope.is_empty() {
        check_word("owner.scope", &owner.scope, MAX_OWNER_BYTES)?;
    }
    if source.strip_prefix(owner.name.as_str()).is_some_and(|rest| rest.starts_with('.')) {
        Ok(())
    } else {
        Err(format!("owner.name is '{}': the source's name must start with it and a dot", owner.name))
    }
}

fn check_errors(put: &PutSourceSync) -> Result<(), String> {
    let count = put.errors.len();
    if count > MAX_ERRORS {
        return Err(format!(
            "errors has {count} items, which is more than {MAX_ERRORS}: send some, and the total as error_count"
        ));
    }
    if put.error_count < count as u64 {
        return Err(format!("error_count is {}, but errors has {count} items", put.error_count));
    }
    put.errors.iter().enumerate().try_for_each(|(position, FileError { path, message })| {
        check_text("path", path, MAX_PATH_CHARACTERS)
            .and_then(|()| check_text("message", message, MAX_ERROR_CHARACTERS))
            .map_err(|reason| format!("errors[{position}].{reason}"))
    })
}

fn check_word(name: &str, value: &str, max_bytes: usize) -> Result<(), String> {
    match value {
        "" => Err(format!("{name} is empty")),
        long if long.len() > max_bytes => Err(format!("{name} is longer than {max_bytes} bytes")),
        odd if odd.chars().any(char::is_control) => Err(format!("{name} has control characters")),
        _ => Ok(()),
    }
}

fn check_text(name: &str, text: &str, max_characters: usize) -> Result<(), String> {
    match text.chars().count() {
        long if long > max_characters => {
            Err(format!("{name} has {long} characters, which is more than {max_characters}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use ragengine_client::wire::{SyncPhase, WhenOwnerIsGone};

    use super::*;

    fn put() -> PutSourceSync {
        let errors = vec![FileError { path: "ä".repeat(512), message: "ö".repeat(500) }; 100];
        PutSourceSync {
            revision: Some("r".repeat(256)),
            message: Some("ü".repeat(1000)),
            error_count: 100,
            errors,
            ..PutSourceSync::new("s".repeat(256), SyncPhase::Complete)
        }
    }

    fn owner(name: &str, uid: &str) -> SourceOwner {
        SourceOwner { name: name.into(), uid: uid.into(), scope: "v".into(), when_gone: WhenOwnerIsGone::Delete }
    }

    fn error(path: usize, message: usize) -> Vec<FileError> {
        vec![FileError::default(), FileError { path: "p".repeat(path), message: "m".repeat(message) }]
    }

    #[test]
    fn values_that_are_too_long_are_rejected_by_name() {
        assert_eq!(check_sync(&"s".repeat(128), &put()), Ok(()));
        assert_eq!(check_sync("s.site", &PutSourceSync { owner: Some(owner("s", "u")), ..put() }), Ok(()));
        for (refused, words) in [
            (PutSourceSync { sync_id: String::new(), ..put() }, "sync_id is empty"),
            (PutSourceSync { sync_id: "s".repeat(257), ..put() }, "sync_id is longer than 256 bytes"),
            (PutSourceSync { sync_id: "a\nb".into(), ..put() }, "sync_id has control characters"),
            (PutSourceSync { revision: Some(String::new()), ..put() }, "revision is empty"),
            (PutSourceSync { revision: Some("r".repeat(257)), ..put() }, "revision is longer than 256 bytes"),
            (PutSourceSync { owner: Some(owner("", "u")), ..put() }, "owner.name is empty"),
            (PutSourceSync { owner: Some(owner("s", "")), ..put() }, "owner.uid is empty"),
            (PutSourceSync { owner: Some(owner("other", "u")), ..put() }, "owner.name is 'other'"),
            (
                PutSourceSync { owner: Some(SourceOwner { scope: "a\0".into(), ..owner("s", "u") }), ..put() },
                "owner.scope has control characters",
            ),
            (PutSourceSync { message: Some("m".repeat(1001)), ..put() }, "message has 1001 characters"),
            (PutSourceSync { errors: vec![FileError::default(); 101], error_count: 101, ..put() }, "errors has 101"),
            (PutSourceSync { error_count: 99, ..put() }, "error_count is 99, but errors has 100"),
            (PutSourceSync { errors: error(513, 1), ..put() }, "errors[1].path has 513 characters"),
            (PutSourceSync { errors: error(1, 501), ..put() }, "errors[1].message has 501 characters"),
        ] {
            let message = check_sync("s", &refused).unwrap_err().to_string();
            assert!(message.starts_with(words), "{words}: {message}");
        }
    }

    #[test]
    fn names_of_sources_are_checked() {
        for name in ["a", "handbook.site", "A_1-b", "0"] {
            assert_eq!(check_sync(name, &put()), Ok(()), "{name}");
        }
        for name in ["", ".", "..", "a.", "-a", "a/b", "a b", "ä", "a\0", &"x".repeat(129)] {
            let message = check_sync(name, &put()).unwrap_err().to_string();
            assert!(message.contains("1 to 128 letters"), "{name:?}: {message}");
        }
    }
}
