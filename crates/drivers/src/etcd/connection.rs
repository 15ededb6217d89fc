//! A connection: calls of etcd's interface (gRPC over HTTP/2), one at a time.
//!
//! A call is a POST of one message with five bytes before it, and the response ends with a status
//! (gRPC over HTTP2, <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>). Each
//! connection has an event loop of its own, which runs during calls only.

use super::address::{Endpoint, ServerAddress, socket_in};
use super::message::{self, Method};
use crate::percent::unescape;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use http::{Request, StatusCode};
use prost::Message;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use trueput_engine::cluster::ClusterState;
use trueput_engine::{Error, Result};

/// The bytes before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// The time without an answer after which a call looks again who leads.
const LEADER_CHECK: Duration = Duration::from_millis(100);

/// What a server may send before it hears that it was read, bytes.
const WINDOW: u32 = 16 << 20;

/// A connection.
pub(super) struct EtcdConnection {
    runtime: Runtime,
    requests: SendRequest<Bytes>,
    limit: Duration,
    /// The node of a private cluster; none if the server is a user's.
    node: Option<ClusterNode>,
    /// What proves who calls, where the server asks for users.
    token: Option<HeaderValue>,
}

impl EtcdConnection {
    /// Connects, and logs in if the address has a user. No call takes longer than `limit`.
    ///
    /// # Errors
    /// [`Error::Disconnected`] if the server is not reached; what it says to the user.
    pub fn open(address: &ServerAddress, limit: Duration) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::engine)?;
        let unreached =
            |reason: &dyn std::fmt::Display| lost(&format!("cannot reach {address}: {reason}"));
        let connecting = async {
            match &address.endpoint {
                Endpoint::Folder(folder) => {
                    let folder = File::open(folder).map_err(|error| unreached(&error))?;
                    let stream = UnixStream::connect(socket_in(&folder)).await;
                    handshake(stream.map_err(|error| unreached(&error))?).await
                }
                Endpoint::Host { host, port } => {
                    let stream = TcpStream::connect((host.as_str(), *port)).await;
                    let stream = stream.map_err(|error| unreached(&error))?;
                    stream.set_nodelay(true).map_err(|error| lost(&error))?;
                    handshake(stream).await
                }
            }
        };
        let requests = runtime.block_on(async { within(limit, connecting).await })?;
        let mut connection = Self {
            runtime,
            requests,
            limit,
            node: None,
            token: None,
        };
        if let Some((name, password)) = address.credentials() {
            let request = message::AuthenticateRequest { name, password };
            let answer: message::AuthenticateResponse =
                connection.call(message::AUTHENTICATE, &request)?;
            connection.token = HeaderValue::from_str(&answer.token).ok();
        }
        Ok(connection)
    }

    /// Lets calls end when another node leads than this one: a node that is paused or separated
    /// answers nothing.
    pub fn belongs_to(&mut self, node: ClusterNode) {
        self.node = Some(node);
    }

    /// Calls a method.
    ///
    /// # Errors
    /// [`Error::Disconnected`] if the connection is lost or there is no answer in time: whether the
    /// call had an effect is then unknown. Else what the server says.
    pub fn call<A: Message + Default>(
        &mut self,
        method: Method,
        request: &impl Message,
    ) -> Result<A> {
        let length = request.encoded_len();
        let mut body = BytesMut::with_capacity(PREFIX + length);
        body.put_u8(0);
        body.put_u32(u32::try_from(length).map_err(Error::engine)?);
        request.encode(&mut body).map_err(Error::engine)?;
        let mut head = Request::post(method.0)
            .header(CONTENT_TYPE, "application/grpc")
            .header(TE, "trailers")
            .body(())
            .map_err(Error::engine)?;
        if let Some(token) = &self.token {
            head.headers_mut().insert("token", token.clone());
        }
        let requests = &mut self.requests;
        let exchange = async {
            poll_fn(|context| requests.poll_ready(context)).await?;
            let (response, mut stream) = requests.send_request(head, false)?;
            stream.send_data(body.freeze(), true)?;
            receive(response).await
        };
        let limit = self.limit;
        let exchange = async { exchange.await.map_err(|error: h2::Error| lost(&error)) };
        let node = self.node.as_ref();
        let received = self
            .runtime
            .block_on(async { within(limit, while_leading(node, exchange)).await })?;
        A::decode(received.message()?).map_err(Error::engine)
    }
}

/// Begins HTTP/2, whose frames are then handled whenever the event loop runs.
async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Bytes>> {
    let mut settings = h2::client::Builder::new();
    settings
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let (requests, connection) = settings
        .handshake(stream)
        .await
        .map_err(|error| lost(&error))?;
    tokio::spawn(async move {
        // The call that is under way hears of the error too.
        let _ = connection.await;
    });
    Ok(requests)
}

/// Waits for something, but not for longer than `limit`.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(lost(&format!("no answer in {} ms", limit.as_millis()))),
    }
}

/// A node of a private cluster, which sessions use as long as it leads.
pub(super) struct ClusterNode {
    /// The folder of the cluster.
    pub cluster: PathBuf,
    /// The number of the node.
    pub number: u32,
}

