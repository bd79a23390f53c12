//! Sending tasks to the replicas of a group, and gathering what they give.
//!
//! Tasks run in threads of their own, beside those of sessions: whoever reads a query waits for
//! batches on a channel. When nobody reads any more the channel is closed, and so are the
//! connections' streams; then the replicas stop as well.

mod reach;

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion_distributed::{
    ChannelResolver, DistributedExt, NetworkCoalesceExec, RouteTasksEvent, RouteTasksEventResponse,
    SessionStateBuilderExt, Worker, WorkerChannel, WorkerResolver, grpc,
};
use futures::StreamExt;
use http::{HeaderMap, HeaderValue};
use hyper_util::rt::TokioIo;
use remanent_sql::{Stage, TaskRunner, Workers};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint, Uri};
use url::Url;

use crate::codec::Codec;
use crate::group::{BETWEEN, Connect, FUNCTIONS, Group, HEADERS, cannot};
use crate::serving;
use reach::LeftAlone;

/// Batches that have come and nobody has read.
const BATCHES_MAX: usize = 16;
/// How long until whoever reads can look whether to stop.
const LOOK_AFTER: Duration = Duration::from_millis(20);
/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// After so long without a byte a replica is asked whether it is there, and has so long to answer.
const ASKED_AFTER: Duration = Duration::from_secs(1);
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The replicas of a group as workers of each other.
#[derive(Clone)]
pub struct Replicas {
    shared: Arc<Shared>,
}

struct Shared {
    runner: Arc<TaskRunner>,
    group: Arc<dyn Group>,
    worker: Worker,
    channels: Channels,
    runtime: Handle,
    rows_min: usize,
    left_alone: LeftAlone,
}

impl Replicas {
    /// The workers of a database, whose tasks run in this runtime. Tables of so many rows are
    /// divided.
    pub fn new(
        runner: Arc<TaskRunner>,
        group: Arc<dyn Group>,
        connect: Arc<dyn Connect>,
        runtime: Handle,
        rows_min: usize,
    ) -> Self {
        let worker = serving::worker(Arc::clone(&runner), Arc::clone(&group));
        let left_alone = LeftAlone::default();
        let channels = Channels { connect, open: Arc::default(), left_alone: left_alone.clone() };
        let shared = Shared { runner, group, worker, channels, runtime, rows_min, left_alone };
        Self { shared: Arc::new(shared) }
    }
}

impl Shared {
    /// The other replicas, but for those that are left alone.
    fn others(&self) -> Vec<String> {
        self.left_alone.others(self.group.others())
    }

    /// Leaves those alone of which an error says that they cannot take part. One of the query
    /// itself says that of nobody.
    fn leave_alone(&self, error: &DataFusionError) {
        let text = error.to_string();
        for address in self.group.others().iter().filter(|it| text.contains(&cannot(it))) {
            self.left_alone.add(address);
        }
    }
}

impl Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas").field("group", &self.shared.group).finish_non_exhaustive()
    }
}

impl Workers for Replicas {
    fn tasks(&self) -> usize {
        1 + self.shared.others().len()
    }

    fn rows_min(&self) -> usize {
        self.shared.rows_min
    }

    fn run(&self, stage: Stage) -> SendableRecordBatchStream {
        let (sender, mut receiver) = mpsc::channel(BATCHES_MAX);
        let schema = stage.plan.schema();
        let shared = Arc::clone(&self.shared);
        self.shared.runtime.spawn(async move {
            let ended = gather(&shared, stage, &sender).await.map(|()| None);
            if let Err(error) = &ended {
                tracing::info!(%error, "a stage is run by one replica alone");
                shared.leave_alone(error);
            }
            let _ = sender.send(ended).await;
        });
        // Rows are all there once that is said: who gathers them may have come to nothing.
        let mut has_ended = false;
        let stream = futures::stream::poll_fn(move |context| {
            if has_ended {
                return Poll::Ready(None);
            }
            let next = ready!(receiver.poll_recv(context));
            let next = next.unwrap_or_else(|| {
                Err(DataFusionError::Execution("nobody gathers the rows of a stage".to_owned()))
            });
            has_ended = !matches!(next, Ok(Some(_)));
            Poll::Ready(next.transpose())
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, stream))
    }
}

/// Sends the tasks, and gives on what they give.
async fn gather(
    shared: &Arc<Shared>,
    stage: Stage,
    sender: &mpsc::Sender<Result<Option<RecordBatch>>>,
) -> Result<()> {
    let schema = stage.plan.schema();
    let mut stream = begin(shared, stage).await?;
    loop {
        let next = tokio::time::timeout(LOOK_AFTER, stream.next()).await;
        let batch = match next {
            Ok(Some(batch)) => batch?,
            Ok(None) => return Ok(()),
            Err(_) => RecordBatch::new_empty(Arc::clone(&schema)),
        };
        if sender.send(Ok(Some(batch))).await.is_err() {
            return Ok(());
        }
    }
}

