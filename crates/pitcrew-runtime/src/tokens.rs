//! Secrets: the person's token, and one for each attempt that is worth nothing elsewhere.

use pitcrew_model::AttemptId;
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read},
};

/// A mark that nobody has used before, and nobody can guess.
pub fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// What callers prove themselves with.
#[derive(Clone)]
pub struct Tokens {
    person: String,
}

impl Tokens {
    /// From the workspace's secret: 64 hexadecimal digits that only its owner can read.
    pub fn new(person: String) -> Self {
        Self { person }
    }

    /// The person's own, so that it can be kept out of what is written.
    pub(crate) fn person(&self) -> &str {
        &self.person
    }

    pub fn is_person(&self, token: &str) -> bool {
        same(token, &self.person)
    }

    /// The token of one attempt. Derived, so that it is the same after a restart.
    pub fn worker(&self, attempt: AttemptId) -> String {
        self.derived("worker", &attempt.to_string())
    }

    /// The token of the person's own agents, which may call tools and decide nothing.
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

/// Compares without telling by its time how much was right.
fn same(left: &str, right: &str) -> bool {
    left.len() == right.len()
        && left.bytes().zip(right.bytes()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_token_fits_one_attempt_only() {
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
