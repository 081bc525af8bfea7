//! Answers of stores, looked at before they are believed: a page of a proxy is no listing, and no answer is longer than what was
//! asked for.
//!
//! What reads listings takes any XML, or any object of JSON, for one: one without entries, if nothing in it is known. To an
//! operation that deletes what no version names, an empty directory looks the same.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{
    Method, Request, Response, StatusCode,
    header::{CONTENT_TYPE, RANGE},
};
use opendal::{Buffer, Error, ErrorKind, HttpBody, HttpTransport, Result};
use opendal_http_transport_reqwest::ReqwestTransport;
use serde::Deserialize;

use super::{address::Bucket, kind::Kind, sends};

/// Of the text of an error.
const MOST_OF_ERROR: u64 = 1024 * 1024;
/// Of everything that is no content of an object: a listing has at most 5,000 entries.
const MOST_OF_ANSWER: u64 = 64 * 1024 * 1024;

/// Sends requests to a bucket.
pub(super) struct CheckedTransport {
    pub(super) bucket: Bucket,
    pub(super) inner: ReqwestTransport,
}

impl HttpTransport for CheckedTransport {
    async fn fetch(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        let lists = is_for_listing(&self.bucket, &request);
        let most = most_of_content(&request);
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        let sent = self.inner.fetch(request);
        let answer = if changes { sends::send(sent, tells_what_became).await? } else { sent.await? };
        let (parts, body) = answer.into_parts();
        let most = if !parts.status.is_success() {
            Some(MOST_OF_ERROR)
        } else if lists {
            Some(MOST_OF_ANSWER)
        } else {
            most
        };
        let mut body = match most {
            Some(most) => bounded(body, most),
            None => body,
        };
        if lists && parts.status.is_success() {
            let content = body.to_buffer().await?;
            if !is_listing(self.bucket.kind, &content.to_bytes()) {
                return Err(Error::new(ErrorKind::Unexpected, "the answer is no listing of objects"));
            }
            let size = u64::try_from(content.len()).ok();
            body = HttpBody::new(stream::iter([Ok(content)]), size);
        }
        Ok(Response::from_parts(parts, body))
    }
}

/// Whether an answer says what became of its request. A gateway that waits no longer says 504, or any 5xx, and the request may
/// still come to the store; of those with 503 the store's own, which has refused, are XML or JSON.
fn tells_what_became<T>(answer: &Response<T>) -> bool {
    let content = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match answer.status() {
        StatusCode::SERVICE_UNAVAILABLE => content.contains("xml") || content.contains("json"),
        StatusCode::REQUEST_TIMEOUT => false,
        status => !status.is_server_error(),
    }
}

/// Whether a request asks for the names of objects.
fn is_for_listing(bucket: &Bucket, request: &Request<Buffer>) -> bool {
    let asks =
        |parameter: &str| request.uri().query().is_some_and(|query| query.split('&').any(|one| one == parameter));
    request.method() == Method::GET
        && match bucket.kind {
            Kind::S3 | Kind::Oss => asks("list-type=2"),
            Kind::Azure => asks("comp=list"),
            Kind::Google => request.uri().path().ends_with(&format!("/b/{}/o", bucket.name)),
            // the bucket is in the host
            Kind::Cos => matches!(request.uri().path(), "" | "/"),
        }
}

/// How long a good answer may be: as long as the range that was asked for; of a whole object, whoever reads it knows.
fn most_of_content(request: &Request<Buffer>) -> Option<u64> {
    if request.method() != Method::GET {
        return Some(MOST_OF_ANSWER);
    }
    let azure = || request.headers().get("x-ms-range");
    let range = request.headers().get(RANGE).or_else(azure)?.to_str().ok()?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let last: u64 = last.parse().ok()?;
    // the last bytes of the object, or those from one place to another
    if first.is_empty() { Some(last) } else { last.checked_sub(first.parse().ok()?)?.checked_add(1) }
}

/// Ends with an error behind so many bytes.
fn bounded(body: HttpBody, most: u64) -> HttpBody {
    let mut seen = 0_u64;
    body.map_inner(|parts| {
        Box::new(parts.map(move |part| {
            let part = part?;
            seen = seen.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
            if seen <= most {
                return Ok(part);
            }
            Err(Error::new(
                ErrorKind::Unexpected,
                format!("the answer is longer than the {most} bytes that it may have"),
            ))
        }))
    })
}

fn is_listing(kind: Kind, content: &Bytes) -> bool {
    #[derive(Deserialize)]
    struct Page {
        kind: String,
    }
    match kind {
        Kind::Google => serde_json::from_slice::<Page>(content).is_ok_and(|page| page.kind == "storage#objects"),
        Kind::S3 | Kind::Oss => root_of(content) == Some("ListBucketResult"),
        Kind::Azure => root_of(content) == Some("EnumerationResults"),
        Kind::Cos => root_of(content) == Some("ListBucketResult") && names_its_next_page(content),
    }
}

/// Whether a listing of COS that goes on says where: else it would be taken for a whole one.
fn names_its_next_page(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    !text.contains("<IsTruncated>true") || text.contains("<NextMarker>")
}