impl ClusterNode {
    fn is_replaced(&self) -> bool {
        let state = ClusterState::read(&self.cluster).ok();
        let leader = state.and_then(|state| state.leader);
        leader.is_some_and(|leader| leader != self.number)
    }
}

/// Waits for something that a node does, but not once another one leads.
async fn while_leading<T>(
    node: Option<&ClusterNode>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(LEADER_CHECK, work.as_mut()).await {
            Ok(done) => return done,
            Err(_) if node.is_some_and(ClusterNode::is_replaced) => {
                return Err(lost(&"another node leads now"));
            }
            Err(_) => {}
        }
    }
}

/// A response: the message with the bytes before it, and the headers with the status.
struct Response {
    code: StatusCode,
    body: Bytes,
    headers: HeaderMap,
}

async fn receive(response: h2::client::ResponseFuture) -> std::result::Result<Response, h2::Error> {
    let (head, mut stream) = response.await?.into_parts();
    let mut body = BytesMut::new();
    while let Some(part) = stream.data().await {
        let part = part?;
        stream.flow_control().release_capacity(part.len())?;
        body.extend_from_slice(&part);
    }
    // A response without a message has its status among its first headers.
    let trailers = stream.trailers().await?;
    Ok(Response {
        code: head.status,
        body: body.freeze(),
        headers: trailers.unwrap_or(head.headers),
    })
}

impl Response {
    /// Returns the message.
    ///
    /// # Errors
    /// What the server says, if it did not do what it was called for.
    fn message(mut self) -> Result<Bytes> {
        let header = |name| self.headers.get(name)?.to_str().ok();
        let status: i64 = match header("grpc-status").map(str::parse) {
            Some(Ok(status)) => status,
            _ => {
                let code = self.code.as_u16();
                let text = format!("the server is no etcd: it answers with HTTP status {code}");
                return Err(Error::engine(text));
            }
        };
        if status != 0 {
            let text = header("grpc-message").unwrap_or_default();
            let text = unescape(text).unwrap_or_else(|| text.to_owned());
            return Err(error_of(status, text));
        }
        if self.body.len() < PREFIX || self.body.get_u8() != 0 {
            return Err(Error::engine("a response without a plain message"));
        }
        let length = self.body.get_u32();
        if usize::try_from(length) == Ok(self.body.len()) {
            Ok(self.body)
        } else {
            Err(Error::engine("a response that is not one message"))
        }
    }
}

fn lost(reason: &dyn std::fmt::Display) -> Error {
    Error::Disconnected(format!("etcd: {reason}"))
}

/// Returns the error for a status of gRPC (its list of codes) with etcd's text.
fn error_of(status: i64, text: String) -> Error {
    let says = |part: &str| text.contains(part);
    match status {
        // Canceled, deadline exceeded, unavailable: no leader, a lost leader, a timeout.
        1 | 4 | 14 => Error::Disconnected(text),
        // Unknown, for errors that etcd gives no status of their own (togRPCError in
        // etcdserver/api/v3rpc/util.go): Raft has no leader, or the node is being stopped.
        2 if says("raft proposal dropped") || says("raft: stopped") => Error::Disconnected(text),
        // Resource exhausted.
        8 if says("space exceeded") => Error::Full(text),
        8 if says("too many requests") => Error::Conflict(text),
        8 if says("larger than max") => {
            Error::Unsupported(format!("{text} (the server's max-request-bytes)"))
        }
        // Out of range: the snapshot of the transaction is no longer kept.
        11 if says("compacted") => Error::Conflict(text),
        // Invalid argument.
        3 if says("too many operations") => {
            Error::Unsupported(format!("{text} (the server's max-txn-ops)"))
        }
        3 if says("too large") => {
            Error::Unsupported(format!("{text} (the server's max-request-bytes)"))
        }
        code => Error::Engine { code, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_whether_to_retry_to_connect_again_or_to_stop() {
        let error = |status, text: &str| error_of(status, text.to_owned());
        assert!(error(14, "etcdserver: leader changed").is_disconnection());
        assert!(error(14, "etcdserver: request timed out").is_disconnection());
        assert!(error(2, "raft proposal dropped").is_disconnection());
        assert!(error(2, "raft: stopped").is_disconnection());
        assert!(!error(2, "etcdserver: corrupt cluster").is_disconnection());
        let compacted = "etcdserver: mvcc: required revision has been compacted";
        assert!(error(11, compacted).is_conflict());
        assert!(error(8, "etcdserver: too many requests").is_conflict());
        let full = error(8, "etcdserver: mvcc: database space exceeded");
        assert!(matches!(full, Error::Full(_)));
        let many = error(3, "etcdserver: too many operations in txn request");
        assert!(many.to_string().contains("max-txn-ops"), "{many}");
        let future = error(
            11,
            "etcdserver: mvcc: required revision is a future revision",
        );
        assert!(matches!(future, Error::Engine { code: 11, .. }));
    }
}
