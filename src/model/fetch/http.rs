//! HTTP requests to the hub that can be stopped at any moment.
//!
//! Redirects are followed here and not by the client: **the token goes to the hub's own address
//! (scheme, host and port) and to no other**, and nothing leads from https to http.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ureq::http::header::{ACCEPT_ENCODING, AUTHORIZATION, LOCATION, RANGE, ToStrError};
use ureq::http::{Method, Request, Response, Uri};
use ureq::{Agent, Body};

use super::Problem;
use super::environment::Environment;
use crate::cancel::{Cancel, Cancelled};

/// How often a cancel request is looked for.
const POLL: Duration = Duration::from_millis(20);

/// More redirects than any hub needs.
const MAX_REDIRECTS: usize = 8;

/// A client for one fetch.
pub struct Client<'a> {
    environment: &'a Environment,
    agent: Agent,
    cancel: &'a Cancel,
}

impl<'a> Client<'a> {
    /// A client that stops when `cancel` asks for it.
    pub fn new(environment: &'a Environment, cancel: &'a Cancel) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(environment.proxy.clone())
            .user_agent(concat!("speck/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(environment.reach_timeout))
            .timeout_connect(Some(environment.reach_timeout))
            .timeout_recv_response(Some(environment.stall_timeout))
            .timeout_per_read(Some(environment.stall_timeout))
            .build()
            .into();
        Self {
            environment,
            agent,
            cancel,
        }
    }

    /// Asks about `url`. Follows redirects until an answer has the header `wanted` or is none.
    pub fn head(&self, url: &str, wanted: &str) -> Result<Response<Body>, Problem> {
        self.follow(&Method::HEAD, url, None, &|answer| {
            answer.headers().contains_key(wanted)
        })
    }

    /// Gets `url` from byte `start` on. Follows redirects.
    pub fn get(&self, url: &str, start: u64) -> Result<Response<Body>, Problem> {
        let range = (start > 0).then(|| format!("bytes={start}-"));
        self.follow(&Method::GET, url, range.as_deref(), &|_| false)
    }

    fn follow(
        &self,
        method: &Method,
        url: &str,
        range: Option<&str>,
        is_enough: &dyn Fn(&Response<Body>) -> bool,
    ) -> Result<Response<Body>, Problem> {
        let hub: Uri = url
            .parse()
            .with_context(|| format!("bad address {url:?}"))?;
        let mut uri = hub.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::builder()
                .method(method)
                .uri(&uri)
                // Compression would change the length that is announced and resumed at.
                .header(ACCEPT_ENCODING, "identity");
            if let Some(range) = range {
                request = request.header(RANGE, range);
            }
            if let Some(token) = self
                .environment
                .token
                .as_ref()
                .filter(|_| same_origin(&uri, &hub))
            {
                request = request.header(AUTHORIZATION, format!("Bearer {token}"));
            }
            let request = request
                .body(())
                .context("cannot ask the hub: is HF_TOKEN or HF_ENDPOINT malformed?")?;
            let answer = self.send(request)?;
            if !answer.status().is_redirection() || is_enough(&answer) {
                return Ok(answer);
            }
            uri = redirected(&uri, &answer)?;
        }
        Err(anyhow!("the hub redirects more than {MAX_REDIRECTS} times").into())
    }

    /// Sends one request from a thread that can be left alone: looking up a name and connecting
    /// cannot be interrupted, only waited out.
    fn send(&self, request: Request<()>) -> Result<Response<Body>, Problem> {
        let is_head = request.method() == Method::HEAD;
        let limit = is_head.then_some(self.environment.reach_timeout);
        let request = self
            .agent
            .configure_request(request)
            .timeout_global(limit)
            .build();
        let agent = self.agent.clone();
        let call = thread::Builder::new()
            .name("speck-fetch".to_owned())
            .spawn(move || agent.run(request))
            .context("cannot start a thread")?;
        while !call.is_finished() {
            if self.cancel.is_cancelled() {
                self.agent.clone().shutdown();
                return Err(Cancelled.into());
            }
            thread::park_timeout(POLL);
        }
        self.cancel.check()?;
        let answer = call.join().map_err(|_| anyhow!("the HTTP client failed"))?;
        answer.map_err(|error| match error {
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl => {
                Problem::Failed(error.into())
            }
            error => Problem::Unreachable(error.into()),
        })
    }

