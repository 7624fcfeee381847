//! What breaks, and what the server does then: it stays up, the answer names the cause, `/readyz` tells, and nothing acknowledged is
//! lost. Where each fault is tried:
//!
//! | fault | test |
//! |---|---|
//! | killed at any instant | `crash`, `durability` |
//! | a disk that fails at any operation, or loses what was not synced | `index::store::tests::faults` |
//! | full disk, and room again | `disk::a_full_disk_that_is_given_room_heals_without_a_restart` |
//! | full disk under a backup, a restore, a persisted copy | `disk::a_disk_that_becomes_full_under_a_copy_changes_nothing`, `backup` |
//! | disk that cannot be read | `index::store::tests::faults`, `index::catalog::tests::what_the_disk_refused_is_opened_again` |
//! | full volume, and a restore to it | `volume::a_full_volume_takes_nothing_in_and_goes_on_once_there_is_room` |
//! | volume that becomes read-only, or is when the server starts | `volume::a_volume_that_becomes_read_only_is_told_and_loses_nothing` |
//! | data folder that cannot be made | `durability::a_data_folder_that_cannot_be_made_is_not_ready_and_says_why` |
//! | damaged index, damaged catalog | `disk` |
//! | language model that hangs | `chat_upstream::the_time_for_an_answer_is_the_whole_of_it`, `streams::a_stream_that_falls_silent_ends_with_an_error` |
//! | half a stream | `streams::a_stream_that_breaks_ends_with_an_error_and_no_done` |
//! | language model or embedder that resets, that sends 100 MB, whose name is unknown | `endpoints` |
//! | embedder that refuses, or sends nonsense | `remote_embedding::an_embedder_that_fails_says_so_and_nothing_is_stored` |

mod disk;
mod endpoints;
mod requests;
mod volume;
