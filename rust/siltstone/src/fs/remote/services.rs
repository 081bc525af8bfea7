//! The services of OpenDAL for a bucket, set up as options and environment say.

use std::{env, fs::File};

use opendal::{
    Operator,
    services::{Cos, Gcs, Oss, S3},
};

use super::{
    address::Bucket,
    azure::{self, Connection},
    kind::Kind,
    settings::Settings,
};
use crate::error::{Error, ErrorKind, Result};

const AWS: &str = "amazonaws.com";
const GOOGLE: &str = "https://storage.googleapis.com";
/// Where the SDKs of Google find a server that imitates theirs; it knows no keys.
const EMULATOR: &str = "STORAGE_EMULATOR_HOST";

/// Sends requests to a bucket, each once.
///
/// # Errors
/// `InvalidOption`: an option that is needed is missing; inside, what the service finds wrong.
pub(super) fn operator(bucket: &Bucket, settings: &Settings) -> Result<opendal::Result<Operator>> {
    Ok(match bucket.kind {
        Kind::S3 => Operator::new(s3(bucket, settings)),
        Kind::Azure => Operator::new(azure::service(bucket, settings)),
        Kind::Google => Operator::new(google(bucket, settings)?),
        Kind::Oss => Operator::new(oss(bucket, settings)?),
        Kind::Cos => Operator::new(cos(bucket, settings)?),
    })
}

/// Whether the store is one of which it is known that it refuses a put whose key is taken. OSS and COS do not in buckets with
/// versions, and who imitates the others may not.
pub(super) fn is_known_to_keep_conditions(bucket: &Bucket, settings: &Settings) -> bool {
    match bucket.kind {
        Kind::S3 => endpoint(bucket, settings).is_none_or(|endpoint| endpoint.contains(AWS)),
        Kind::Azure => {
            let own = format!("https://{}", bucket.host);
            bucket.host.contains(".blob.core.") && endpoint(bucket, settings).is_some_and(|endpoint| endpoint == own)
        }
        Kind::Google => endpoint(bucket, settings).is_some_and(|endpoint| endpoint == GOOGLE),
        Kind::Oss | Kind::Cos => false,
    }
}

/// Where requests go, as far as that is known without asking.
pub(super) fn endpoint(bucket: &Bucket, settings: &Settings) -> Option<String> {
    let given = settings.endpoint.clone();
    let found = match bucket.kind {
        Kind::S3 => given.or_else(|| variable("AWS_ENDPOINT_URL_S3")).or_else(|| variable("AWS_ENDPOINT_URL")),
        Kind::Azure => {
            let named = || Connection::of_environment(bucket).endpoint;
            Some(given.or_else(named).unwrap_or_else(|| format!("https://{}", bucket.host)))
        }
        Kind::Google => Some(given.or_else(emulator).unwrap_or_else(|| GOOGLE.to_owned())),
        Kind::Oss => given,
        Kind::Cos => given.or_else(|| Some(format!("https://cos.{}.myqcloud.com", settings.region.as_ref()?))),
    };
    found.map(|endpoint| endpoint.trim_end_matches('/').to_owned())
}

fn s3(bucket: &Bucket, settings: &Settings) -> S3 {
    let mut service = S3::default().bucket(&bucket.name).region(&region(bucket, settings));
    let endpoint = endpoint(bucket, settings);
    if let Some(endpoint) = &endpoint {
        service = service.endpoint(endpoint);
    }
    if let (Some(access), Some(secret)) = (&settings.access_key, &settings.secret_key) {
        service = service.access_key_id(access).secret_access_key(secret);
        if let Some(token) = &settings.session_token {
            service = service.session_token(token);
        }
    }
    if settings.anonymous {
        service = service.skip_signature();
    }
    let at_aws = endpoint.as_ref().is_none_or(|endpoint| endpoint.contains(AWS));
    // a certificate of *.s3.amazonaws.com is not one of a name with dots
    let by_path = settings.path_style.unwrap_or(!at_aws || bucket.name.contains('.'));
    if by_path { service } else { service.enable_virtual_host_style() }
}

/// Requests are signed for a region, whether the store has several or not.
fn region(bucket: &Bucket, settings: &Settings) -> String {
    let of_endpoint = || {
        let endpoint = endpoint(bucket, settings)?;
        let host = endpoint.split("://").last()?.strip_prefix("s3.")?.split_once(".amazonaws.com")?.0.to_owned();
        (!host.is_empty()).then_some(host)
    };
    let named = settings.region.clone().or_else(|| variable("AWS_REGION"));
    named.or_else(|| variable("AWS_DEFAULT_REGION")).or_else(of_endpoint).unwrap_or_else(|| "us-east-1".to_owned())
}

