//! Privacy mechanisms and their accounting.
