//! The federated systems, as plug-ins of the engine.
