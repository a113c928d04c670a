//! Whole-product tests: the shape of the workspace, and the real binary under fire.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue says so by panicking")]

mod access;
mod agents;
mod api_call;
mod audit;
mod backup;
mod canary;
mod clients;
mod closed;
mod cluster;
mod crash;
mod criteria;
mod dead;
mod demo;
mod docusign;
mod external;
mod failpoints;
mod hostile;
mod init;
mod jobs;
mod life;
mod mail;
mod metrics;
mod migrate;
mod mint;
mod once;
mod openapi;
mod pages;
mod postgres;
mod readme;
mod rules;
mod seed_defects;
mod services;
mod sleeping;
mod streams;
mod structure;
mod supervision;
mod switches;
mod telemetry;
mod timers;
mod validation;
mod webhook;
