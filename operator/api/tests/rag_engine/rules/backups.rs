//! The rules of backups.

use super::Rule;

pub const RULES: &[Rule] = &[
    ("backup needs exactly one", "backup: {schedule: '0 1 * * *', s3: {bucket: b}}", "backup: {schedule: '0 1 * * *'}"),
    (
        "backup needs exactly one",
        "backup: {schedule: '0 1 * * *', persistentVolumeClaim: {claimName: c}}",
        "backup: {schedule: '0 1 * * *', s3: {bucket: b}, persistentVolumeClaim: {claimName: c}}",
    ),
    (
        "backup.schedule must have five fields",
        "backup: {schedule: '*/15 8-18 * * 1-5', s3: {bucket: b}}",
        "backup: {schedule: '@daily', s3: {bucket: b}}",
    ),
    ("bootstrap.restore needs exactly one", "bootstrap: {restore: {s3: {bucket: b}}}", "bootstrap: {restore: {}}"),
    (
        "bootstrap.restore needs exactly one",
        "bootstrap: {restore: {persistentVolumeClaim: {claimName: c}, name: backup.tar}}",
        "bootstrap: {restore: {s3: {bucket: b}, persistentVolumeClaim: {claimName: c}}}",
    ),
    (
        "s3.prefix must have no part",
        "backup: {schedule: '0 1 * * *', s3: {bucket: b, prefix: one/two..three}}",
        "backup: {schedule: '0 1 * * *', s3: {bucket: b, prefix: one/../two}}",
    ),
    (
        "s3.endpoint must be",
        "bootstrap: {restore: {s3: {bucket: b, endpoint: 'https://s3.example.com'}}}",
        "bootstrap: {restore: {s3: {bucket: b, endpoint: 's3.example.com'}}}",
    ),
    (
        "persistentVolumeClaim.path must have no part",
        "bootstrap: {restore: {persistentVolumeClaim: {claimName: c, path: a/b}}}",
        "bootstrap: {restore: {persistentVolumeClaim: {claimName: c, path: ..}}}",
    ),
];
