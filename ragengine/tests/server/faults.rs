//! Faults around the server. It stays up, the answer names the cause, `/readyz` reports it, and no acknowledged write
//! is lost. Paths without a crate are relative to `tests/server`.
//!
//! | fault | test |
//! |---|---|
//! | killed at any instant | `crash`, `durability` |
//! | a disk that fails at any operation, or loses what was not synced | `index::store::tests::faults` |
//! | full disk, then room again | `disk::a_server_recovers_from_a_full_disk_without_a_restart` |
//! | disk that fills during a backup, restore or persist | `disk::a_disk_that_fills_during_a_copy_changes_nothing` |
//! | disk that cannot be read | `index::store::tests::faults`, `index::catalog::tests` |
//! | full volume, and a restore that fills it | `volume::a_full_volume_refuses_writes_until_there_is_room` |
//! | read-only volume, at the start or later | `volume::a_read_only_volume_is_reported_and_loses_nothing` |
//! | data folder that cannot be created | `durability::a_server_that_cannot_create_its_data_folder_is_not_ready` |
//! | damaged index, damaged catalog | `disk` |
//! | language model that hangs | `chat_upstream::the_timeout_covers_the_whole_answer` |
//! | stream that falls silent | `streams::a_stream_that_falls_silent_ends_with_an_error` |
//! | stream that breaks | `streams::a_stream_that_breaks_ends_with_an_error_and_no_done` |
//! | language model or embedder that resets, sends 100 MB or has an unknown name | `endpoints` |
//! | embedder that refuses or sends invalid replies | `remote_embedding::nothing_is_stored_when_the_embedder_fails` |

mod disk;
mod endpoints;
mod requests;
mod volume;
