//! How what is typed is like a name.

/// What `typed` may stand for, the best first: the same, then what begins with it, then what has it,
/// then what has its letters in this order. And whether the first is certain: the same, or the only one that
/// begins with it.
pub(super) fn best<'a, T>(
    all: &'a [T],
    typed: &str,
    name: impl Fn(&T) -> &str,
) -> (Vec<&'a T>, bool) {
    let mut ranked: Vec<_> = all
        .iter()
        .filter_map(|one| Some((likeness(name(one), typed)?, one)))
        .collect();
    ranked.sort_by_key(|(likeness, _)| *likeness);
    let at = |row: usize| ranked.get(row).map(|(likeness, _)| *likeness);
    let certain = match at(0) {
        Some(Likeness::Same) => true,
        Some(Likeness::Start) => at(1) != Some(Likeness::Start),
        Some(Likeness::Part | Likeness::Letters) | None => false,
    };
    (ranked.into_iter().map(|(_, one)| one).collect(), certain)
}

/// How what is typed is like a name, the most like first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// It is the name.
    Same,
    /// The name begins with it.
    Start,
    /// The name has it.
    Part,
    /// The name has its letters in this order.
    Letters,
}

/// How `typed` is like `name`, if it is, in upper or lower case.
pub(super) fn likeness(name: &str, typed: &str) -> Option<Likeness> {
    let (name, typed) = (name.to_lowercase(), typed.to_lowercase());
    if name == typed {
        return Some(Likeness::Same);
    }
    if name.starts_with(&typed) {
        return Some(Likeness::Start);
    }
    if name.contains(&typed) {
        return Some(Likeness::Part);
    }
    let mut letters = name.chars();
    let in_order = typed.chars().all(|c| letters.any(|letter| letter == c));
    in_order.then_some(Likeness::Letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_match_comes_first() {
        let names = ["mode", "model", "new", "show", "theme", "help"];
        let check = |typed, expect: &[&str], is_certain| {
            let (found, certain) = best(&names, typed, |name| name);
            assert!(found.into_iter().eq(expect), "{typed}");
            assert_eq!(certain, is_certain, "{typed}");
        };
        check("", &names, false);
        check("model", &["model"], true);
        check("mode", &["mode", "model"], true);
        check("mod", &["mode", "model"], false);
        check("h", &["help", "show", "theme"], true);
        check("mdl", &["model"], false);
        check("ow", &["show"], false);
        check("Sh", &["show"], true);
        check("xyz", &[], false);
    }
}
