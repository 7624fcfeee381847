//! The scripts. Their first key is the hash of an index. Its field `epoch` is the index's epoch. Where a database has
//! that, the field `seen` is a copy, which may be old.
//!
//! As the key of an answer has the epoch in it, the scripts that read the epoch also make that key.
//!
//! An epoch that is missing begins at the time in microseconds: Redis may have lost the hash and kept the answers.

/// Parameters: what is before and what is behind the epoch in the key of an answer. Returns the epoch and the answer.
pub(super) const LOOK_UP: &str = "
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then
    local now = redis.call('TIME')
    epoch = string.format('%d%06d', now[1], now[2])
    redis.call('HSET', KEYS[1], 'epoch', epoch)
end
return {epoch, redis.call('GET', ARGV[1] .. epoch .. ARGV[2])}
";

/// The same with the copy. Returns nothing without it.
pub(super) const LOOK_UP_SEEN: &str = "
local epoch = redis.call('HGET', KEYS[1], 'seen')
return epoch and {epoch, redis.call('GET', ARGV[1] .. epoch .. ARGV[2])}
";

/// Second key: the answer's. Parameters: epoch, lifetime in milliseconds, answer. Returns 1, or 0 if the epoch is
/// another one.
pub(super) const STORE: &str = "
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[2])
return 1
";

/// Second key: the answer's. Parameters: epoch, lifetime in milliseconds, answer, and optionally `NX`.
pub(super) const STORE_SEEN: &str = "
redis.call('HSET', KEYS[1], 'seen', ARGV[1])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[2], unpack(ARGV, 4))
";

/// Parameters: as for looking up. Returns whether the answer was there.
pub(super) const REMOVE: &str = "
local epoch = redis.call('HGET', KEYS[1], 'epoch')
return epoch and redis.call('DEL', ARGV[1] .. epoch .. ARGV[2]) or 0
";

/// Begins the next epoch.
pub(super) const PURGE: &str = "
local now = redis.call('TIME')
local next = tonumber(redis.call('HGET', KEYS[1], 'epoch') or 0) + 1
next = math.max(next, now[1] * 1000000 + now[2])
redis.call('HSET', KEYS[1], 'epoch', string.format('%.0f', next))
";
