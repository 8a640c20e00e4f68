//! The tokens: the user's, and one for each attempt.

use pitcrew_model::AttemptId;
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read},
};

/// A random, unique value.
pub fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Checks the tokens of callers.
#[derive(Clone)]
pub struct Tokens {
    person: String,
}

impl Tokens {
    /// Created from the workspace's secret: 64 hexadecimal digits that only its owner can read.
    pub fn new(person: String) -> Self {
        Self { person }
    }

    /// The user's token, so that it can be redacted.
    pub(crate) fn person(&self) -> &str {
        &self.person
    }

    pub fn is_person(&self, token: &str) -> bool {
        same(token, &self.person)
    }

    /// The token of an attempt. Derived, so that it is the same after a restart.
    pub fn worker(&self, attempt: AttemptId) -> String {
        self.derived("worker", &attempt.to_string())
    }

    /// The token of the user's own agents, which may call tools but not decide anything.
    pub fn client(&self) -> String {
        self.derived("client", "")
    }

    pub fn is_client(&self, token: &str) -> bool {
        same(token, &self.client())
    }

    fn derived(&self, whose: &str, which: &str) -> String {
        let digest = Sha256::new()
            .chain_update(format!("pitcrew {whose}\n"))
            .chain_update(self.person.as_bytes())
            .chain_update(which.as_bytes())
            .finalize();
        digest.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().concat()
    }

    /// The attempt that a token belongs to, among those that may call.
    pub fn find(
        &self,
        token: &str,
        mut attempts: impl Iterator<Item = AttemptId>,
    ) -> Option<AttemptId> {
        attempts.find(|it| same(token, &self.worker(*it)))
    }
}

/// Compares in constant time.
fn same(left: &str, right: &str) -> bool {
    left.len() == right.len()
        && left.bytes().zip(right.bytes()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_token_is_valid_for_one_attempt_only() {
        let tokens = Tokens::new("ab".repeat(32));
        let one = tokens.worker(AttemptId(1));
        assert_eq!(one.len(), 64);
        assert_ne!(one, tokens.worker(AttemptId(2)));
        assert_eq!(tokens.find(&one, [AttemptId(2), AttemptId(1)].into_iter()), Some(AttemptId(1)));
        assert_eq!(tokens.find(&one, [AttemptId(2)].into_iter()), None);
        assert!(!tokens.is_person(&one) && tokens.is_person(&"ab".repeat(32)));
        let client = tokens.client();
        assert!(tokens.is_client(&client) && !tokens.is_person(&client) && !tokens.is_client(&one));
    }
}
