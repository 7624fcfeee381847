//! The scripts. Their keys are the hash, the sorted set of turns, and the hash of sources of a session.
//!
//! Redis may have removed one of the keys when its memory was full. Without the first, the session is unknown.

/// The newest members as far as they stay within `turns` and `bytes`, the newest first. `size` is the name of the bytes
/// that count. A fixed number is read at a time, so that few are read in vain.
macro_rules! newest {
    () => {
        "
local function newest(turns, bytes, size)
    local sent, first = {}, 0
    while #sent < turns do
        local last = math.min(first + 32, turns) - 1
        local members = redis.call('ZREVRANGE', KEYS[2], first, last)
        for _, member in ipairs(members) do
            bytes = bytes - tonumber(string.match(member, '\"' .. size .. '\":(%d+)') or #member)
            if bytes < 0 then return sent end
            sent[#sent + 1] = member
        end
        if #members < last - first + 1 then return sent end
        first = last + 1
    end
    return sent
end
"
    };
}

/// Parameters: lifetime in milliseconds, turns, bytes, first number of a new session. Returns the next number, whether
/// the session is new, and the newest members.
pub(super) const JOIN: &str = concat!(
    newest!(),
    "
local is_new, sent = redis.call('HEXISTS', KEYS[1], 'seq') == 0, {}
local seq = redis.call('HINCRBY', KEYS[1], 'seq', is_new and ARGV[4] or 1)
if is_new then
    redis.call('DEL', KEYS[2], KEYS[3])
else
    sent = newest(tonumber(ARGV[2]), tonumber(ARGV[3]), 'spoken_bytes')
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return {seq, is_new and 1 or 0, sent}
"
);

/// Parameters: turns, bytes. Returns the newest members, each with its sources or nil.
pub(super) const HISTORY: &str = concat!(
    newest!(),
    "
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local sent = {}
for place, member in ipairs(newest(tonumber(ARGV[1]), tonumber(ARGV[2]), 'bytes')) do
    sent[place] = {member, redis.call('HGET', KEYS[3], string.match(member, '\"seq\":(%d+)') or '')}
end
return sent
"
);

/// Parameters: lifetime in milliseconds, number, member, sources, turns at most, latest number of a session that begins
/// with this turn. Returns 1, or 0 if the number was cleared.
pub(super) const ADD: &str = "
local seq = tonumber(ARGV[2])
local latest = tonumber(redis.call('HGET', KEYS[1], 'seq') or 0)
local cleared = tonumber(redis.call('HGET', KEYS[1], 'cleared') or 0)
if latest == 0 then
    redis.call('DEL', KEYS[2], KEYS[3])
    redis.call('HSET', KEYS[1], 'seq', ARGV[6])
elseif latest < seq then
    redis.call('HSET', KEYS[1], 'seq', ARGV[2])
end
if cleared < seq then
    redis.call('ZREMRANGEBYSCORE', KEYS[2], ARGV[2], ARGV[2])
    redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
    redis.call('HSET', KEYS[3], ARGV[2], ARGV[4])
    local excess = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[5])
    if excess > 0 then
        for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, excess - 1)) do
            redis.call('HDEL', KEYS[3], string.match(member, '\"seq\":(%d+)') or '')
        end
        redis.call('ZREMRANGEBYRANK', KEYS[2], 0, excess - 1)
    end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return cleared < seq and 1 or 0
";

/// Parameter: lifetime in milliseconds.
pub(super) const CLEAR: &str = "
redis.call('DEL', KEYS[2], KEYS[3])
local latest = redis.call('HGET', KEYS[1], 'seq')
if latest then
    redis.call('HSET', KEYS[1], 'cleared', latest)
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
";
