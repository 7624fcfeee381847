//! The scripts. Their keys are the hash and the sorted set of a session.
//!
//! Redis may have removed one of both keys when its memory was full. Without the hash, the session is unknown.

/// Sends the newest members as far as they stay within `turns` and `bytes`, the newest first. `take` gives what is sent
/// of a member, and the bytes that count.
macro_rules! newest {
    () => {
        "
local function newest(turns, bytes, take)
    local sent, first, step = {}, 0, 16
    while #sent < turns do
        local last = math.min(first + step, turns) - 1
        local members = redis.call('ZREVRANGE', KEYS[2], first, last)
        for _, member in ipairs(members) do
            local text, size = take(member)
            bytes = bytes - size
            if bytes < 0 then return sent end
            sent[#sent + 1] = text
        end
        if #members < last - first + 1 then return sent end
        first, step = last + 1, step * 2
    end
    return sent
end
"
    };
}

/// Parameters: lifetime in milliseconds, turns, bytes. Returns the next number, and the newest members without their
/// sources.
pub(super) const JOIN: &str = concat!(
    newest!(),
    "
local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
local sent = {}
if seq == 1 then
    redis.call('DEL', KEYS[2])
else
    sent = newest(tonumber(ARGV[2]), tonumber(ARGV[3]), function(member)
        local turn = string.match(member, '^[^\\n]*')
        return turn, tonumber(string.match(turn, '\"spoken_bytes\":(%d+)') or #turn)
    end)
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return {seq, sent}
"
);

/// Parameters: turns, bytes. Returns the newest members.
pub(super) const HISTORY: &str = concat!(
    newest!(),
    "
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
return newest(tonumber(ARGV[1]), tonumber(ARGV[2]), function(member)
    return member, tonumber(string.match(member, '^[^\\n]*\"bytes\":(%d+)') or #member)
end)
"
);

/// Parameters: lifetime in milliseconds, number, member, turns at most. Returns 1, or 0 if the number was cleared.
pub(super) const ADD: &str = "
local seq = tonumber(ARGV[2])
local latest = tonumber(redis.call('HGET', KEYS[1], 'seq') or 0)
local cleared = tonumber(redis.call('HGET', KEYS[1], 'cleared') or 0)
if latest == 0 then redis.call('DEL', KEYS[2]) end
if latest < seq then redis.call('HSET', KEYS[1], 'seq', ARGV[2]) end
if cleared < seq then
    redis.call('ZREMRANGEBYSCORE', KEYS[2], seq, seq)
    redis.call('ZADD', KEYS[2], seq, ARGV[3])
    redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - tonumber(ARGV[4]))
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return cleared < seq and 1 or 0
";

/// Parameter: lifetime in milliseconds.
pub(super) const CLEAR: &str = "
redis.call('DEL', KEYS[2])
local latest = redis.call('HGET', KEYS[1], 'seq')
if latest then
    redis.call('HSET', KEYS[1], 'cleared', latest)
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
";
