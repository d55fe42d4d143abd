//! The graphs of every device, and the training that precedes deployment.

use super::algorithm::Ppgm;
use super::data::{Data, Own};
use super::learned::Learned;
use super::server::Server;
use super::view::View;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Partition;
use folkmoot_scenarios::algorithm::Source;
use std::sync::Arc;

/// The graphs of all devices, and who trains on all of them.
pub(super) struct Graphs {
    data: Arc<Data>,
    partition: Arc<Partition>,
    streams: Streams,
}

impl Graphs {
    pub(super) fn new(data: Arc<Data>, source: &Source<'_>) -> Self {
        Graphs {
            data,
            partition: Arc::clone(source.partition),
            streams: source.streams,
        }
    }
}

impl Shards<Ppgm> for Graphs {
    fn n_clients(&self) -> u32 {
        self.partition.n_clients() as u32
    }

    fn shard(&self, client: ClientId) -> Own<'_> {
        Own::new(&self.data, self.partition.shard(client.0 as usize))
    }

    fn size(&self, client: ClientId) -> u64 {
        self.partition.shard(client.0 as usize).len() as u64
    }

    fn trusted(&self) -> Option<&'static str> {
        Some("trains the model on raw pairs of all graphs, before deployment")
    }

    fn prepare(&self, ppgm: &Ppgm, server: &mut Server, _: &Setup<'_>) {
        let view = View {
            ppgm,
            data: &self.data,
            streams: self.streams,
        };
        server.learned = Some(Arc::new(view.learn()));
    }

    /// The model before training.
    fn placeholder(&self, _: &Ppgm, server: &mut Server, _: &Setup<'_>) {
        server.learned = Some(Arc::new(Learned::chosen(server.model.to_vec())));
    }
}
