//! What is counted of training in rounds.

use folkmoot_engine::prelude::*;

/// Of every strategy that trains in rounds.
pub const TERMS: &[Term] = terms! {
    "refused_updates", "Refused updates", Count [lower]:
        "Updates with values that are not finite, or beyond the fixed-point range of secure aggregation. They are excluded from aggregation.";
    "late_updates", "Late updates", Count [lower]:
        "Updates that arrived after the end of their round and were dropped.";
    "lost_models", "Lost models", Count [lower]:
        "Models that never reached their client.";
    "rounds_without_update", "Rounds without an update", Count [lower]:
        "Rounds with too few updates, or with zero total weight, that left the model unchanged.";
    "epsilon_training", "Epsilon of training", Number [lower]:
        "Privacy loss of training for the client with the largest, from Rényi DP accounting at the ledger's delta. The unit of privacy and the adversary are documented at protocol.private.";
    "detection_precision", "Precision of detection", Number [fraction, higher]:
        "Updates of malicious clients, in rounds of their attack, among the updates that the aggregator excluded. Absent if it excluded none, or without an attack.";
    "detection_recall", "Recall of detection", Number [fraction, higher]:
        "Excluded updates among those of malicious clients in rounds of their attack. Absent without an attack.";
    "falsely_excluded", "Falsely excluded updates", Number [fraction, lower]:
        "Excluded updates among those of honest clients.";
    "compression_up", "Compression of updates", Number [higher]:
        "Compression ratio of updates: uncompressed size divided by transmitted size. Additional instructions count at their transmitted size.";
    "compression_down", "Compression of models", Number [higher]:
        "Compression ratio of models and control variates: uncompressed size divided by transmitted size. Other instructions count at their transmitted size.";
};
