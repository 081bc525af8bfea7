//! Option values that are nobody's business: what is shown, logged or sent to other machines leaves them out.

use std::collections::BTreeMap;

/// Parts of keys whose values are secrets.
const SECRET: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "credential",
    "access-key",
    "accesskey",
    "access.key",
    "account.key",
    "azure.sas",
    "wasb.sas",
    "private",
];

/// Whether the value of an option is shown to nobody.
pub fn is_secret(key: &str) -> bool {
    SECRET.iter().any(|part| key.to_ascii_lowercase().contains(part))
}

/// Options that may travel: nothing whose name says that its value is a secret, and no passwords in URIs.
pub fn without_secrets(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = options.iter().filter(|(key, _)| !is_secret(key));
    plain.map(|(key, value)| (key.clone(), without_password(value))).collect()
}

/// `scheme://user:password@host` without the password.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let password = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
    match password {
        Some((user, secret)) => {
            let after = rest.get(user.len() + 1 + secret.len()..).unwrap_or_default();
            format!("{scheme}://{user}{after}")
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_travel() {
        let given = ["fs.s3a.secret.key", "s3.access-key", "token", "jdbc.password", "write-only", "scan.snapshot-id"];
        let given: BTreeMap<String, String> = given.iter().map(|k| ((*k).to_owned(), "x".to_owned())).collect();
        let kept = without_secrets(&given);
        assert_eq!(kept.keys().map(String::as_str).collect::<Vec<_>>(), ["scan.snapshot-id", "write-only"]);
    }

    #[test]
    fn passwords_of_uris_do_not_travel() {
        for (given, kept) in [
            ("jdbc:postgresql://me:pa@ss@host:5432/db", "jdbc:postgresql://me@host:5432/db"),
            ("jdbc:postgresql://me@host/db?x=a:b@c", "jdbc:postgresql://me@host/db?x=a:b@c"),
            ("http://host:80/a", "http://host:80/a"),
            ("7 d", "7 d"),
        ] {
            assert_eq!(without_password(given), kept);
        }
    }
}
