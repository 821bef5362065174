//! A hub on 127.0.0.1 that behaves as a test wants: one file, one way to go wrong.
//!
//! Answers HEAD with what the file is and GET with its content, as the hub does, and keeps every
//! request for the test to look at. Ends with the test process.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// What the hub says of its file, and how it sends it.
#[derive(Clone)]
pub struct Hub {
    /// What GET sends.
    pub content: Vec<u8>,
    /// Headers of the answer to HEAD.
    pub head: Vec<(&'static str, String)>,
    /// Status of the answer to HEAD.
    pub head_status: u16,
    /// How GET is answered.
    pub body: Body,
}

/// How GET is answered.
#[derive(Clone)]
pub enum Body {
    /// As it should be, with ranges.
    Good,
    /// The whole content with 200, whatever range is asked for.
    IgnoreRange,
    /// A 206 for another range than the one asked for; 200 without a range.
    OtherRange,
    /// A 416 for any range; 200 without a range.
    RefuseRange,
    /// The first bytes, then the connection is closed.
    Cut(usize),
    /// The first bytes, then nothing until the client goes or the test lets go.
    Hang(usize),
    /// Another status and no content.
    Status(u16),
    /// A redirect to the same path at another address.
    Redirect(String),
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method, path and version.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Gets a message when a connection starts to hang.
    pub hanging: Receiver<()>,
    /// A message here ends one hang.
    pub let_go: Sender<()>,
}

impl Server {
    /// Serves `hub` until the process ends.
    pub fn start(hub: Hub) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (tell, hanging) = channel();
        let (let_go, go) = channel();
        let shared = Arc::new((hub, requests.clone(), tell, Mutex::new(go)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (hub, requests, tell, go) = &*shared;
                    let Some(request) = read_request(&stream) else {
                        return;
                    };
                    requests.lock().unwrap().push(request.clone());
                    // The client may be gone: that is its right.
                    let _ = answer(hub, &request, stream, &|| {
                        let _ = tell.send(());
                        let _ = go.lock().unwrap().recv();
                    });
                });
            }
        });
        Self {
            address,
            requests,
            hanging,
            let_go,
        }
    }

    /// The server's address, as `HF_ENDPOINT` wants it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The requests so far that began with `method`.
    pub fn count(&self, method: &str) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.line.starts_with(method))
            .count()
    }
}

/// An address where nothing listens.
pub fn dead_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let line = lines.next()?;
    let headers = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.split_once(':')
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        });
    Some(Request {
        line,
        headers: headers.collect(),
    })
}

fn answer(
    hub: &Hub,
    request: &Request,
    mut stream: TcpStream,
    hang: &dyn Fn(),
) -> std::io::Result<()> {
    let mut send = |status: u16, headers: &[(&str, String)], body: &[u8]| {
        let mut text = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
        for (name, value) in headers {
            text += name;
            text += ": ";
            text += value;
            text += "\r\n";
        }
        stream.write_all(text.as_bytes())?;
        stream.write_all(b"\r\n")?;
        stream.write_all(body)
    };
    if request.line.starts_with("HEAD") {
        return send(hub.head_status, &hub.head, b"");
    }
    let size = hub.content.len();
    let length = |bytes: usize| ("content-length", bytes.to_string());
    let start = request.header("range").and_then(|range| {
        range
            .strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse::<usize>()
            .ok()
    });
    let part = |first: usize, from: usize| {
        let range = (
            "content-range",
            format!("bytes {first}-{}/{size}", size - 1),
        );
        (vec![length(size - from), range], &hub.content[from..])
    };
    match (&hub.body, start) {
        (Body::Good, Some(start)) => {
            let (headers, body) = part(start, start);
            send(206, &headers, body)
        }
        (Body::OtherRange, Some(start)) => {
            let (headers, body) = part(start + 1, start + 1);
            send(206, &headers, body)
        }
        (Body::RefuseRange, Some(_)) => send(416, &[length(0)], b""),
        (Body::Good | Body::OtherRange | Body::RefuseRange, None) | (Body::IgnoreRange, _) => {
            send(200, &[length(size)], &hub.content)
        }
        (Body::Cut(bytes), _) => send(200, &[length(size)], &hub.content[..*bytes]),
        (Body::Hang(bytes), _) => {
            send(200, &[length(size)], &hub.content[..*bytes])?;
            hang();
            stream.write_all(&hub.content[*bytes..])
        }
        (Body::Status(status), _) => send(*status, &[length(0)], b""),
        (Body::Redirect(base), _) => {
            let path = request.line.split(' ').nth(1).unwrap();
            send(
                302,
                &[("location", format!("{base}{path}")), length(0)],
                b"",
            )
        }
    }
}
