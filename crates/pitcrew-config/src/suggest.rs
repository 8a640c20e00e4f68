//! Suggests corrections for misspelled names.

use pitcrew_model::text::distance;

/// The candidate nearest to `name`, if one is near enough.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let near = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let length = wanted.chars().count().max(candidate.chars().count());
        let distance = distance(&wanted, &candidate);
        let begins = wanted.len() >= 3 && candidate.len() >= 3;
        if distance <= (length / 3).max(1) && distance < length {
            Some(distance)
        } else if begins && (candidate.starts_with(&wanted) || wanted.starts_with(&candidate)) {
            Some(length)
        } else {
            None
        }
    };
    candidates
        .into_iter()
        .filter(|it| it.len() <= 2 * pitcrew_model::limits::NAME_BYTES_MAX)
        .filter_map(|it| near(it).map(|distance| (distance, it)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The help line for an unknown name: the nearest candidate, or all of them.
pub fn help(name: &str, candidates: &[&str]) -> String {
    match nearest(name, candidates.iter().copied()) {
        Some(near) => did_you_mean(near),
        None => format!("possible values: {}", candidates.join(", ")),
    }
}

pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["region", "depends_on", "checks", "prompt", "id"];
        let cases = [
            ("regoin", Some("region")),
            ("Regions", Some("region")),
            ("depend_on", Some("depends_on")),
            ("depends", Some("depends_on")),
            ("check", Some("checks")),
            ("colour", None),
            ("x", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(nearest(name, names), wanted, "{name}");
        }
    }
}
