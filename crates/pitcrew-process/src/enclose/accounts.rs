//! The users and groups that exist in a box: root, the program's user, and nobody.

use serde::{Deserialize, Serialize};
use std::{ffi::OsString, path::Path};

/// The program's user, for lookups of its name and home in the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Accounts {
    name: String,
    user: u32,
    group: u32,
    home: String,
}

impl Accounts {
    /// Reads the values from the environment that the program will have.
    pub(crate) fn new(env: &[(OsString, OsString)], user: u32, group: u32) -> Self {
        let value = |name: &str| {
            let found = env.iter().rev().find(|it| it.0 == name)?;
            let text = found.1.to_str()?;
            // The value must be valid as a field of the file.
            let is_field = !text.is_empty() && !text.contains([':', '\n', '\0']);
            is_field.then(|| text.to_owned())
        };
        let home = value("HOME").filter(|it| Path::new(it).is_absolute());
        let name = value("USER").filter(|it| it != "nobody" && (user == 0) == (it == "root"));
        Self {
            name: name.unwrap_or_else(|| "pitcrew".to_owned()),
            user,
            group,
            home: home.unwrap_or_else(|| "/nonexistent".to_owned()),
        }
    }

    /// The contents of `/etc/passwd` and `/etc/group`.
    pub(super) fn files(&self) -> [(&'static str, String); 2] {
        let Self { name, user, group, home } = self;
        let mut users = format!("{name}:x:{user}:{group}::{home}:/bin/sh\n");
        let mut groups = format!("{name}:x:{group}:\n");
        if *user != 0 {
            users.push_str("root:x:0:0:root:/root:/usr/sbin/nologin\n");
        }
        if *group != 0 {
            groups.push_str("root:x:0:\n");
        }
        users.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
        groups.push_str("nogroup:x:65534:\n");
        [("/etc/passwd", users), ("/etc/group", groups)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_would_forge_a_line_is_ignored() {
        let env = |user: &str| vec![("USER".into(), user.into()), ("HOME".into(), "/h".into())];
        let users = |user: &str| Accounts::new(&env(user), 7, 8).files()[0].1.clone();
        assert!(users("ada").starts_with("ada:x:7:8::/h:/bin/sh\nroot:x:0:0:"));
        for forged in ["a:x:0:0::/:/bin/sh\nb", "root", "nobody", ""] {
            assert!(users(forged).starts_with("pitcrew:x:7:8:"), "{forged}");
        }
    }
}
