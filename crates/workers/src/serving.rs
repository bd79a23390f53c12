//! Running tasks that other replicas send.
//!
//! A request says of which term of the group it is, and which state its tasks read. Who is in
//! another term answers nothing: a leader that was deposed may have commits that nobody else has.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion_distributed::{
    DistributedExt, DistributedTaskContext, Worker, WorkerPlanRewriteEvent,
    WorkerPlanRewriteEventResponse, WorkerQueryContext,
};
use http::HeaderMap;
use remanent_sql::{Task, TaskRunner, function_of_text};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::Connected;

use crate::codec::{Codec, Decoding};
use crate::group::{BETWEEN, ByteStream, FUNCTIONS, Group, HEADERS, cannot};

/// What runs tasks here, for whoever connects.
#[derive(Clone)]
pub struct Service {
    connections: mpsc::UnboundedSender<Box<dyn ByteStream>>,
}

impl Service {
    /// Runs tasks in the runtime that the caller runs in, until it is dropped with all its clones.
    pub fn start(runner: Arc<TaskRunner>, group: Arc<dyn Group>) -> Self {
        let (connections, accepted) = mpsc::unbounded_channel();
        let worker = worker(runner, group);
        let accepted = UnboundedReceiverStream::new(accepted);
        let accepted = accepted.map(|stream| Ok::<_, io::Error>(Peer(stream)));
        tokio::spawn(async move {
            let server = Server::builder().add_service(worker.into_worker_server());
            if let Err(error) = server.serve_with_incoming(accepted).await {
                tracing::error!(%error, "no tasks of other replicas are run any more");
            }
        });
        Self { connections }
    }

    /// Answers on a connection that another replica has made.
    pub fn answer(&self, stream: Box<dyn ByteStream>) {
        // If nobody answers any more, the connection is closed.
        let _ = self.connections.send(stream);
    }
}

/// What runs tasks.
pub(crate) fn worker(runner: Arc<TaskRunner>, group: Arc<dyn Group>) -> Worker {
    Worker::from_session_builder(move |context: WorkerQueryContext| {
        let (runner, group) = (Arc::clone(&runner), Arc::clone(&group));
        async move { begin(context, &runner, group.as_ref()).await }
    })
}

/// The session of one task, which reads the state that its query reads.
async fn begin(
    mut context: WorkerQueryContext,
    runner: &Arc<TaskRunner>,
    group: &dyn Group,
) -> Result<SessionState> {
    let [term, timestamp, segments] = HEADERS.map(|name| number(&context.headers, name));
    let (term, timestamp, segments) = (term?, timestamp?, segments?);
    let refused =
        |because: &str| DataFusionError::Execution(format!("{}: {because}", cannot(&group.own())));
    if group.term() != term {
        return Err(refused("it is in another term of the group"));
    }
    let config = context.builder.config().get_or_insert_default();
    let place = config.get_extension::<DistributedTaskContext>();
    let place = place.ok_or_else(|| DataFusionError::Internal("a task without a place".into()))?;
    let (index, tasks) = (place.task_index, place.task_count);
    let segments = segments as usize;
    let task = Task { index, tasks, segments, timestamp };
    let task = runner.begin_task(task).await.map_err(|error| refused(&error.to_string()))?;
    let rewriting = Arc::clone(&task);
    // Expressions are decoded with these settings, which are those of every session.
    let (ours, options) = (task.state().config_options(), config.options_mut());
    options.execution = ours.execution.clone();
    options.optimizer = ours.optimizer.clone();
    options.sql_parser = ours.sql_parser.clone();
    let config = config
        .clone()
        .with_extension(Arc::new(Decoding(Arc::clone(&task))))
        .with_distributed_user_codec(Codec { runner: Arc::clone(runner) })
        .with_distributed_worker_plan_rewrite_handler(move |event: WorkerPlanRewriteEvent<'_>| {
            Ok(WorkerPlanRewriteEventResponse::new(rewriting.operator(event.plan)))
        });
    // Functions are those of every session here.
    let mut builder = SessionStateBuilder::new_from_existing(task.state().clone());
    *builder.config() = Some(config);
    let mut state = builder.build();
    let functions = context.headers.get(FUNCTIONS).and_then(|value| value.to_str().ok());
    for text in functions.unwrap_or_default().split(BETWEEN).filter(|text| !text.is_empty()) {
        let function = function_of_text(text);
        let unknown = || DataFusionError::Execution(format!("there is no function `{text}` here"));
        state.register_udf(function.ok_or_else(unknown)?)?;
    }
    Ok(state)
}

fn number(headers: &HeaderMap, name: &str) -> Result<u64> {
    let value = headers.get(name).and_then(|value| value.to_str().ok()?.parse().ok());
    value.ok_or_else(|| DataFusionError::Execution(format!("a request without {name}")))
}

/// A connection as the server knows it.
struct Peer(Box<dyn ByteStream>);

impl Connected for Peer {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Peer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Peer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
