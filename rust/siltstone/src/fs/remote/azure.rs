//! How requests to Azure are signed: with the key of the account, with a signature that stands for it, or with tokens of Microsoft Entra.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};
use opendal::services::Azblob;
use reqsign_azure_storage::{ClientSecretCredentialProvider, Credential};
use reqsign_core::{Context, ProvideCredential, ProvideCredentialChain};

use super::{
    address::Bucket,
    kind::Kind,
    known::{Means, name_of},
    services::{endpoint, variable},
    settings::{Given, Settings},
};
use crate::error::{Error, ErrorKind, Result};

/// A program that Microsoft Entra knows.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Client {
    id: String,
    pub(super) secret: String,
    tenant: String,
    /// Who is asked for tokens.
    authority: String,
}

/// The settings with one way to sign: the one that the options choose, or the only one that they give.
///
/// # Errors
/// `InvalidOption`: several ways without a choice, or one that is not complete; `UnsupportedFeature`: a way that is not known here.
pub(super) fn chosen(settings: Settings, given: &Given) -> Result<Settings> {
    let client = client(given)?;
    if settings.secret_key.as_ref().is_some_and(|key| STANDARD.decode(key).is_err()) {
        let option = given.key(Means::SecretKey);
        let error = Error::new(ErrorKind::InvalidOption, format!("'{option}' is not in base64")).with("option", option);
        return Err(error.hint("give the key of the account as Azure shows it"));
    }
    let Some(way) = given.text(Means::Provider) else {
        let given = [settings.secret_key.is_some(), settings.sas.is_some(), client.is_some()];
        if given.iter().filter(|is_given| **is_given).count() > 1 {
            let option = name_of(Kind::Azure, Means::Provider);
            return Err(Error::new(
                ErrorKind::InvalidOption,
                "the options have several ways to sign requests to Azure",
            )
            .with("option", &option)
            .hint(format!("choose by '{option}' = SharedKey, SAS or OAuth")));
        }
        return Ok(Settings { client, ..settings });
    };
    match way.to_ascii_lowercase().as_str() {
        "sharedkey" => Ok(Settings { sas: None, ..settings }),
        "sas" => Ok(Settings { secret_key: None, ..settings }),
        "oauth" => Ok(Settings { secret_key: None, sas: None, client, ..settings }),
        _ => Err(Error::unsupported(format!("'{way}' as a way to sign requests"))
            .with("option", given.key(Means::Provider))
            .hint("give SharedKey, SAS or OAuth, or leave it out")),
    }
}

/// Who the program is, where options say so; what the environment says, and managed identities, is found without them.
fn client(given: &Given) -> Result<Option<Client>> {
    let parts = [Means::ClientId, Means::ClientSecret, Means::ClientEndpoint];
    let said = parts.map(|means| given.text(means));
    let class = given.text(Means::OAuth).map(|class| class.rsplit('.').next().unwrap_or(class));
    match class {
        None if said.iter().all(Option::is_none) => return Ok(None),
        None | Some("ClientCredsTokenProvider") => {}
        Some("MsiTokenProvider" | "WorkloadIdentityTokenProvider") if said.iter().all(Option::is_none) => {
            return Ok(None);
        }
        Some(class) => {
            return Err(Error::unsupported(format!("the token provider '{class}' with these options"))
                .with("option", given.key(Means::OAuth))
                .hint(
                    "give ClientCredsTokenProvider with client id, secret and endpoint; managed and workload identities are found by \
                     AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE, without options",
                ));
        }
    }
    let [Some(id), Some(secret), Some(endpoint)] = said else {
        let missing = parts.into_iter().find(|means| given.text(*means).is_none()).unwrap_or(Means::ClientId);
        let missing = name_of(Kind::Azure, missing);
        let message = format!("'{missing}' is missing: client id, secret and endpoint are needed together");
        return Err(Error::new(ErrorKind::InvalidOption, message).with("option", missing));
    };
    let Some((authority, tenant)) = tenant_of(endpoint) else {
        let key = given.key(Means::ClientEndpoint);
        return Err(Error::new(ErrorKind::InvalidOption, format!("'{key}' does not name a tenant"))
            .with("option", key)
            .hint("give https://login.microsoftonline.com/<tenant>/oauth2/token"));
    };
    Ok(Some(Client { id: id.to_owned(), secret: secret.to_owned(), tenant, authority }))
}

