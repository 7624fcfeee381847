use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::Principal;

/// A hash in words, which are compared faster than bytes.
type Hash = [u64; 4];

/// The hashes of keys, in the order of their names.
#[derive(PartialEq, Eq, Default)]
pub(super) struct Table(Vec<(Principal, Hash)>);

impl Table {
    /// Adds a key. The later of two keys with the same text is never found.
    pub fn add(&mut self, principal: Principal, text: &[u8]) {
        self.0.push((principal, hash(text)));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The principal of the key with this text. The time depends only on the number of keys.
    pub fn find(&self, text: &[u8]) -> Option<Principal> {
        let wanted = hash(text);
        let mut found = 0;
        // Backwards, so that the first one stays.
        for (place, (_, known)) in self.0.iter().enumerate().rev() {
            let difference = known.iter().zip(&wanted).fold(0, |all, (known, wanted)| all | (known ^ wanted));
            found = u64::conditional_select(&found, &(place as u64 + 1), difference.ct_eq(&0));
        }
        let place = usize::try_from(found).ok()?.checked_sub(1)?;
        self.0.get(place).map(|(principal, _)| principal.clone())
    }
}

fn hash(text: &[u8]) -> Hash {
    let bytes = Sha256::digest(text);
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|place| u64::from_le_bytes(words[place]))
}
