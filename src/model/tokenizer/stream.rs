//! Bytes of tokens → text, never half a character.

/// Decodes UTF-8 that comes in pieces.
///
/// All pieces together give what [`String::from_utf8_lossy`] gives for the whole: what is not UTF-8
/// becomes U+FFFD.
#[derive(Clone, Debug, Default)]
pub struct TextStream {
    /// The start of a character whose end has not come yet: at most 3 bytes.
    pending: Vec<u8>,
}

impl TextStream {
    /// A stream before its first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns the characters that are complete with them.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut kept = 0;
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            kept = chunk.invalid().len();
            if kept > 0 {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        // The last chunk's rest may be the start of a character.
        let rest = &self.pending[self.pending.len() - kept..];
        let incomplete = std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
        if incomplete {
            text.pop();
            self.pending.drain(..self.pending.len() - kept);
        } else {
            self.pending.clear();
        }
        text
    }

    /// Ends the stream: a character that never became complete is U+FFFD.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], ends: &[usize]) {
        let mut stream = TextStream::new();
        let mut text = String::new();
        let mut start = 0;
        for &end in ends {
            text += &stream.push(&bytes[start..end]);
            start = end;
        }
        text += &stream.push(&bytes[start..]);
        if let Ok(whole) = std::str::from_utf8(bytes) {
            assert_eq!(text, whole, "nothing waits after a whole character");
        }
        text += &stream.finish();
        assert_eq!(
            text,
            String::from_utf8_lossy(bytes),
            "{bytes:x?} cut at {ends:?}"
        );
    }

    #[test]
    fn every_split_of_hard_cases() {
        for case in [
            "aé日😀z".as_bytes(),
            b"\xf0\x9f\x98",
            b"\xe6\x97a\xff\xc3",
            b"\xf0\x90\x28\xbc",
            b"\xed\xa0\x80\xc0\xaf",
        ] {
            for i in 0..=case.len() {
                for j in i..=case.len() {
                    check(case, &[i, j]);
                }
            }
        }
    }

    #[test]
    fn an_incomplete_character_waits() {
        let mut stream = TextStream::new();
        assert_eq!(stream.push(b"a\xf0\x9f"), "a");
        assert_eq!(stream.push(b"\x98"), "");
        assert_eq!(stream.push(b"\x80b"), "😀b");
        assert_eq!(stream.finish(), "");
    }

    /// Bytes that are often almost UTF-8.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<char>().prop_map(|c| c.to_string().into_bytes()),
            any::<u8>().prop_map(|byte| vec![byte]),
            any::<char>()
                .prop_map(|c| c.to_string().into_bytes()[..c.len_utf8().div_ceil(2)].to_vec()),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_text_of_the_whole(bytes in bytes(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            ends.sort_unstable();
            check(&bytes, &ends);
        }
    }
}