/// `https://login.microsoftonline.com/<tenant>/oauth2/token`, taken apart.
fn tenant_of(endpoint: &str) -> Option<(String, String)> {
    let (scheme, rest) = endpoint.trim_end_matches('/').split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let tenant = path.strip_suffix("/oauth2/v2.0/token").or_else(|| path.strip_suffix("/oauth2/token"))?;
    let is_plain = !host.is_empty() && !host.contains('@') && !tenant.is_empty() && !tenant.contains(['/', '?']);
    is_plain.then(|| (format!("{scheme}://{host}"), tenant.to_owned()))
}

/// The service for a container.
pub(super) fn service(bucket: &Bucket, settings: &Settings) -> Azblob {
    let mut service = Azblob::default().container(&bucket.name).account_name(bucket.account());
    if let Some(endpoint) = endpoint(bucket, settings) {
        service = service.endpoint(&endpoint);
    }
    if let Some(client) = &settings.client {
        return service.credential_provider_chain(ProvideCredentialChain::new().push(Tokens::new(client)));
    }
    let Keys { key, sas } = keys(bucket, settings);
    if let Some(key) = key {
        service = service.account_key(&key);
    }
    match sas {
        Some(sas) => service.sas_token(&sas),
        None => service,
    }
}

/// Whether a signature stands in the names of what is asked for: requests that are sent in one lose it.
pub(super) fn signs_names(bucket: &Bucket, settings: &Settings) -> bool {
    bucket.kind == Kind::Azure && settings.client.is_none() && keys(bucket, settings).sas.is_some()
}

/// What the account's requests are signed with.
#[derive(Default)]
struct Keys {
    key: Option<String>,
    sas: Option<String>,
}

/// Of the options, or else of the environment.
fn keys(bucket: &Bucket, settings: &Settings) -> Keys {
    if settings.secret_key.is_some() || settings.sas.is_some() {
        return Keys { key: settings.secret_key.clone(), sas: settings.sas.clone() };
    }
    Connection::of_environment(bucket).keys
}

/// What the environment says of an account.
pub(super) struct Connection {
    keys: Keys,
    pub(super) endpoint: Option<String>,
}

impl Connection {
    /// The variables of the command line and the SDKs, where they name no other account.
    pub(super) fn of_environment(bucket: &Bucket) -> Self {
        Self::of(bucket, variable)
    }

    fn of(bucket: &Bucket, variable: impl Fn(&str) -> Option<String>) -> Self {
        let named = [
            ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"),
            ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"),
        ];
        let key = named.into_iter().find_map(|(account, key)| {
            let is_ours = variable(account).is_none_or(|account| account == bucket.account());
            variable(key).filter(|_| is_ours)
        });
        let sas = variable("AZURE_STORAGE_SAS_TOKEN").map(|sas| sas.trim_start_matches('?').to_owned());
        let text = variable("AZURE_STORAGE_CONNECTION_STRING").unwrap_or_default();
        let part = |name: &str| {
            let parts = text.split(';').filter_map(|part| part.split_once('='));
            parts.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
        };
        if key.is_some() || sas.is_some() || part("AccountName").is_some_and(|account| account != bucket.account()) {
            return Self { keys: Keys { key, sas }, endpoint: None };
        }
        let sas = part("SharedAccessSignature").map(|sas| sas.trim_start_matches('?').to_owned());
        Self { keys: Keys { key: part("AccountKey"), sas }, endpoint: part("BlobEndpoint") }
    }
}

/// Tokens of a program, without its secret in what is logged.
struct Tokens(ClientSecretCredentialProvider);

