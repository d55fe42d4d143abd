//! "Did you mean": the known name nearest to an unknown one.

use super::{clip, quote};

/// Names listed when none is near.
const MAX_LISTED: usize = 24;
/// Longer words are no slip of the pen, and comparing them would take time.
const MAX_COMPARED: usize = 64;

/// The end of a message about the unknown name `found`: ``, did you mean `x`?`` if one of `known`
/// is near, else what was expected. A name that others have for the same, such as `lr`, counts as
/// near.
///
/// Two names are near if they differ only in case, `_` or `-`, or in at most a third of their
/// letters; among equally near names the first of `known` wins.
///
/// ```
/// use folkmoot_scenarios::text::suggest;
/// assert_eq!(suggest("FedWak", &["Ppgm", "FedWalk"]), ", did you mean `FedWalk`?");
/// assert_eq!(suggest("x", &["Ppgm", "FedWalk"]), ", expected `Ppgm` or `FedWalk`");
/// ```
#[must_use]
pub fn suggest(found: &str, known: &[&str]) -> String {
    let here = super::meant(found).filter(|name| known.contains(name) && !known.contains(&found));
    match here.or_else(|| nearest(found, known)) {
        Some(name) => format!(", did you mean {}?", quote(name)),
        None => format!(", expected {}", listed(known)),
    }
}

fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    if found.len() > MAX_COMPARED {
        return None;
    }
    let found = folded(found);
    let distance = |name: &str| strsim::damerau_levenshtein(&found, &folded(&clip(name, MAX_COMPARED)));
    let (name, distance) = known
        .iter()
        .map(|&name| (name, distance(name)))
        .min_by_key(|&(_, distance)| distance)?;
    let longer = found.chars().count().max(name.chars().count());
    (distance <= longer / 3).then_some(name)
}

fn folded(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// ``one of `a`, `b`, `c` ``, cut to a bounded number.
fn listed(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().take(MAX_LISTED).map(|name| quote(name)).collect();
    match quoted.as_slice() {
        [] => "none, as there are none to choose from".to_owned(),
        [only] => only.clone(),
        [first, second] => format!("{first} or {second}"),
        _ if known.len() > MAX_LISTED => format!("one of {} and {} more", quoted.join(", "), known.len() - MAX_LISTED),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_underscores_do_not_count() {
        assert_eq!(suggest("fedwalk", &["FedAvg", "FedWalk"]), ", did you mean `FedWalk`?");
        assert_eq!(
            suggest("lr", &["layers", "learning_rate"]),
            ", did you mean `learning_rate`?"
        );
        assert_eq!(
            suggest("Learning-Rate", &["layers", "learning_rate"]),
            ", did you mean `learning_rate`?"
        );
        assert_eq!(suggest("width", &["width_m", "height"]), ", did you mean `width_m`?");
        assert_eq!(
            suggest("LossProb", &["latency", "loss_prob"]),
            ", did you mean `loss_prob`?"
        );
    }

    #[test]
    fn far_names_are_listed_and_long_lists_cut() {
        assert_eq!(
            suggest("x", &["one", "two", "three"]),
            ", expected one of `one`, `two`, `three`"
        );
        assert_eq!(suggest("x", &[]), ", expected none, as there are none to choose from");
        let many: Vec<String> = (0..100).map(|i| format!("name_number_{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(suggest("x", &many).ends_with("`name_number_23` and 76 more"));
        assert!(suggest(&"x".repeat(1_000_000), &many).len() < 1_000);
    }
}
