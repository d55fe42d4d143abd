//! Graphs, data-set readers, generators and partitioners.
