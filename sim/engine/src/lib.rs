//! Virtual time, the event queue, windows, jobs, random streams, and the world around the clients.
