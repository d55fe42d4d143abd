//! Cards by the path of a file or by the name that a program has for them.

use crate::text::{Problems, Source, suggest};
use folkmoot_metrics::words::visible;
use std::path::Path;

/// A card by the path of a file or the name of one of `shipped`, and what to call it.
///
/// # Errors
///
/// When there is neither, or the file cannot be read or is no text. A folder never hides a shipped
/// card of its name.
pub fn find(card: &str, shipped: &[(&str, &str)]) -> Result<(String, Source), Problems> {
    let path = Path::new(card);
    if path.exists() && !path.is_dir() {
        let name = path
            .file_stem()
            .map_or_else(|| card.into(), |stem| stem.to_string_lossy());
        return Ok((visible(&name).into_owned(), Source::read(path)?));
    }
    if path.is_dir() && !shipped.iter().any(|(name, _)| *name == card) {
        let why = "is a folder, not a card; to run a result again, give the scenario.ron in it";
        return Err(refused(card, why)?);
    }
    find_shipped(card, "neither a file nor a shipped card", shipped)
}

/// One of `shipped` by its name; else the error says that it `is` what it is not.
///
/// # Errors
///
/// When there is none of that name.
pub fn find_shipped(card: &str, is: &str, shipped: &[(&str, &str)]) -> Result<(String, Source), Problems> {
    match shipped.iter().find(|(name, _)| *name == card) {
        Some((name, text)) => Ok(((*name).to_owned(), Source::new(name, text)?)),
        None => {
            let names: Vec<&str> = shipped.iter().map(|(name, _)| *name).collect();
            // Cards of the algorithm that is named, such as `fedavg`.
            let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
            let of = |name: &&&str| {
                name.split('/')
                    .next()
                    .is_some_and(|family| plain(family) == plain(card))
            };
            let family: Vec<&str> = names.iter().filter(of).take(3).copied().collect();
            let near = match (family.as_slice(), suggest(card, &names)) {
                ([_, ..], _) => format!("; there are {} and others", family.join(", ")),
                (_, near) if near.contains("did you mean") => near,
                _ => String::new(),
            };
            Err(refused(card, &format!("is {is}{near}; `list` names the shipped ones"))?)
        }
    }
}

fn refused(card: &str, message: &str) -> Result<Problems, Problems> {
    let mut problems = Problems::new(&Source::new(card, "")?);
    problems.push(message);
    Ok(problems)
}
