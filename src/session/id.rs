//! The names of saved chats: short, in order of time, easy to type: `20261130-1432-k3f`.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use jiff::Zoned;
use serde::Serialize;

/// Characters of the last part: none that looks like another.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Characters drawn for the last part.
const DRAWN: usize = 3;
/// Longest id, in bytes: files with longer names are not ours.
const LONGEST: usize = 64;

/// The id of a saved chat: lower-case letters, digits and hyphens, so that it is safe as a file's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Id(String);

impl Id {
    /// A new id for a chat that begins at `time`, whose clock is the user's.
    pub fn new(time: &Zoned) -> Self {
        // Every `RandomState` is made from fresh random numbers.
        let mut drawn = RandomState::new().hash_one("id");
        let mut id = time.strftime("%Y%m%d-%H%M-").to_string();
        for _ in 0..DRAWN {
            id.push(char::from(ALPHABET[(drawn % 32) as usize]));
            drawn /= 32;
        }
        Self(id)
    }

    /// The id that `text` is, if it can be one.
    pub fn parse(text: &str) -> Option<Self> {
        let valid = (1..=LONGEST).contains(&text.len())
            && text
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        valid.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn ids_are_short_typable_and_in_order_of_time() {
        let at = |hour| {
            let time = date(2026, 11, 30).at(hour, 32, 5, 0);
            Id::new(&time.to_zoned(TimeZone::UTC).unwrap())
        };
        let id = at(14);
        assert!(id.as_str().starts_with("20261130-1432-"), "{id}");
        assert_eq!(id.as_str().len(), 17);
        assert!(at(9) < at(10) && at(10) < at(23));
        assert_eq!(Id::parse(id.as_str()), Some(id));
        assert!(ALPHABET.iter().all(|c| !b"lo01".contains(c)));
    }

    #[test]
    fn what_could_leave_the_folder_is_no_id() {
        for text in ["", "..", "a/b", "a.b", "A", "é", "a b", &"a".repeat(65)] {
            assert_eq!(Id::parse(text), None, "{text:?}");
        }
    }
}
