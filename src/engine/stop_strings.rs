//! Stop strings: text in pieces → the text that may be shown, up to the first stop string.
//!
//! **What is let through is never taken back**: text that a stop string could begin in is held until it is
//! clear. The stop string that is complete first ends the text; of several that end together, the longest.
//! So the result does not depend on how the text is cut into pieces.

/// Looks for stop strings in a text that comes in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct StopStrings {
    /// None of them is empty.
    stops: Vec<String>,
    /// Text that a stop string could begin with.
    held: String,
    found: bool,
}

impl StopStrings {
    /// Looks for `stops`, before the first piece; empty ones are not looked for.
    pub fn new(stops: &[String]) -> Self {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned();
        Self {
            stops: stops.collect(),
            ..Self::default()
        }
    }

    /// Takes the next piece and returns what may be shown now. After a stop string nothing is.
    pub fn push(&mut self, piece: &str) -> String {
        if self.found {
            return String::new();
        }
        self.held.push_str(piece);
        if let Some(start) = self.stop() {
            self.found = true;
            self.held.truncate(start);
            return std::mem::take(&mut self.held);
        }
        let clear = self.clear();
        let rest = self.held.split_off(clear);
        std::mem::replace(&mut self.held, rest)
    }

    /// Whether a stop string has come.
    pub fn found(&self) -> bool {
        self.found
    }

    /// Ends the text: what was held after all is part of it.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Where the stop string begins that is complete first.
    fn stop(&self) -> Option<usize> {
        self.stops
            .iter()
            .filter_map(|stop| {
                let start = self.held.find(stop.as_str())?;
                Some((start + stop.len(), start))
            })
            .min()
            .map(|(_, start)| start)
    }

    /// How many bytes of what is held can no longer be part of a stop string.
    fn clear(&self) -> usize {
        let could_begin = |rest: &str| self.stops.iter().any(|stop| stop.starts_with(rest));
        self.held
            .char_indices()
            .map(|(at, _)| at)
            .find(|&at| could_begin(&self.held[at..]))
            .unwrap_or(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stops(stops: &[&str]) -> StopStrings {
        let stops: Vec<_> = stops.iter().map(|&stop| stop.to_owned()).collect();
        StopStrings::new(&stops)
    }

    /// What is shown after each piece, and whether a stop string ended it.
    #[track_caller]
    fn check(of: &[&str], pieces: &[&str], shown: &[&str], found: bool) {
        let mut stops = stops(of);
        let mut all: Vec<_> = pieces.iter().map(|piece| stops.push(piece)).collect();
        all.push(stops.finish());
        assert_eq!(all, shown, "{of:?} in {pieces:?}");
        assert_eq!(stops.found(), found, "{of:?} in {pieces:?}");
    }

    #[test]
    fn text_is_held_while_a_stop_string_could_begin_in_it() {
        check(&[], &["a", "b"], &["a", "b", ""], false);
        check(&[""], &["a"], &["a", ""], false);
        check(
            &["END"],
            &["aE", "N", "D!", "x"],
            &["a", "", "", "", ""],
            true,
        );
        check(&["END"], &["aE", "N", "T"], &["a", "", "ENT", ""], false);
        check(&["END"], &["a", "EN"], &["a", "", "EN"], false);
        check(&["aab"], &["aaa", "b"], &["a", "", ""], true);
        check(&["日本"], &["x日", "本y"], &["x", "", ""], true);
        check(&["\n\n"], &["a\n", "b\n\nc"], &["a", "\nb", ""], true);
    }

    #[test]
    fn the_stop_string_that_is_complete_first_counts() {
        check(&["abc", "b"], &["abc"], &["a", ""], true);
        check(&["abc", "bc", "c"], &["xabc"], &["x", ""], true);
        check(&["abcd", "bc"], &["a", "b", "c"], &["", "", "a", ""], true);
        check(&["abx", "by"], &["ab", "y"], &["", "a", ""], true);
    }

    proptest! {
        #[test]
        fn any_cut_shows_what_single_characters_show(
            text in "[abc日]{0,12}",
            of in prop::collection::vec("[abc日]{1,4}", 0..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        ) {
            let whole = |pieces: &mut dyn Iterator<Item = &str>| {
                let mut stops = StopStrings::new(&of);
                let mut shown: String = pieces.map(|piece| stops.push(piece)).collect();
                shown += &stops.finish();
                (shown, stops.found())
            };
            let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let singles = whole(&mut bounds.windows(2).map(|pair| &text[pair[0]..pair[1]]));
            let mut ends: Vec<usize> = cuts.iter().map(|cut| *cut.get(&bounds)).chain([0, text.len()]).collect();
            ends.sort_unstable();
            prop_assert_eq!(&whole(&mut ends.windows(2).map(|pair| &text[pair[0]..pair[1]])), &singles);
            // By definition: up to the start of the first stop string that is complete.
            let ended = bounds.iter().find_map(|&end| {
                let longest = of.iter().filter(|stop| text[..end].ends_with(stop.as_str())).max_by_key(|stop| stop.len())?;
                Some(end - longest.len())
            });
            prop_assert_eq!(singles, (text[..ended.unwrap_or(text.len())].to_owned(), ended.is_some()));
        }
    }
}