fn emulator() -> Option<String> {
    let place = variable(EMULATOR)?;
    Some(if place.contains("://") { place } else { format!("http://{place}") })
}

fn google(bucket: &Bucket, settings: &Settings) -> Result<Gcs> {
    let mut service = Gcs::default().bucket(&bucket.name);
    if let Some(endpoint) = endpoint(bucket, settings) {
        service = service.endpoint(&endpoint);
    }
    if let Some(path) = &settings.key_file {
        if let Err(e) = File::open(path) {
            return Err(Error::new(ErrorKind::InvalidOption, "the file with the keys cannot be read")
                .with("file", path)
                .with("option", "fs.gs.auth.service.account.json.keyfile")
                .caused_by(e));
        }
        service = service.credential_path(path);
    }
    if settings.of_instance {
        service = service.disable_config_load();
    }
    let imitated = settings.endpoint.is_none() && settings.key_file.is_none() && emulator().is_some();
    Ok(if settings.anonymous || imitated { service.skip_signature() } else { service })
}

fn oss(bucket: &Bucket, settings: &Settings) -> Result<Oss> {
    let Some(endpoint) = endpoint(bucket, settings) else {
        return Err(Error::new(ErrorKind::InvalidOption, "the option 'fs.oss.endpoint' is needed for oss://")
            .with("option", "fs.oss.endpoint")
            .hint("give the endpoint of the bucket's region, such as https://oss-cn-hangzhou.aliyuncs.com"));
    };
    // with the bucket in the path the signatures of listings would not be those of OSS
    let mut service = Oss::default().bucket(&bucket.name).endpoint(&endpoint).addressing_style("virtual");
    if let (Some(access), Some(secret)) = (&settings.access_key, &settings.secret_key) {
        service = service.access_key_id(access).access_key_secret(secret);
        if let Some(token) = &settings.session_token {
            service = service.security_token(token);
        }
    }
    let (method, key) = &settings.encryption;
    if let Some(method) = method {
        service = service.server_side_encryption(method);
    }
    Ok(match key {
        Some(key) => service.server_side_encryption_key_id(key),
        None => service,
    })
}

fn cos(bucket: &Bucket, settings: &Settings) -> Result<Cos> {
    let Some(endpoint) = endpoint(bucket, settings) else {
        let message =
            "one of the options 'fs.cosn.bucket.region' and 'fs.cosn.bucket.endpoint_suffix' is needed for cosn://";
        return Err(Error::new(ErrorKind::InvalidOption, message)
            .with("option", "fs.cosn.bucket.region")
            .hint("give the region of the bucket, such as ap-guangzhou"));
    };
    let mut service = Cos::default().bucket(&bucket.name).endpoint(&endpoint);
    if let (Some(id), Some(key)) = (&settings.access_key, &settings.secret_key) {
        service = service.secret_id(id).secret_key(key);
        if let Some(token) = &settings.session_token {
            service = service.security_token(token);
        }
    }
    Ok(service)
}

/// Everything around the process that says how a store is reached: stores that differ in it are different ones.
pub(super) fn surroundings() -> Vec<Option<String>> {
    [
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL",
        "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AZURE_STORAGE_ACCOUNT",
        "AZURE_STORAGE_ACCOUNT_NAME",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_CONNECTION_STRING",
        "AZURE_TENANT_ID",
        "AZURE_CLIENT_ID",
        "AZURE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        EMULATOR,
        "ALIBABA_CLOUD_ACCESS_KEY_ID",
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
        "ALIBABA_CLOUD_SECURITY_TOKEN",
        "TENCENTCLOUD_SECRET_ID",
        "TENCENTCLOUD_SECRET_KEY",
        "TENCENTCLOUD_TOKEN",
        "TENCENTCLOUD_SECURITY_TOKEN",
    ]
    .into_iter()
    .map(variable)
    .collect()
}

/// What the environment has of secrets, which answers of a store must not repeat.
pub(super) const SECRET_VARIABLES: [&str; 15] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_CLIENT_SECRET",
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
    "ALIBABA_CLOUD_SECURITY_TOKEN",
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "TENCENTCLOUD_SECRET_ID",
    "TENCENTCLOUD_SECRET_KEY",
    "TENCENTCLOUD_TOKEN",
    "TENCENTCLOUD_SECURITY_TOKEN",
];

/// What the environment says.
pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