async fn begin(shared: &Arc<Shared>, stage: Stage) -> Result<SendableRecordBatchStream> {
    let (own, others) = (shared.group.own(), shared.others());
    let addresses = std::iter::once(&own).chain(&others);
    let urls = addresses.map(|address| url_of(address)).collect::<Result<Vec<_>>>()?;
    let mut headers = HeaderMap::new();
    let values = [shared.group.term(), stage.timestamp, stage.segments as u64];
    for (name, value) in HEADERS.into_iter().zip(values) {
        headers.insert(name, HeaderValue::from(value));
    }
    let functions = HeaderValue::from_str(&stage.functions.join(BETWEEN));
    headers.insert(FUNCTIONS, functions.map_err(|error| DataFusionError::External(error.into()))?);
    let local = shared.worker.to_local_worker_context(urls[0].clone());
    let routes: Vec<Url> = urls.iter().cycle().take(stage.tasks).cloned().collect();
    let state = SessionStateBuilder::new()
        .with_query_planner(Arc::new(Planned(Arc::clone(&stage.plan), stage.tasks)))
        .with_distributed_worker_resolver(Urls(urls))
        .with_distributed_channel_resolver(shared.channels.clone())
        .with_distributed_user_codec(Codec { runner: Arc::clone(&shared.runner) })
        .with_distributed_local_worker_context(local)
        .with_distributed_route_tasks_handler(move |_: RouteTasksEvent<'_>| {
            Some(Ok(RouteTasksEventResponse::new(routes.clone())))
        })
        .with_distributed_passthrough_headers(headers)?
        .with_distributed_metrics_collection(false)?
        .with_distributed_compression(None)?
        .with_distributed_planner()
        .build();
    let nothing = EmptyRelation { produce_one_row: false, schema: Arc::new(DFSchema::empty()) };
    let nothing = LogicalPlan::EmptyRelation(nothing);
    let plan = state.query_planner().create_physical_plan(&nothing, &state).await?;
    execute_stream(plan, state.task_ctx())
}

fn url_of(address: &str) -> Result<Url> {
    Url::parse(&format!("http://{address}"))
        .map_err(|error| DataFusionError::Execution(format!("{address}: {error}")))
}

/// A stage that was planned before, with what gathers its rows.
#[derive(Debug)]
struct Planned(Arc<dyn ExecutionPlan>, usize);

#[async_trait]
impl QueryPlanner for Planned {
    async fn create_physical_plan(
        &self,
        _: &LogicalPlan,
        _: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = NetworkCoalesceExec::try_new(Arc::clone(&self.0), self.1, 1)?;
        Ok(Arc::new(CoalescePartitionsExec::new(Arc::new(rows))))
    }
}

/// The replicas that run tasks.
struct Urls(Vec<Url>);

impl WorkerResolver for Urls {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

/// Connections, one to each replica, that are made anew when they break.
#[derive(Clone)]
struct Channels {
    connect: Arc<dyn Connect>,
    open: Arc<Mutex<HashMap<String, Channel>>>,
    left_alone: LeftAlone,
}

impl Channels {
    fn to(&self, url: &Url) -> Result<Channel> {
        let address = address_of(url.host_str(), url.port());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = open.get(&address) {
            return Ok(channel.clone());
        }
        let endpoint = Endpoint::try_from(url.to_string());
        let endpoint = endpoint.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let endpoint =
            endpoint.http2_keep_alive_interval(ASKED_AFTER).keep_alive_timeout(ANSWER_MAX);
        let (connect, left_alone) = (Arc::clone(&self.connect), self.left_alone.clone());
        let channel = endpoint.connect_with_connector_lazy(tower::service_fn(move |uri: Uri| {
            let (connect, left_alone) = (Arc::clone(&connect), left_alone.clone());
            async move {
                let address = address_of(uri.host(), uri.port_u16());
                let connected = tokio::time::timeout(CONNECT_MAX, connect.connect(&address)).await;
                let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                let stream = connected.inspect_err(|_| left_alone.add(&address))?;
                Ok::<_, io::Error>(TokioIo::new(left_alone.watch(stream, address)))
            }
        }));
        open.insert(address, channel.clone());
        Ok(channel)
    }
}

fn address_of(host: Option<&str>, port: Option<u16>) -> String {
    format!("{}:{}", host.unwrap_or_default(), port.unwrap_or(80))
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        Ok(grpc::create_worker_client(grpc::BoxCloneSyncChannel::new(self.to(url)?)))
    }
}

#[cfg(test)]
mod tests;