impl Tokens {
    fn new(client: &Client) -> Self {
        let provider = ClientSecretCredentialProvider::new();
        let provider = provider.with_client_id(&client.id).with_client_secret(&client.secret);
        Self(provider.with_tenant_id(&client.tenant).with_authority_host(&client.authority))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

impl ProvideCredential for Tokens {
    type Credential = Credential;

    async fn provide_credential(&self, context: &Context) -> reqsign_core::Result<Option<Credential>> {
        self.0.provide_credential(context).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::address, *};

    const LOCATION: &str = "abfs://c@a.dfs.core.windows.net/w";
    const ENDPOINT: &str = "https://login.microsoftonline.com/tenant-1/oauth2/token";

    fn bucket() -> Bucket {
        address::parse(LOCATION).unwrap().bucket
    }

    fn parsed(pairs: &[(&str, &str)]) -> Result<Settings> {
        let options: BTreeMap<String, String> =
            pairs.iter().map(|(key, value)| (format!("fs.azure.{key}"), (*value).to_owned())).collect();
        Settings::parse(&bucket(), &options)
    }

    #[test]
    fn one_way_to_sign_is_chosen() {
        let both = [("account.key.a.dfs.core.windows.net", "a2V5"), ("sas.c.a.dfs.core.windows.net", "?sig=s")];
        assert_eq!(parsed(&both).unwrap_err().kind(), ErrorKind::InvalidOption);
        let with = |way: &'static str| parsed(&[both[0], both[1], ("account.auth.type", way)]);
        let key = with("SharedKey").unwrap();
        assert_eq!((key.secret_key.as_deref(), key.sas), (Some("a2V5"), None));
        let sas = with("SAS").unwrap();
        assert_eq!((sas.secret_key, sas.sas.as_deref()), (None, Some("sig=s")));
        let oauth = with("OAuth").unwrap();
        assert_eq!((oauth.secret_key, oauth.sas), (None, None));
        assert_eq!(parsed(&[("account.key", "not base64!")]).unwrap_err().kind(), ErrorKind::InvalidOption);
        assert_eq!(with("Custom").unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }

    #[test]
    fn a_program_is_named_whole() {
        let id = ("account.oauth2.client.id", "i");
        let secret = ("account.oauth2.client.secret.a.dfs.core.windows.net", "sEcReT");
        let endpoint = ("account.oauth2.client.endpoint", ENDPOINT);
        let class = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider";
        let whole = parsed(&[id, secret, endpoint, ("account.oauth.provider.type", class)]).unwrap();
        let client = whole.client.as_ref().unwrap();
        assert_eq!(
            (client.tenant.as_str(), client.authority.as_str()),
            ("tenant-1", "https://login.microsoftonline.com")
        );
        assert!(!format!("{whole:?} {:?}", Tokens::new(client)).contains("sEcReT"));
        assert_eq!(parsed(&[id, secret]).unwrap_err().kind(), ErrorKind::InvalidOption);
        let wrong = ("account.oauth2.client.endpoint", "https://login.microsoftonline.com/");
        assert_eq!(parsed(&[id, secret, wrong]).unwrap_err().kind(), ErrorKind::InvalidOption);
        let managed = ("account.oauth.provider.type", "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider");
        assert!(parsed(&[managed]).unwrap().client.is_none());
        assert_eq!(parsed(&[managed, id]).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }

    #[test]
    fn the_environment_counts_for_its_account() {
        fn of(pairs: &[(&str, &str)]) -> Connection {
            Connection::of(&bucket(), |name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        }
        assert_eq!(of(&[("AZURE_STORAGE_KEY", "k")]).keys.key.as_deref(), Some("k"));
        assert_eq!(of(&[("AZURE_STORAGE_ACCOUNT", "b"), ("AZURE_STORAGE_KEY", "k")]).keys.key, None);
        let found = of(&[(
            "AZURE_STORAGE_CONNECTION_STRING",
            "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=k==;BlobEndpoint=http://127.0.0.1:1/a;",
        )]);
        assert_eq!((found.keys.key.as_deref(), found.endpoint.as_deref()), (Some("k=="), Some("http://127.0.0.1:1/a")));
        assert_eq!(of(&[("AZURE_STORAGE_CONNECTION_STRING", "AccountName=b;AccountKey=k")]).keys.key, None);
    }
}
