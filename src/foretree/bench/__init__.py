"""The paper's computational study on one machine: datasets, folds, methods, a store, tables and figures."""