/// The name of the root of a document of XML, without its namespace.
fn root_of(content: &[u8]) -> Option<&str> {
    let mut rest = std::str::from_utf8(content).ok()?.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start().strip_prefix('<')?;
        let end = match rest {
            _ if rest.starts_with('?') => "?>",
            _ if rest.starts_with("!--") => "-->",
            _ => break,
        };
        rest = rest.split_once(end)?.1;
    }
    let name = rest.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next()?;
    Some(name.rsplit_once(':').map_or(name, |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gateway said 504 while the request was on its way: the lock was free, and the deletion came when others had committed.
    #[test]
    fn what_a_gateway_says_is_no_answer_of_the_store() {
        let tells = |status: u16, content: &str| {
            tells_what_became(&Response::builder().status(status).header(CONTENT_TYPE, content).body(()).unwrap())
        };
        assert!([200, 204, 404, 412].iter().all(|status| tells(*status, "text/html")));
        assert!(tells(503, "application/xml") && tells(503, "application/json; charset=UTF-8"));
        assert!(![408, 500, 502, 503, 504].iter().any(|status| tells(*status, "text/html")));
    }

    fn bucket(kind: Kind) -> Bucket {
        Bucket { kind, name: "b".to_owned(), host: String::new() }
    }

    fn request(method: Method, uri: &str, range: &str) -> Request<Buffer> {
        let request = Request::builder().method(method).uri(uri);
        let request = if range.is_empty() { request } else { request.header(RANGE, range) };
        request.body(Buffer::new()).unwrap()
    }

    #[test]
    fn listings_are_known_by_their_requests() {
        for (kind, uri, lists) in [
            (Kind::S3, "http://h/b?list-type=2&prefix=w%2F", true),
            (Kind::Oss, "http://b.h/?list-type=2", true),
            (Kind::Azure, "http://h/b?restype=container&comp=list", true),
            (Kind::Google, "http://h/storage/v1/b/b/o?prefix=w%2F", true),
            (Kind::Google, "http://h/storage/v1/b/b/o", true),
            (Kind::Cos, "http://b.h?prefix=w%2F&delimiter=/", true),
            (Kind::Cos, "http://b.h/", true),
            (Kind::Cos, "http://b.h/w", false),
            (Kind::S3, "http://h/b/w/list-type=2", false),
            (Kind::Google, "http://h/storage/v1/b/b/o/w%2Fo", false),
            (Kind::Azure, "http://h/b/w/comp=list", false),
        ] {
            assert_eq!(is_for_listing(&bucket(kind), &request(Method::GET, uri, "")), lists, "{uri}");
            assert!(!is_for_listing(&bucket(kind), &request(Method::PUT, uri, "")), "{uri}");
        }
    }

    #[test]
    fn an_answer_has_as_many_bytes_as_the_range() {
        for (range, most) in [
            ("bytes=0-9", Some(10)),
            ("bytes=-5", Some(5)),
            ("bytes=7-", None),
            ("bytes=9-7", None),
            ("", None),
            ("pages=1-2", None),
        ] {
            assert_eq!(most_of_content(&request(Method::GET, "http://h/k", range)), most, "{range}");
        }
        assert_eq!(most_of_content(&request(Method::PUT, "http://h/k", "")), Some(MOST_OF_ANSWER));
    }

    /// The page of a proxy where one must log in was taken for an empty directory, and orphan cleaning deleted live files.
    #[test]
    fn a_page_of_a_proxy_is_no_listing() {
        let page = "<!DOCTYPE html><html><head><title>Please log in</title></head><body/></html>";
        for kind in [Kind::S3, Kind::Azure, Kind::Google, Kind::Oss, Kind::Cos] {
            for content in
                ["", "{}", "[]", "null", "<a/>", "<html><body/></html>", page, r#"{"kind": "storage#object"}"#]
            {
                assert!(!is_listing(kind, &Bytes::from_static(content.as_bytes())), "{kind:?} {content}");
            }
        }
        for (kind, content) in [
            (Kind::S3, "<?xml version=\"1.0\"?>\n<!-- a --><ListBucketResult xmlns=\"x\"></ListBucketResult>"),
            (Kind::S3, "<s3:ListBucketResult/>"),
            (Kind::Oss, "\u{feff}<ListBucketResult>"),
            (Kind::Cos, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"),
            (
                Kind::Cos,
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextMarker>a</NextMarker></ListBucketResult>",
            ),
            (
                Kind::Azure,
                "<?xml version='1.0'?><EnumerationResults ServiceEndpoint=\"x\"><Blobs/></EnumerationResults>",
            ),
            (Kind::Google, r#"{"kind": "storage#objects", "items": []}"#),
        ] {
            assert!(is_listing(kind, &Bytes::from_static(content.as_bytes())), "{content}");
        }
    }

    #[test]
    fn a_listing_of_cos_that_goes_on_and_does_not_say_where_is_none() {
        let content = b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>";
        assert!(!is_listing(Kind::Cos, &Bytes::from_static(content)));
    }

    #[test]
    fn what_is_too_long_is_not_read_to_its_end() {
        let body =
            || HttpBody::new(stream::iter([Ok(Buffer::from(vec![0_u8; 6])), Ok(Buffer::from(vec![0_u8; 6]))]), None);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = |most| runtime.block_on(async move { bounded(body(), most).to_buffer().await });
        assert_eq!(read(12).unwrap().len(), 12);
        assert!(read(11).unwrap_err().message().contains("11 bytes"));
    }
}