    /// Lets `read` read a body; a cancel request closes the connection under it.
    pub fn read_body<T>(&self, answer: Response<Body>, read: impl FnOnce(&mut dyn Read) -> T) -> T {
        let finished = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !finished.load(Ordering::Relaxed) {
                    if self.cancel.is_cancelled() {
                        self.agent.clone().shutdown();
                        return;
                    }
                    thread::park_timeout(POLL);
                }
            });
            let result = read(&mut answer.into_body().into_reader());
            finished.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            result
        })
    }
}

/// The value of a header as text.
pub fn header<'a>(answer: &'a Response<Body>, name: &str) -> Option<Result<&'a str, ToStrError>> {
    answer.headers().get(name).map(|value| value.to_str())
}

/// Where `answer`, a redirect from `from`, leads: an absolute address or a path on the same host.
fn redirected(from: &Uri, answer: &Response<Body>) -> anyhow::Result<Uri> {
    let location = header(answer, LOCATION.as_str()).context("the hub redirects to nowhere")??;
    let target = if location.starts_with('/') && !location.starts_with("//") {
        let authority = from.authority().map_or("", |authority| authority.as_str());
        format!(
            "{}://{authority}{location}",
            from.scheme_str().unwrap_or("https")
        )
    } else {
        location.to_owned()
    };
    let uri: Uri = target
        .parse()
        .with_context(|| format!("the hub redirects to {location:?}"))?;
    let is_safe = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => from.scheme_str() == Some("http"),
        Some(_) | None => false,
    };
    anyhow::ensure!(
        is_safe && uri.host().is_some(),
        "the hub redirects to {location:?}"
    );
    Ok(uri)
}

/// Whether two addresses have the same scheme, host and port.
fn same_origin(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().or(match uri.scheme_str() {
            Some("https") => Some(443),
            Some("http") => Some(80),
            Some(_) | None => None,
        })
    };
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    a.scheme() == b.scheme() && host(a) == host(b) && port(a) == port(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let check = |a: &str, b: &str, same: bool| {
            assert_eq!(
                same_origin(&a.parse().unwrap(), &b.parse().unwrap()),
                same,
                "{a} {b}"
            );
        };
        check("https://hub.example/a", "https://HUB.example:443/b", true);
        check("https://hub.example/a", "http://hub.example/a", false);
        check("https://hub.example/a", "https://hub.example:444/a", false);
        check("https://hub.example/a", "https://cdn.hub.example/a", false);
        check("https://hub.example/a", "https://hub.example.evil/a", false);
        check("https://hub.example/a", "https://hub.example@evil/a", false);
    }

    #[test]
    fn redirects_never_lose_encryption() {
        let check = |from: &str, location: &str, expect: Option<&str>| {
            let answer = Response::builder()
                .status(302)
                .header(LOCATION, location)
                .body(Body::builder().data(""))
                .unwrap();
            let target = redirected(&from.parse().unwrap(), &answer);
            assert_eq!(
                target.ok().map(|uri| uri.to_string()).as_deref(),
                expect,
                "{location}"
            );
        };
        check("https://a/x", "https://b/y?z=1", Some("https://b/y?z=1"));
        check("https://a:1/x", "/y?z=1", Some("https://a:1/y?z=1"));
        check("http://a/x", "http://b/y", Some("http://b/y"));
        check("http://a/x", "https://b/y", Some("https://b/y"));
        for location in [
            "http://b/y",
            "ftp://b/y",
            "file:///etc/passwd",
            "//b/y",
            "y",
            "",
            "https://",
        ] {
            check("https://a/x", location, None);
        }
    }
}
