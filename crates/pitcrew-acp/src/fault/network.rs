//! Errors of agents that cannot reach their provider.

use pitcrew_model::ErrorCause;

/// Words of the libraries that agents use, and of our own proxy.
const SIGNS: &[&str] = &[
    "econnrefused",
    "enotfound",
    "eai_again",
    "enetunreach",
    "ehostunreach",
    "etimedout",
    "getaddrinfo",
    "und_err_connect_timeout",
    "connection refused",
    "connection error",
    "connect timeout",
    "connection timed out",
    "client error (connect)",
    "connecterror",
    "dns error",
    "failed to lookup address",
    "name or service not known",
    "temporary failure in name resolution",
    "could not resolve host",
    "network is unreachable",
    "no route to host",
    "unable to connect to api",
    "error sending request for url",
    "fetch failed",
    "is allowed and cannot be reached",
];

/// The words after which a library names the host.
const BEFORE_HOST: &[&str] = &["enotfound ", "eai_again ", "could not resolve host: ", "url (http"];

/// Whether the first line of an error is about the network.
pub(super) fn is_meant(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default().to_ascii_lowercase();
    SIGNS.iter().any(|it| line.contains(it))
}

/// The message of an error. One about the network starts with what cannot be reached.
pub(crate) fn said(cause: ErrorCause, message: String) -> String {
    match cause {
        ErrorCause::Unreachable => {
            // Our own agent says so itself.
            if let Some(own) = message.find("cannot reach ") {
                return message[own..].to_owned();
            }
            let host = host_in(&message).unwrap_or_else(|| "the provider".into());
            format!("cannot reach {host}: {message}")
        }
        ErrorCause::Auth | ErrorCause::Quota { .. } | ErrorCause::Model | ErrorCause::Other => {
            message
        }
    }
}

fn host_in(message: &str) -> Option<String> {
    let lower = message.to_ascii_lowercase();
    BEFORE_HOST.iter().find_map(|it| {
        let rest = &lower[lower.find(it)? + it.len()..];
        let rest = rest.trim_start_matches(['s', ':', '/']);
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '.' || it == '-';
        let host = rest.split(|it| !is_part(it)).next()?.trim_end_matches('.');
        host.contains('.').then(|| host.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_provider_is_named_first() {
        let said = |message: &str| {
            assert!(is_meant(message), "{message}");
            said(ErrorCause::Unreachable, message.into())
        };
        for (message, wanted) in [
            (
                "request to the model failed: getaddrinfo ENOTFOUND api.example.com",
                "api.example.com",
            ),
            ("getaddrinfo EAI_AGAIN api.example.com:443", "api.example.com"),
            (
                "error sending request for url (https://api.example.com/v1/responses)",
                "api.example.com",
            ),
            ("API Error: Connection error.", "the provider"),
            ("API Error: Unable to connect to API (ECONNREFUSED)", "the provider"),
            ("fetch failed", "the provider"),
        ] {
            assert_eq!(said(message), format!("cannot reach {wanted}: {message}"));
        }
        assert_eq!(
            said("cannot reach api.example.com: ECONNREFUSED"),
            "cannot reach api.example.com: ECONNREFUSED"
        );
    }

    #[test]
    fn other_errors_are_not_about_the_network() {
        for message in [
            "API Error: 500 overloaded",
            "Internal error",
            "the test server refused the connection",
            "no\nECONNREFUSED",
        ] {
            assert!(!is_meant(message), "{message}");
        }
    }
}
